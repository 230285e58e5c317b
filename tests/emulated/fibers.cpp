#include "fibers.hpp"
#include "memory.hpp"
#include "settings.hpp"
#include <algorithm>
#include <condition_variable>
#include <cstdarg>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <link.h>
#include <mutex>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>
#include <unordered_map>
#include <vector>

typedef uint32_t u32;
typedef uint64_t u64;

// Switches stacks: pushes the callee-saved registers, stores the stack pointer in *left, continues on `entered` and pops its registers.
extern "C" void emulated_switch(void** left, void* entered);
__asm__(R"(
.text
.globl emulated_switch
.hidden emulated_switch
.type emulated_switch, @function
emulated_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size emulated_switch, .-emulated_switch
)");
const int SAVED = 6;

namespace emulated {

const u32 LANES = 32, MOST_THREADS = 1024, NOBODY = ~0u;
// The number of bytes behind the dynamic shared memory that must stay unchanged.
const u32 FENCE = 64;
const unsigned char FENCED = 0x77;
// The result of a shuffle from a lane that does not take part.
const u64 UNDEFINED = 0xa5a5a5a5a5a5a5a5;

static const char* const NAMES[] = {
    "syncwarp", "ballot", "any", "all", "shfl", "shfl_up", "shfl_xor", "match_any", "reduce_add", "reduce_min of unsigned",
    "reduce_min of signed", "reduce_max of unsigned", "reduce_max of signed", "reduce_and", "reduce_or", "reduce_xor", "syncthreads",
    "syncthreads_or"};

enum State : uint8_t { READY, IN_WARP, IN_BLOCK, DONE };
// Which of several ready threads runs next: a random one; the last one that became ready; the first; one with a higher index.
enum Order { ANYONE, LAST, FIRST, LATER, ORDERS };

struct Fiber {
    Thread* self;
    void* stack;       // the stack pointer where it continues
    u64 value, result; // its operand of a collective or barrier, and the result it gets
    u32 mask, argument;
    State state;
    Meeting meeting;
};

// A block's random number generator: xorshift with a multiplication (xorshift*).
struct Random {
    u64 state = 1;
    void begin(u64 seed, u64 launch, u64 block) {
        state = seed * 0x9e3779b97f4a7c15 ^ launch * 0xd6e8feb86659fd93 ^ (block + 1) * 0xca5a826395121157;
        if (!state) state = 1;
        for (int k = 0; k < 4; k++) draw();
    }
    u64 draw() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return state * 0x2545f4914f6cdd1d >> 11;
    }
    u64 below(u64 end) { return draw() % end; }
};

// The threads that are ready to run, in a ring buffer.
struct Ready {
    std::vector<u32> ring;
    u32 head = 0, count = 0;
    u32& at(u32 k) { return ring[(head + k) % ring.size()]; }
    void push(u32 thread) { at(count++) = thread; }
    // Removes and returns the k-th.
    u32 pop(u32 k) {
        const u32 thread = at(k);
        at(k) = at(0);
        head = (head + 1) % ring.size();
        count--;
        return thread;
    }
};

static int64_t seconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec;
}

// The state of an OS thread that runs blocks, one after the other.
struct Runner {
    std::vector<Fiber> fibers; // as many as any block so far has needed
    void* home = nullptr;      // the stack pointer where the OS thread continues when a block is done
    Launch* launch = nullptr;
    Index block;
    u32 count = 0, done = 0, arrived = 0, current = 0;
    u32 waiting[MOST_THREADS / LANES], exited[MOST_THREADS / LANES]; // lanes of each warp
    Ready ready;
    Random random;
    Order order = FIRST;
    u64 leaves = 0, meetings = 0, pauses = 0;
    int64_t met_last = 0; // about when a collective or barrier of the block last completed, in seconds
    std::vector<char> dynamic_bytes;
    char* dynamic = nullptr;
    std::unordered_map<const Module*, char*> shared; // this OS thread's shared variables of a module
    std::vector<std::pair<void*, size_t>> stacks;
    void* fault_stack = nullptr;

