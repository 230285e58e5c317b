#include "memory.hpp"
#include "fibers.hpp"
#include "settings.hpp"
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <sys/mman.h>
namespace emulated {

// A fence lies before and behind each buffer. New and freed buffers are filled with patterns that cannot pass for an answer.
const size_t FENCE = 256, PAGE = 4096;
const unsigned char FENCED = 0xc3, NEW = 0xa5, FREED = 0x5a;
// At most this many bytes of a buffer are filled, since touching pages takes time.
const size_t FILLED = 64 << 20;

struct Buffer {
    size_t size, rounded;
    char* pages; // where the buffer's own mapping begins; null if it has none
    size_t mapped;
    bool adopted; // the program's own, without fences
    bool on_host; // page-locked memory of the host, which takes none of the device's
};
// Never destroyed, since threads that outlive the exit of the process may still use them.
static std::mutex& lock = *new std::mutex;
static std::map<uint64_t, Buffer>& buffers = *new std::map<uint64_t, Buffer>;
static size_t used = 0, peak = 0;

bool allocate(uint64_t* address, size_t size, bool on_host) {
    const std::lock_guard<std::mutex> held(lock);
    if (!on_host && (size > settings().memory || used + size > settings().memory)) return false;
    Buffer buffer = {size, (size + FENCE - 1) / FENCE * FENCE, nullptr, 0, false, on_host};
    char* data;
    if (settings().guard) {
        // the buffer, rounded up, ends where an inaccessible page begins; a fence lies before it
        const size_t open = (buffer.rounded + FENCE + PAGE - 1) / PAGE * PAGE;
        buffer.mapped = open + 2 * PAGE;
        void* pages = mmap(nullptr, buffer.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (pages == MAP_FAILED) return false;
        buffer.pages = (char*)pages;
        if (mprotect(buffer.pages + PAGE, open, PROT_READ | PROT_WRITE)) return false;
        data = buffer.pages + PAGE + open - buffer.rounded;
    } else {
        char* block = (char*)aligned_alloc(FENCE, buffer.rounded + 2 * FENCE);
        if (!block) return false;
        data = block + FENCE;
        memset(data + buffer.rounded, FENCED, FENCE);
    }
    memset(data - FENCE, FENCED, FENCE);
    memset(data + size, FENCED, buffer.rounded - size);
    memset(data, NEW, std::min(size, FILLED));
    *address = (uint64_t)data;
    buffers[*address] = buffer;
    if (on_host) return true;
    used += size;
    peak = std::max(peak, used);
    return true;
}

void adopt(uint64_t address, size_t size) {
    const std::lock_guard<std::mutex> held(lock);
    buffers[address] = {size, size, nullptr, 0, true, true};
}

void release(uint64_t address) {
    const std::lock_guard<std::mutex> held(lock);
    const auto found = buffers.find(address);
    if (found == buffers.end()) fail("%#llx is freed, where no buffer begins", (unsigned long long)address);
    const Buffer buffer = found->second;
    buffers.erase(found);
    if (!buffer.on_host) used -= buffer.size;
    if (buffer.adopted) return;
    if (buffer.pages) {
        munmap(buffer.pages, buffer.mapped);
    } else {
        memset((void*)address, FREED, std::min(buffer.size, FILLED));
        free((char*)address - FENCE);
    }
}

size_t memory_used() {
    const std::lock_guard<std::mutex> held(lock);
    return used;
}
size_t memory_peak() {
    const std::lock_guard<std::mutex> held(lock);
    return peak;
}
void forget_peak() {
    const std::lock_guard<std::mutex> held(lock);
    peak = used;
}

bool in_a_buffer(uint64_t address, size_t size) {
    const std::lock_guard<std::mutex> held(lock);
    const auto after = buffers.upper_bound(address);
    if (after == buffers.begin()) return false;
    const auto& [begin, buffer] = *std::prev(after);
    return address + size <= begin + buffer.size;
}

std::string whereabouts(uint64_t address) {
    const std::unique_lock<std::mutex> held(lock, std::try_to_lock);
    if (!held) return "somewhere";
    const auto after = buffers.upper_bound(address);
    const uint64_t near = 1 << 20;
    if (after != buffers.begin()) {
        const auto& [begin, buffer] = *std::prev(after);
        const std::string of = " of a buffer of " + std::to_string(buffer.size) + " bytes";
        if (address < begin + buffer.size) return "byte " + std::to_string(address - begin) + of;
        const uint64_t past = address - begin - buffer.size;
        if (past < near) return std::to_string(past) + " bytes past the end" + of;
    }
    if (after != buffers.end() && after->first - address < near) {
        const std::string of = " of a buffer of " + std::to_string(after->second.size) + " bytes";
        return std::to_string(after->first - address) + " bytes before the begin" + of;
    }
    return "near no buffer";
}

std::string damage() {
    const std::lock_guard<std::mutex> held(lock);
    for (const auto& [begin, buffer] : buffers) {
        if (buffer.adopted) continue;
        const unsigned char* data = (const unsigned char*)begin;
        const std::string of = " of a buffer of " + std::to_string(buffer.size) + " bytes";
        for (size_t k = 1; k <= FENCE; k++)
            if (*(data - k) != FENCED) return std::to_string(k) + " bytes before the begin" + of;
        const size_t fenced = buffer.rounded + (buffer.pages ? 0 : FENCE);
        for (size_t k = buffer.size; k < fenced; k++)
            if (data[k] != FENCED) return std::to_string(k - buffer.size) + " bytes past the end" + of;
    }
    return "";
}

} // namespace emulated
