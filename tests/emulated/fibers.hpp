// Launches. Each block is run by one OS thread, which runs the block's threads as fibers.
#pragma once
#include "thread.hpp"
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
namespace emulated {

struct Module {
    void* handle;
    char* base; // where it was loaded
    std::string path;
    size_t shared; // bytes of static shared memory
};
struct Kernel {
    const Module* module;
    std::string name;
    Entry entry;
};
struct Launch {
    const Kernel* kernel;
    Index grid, block;
    uint32_t shared;
    const void* parameter;
    bool cooperative;
    uint64_t number, blocks;
    std::atomic<uint64_t> next{0}; // the first block that no OS thread has taken
};

// Runs all blocks and returns when they are done.
void run(Launch& launch);
// Installs signal handlers that report faults in kernels: accesses to unmapped memory, divisions by zero.
void catch_faults();
// Prints an error and the state of this OS thread's block, and aborts.
[[noreturn]] void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

} // namespace emulated
