// A CUDA driver for machines without a GPU, with the calls that the project uses. There is one device, and all calls are synchronous.
#include "fibers.hpp"
#include "memory.hpp"
#include "settings.hpp"
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <mutex>
#include <unistd.h>
#include <utility>

using namespace emulated;
typedef uint32_t u32;
typedef uint64_t u64;
#define CALLED extern "C" __attribute__((visibility("default")))

// Values of CUDA's enums.
enum Result {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    NOT_FOUND = 500,
    PEER_ACCESS_ALREADY_ENABLED = 704,
    ALREADY_REGISTERED = 712,
    TOO_MANY_BLOCKS = 720
};
enum DeviceAttribute { MULTIPROCESSORS = 16, BUS = 33, SLOT = 34, BUS_DOMAIN = 50, MAJOR = 75, MINOR = 76, SHARED_LIMIT = 97 };
enum FunctionAttribute { MAX_THREADS = 0, SHARED = 1, LOCAL = 3, REGISTERS = 4 };
enum PointerAttribute { DEVICE_ORDINAL = 9 };
enum PoolAttribute { RESERVED_NOW = 5, RESERVED_MOST = 6, USED_NOW = 7, USED_MOST = 8 };

// Dummy handles of objects that exist once or have no state here.
static void* const CONTEXT = (void*)0x10;
static void* const STREAM = (void*)0x20;
static void* const POOL = (void*)0x30;
static void* const EVENT = (void*)0x40;

// ---- the device

CALLED int cuInit(u32) {
    static std::once_flag once;
    std::call_once(once, catch_faults);
    return SUCCESS;
}
CALLED int cuDriverGetVersion(int* version) {
    *version = 13000;
    return SUCCESS;
}
CALLED int cuGetErrorName(int error, const char** name) {
    switch (error) {
    case SUCCESS: *name = "CUDA_SUCCESS"; break;
    case INVALID_VALUE: *name = "CUDA_ERROR_INVALID_VALUE"; break;
    case OUT_OF_MEMORY: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case INVALID_DEVICE: *name = "CUDA_ERROR_INVALID_DEVICE"; break;
    case INVALID_IMAGE: *name = "CUDA_ERROR_INVALID_IMAGE"; break;
    case NOT_FOUND: *name = "CUDA_ERROR_NOT_FOUND"; break;
    case TOO_MANY_BLOCKS: *name = "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"; break;
    default: *name = "CUDA_ERROR_UNKNOWN";
    }
    return SUCCESS;
}
CALLED int cuGetErrorString(int error, const char** text) { return cuGetErrorName(error, text); }
CALLED int cuDeviceGetCount(int* count) {
    *count = (int)settings().devices;
    return SUCCESS;
}
CALLED int cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return ordinal >= 0 && ordinal < (int)settings().devices ? SUCCESS : INVALID_DEVICE;
}
CALLED int cuDeviceGetName(char* name, int size, int) {
    snprintf(name, (size_t)size, "emulated GPU");
    return SUCCESS;
}
CALLED int cuDeviceGetAttribute(int* value, int attribute, int device) {
    switch (attribute) {
    case MULTIPROCESSORS: *value = (int)settings().multiprocessors; break;
    case BUS_DOMAIN: case BUS: *value = 0; break;
    case SLOT: *value = device; break;
    case MAJOR: *value = 9; break;
    case MINOR: *value = 0; break;
    case SHARED_LIMIT: *value = 227 << 10; break;
    default: fprintf(stderr, "emulated: the device has no attribute %d\n", attribute); return INVALID_VALUE;
    }
    return SUCCESS;
}
CALLED int cuDeviceTotalMem_v2(size_t* bytes, int) {
    *bytes = settings().memory;
    return SUCCESS;
}
CALLED int cuDevicePrimaryCtxRetain(void** context, int) {
    *context = CONTEXT;
    return SUCCESS;
}
CALLED int cuDevicePrimaryCtxRelease_v2(int) { return SUCCESS; }
CALLED int cuCtxSetCurrent(void*) { return SUCCESS; }
CALLED int cuCtxGetCurrent(void** context) {
    *context = CONTEXT;
    return SUCCESS;
}
CALLED int cuCtxSynchronize() { return SUCCESS; }
CALLED int cuStreamCreate(void** stream, u32) {
    *stream = STREAM;
    return SUCCESS;
}
CALLED int cuStreamDestroy_v2(void*) { return SUCCESS; }
CALLED int cuStreamSynchronize(void*) { return SUCCESS; }
CALLED int cuStreamQuery(void*) { return SUCCESS; }
CALLED int cuEventCreate(void** event, u32) {
    *event = EVENT;
    return SUCCESS;
}
CALLED int cuEventRecord(void*, void*) { return SUCCESS; }
CALLED int cuEventSynchronize(void*) { return SUCCESS; }

// ---- memory

