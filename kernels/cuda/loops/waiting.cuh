// Elements that wait while a loop relaxes edges: their values are worse than a limit, so they may change again before they are settled. Once no
// other element is due, the limit rises, and the best of them are (Davidson, Baxter, Garland and Owens, "Work-efficient parallel GPU methods for
// single-source shortest paths": near and far elements).
namespace vxm {

// All words are zero at the start.
struct WaitingControl {
    u32 length[2]; // of the lists
    u64 best[2];   // the rank of the best value of each list, or of a better one; 0 if it is empty
    u64 steps;     // how many edges of a sample make a value worse
    double loss;   // by how much, all together
};
// Two lists: one is split into the elements that are due, and the other list. A bit of `marks` for each element says whether it waits.
// `order` is -1 if the least value is the best, 1 if the greatest is.
template <class T, int order> struct Waiting {
    u32* lists[2];
    u32* marks;
    WaitingControl* control;
    double width; // how much worse than the best a value may be to be due, in mean losses along an edge

    // How bad a value is.
    static VXM_FN double distance(T x) { return order < 0 ? (double)x : -(double)x; }
    // A number above 0 that is greater for less distance.
    static VXM_FN u64 rank_of(double distance) {
        const u64 bits = word_of(distance);
        return ~(bits >> 63 ? ~bits : bits | 1ull << 63);
    }
    static VXM_FN double distance_of(u64 rank) {
        const u64 bits = ~rank;
        return element<double>(bits >> 63 ? bits & ~(1ull << 63) : ~bits);
    }
    VXM_FN List list(u32 number, u64 room, u32* flags, u32 overflow) const {
        return {lists[number], control->length + number, room, flags, overflow};
    }

    // Lets the lanes' elements that have values worse than the limit wait. Takes them out of `changed`. Those with better values don't wait
    // any more. `best` becomes the rank of the best that wait.
    template <u32 n>
    VXM_FN void hold(bool (&changed)[n], const u32 (&i)[n], const T (&values)[n], double limit, StagedList& staged, const List& to,
                     bool directly, u64& best) const {
        bool waits[n];
#pragma unroll
        for (u32 k = 0; k < n; k++) {
            waits[k] = false;
            if (!changed[k]) continue;
            const double x = distance(values[k]);
            if (x > limit) {
                changed[k] = false;
                waits[k] = set_bit(marks, i[k]);
                best = max(best, rank_of(x));
            } else if (bit(marks, i[k])) {
                release(i[k]);
            }
        }
        staged.add(waits, i, to, directly);
    }
    VXM_FN void release(u32 i) const { atomicAnd(marks + (i >> 5), ~(1u << (i & 31))); }

    // Adds up how much worse values get along a sample of edges, if they begin with `x`. All threads of the launch call this.
    template <class E> VXM_FN void sample(const E& edges, T x) const {
        const u64 threads = (u64)gridDim.x * blockDim.x, stride = max(edges.entries / threads, (u64)1);
        const u64 p = ((u64)blockIdx.x * blockDim.x + threadIdx.x) * stride;
        const double step = p < edges.entries ? distance(edges.product(x, p)) - distance(x) : 0;
        const bool counts = step > 0 && step < 1e300;
        double loss = counts ? step : 0;
#pragma unroll
        for (u32 k = 1; k < 32; k *= 2) loss += element<double>(__shfl_sync(~0u, word_of(loss), lane() ^ k));
        const u32 steps = __popc(__ballot_sync(~0u, counts));
        if (lane() > 0 || !steps) return;
        atomicAdd(&control->loss, loss);
        atomicAdd(&control->steps, (u64)steps);
    }
    // The width of what is due, after a barrier; without an edge that makes a value worse, no element waits.
    VXM_FN double measured_width() const { return control->steps ? width * control->loss / control->steps : 1e300; }
    // The rank of the best value of a list, and the list's length, after a barrier.
    VXM_FN u64 best_of(u32 number) const { return *(volatile u64*)(control->best + number); }
    VXM_FN u32 length_of(u32 number) const { return *(volatile u32*)(control->length + number); }
    VXM_FN void clear(u32 number) const { control->length[number] = 0, control->best[number] = 0; }
};

} // namespace vxm
