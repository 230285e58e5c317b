// What the runtime and a kernel agree on: what a thread knows of itself, what threads ask of each other, what a program tells of a kernel.
#pragma once
namespace emulated {

// A thread's stack is aligned to its size, so a thread finds what it knows of itself by its stack pointer: in `ROOM` bytes at the top.
const unsigned long STACK = 128 << 10, ROOM = 256;
struct Index {
    unsigned x, y, z;
};
struct Thread {
    Index thread, block, block_dim, grid_dim;
    void* dynamic; // the shared memory whose size the launch tells
    int noisy;     // whether it now and then gives way before it touches what others may be writing
};
static inline Thread* self() {
    unsigned long stack;
    __asm__("mov %%rsp, %0" : "=r"(stack));
    return (Thread*)((stack | (STACK - 1)) + 1 - ROOM);
}

// What threads wait for each other for: the lanes of a mask, or all threads of the block.
enum Meeting {
    SYNC_WARP, BALLOT, ANY, ALL, SHUFFLE, SHUFFLE_UP, SHUFFLE_XOR, MATCH,
    ADD, MIN_UNSIGNED, MIN_SIGNED, MAX_UNSIGNED, MAX_SIGNED, AND, OR, XOR,
    SYNC_BLOCK, SYNC_BLOCK_OR
};

// What a program tells of a kernel, as the symbol `emulated_entry_` and its name.
struct Entry {
    void (*run)(const void* parameter);
    unsigned long bytes, parameters, threads;
};

} // namespace emulated