CALLED int cuMemGetInfo_v2(size_t* free, size_t* total) {
    *total = settings().memory;
    *free = *total - memory_used();
    return SUCCESS;
}
CALLED int cuPointerGetAttribute(void* data, int attribute, u64 address) {
    if (attribute != DEVICE_ORDINAL || !in_a_buffer(address, 1)) return INVALID_VALUE;
    *static_cast<int*>(data) = 0;
    return SUCCESS;
}
CALLED int cuMemPoolCreate(void** pool, const void*) {
    *pool = POOL;
    return SUCCESS;
}
CALLED int cuMemPoolDestroy(void*) { return SUCCESS; }
CALLED int cuMemPoolTrimTo(void*, size_t) { return SUCCESS; }
CALLED int cuMemPoolGetAttribute(void*, int attribute, u64* value) {
    switch (attribute) {
    case RESERVED_NOW:
    case USED_NOW: *value = memory_used(); break;
    case RESERVED_MOST:
    case USED_MOST: *value = memory_peak(); break;
    default: *value = 0;
    }
    return SUCCESS;
}
CALLED int cuMemPoolSetAttribute(void*, int attribute, void*) {
    if (attribute == USED_MOST) forget_peak();
    return SUCCESS;
}
// Allocations that tests have fail: how many are made before, how many fail then, and how many did.
static std::mutex refusing;
static u64 made_before = 0, to_refuse = 0, refused = 0;
CALLED u64 vxm_emulated_refuse(u64 first, u64 count) {
    std::lock_guard<std::mutex> held(refusing);
    made_before = first;
    to_refuse = count;
    return std::exchange(refused, 0);
}
static bool refuses() {
    std::lock_guard<std::mutex> held(refusing);
    if (to_refuse == 0) return false;
    if (made_before > 0) {
        made_before--;
        return false;
    }
    to_refuse--;
    refused++;
    return true;
}
CALLED int cuMemAllocFromPoolAsync(u64* address, size_t size, void*, void*) {
    if (size == 0) return INVALID_VALUE;
    return !refuses() && allocate(address, size) ? SUCCESS : OUT_OF_MEMORY;
}
CALLED int cuMemFreeAsync(u64 address, void*) {
    release(address);
    return SUCCESS;
}
CALLED int cuMemAlloc_v2(u64* address, size_t size) { return cuMemAllocFromPoolAsync(address, size, nullptr, nullptr); }
CALLED int cuMemFree_v2(u64 address) { return cuMemFreeAsync(address, nullptr); }
// All devices share this process' memory, and no other process reaches it.
CALLED int cuCtxEnablePeerAccess(void*, u32) { return PEER_ACCESS_ALREADY_ENABLED; }
CALLED int cuIpcGetMemHandle(void* handle, u64 address) {
    memcpy(handle, &address, sizeof address);
    return in_a_buffer(address, 1) ? SUCCESS : INVALID_VALUE;
}
CALLED int cuIpcOpenMemHandle_v2(u64*, const void*, u32) { return INVALID_VALUE; }
CALLED int cuIpcCloseMemHandle(u64) { return INVALID_VALUE; }
CALLED int cuMemHostAlloc(void** at, size_t size, u32) {
    return !refuses() && allocate((u64*)at, size, true) ? SUCCESS : OUT_OF_MEMORY;
}
CALLED int cuMemHostRegister_v2(void* at, size_t size, u32) {
    if (in_a_buffer((u64)at, size)) return ALREADY_REGISTERED;
    adopt((u64)at, size);
    return SUCCESS;
}
CALLED int cuMemHostUnregister(void* at) {
    release((u64)at);
    return SUCCESS;
}
CALLED int cuMemFreeHost(void* at) {
    release((u64)at);
    return SUCCESS;
}
CALLED int cuMemHostGetDevicePointer_v2(u64* address, void* at, u32) {
    *address = (u64)at;
    return SUCCESS;
}

static void check(u64 address, size_t size, const char* what) {
    if (!in_a_buffer(address, size))
        fail("%s %zu bytes at %#llx, which don't lie in a buffer: they begin %s", what, size, (unsigned long long)address,
            whereabouts(address).c_str());
}
CALLED int cuMemcpyHtoDAsync_v2(u64 to, const void* from, size_t size, void*) {
    check(to, size, "the host writes");
    memcpy((void*)to, from, size);
    return SUCCESS;
}
CALLED int cuMemcpyDtoHAsync_v2(void* to, u64 from, size_t size, void*) {
    check(from, size, "the host reads");
    memcpy(to, (const void*)from, size);
    return SUCCESS;
}
CALLED int cuMemcpyDtoDAsync_v2(u64 to, u64 from, size_t size, void*) {
    check(to, size, "a copy writes");
    check(from, size, "a copy reads");
    memmove((void*)to, (const void*)from, size);
    return SUCCESS;
}
CALLED int cuMemsetD8Async(u64 to, unsigned char byte, size_t size, void*) {
    check(to, size, "a fill writes");
    memset((void*)to, byte, size);
    return SUCCESS;
}

// ---- modules