    ~Runner();
    void prepare_block(u64 number);
    void run_block(u64 number);
    u64 meet_warp(Meeting meeting, u32 mask, u64 value, u32 argument);
    u64 meet_block(Meeting meeting, u64 value);
    void end_thread();
    void pause();
    void give_way();
    std::string states(u32 warp) const;

private:
    void make_fibers(u32 many);
    void leave();
    void wake(u32 thread, u32 me);
    void go_on_or_wait(bool met);
    bool complete_warp(u32 me);
    bool complete_block(u32 me);
    void note_meeting();
};
static thread_local Runner* runner = nullptr;

// ---- reports

// Describes the state of each lane of a warp. Successive lanes in the same state are grouped.
std::string Runner::states(u32 warp) const {
    const u32 lanes = std::min(LANES, count - warp * LANES);
    auto state = [&](u32 lane) -> std::string {
        const Fiber& f = fibers[warp * LANES + lane];
        char mask[16];
        snprintf(mask, sizeof mask, "(%08x)", f.mask);
        switch (f.state) {
        case READY: return "runs";
        case DONE: return "done";
        case IN_BLOCK: return std::string("in ") + NAMES[f.meeting];
        case IN_WARP: return std::string("in ") + NAMES[f.meeting] + mask;
        }
        return "";
    };
    std::string all;
    for (u32 from = 0, lane = 1; lane <= lanes; lane++) {
        if (lane < lanes && state(lane) == state(from)) continue;
        all += (from ? ", " : "") + std::to_string(from);
        if (lane - 1 > from) all += "-" + std::to_string(lane - 1);
        all += " " + state(from);
        from = lane;
    }
    return all;
}

static void report() {
    const Runner* r = runner;
    if (!r || !r->launch) return;
    const Launch& launch = *r->launch;
    fprintf(stderr, "emulated: in kernel %s (launch %llu), block (%u, %u, %u) of %llu, thread %u of %u, program %s\n",
        launch.kernel->name.c_str(), (unsigned long long)launch.number, r->block.x, r->block.y, r->block.z,
        (unsigned long long)launch.blocks, r->current, r->count, launch.kernel->module->path.c_str());
    for (u32 warp = 0; warp * LANES < r->count; warp++) fprintf(stderr, "emulated:   warp %u: lanes %s\n", warp, r->states(warp).c_str());
}

void fail(const char* format, ...) {
    // the first OS thread that fails reports; others wait here until the process ends
    static std::mutex& once = *new std::mutex;
    once.lock();
    fprintf(stderr, "emulated: ");
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n");
    report();
    fflush(stderr);
    abort();
}

