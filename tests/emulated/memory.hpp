// Device memory, allocated on the host. Each buffer lies between two fences, so that writes outside it are detected.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
namespace emulated {

// Memory of the device, or of the host for kernels to read.
bool allocate(uint64_t* address, size_t size, bool on_host = false);
// Lets kernels use memory that the program has already.
void adopt(uint64_t address, size_t size);
void release(uint64_t address);
size_t memory_used();
size_t memory_peak();
void forget_peak();
// Whether all `size` bytes at `address` lie in one buffer.
bool in_a_buffer(uint64_t address, size_t size);
// Describes where an address lies, for error messages.
std::string whereabouts(uint64_t address);
// Describes the first overwritten byte of a fence; empty if all fences are intact.
std::string damage();

} // namespace emulated
