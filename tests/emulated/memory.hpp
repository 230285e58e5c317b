// Device memory, which is the host's: buffers between fences, so that a write past an end is seen.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
namespace emulated {

bool allocate(uint64_t* address, size_t size);
void release(uint64_t address);
size_t memory_used();
size_t memory_peak();
void forget_peak();
// Whether the bytes lie in one buffer.
bool in_a_buffer(uint64_t address, size_t size);
// Where an address lies, in words.
std::string whereabouts(uint64_t address);
// What a write past a buffer did, in words; empty if there was none.
std::string damage();

} // namespace emulated
