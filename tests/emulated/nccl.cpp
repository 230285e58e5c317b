// The part of NCCL that the project uses, for ranks that are threads of one process. Device memory is host memory, and launches are over when
// they return, so a group's sends and receives are copies.
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#define CALLED extern "C" __attribute__((visibility("default")))

namespace {

struct Id {
    char internal[128];
};

// A message on its way: the receiver takes it, and then the sender may go on.
struct Message {
    const void* bytes;
    size_t count;
    bool taken;
};

struct Group {
    std::mutex mutex;
    std::condition_variable changed;
    int joined = 0;
    // by sender and receiver, in the order of sending
    std::map<std::pair<int, int>, std::vector<Message*>> messages;
};

struct Communicator {
    std::shared_ptr<Group> group;
    int rank;
};

struct Call {
    Communicator* communicator;
    bool sends;
    void* bytes;
    size_t count;
    int peer;
};

std::mutex groups_mutex;
std::map<std::string, std::shared_ptr<Group>>& groups() {
    static auto& all = *new std::map<std::string, std::shared_ptr<Group>>;
    return all;
}
thread_local std::vector<Call> calls;
thread_local bool grouped = false;

enum Result { SUCCESS = 0, INVALID_ARGUMENT = 4, INVALID_USAGE = 5 };

} // namespace

CALLED int ncclGetVersion(int* version) {
    *version = 22700;
    return SUCCESS;
}
CALLED const char* ncclGetErrorString(int result) { return result == SUCCESS ? "no error" : "invalid argument or usage"; }
CALLED int ncclGetUniqueId(Id* id) {
    static unsigned next = 0;
    const std::lock_guard<std::mutex> held(groups_mutex);
    memset(id, 0, sizeof *id);
    snprintf(id->internal, sizeof id->internal, "emulated %u", next++);
    groups()[id->internal] = std::make_shared<Group>();
    return SUCCESS;
}
CALLED int ncclCommInitRank(Communicator** communicator, int size, Id id, int rank) {
    std::shared_ptr<Group> group;
    {
        const std::lock_guard<std::mutex> held(groups_mutex);
        const auto found = groups().find(id.internal);
        if (found == groups().end() || rank < 0 || rank >= size) return INVALID_ARGUMENT;
        group = found->second;
    }
    std::unique_lock<std::mutex> held(group->mutex);
    group->joined++;
    group->changed.notify_all();
    group->changed.wait(held, [&] { return group->joined >= size; });
    *communicator = new Communicator{group, rank};
    return SUCCESS;
}
CALLED int ncclCommDestroy(Communicator* communicator) {
    delete communicator;
    return SUCCESS;
}
CALLED int ncclCommAbort(Communicator* communicator) { return ncclCommDestroy(communicator); }
CALLED int ncclGroupStart() {
    grouped = true;
    return SUCCESS;
}
CALLED int ncclSend(const void* bytes, size_t count, int, int peer, Communicator* communicator, void*) {
    if (!grouped) return INVALID_USAGE;
    calls.push_back({communicator, true, const_cast<void*>(bytes), count, peer});
    return SUCCESS;
}
CALLED int ncclRecv(void* bytes, size_t count, int, int peer, Communicator* communicator, void*) {
    if (!grouped) return INVALID_USAGE;
    calls.push_back({communicator, false, bytes, count, peer});
    return SUCCESS;
}
CALLED int ncclGroupEnd() {
    std::vector<std::unique_ptr<Message>> sent;
    for (const Call& call : calls)
        if (call.sends) {
            sent.emplace_back(new Message{call.bytes, call.count, false});
            Group& group = *call.communicator->group;
            const std::lock_guard<std::mutex> held(group.mutex);
            group.messages[{call.communicator->rank, call.peer}].push_back(sent.back().get());
            group.changed.notify_all();
        }
    int result = SUCCESS;
    for (const Call& call : calls)
        if (!call.sends) {
            Group& group = *call.communicator->group;
            std::unique_lock<std::mutex> held(group.mutex);
            auto& queue = group.messages[{call.peer, call.communicator->rank}];
            group.changed.wait(held, [&] { return !queue.empty(); });
            Message& message = *queue.front();
            queue.erase(queue.begin());
            if (message.count == call.count) memcpy(call.bytes, message.bytes, call.count);
            else {
                fprintf(stderr, "emulated: NCCL: %zu bytes sent, %zu asked for\n", message.count, call.count);
                result = INVALID_ARGUMENT;
            }
            message.taken = true;
            group.changed.notify_all();
        }
    size_t k = 0;
    for (const Call& call : calls)
        if (call.sends) {
            Group& group = *call.communicator->group;
            std::unique_lock<std::mutex> held(group.mutex);
            const Message& message = *sent[k++];
            group.changed.wait(held, [&] { return message.taken; });
        }
    calls.clear();
    grouped = false;
    return result;
}