CALLED int cuModuleLoadData(void** loaded, const void* image) {
    const Elf64_Ehdr* header = (const Elf64_Ehdr*)image;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_type != ET_DYN || header->e_machine != EM_X86_64) return INVALID_IMAGE;
    // the section headers are last in the file
    const size_t size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
    static std::atomic<int> number{0};
    const std::string path = home() + "/tmp/module-" + std::to_string(getpid()) + "-" + std::to_string(number++) + ".so";
    FILE* file = fopen(path.c_str(), "wb");
    if (!file) fail("cannot write %s: %s", path.c_str(), strerror(errno));
    const bool written = fwrite(image, 1, size, file) == size;
    if (fclose(file) || !written) fail("cannot write %s: %s", path.c_str(), strerror(errno));
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) fail("a program cannot be loaded: %s", dlerror());
    if (!settings().keep) unlink(path.c_str());
    link_map* map;
    dlinfo(handle, RTLD_DI_LINKMAP, &map);
    size_t shared = 0;
    const Elf64_Phdr* segments = (const Elf64_Phdr*)((const char*)image + header->e_phoff);
    for (int k = 0; k < header->e_phnum; k++) {
        if (segments[k].p_type != PT_TLS) continue;
        shared = segments[k].p_memsz;
        if (segments[k].p_filesz) fail("%s: shared memory has initial values, which CUDA doesn't allow", path.c_str());
    }
    *loaded = new Module{handle, (char*)map->l_addr, path, shared};
    return SUCCESS;
}
// Modules stay loaded, since every OS thread keeps the addresses of its shared variables.
CALLED int cuModuleUnload(void*) { return SUCCESS; }
CALLED int cuModuleGetFunction(void** function, void* module, const char* name) {
    const Module* m = (const Module*)module;
    const Entry* entry = (const Entry*)dlsym(m->handle, ("emulated_entry_" + std::string(name)).c_str());
    if (!entry) return NOT_FOUND;
    *function = new Kernel{m, name, *entry};
    return SUCCESS;
}
CALLED int cuFuncGetAttribute(int* value, int attribute, void* function) {
    const Kernel& kernel = *(const Kernel*)function;
    switch (attribute) {
    case MAX_THREADS: *value = (int)kernel.entry.threads; break;
    case SHARED: *value = (int)kernel.module->shared; break;
    case LOCAL: *value = 0; break;
    case REGISTERS: *value = 32; break;
    default: return INVALID_VALUE;
    }
    return SUCCESS;
}
CALLED int cuFuncSetAttribute(void*, int, int) { return SUCCESS; }
CALLED int cuFuncGetParamInfo(void* function, size_t index, size_t* offset, size_t* size) {
    const Entry& entry = ((const Kernel*)function)->entry;
    if (index >= entry.parameters) return INVALID_VALUE;
    *offset = 0;
    *size = entry.bytes;
    return SUCCESS;
}
CALLED int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, size_t) {
    *blocks = (int)settings().occupancy;
    return SUCCESS;
}

// ---- launches

static int launch(void* function, Index grid, Index block, u32 shared, void** parameters, bool cooperative) {
    const Kernel& kernel = *(const Kernel*)function;
    const u64 blocks = (u64)grid.x * grid.y * grid.z, threads = (u64)block.x * block.y * block.z;
    if (blocks == 0 || threads == 0 || threads > kernel.entry.threads) return INVALID_VALUE;
    if (cooperative && blocks > (u64)(settings().multiprocessors * settings().occupancy)) return TOO_MANY_BLOCKS;
    const char* name = kernel.name.c_str();
    if (kernel.entry.parameters > 1) fail("kernel %s has %lu parameters, where one struct is expected", name, kernel.entry.parameters);
    const void* parameter = kernel.entry.parameters ? parameters[0] : nullptr;

    static std::mutex& one_at_a_time = *new std::mutex;
    const std::lock_guard<std::mutex> held(one_at_a_time);
    static u64 launches = 0;
    Launch now = {&kernel, grid, block, shared, parameter, cooperative, ++launches, blocks};
    if (settings().trace)
        fprintf(stderr, "emulated: launch %llu: %s, %llu blocks of %llu threads, %u bytes shared%s\n", (unsigned long long)now.number,
            name, (unsigned long long)blocks, (unsigned long long)threads, shared, cooperative ? ", cooperative" : "");
    run(now);
    const std::string wrong = damage();
    if (!wrong.empty())
        fail("kernel %s (launch %llu, program %s) wrote %s", name, (unsigned long long)now.number, kernel.module->path.c_str(),
            wrong.c_str());
    return SUCCESS;
}
CALLED int cuLaunchKernel(void* f, u32 gx, u32 gy, u32 gz, u32 bx, u32 by, u32 bz, u32 shared, void*, void** parameters, void**) {
    return launch(f, {gx, gy, gz}, {bx, by, bz}, shared, parameters, false);
}
CALLED int cuLaunchCooperativeKernel(void* f, u32 gx, u32 gy, u32 gz, u32 bx, u32 by, u32 bz, u32 shared, void*, void** parameters) {
    return launch(f, {gx, gy, gz}, {bx, by, bz}, shared, parameters, true);
}