const int FAULTS[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
static struct sigaction before[64];

static void on_fault(int signal, siginfo_t* info, void* context) {
    if (!runner || !runner->launch) {
        // not in a kernel: restore the previous handler, which gets the signal when the instruction is repeated
        sigaction(signal, &before[signal], nullptr);
        return;
    }
    const Module& module = *runner->launch->kernel->module;
    const u64 instruction = ((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP] - (u64)module.base;
    if (signal == SIGSEGV || signal == SIGBUS)
        fail("a kernel uses address %p, %s, at instruction %#llx", info->si_addr, whereabouts((u64)info->si_addr).c_str(),
            (unsigned long long)instruction);
    fail("signal %d (%s) at instruction %#llx", signal, strsignal(signal), (unsigned long long)instruction);
}
void catch_faults() {
    struct sigaction act = {};
    act.sa_sigaction = on_fault;
    act.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (const int signal : FAULTS) sigaction(signal, &act, &before[signal]);
}
// This OS thread's runner. Signal handlers get a stack of their own, since a fault may be an overflow of a fiber's stack.
static Runner& this_runner() {
    static thread_local Runner own;
    if (!runner) {
        runner = &own;
        stack_t stack = {};
        stack.ss_size = 64 << 10;
        stack.ss_sp = own.fault_stack = malloc(stack.ss_size);
        if (stack.ss_sp) sigaltstack(&stack, nullptr);
    }
    return own;
}
Runner::~Runner() {
    for (const auto& [stack, size] : stacks) munmap(stack, size);
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
    free(fault_stack);
}

// ---- scheduling

// Switches to a ready thread, or back to the OS thread's own stack if all are done. The caller has set its thread's state before, and
// added it to `ready` if it may continue.
void Runner::leave() {
    const u32 me = current;
    if (ready.count == 0) {
        if (done < count) fail("deadlock: all threads of a block wait");
        void* never;
        emulated_switch(&never, home);
    }
    // with more blocks than cores, let the OS threads of other blocks run, too
    if (++leaves % 16384 == 0) sched_yield();
    u32 k = 0;
    if (settings().seed && ready.count > 1) {
        // the block has its own order, with random exceptions
        if (order == ANYONE || random.below(16) == 0) {
            k = random.below(ready.count);
        } else if (order == LAST) {
            k = ready.count - 1;
        } else if (order == LATER) {
            const u32 one = random.below(ready.count), other = random.below(ready.count);
            k = ready.at(one) > ready.at(other) ? one : other;
        }
    }
    const u32 next = ready.pop(k);
    if (next == me) return;
    current = next;
    emulated_switch(&fibers[me].stack, fibers[next].stack);
}
void Runner::wake(u32 thread, u32 me) {
    fibers[thread].state = READY;
    if (thread != me) ready.push(thread);
}
// Called by a thread that has reached a collective or barrier. The last to arrive continues at once, or with a seed perhaps later. All
// others wait.
void Runner::go_on_or_wait(bool met) {
    if (met) {
        if (!settings().seed || random.below(2)) return;
        ready.push(current);
    }
    leave();
}
void Runner::note_meeting() {
    if (++meetings % 256 == 0) met_last = seconds();
}
void Runner::give_way() {
    if (ready.count == 0) {
        sched_yield();
        return;
    }
    ready.push(current);
    leave();
}
// Called by a thread that may be polling for another thread's write.
void Runner::pause() {
    if (++pauses % 4) return;
    if (pauses % 16384 == 0 && seconds() - met_last > settings().patience)
        fail("deadlock: a thread waits for another block's write, and its block has got nowhere for %ld seconds", settings().patience);
    give_way();
}

// ---- collectives and barriers

// Folds the values of `lanes`, which are not empty.
template <class Join> static u64 fold(const Fiber* warp, u32 lanes, const Join& join) {
    u64 all = warp[__builtin_ctz(lanes)].value;
    for (u32 rest = lanes & (lanes - 1); rest; rest &= rest - 1) all = join(all, warp[__builtin_ctz(rest)].value);
    return all;
}
// The result of a collective that gives all lanes the same result; 0 for other collectives.
static u64 answer_to_all(Meeting meeting, const Fiber* warp, u32 lanes) {
    u32 set = 0;
    switch (meeting) {
    case BALLOT:
    case ANY:
    case ALL:
        for (u32 rest = lanes; rest; rest &= rest - 1) {
            const u32 lane = __builtin_ctz(rest);
            set |= (u32)warp[lane].value << lane;
        }
        return meeting == BALLOT ? set : meeting == ANY ? set != 0 : set == lanes;
    case ADD: return fold(warp, lanes, [](u64 a, u64 b) { return (u64)(u32)(a + b); });
    case MIN_UNSIGNED: return fold(warp, lanes, [](u64 a, u64 b) { return std::min(a, b); });
    case MAX_UNSIGNED: return fold(warp, lanes, [](u64 a, u64 b) { return std::max(a, b); });
    case MIN_SIGNED: return fold(warp, lanes, [](u64 a, u64 b) { return (int)a < (int)b ? a : b; });
    case MAX_SIGNED: return fold(warp, lanes, [](u64 a, u64 b) { return (int)a > (int)b ? a : b; });
    case AND: return fold(warp, lanes, [](u64 a, u64 b) { return a & b; });
    case OR: return fold(warp, lanes, [](u64 a, u64 b) { return a | b; });
    case XOR: return fold(warp, lanes, [](u64 a, u64 b) { return a ^ b; });
    default: return 0;
    }
}
// The lane that `lane` reads from in a shuffle. `argument` has a distance or a lane in its low half, the width in its high half.
static u32 shuffled_from(Meeting meeting, u32 lane, u32 argument) {
    const u32 width = argument >> 16, by = argument & 0xffff, base = lane & ~(width - 1);
    if (meeting == SHUFFLE) return base | (by & (width - 1));
    if (meeting == SHUFFLE_UP) return lane - base >= by ? lane - by : lane;
    return (lane ^ by) < base + width ? lane ^ by : lane;
}

// Completes the collective that the lane `asked` waits in, if all lanes of its mask have arrived or exited: sets the results and makes the
// lanes ready. Returns whether it did.
bool Runner::complete_warp(u32 asked) {
    const u32 w = asked / LANES, mask = fibers[asked].mask;
    const Meeting meeting = fibers[asked].meeting;
    Fiber* warp = &fibers[w * LANES];
    if (mask & ~(waiting[w] | exited[w])) return false;
    const u32 lanes = mask & waiting[w];
    for (u32 rest = lanes; rest; rest &= rest - 1) {
        const u32 lane = __builtin_ctz(rest);
        if (warp[lane].mask == mask && warp[lane].meeting == meeting) continue;
        // a lane without this one in its mask is in another collective, and may arrive here later
        if (!(warp[lane].mask >> asked % LANES & 1)) return false;
        fail("lanes of warp %u wait for each other in different ways: lane %u in %s(%08x), lane %u in %s(%08x)", w, asked % LANES,
            NAMES[meeting], mask, lane, NAMES[warp[lane].meeting], warp[lane].mask);
    }
    const u64 same = answer_to_all(meeting, warp, lanes);
    for (u32 rest = lanes; rest; rest &= rest - 1) {
        Fiber& f = warp[__builtin_ctz(rest)];
        if (meeting == SHUFFLE || meeting == SHUFFLE_UP || meeting == SHUFFLE_XOR) {
            const u32 from = shuffled_from(meeting, __builtin_ctz(rest), f.argument);
            f.result = lanes >> from & 1 ? warp[from].value : UNDEFINED;
        } else if (meeting == MATCH) {
            f.result = 0;
            for (u32 others = lanes; others; others &= others - 1) {
                const u32 other = __builtin_ctz(others);
                if (warp[other].value == f.value) f.result |= 1u << other;
            }
        } else {
            f.result = same;
        }
    }
    waiting[w] &= ~lanes;
    for (u32 rest = lanes; rest; rest &= rest - 1) wake(w * LANES + __builtin_ctz(rest), current);
    note_meeting();
    return true;
}
u64 Runner::meet_warp(Meeting meeting, u32 mask, u64 value, u32 argument) {
    Fiber& f = fibers[current];
    f.meeting = meeting;
    f.mask = mask;
    f.value = value;
    f.argument = argument;
    f.state = IN_WARP;
    const u32 bit = 1u << current % LANES;
    if (!(mask & bit)) fail("a lane calls %s(%08x), whose mask lacks it", NAMES[meeting], mask);
    waiting[current / LANES] |= bit;
    go_on_or_wait(complete_warp(current));
    return f.result;
}

// Completes the block's barrier, if all threads that have not ended have arrived. Returns whether it did.
bool Runner::complete_block(u32 me) {
    if (arrived + done < count) return false;
    const Fiber* first = nullptr;
    u64 any = 0;
    for (u32 thread = 0; thread < count; thread++) {
        const Fiber& f = fibers[thread];
        if (f.state != IN_BLOCK) continue;
        if (!first) first = &f;
        if (f.meeting != first->meeting) fail("threads of a block wait at different kinds of barriers");
        any |= f.value;
    }
    arrived = 0;
    for (u32 thread = 0; thread < count; thread++) {
        if (fibers[thread].state != IN_BLOCK) continue;
        fibers[thread].result = any;
        wake(thread, me);
    }
    note_meeting();
    return true;
}
u64 Runner::meet_block(Meeting meeting, u64 value) {
    Fiber& f = fibers[current];
    f.meeting = meeting;
    f.value = value;
    f.state = IN_BLOCK;
    arrived++;
    go_on_or_wait(complete_block(current));
    return f.result;
}

// ---- blocks

void Runner::end_thread() {
    const u32 w = current / LANES, lane = current % LANES;
    fibers[current].state = DONE;
    done++;
    exited[w] |= 1u << lane;
    // collectives with this lane in their masks may be complete now
    u32 asked = 0;
    while (const u32 rest = waiting[w] & ~asked) {
        const u32 other = __builtin_ctz(rest);
        asked |= 1u << other;
        if (fibers[w * LANES + other].mask >> lane & 1) complete_warp(w * LANES + other);
    }
    if (arrived) complete_block(NOBODY);
    leave();
}
static void fiber_main() {
    runner->launch->kernel->entry.run(runner->launch->parameter);
    runner->end_thread();
}

void Runner::make_fibers(u32 many) {
    if (fibers.size() >= many) return;
    const size_t more = many - fibers.size();
    void* mapped = mmap(nullptr, (more + 1) * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) fail("there is no memory for the stacks of %u threads", many);
    stacks.emplace_back(mapped, (more + 1) * STACK);
    char* stack = (char*)(((u64)mapped + STACK - 1) & ~(STACK - 1));
    for (size_t k = 0; k < more; k++, stack += STACK) {
        // the lowest page is inaccessible, so that a stack overflow is a fault
        mprotect(stack, 4096, PROT_NONE);
        Fiber fiber = {};
        fiber.self = (Thread*)(stack + STACK - ROOM);
        fibers.push_back(fiber);
    }
    ready.ring.resize(fibers.size());
}

// The address of this OS thread's copy of a module's shared variables, which are compiled as thread-local ones.
static char* shared_of(const Module& module) {
    void* (*touch)() = (void* (*)())dlsym(module.handle, "emulated_touch");
    struct Search {
        const char* base;
        char* found;
    } search = {module.base, nullptr};
    // the first use allocates them; while other threads load modules, the C library may not tell where they are
    for (int tries = 0; tries < 1000 && !search.found; tries++) {
        touch();
        dl_iterate_phdr(
            [](dl_phdr_info* info, size_t, void* data) {
                Search& search = *(Search*)data;
                if ((const char*)info->dlpi_addr != search.base) return 0;
                search.found = (char*)info->dlpi_tls_data;
                return 1;
            },
            &search);
        if (!search.found) sched_yield();
    }
    if (!search.found) fail("the shared variables of %s are nowhere", module.path.c_str());
    return search.found;
}

void Runner::prepare_block(u64 number) {
    const Index grid = launch->grid;
    block = {(u32)(number % grid.x), (u32)(number / grid.x % grid.y), (u32)(number / grid.x / grid.y)};
    done = arrived = ready.head = ready.count = 0;
    met_last = seconds();
    std::fill(std::begin(waiting), std::end(waiting), 0);
    std::fill(std::begin(exited), std::end(exited), 0);
    if (count % LANES) exited[count / LANES] = ~0u << count % LANES;

    int garbage = 0xa5;
    bool noisy = false;
    if (settings().seed) {
        random.begin(settings().seed, launch->number, number);
        order = (Order)random.below(ORDERS);
        garbage = random.below(4) ? (int)random.below(256) : 0xff;
        noisy = settings().noise > 0 && random.below(4);
    }
    // shared memory starts with arbitrary content
    const Module& module = *launch->kernel->module;
    char*& variables = shared[&module];
    if (!variables) variables = shared_of(module);
    memset(variables, garbage, module.shared);
    const size_t line = 256;
    if (dynamic_bytes.size() < launch->shared + FENCE + line) dynamic_bytes.resize(launch->shared + FENCE + line);
    dynamic = (char*)(((u64)dynamic_bytes.data() + line - 1) & ~(line - 1));
    memset(dynamic, garbage, launch->shared);
    memset(dynamic + launch->shared, FENCED, FENCE);

    const Index dim = launch->block;
    for (u32 thread = 0; thread < count; thread++) {
        Fiber& fiber = fibers[thread];
        const Index index = {thread % dim.x, thread / dim.x % dim.y, thread / dim.x / dim.y};
        *fiber.self = {index, block, dim, grid, dynamic, noisy};
        // a stack as emulated_switch leaves one: the registers it pops, the address it returns to, and a null return address above
        void** top = (void**)fiber.self;
        *--top = nullptr;
        *--top = (void*)fiber_main;
        for (int k = 0; k < SAVED; k++) *--top = nullptr;
        fiber.stack = top;
        fiber.state = READY;
        ready.push(thread);
    }
}
void Runner::run_block(u64 number) {
    count = launch->block.x * launch->block.y * launch->block.z;
    make_fibers(count);
    prepare_block(number);
    current = ready.pop(0);
    emulated_switch(&home, fibers[current].stack);
    for (u32 k = 0; k < FENCE; k++)
        if ((unsigned char)dynamic[launch->shared + k] != FENCED)
            fail("a block wrote %u bytes past the end of its dynamic shared memory", k);
}

// ---- OS threads

static void run_blocks(Launch& launch) {
    Runner& r = this_runner();
    r.launch = &launch;
    for (u64 k; (k = launch.next.fetch_add(1)) < launch.blocks;) {
        // blocks may run in any order; those of a cooperative launch all run at once
        if (settings().seed && !launch.cooperative) {
            Random random;
            random.begin(settings().seed, launch.number, ~0ull - 1);
            const u64 how = random.below(3), first = random.below(launch.blocks);
            if (how == 1) k = launch.blocks - 1 - k;
            if (how == 2) k = (k + first) % launch.blocks;
        }
        r.run_block(k);
        if (launch.cooperative) break;
    }
    r.launch = nullptr;
}

// The OS threads that run blocks besides the launching one. Never destroyed, since they may outlive the exit of the process.
static struct Helpers {
    std::mutex lock;
    std::condition_variable work, over;
    Launch* launch = nullptr;
    u64 wanted = 0, busy = 0, there = 0;
} &helpers = *new Helpers;

static void help() {
    std::unique_lock<std::mutex> held(helpers.lock);
    for (;;) {
        helpers.work.wait(held, [] { return helpers.wanted > 0; });
        helpers.wanted--;
        Launch& launch = *helpers.launch;
        held.unlock();
        run_blocks(launch);
        held.lock();
        if (--helpers.busy == 0) helpers.over.notify_all();
    }
}
void run(Launch& launch) {
    const u64 cores = std::clamp(std::thread::hardware_concurrency(), 1u, 4u);
    const u64 threads = launch.blocks * launch.block.x * launch.block.y * launch.block.z;
    u64 many = 0;
    if (launch.cooperative) many = launch.blocks - 1;
    else if (threads > MOST_THREADS) many = std::min(launch.blocks, cores) - 1; // for fewer, waking a helper takes longer
    {
        const std::lock_guard<std::mutex> held(helpers.lock);
        for (; helpers.there < many; helpers.there++) std::thread(help).detach();
        helpers.launch = &launch;
        helpers.wanted = helpers.busy = many;
    }
    if (many) helpers.work.notify_all();
    run_blocks(launch);
    std::unique_lock<std::mutex> held(helpers.lock);
    helpers.over.wait(held, [] { return helpers.busy == 0; });
}

} // namespace emulated

// ---- functions that kernels call

#define CALLED extern "C" __attribute__((visibility("default")))
CALLED u64 emulated_warp(int meeting, u32 mask, u64 value, u32 argument) {
    return emulated::runner->meet_warp((emulated::Meeting)meeting, mask, value, argument);
}
CALLED int emulated_block(int meeting, int value) { return (int)emulated::runner->meet_block((emulated::Meeting)meeting, (u64)value); }
CALLED void emulated_pause() { emulated::runner->pause(); }
// Called before a thread accesses memory that others may be writing. Yields at random.
CALLED void emulated_noise() {
    emulated::Runner& r = *emulated::runner;
    if (r.random.below(emulated::settings().noise)) return;
    if (r.random.below(64) == 0) sched_yield();
    if (r.ready.count) r.give_way();
}
CALLED unsigned long long emulated_nanoseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec;
}
