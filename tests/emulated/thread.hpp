// Definitions that the runtime and the programs share: a thread's own data, collectives and barriers, the description of a kernel.
#pragma once
namespace emulated {

// A thread's stack is aligned to its size, so a thread finds its `Thread` from its stack pointer: in the top `ROOM` bytes.
const unsigned long STACK = 128 << 10, ROOM = 256;
struct Index {
    unsigned x, y, z;
};
struct Thread {
    Index thread, block, block_dim, grid_dim;
    void* dynamic; // the dynamic shared memory, whose size the launch sets
    int noisy;     // whether it sometimes yields before it accesses memory that others may be writing
};
static inline Thread* self() {
    unsigned long stack;
    __asm__("mov %%rsp, %0" : "=r"(stack));
    return (Thread*)((stack | (STACK - 1)) + 1 - ROOM);
}

// The operations at which threads wait for each other: collectives of the lanes of a mask, and barriers of all threads of the block.
enum Meeting {
    SYNC_WARP, BALLOT, ANY, ALL, SHUFFLE, SHUFFLE_UP, SHUFFLE_XOR, MATCH,
    ADD, MIN_UNSIGNED, MIN_SIGNED, MAX_UNSIGNED, MAX_SIGNED, AND, OR, XOR,
    SYNC_BLOCK, SYNC_BLOCK_OR
};

// A program's description of a kernel. It is exported as the symbol `emulated_entry_` followed by the kernel's name.
struct Entry {
    void (*run)(const void* parameter);
    unsigned long bytes, parameters, threads;
};

} // namespace emulated
