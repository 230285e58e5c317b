// A loop over changed elements that stays on the device. A round visits the elements that read something which the previous round changed,
// until a round changes nothing. It is one cooperative launch, with a grid barrier in each round. If few elements changed, their readers
// are listed, each once, by means of a bit for each element. If many changed, all elements are visited, and changed elements are marked by
// bits instead.
namespace vxm {

// The readers of an element: the columns of its row.
struct ReaderRows {
    const u64* offsets;
    const u32* columns;
};
// The rows of one class.
struct RowList {
    const u32* list;
    u64 count;
};
// The control block: the grid barrier's counters, the number of blocks that have left, and for each of the last three rounds the number of
// elements that changed and the lengths of its lists of short and of long rows. All are zero at the start.
struct ChangedControl {
    u32 arrived, phase, departed, changed[3], short_counts[3], long_counts[3];
};

// Appends `i` to a list if `is_listed`. The active lanes reserve their places by one atomic addition.
VXM_FN void append(bool is_listed, u32* list, u32* length, u32 i) {
    const u32 all = __activemask(), here = __ballot_sync(all, is_listed);
    if (!here) return;
    const u32 first = __ffs(here) - 1;
    u32 at = 0;
    if (lane() == first) at = atomicAdd(length, __popc(here));
    at = __shfl_sync(all, at, first) + __popc(here & ((1u << lane()) - 1));
    if (is_listed) list[at] = i;
}

// Scatter-reduce: an element's new value is also combined into another element, its target. `F` of the element's state gives the target.
// `Join` combines values, and `Op` is its operator. `NoScatter` stands for a loop without it.
struct NoScatter {
    typedef void Operator;
    static const bool scatters = false;
    template <class T> static constexpr VXM_FN bool is_atomic_min() { return false; }
};
template <class F, class Join, class Op> struct ScatterReduce : Join {
    typedef Op Operator;
    static const bool scatters = true;
    // Whether the combination is one hardware instruction that keeps the minimum.
    template <class T> static constexpr VXM_FN bool is_atomic_min() { return Join::order < 0 && is_integer<T>(); }
    template <class T> static VXM_FN u32 target_of(T own) { return F::call(own); }
};

// What a loop over changed elements is compiled for.
// - `store_in_place`: a state is stored at once. Otherwise all new states are computed from the old ones first, and stored after a barrier.
// - `skewed_rows`: there are long rows, visited by a warp each, and hubs, visited by a block each.
// - `own`: an element is visited again after it changed itself.
// - `any`: any element may read any other, so all are visited in every round.
// - `matrices`: the number of matrices in `reader_rows`.
template <bool store_in_place, bool skewed_rows, bool own, bool any, u32 matrices> struct ChangedConfig {
    static const bool in_place = store_in_place, skewed = skewed_rows, reads_own = own, reads_any = any;
    static const u32 links = matrices;
};
// The loop. With a scatter-reduce other threads write the same elements, so results are combined into the state and never stored over it.
template <class V, class Scatter, class Config> struct ChangedLoop {
    typedef typename V::Elem T;
    static const bool in_place = Config::in_place, skewed = Config::skewed;
    static const bool reads_own = Config::reads_own, reads_any = Config::reads_any;
    static const u32 links = Config::links;
    u64 count;
    u64 max_rounds; // the most rounds
    T* state;
    T* next_state;
    u32* targets; // the targets of a round's elements, if results are scattered and not in place
    u32* due[2]; // the elements that a round visits, if it does not visit all: a bit for each; of even and odd rounds
    u32* short_lists[2]; // the due elements with short rows, listed
    u32* long_lists[2]; // the due elements with long rows, listed; hubs are found by their bits
    u32* changed_bits[2]; // the elements that changed in a round that visited all; of even and odd rounds
    u32* is_long; // the elements in `longs` and in `hubs`: a bit for each
    u32* is_hub;
    RowList longs;
    RowList hubs;
    ChangedControl* control;
    u64* result; // for the host: the number of rounds, and of elements that the last one changed
    ReaderRows reader_rows[links > 0 ? links : 1];
    V view;

    // Returns the state of element `i`, the same in all members of the group. With a scatter-reduce other threads may be writing it, so the
    // first member's value is used.
    template <class G> VXM_FN T own_state(G g, u32 i) const {
        const T x = load_state(state + i);
        if constexpr (Scatter::scatters) return from_first(g, Maybe<T>{x, true}).value;
        else return x;
    }
    // Combines `next` into element `target`, if that exists. Returns whether that changed it. `there` becomes the target's state found.
    VXM_FN bool join_into(u32 target, T next, T& there) const {
        if (target >= count) return false;
        // many elements may have the same target: a plain read spares most of them the atomic instruction
        there = load_state(state + target);
        return Scatter::join(state + target, there, next);
    }
    // Combines the new value of element `i` into it, where `before` is its old state, and into its target. Returns whether either changed.
    // If the target was not a root, the target's previous parent is lowered too. Otherwise that subtree would lose its link.
    VXM_FN bool scatter(u32 i, T before, T next, u32 target) const {
        // Compared with `before`, not with the present state: an intermediate result may have been published there already, and that was a
        // change.
        const bool changed = !same_bits(Scatter::call(before, next), before);
        Scatter::join(state + i, before, next);
        T there;
        if (!join_into(target, next, there)) return changed;
        const u32 next_target = Scatter::target_of(there);
        if (next_target != target) join_into(next_target, next, there);
        return true;
    }

    // Computes and stores in place. `visit` returns whether anything changed.
    struct Update {
        static const bool is_last = true;
        static const bool publishes = Scatter::template is_atomic_min<T>() && CompressesPaths<V, typename Scatter::Operator>::value;
        template <class G> static VXM_FN auto visitor(const ChangedLoop& c, u32 i, T before) {
            if constexpr (publishes) return PublishingVisitor<G, T>(word_of(before), c.state + i);
            else return RowVisitor<G, false>(word_of(before), nullptr);
        }
        template <class G> static VXM_FN bool visit(const ChangedLoop& c, G g, u32 i) {
            const T before = c.own_state(g, i);
            T next;
            const auto v = visitor<G>(c, i, before);
            const bool found = c.view.selects(v, i) && c.view.at(v, i, next);
            if constexpr (Scatter::scatters) {
                return g.first() && c.scatter(i, before, found ? Scatter::call(before, next) : before, Scatter::target_of(before));
            } else {
                if (!found || same_bits(before, next)) return false;
                if (g.first()) store_state(c.state + i, next);
                return true;
            }
        }
    };
    // Computes the next state, without storing it.
    struct ComputeNext {
        static const bool is_last = false;
        template <class G> static VXM_FN bool visit(const ChangedLoop& c, G g, u32 i) {
            const T before = c.own_state(g, i);
            T next;
            const RowVisitor<G, false> v(word_of(before), nullptr);
            if (!c.view.selects(v, i) || !c.view.at(v, i, next)) next = before;
            if constexpr (Scatter::scatters) {
                next = Scatter::call(before, next);
                if (g.first()) c.targets[i] = Scatter::target_of(before);
            }
            if (g.first()) c.next_state[i] = next;
            return false;
        }
    };
    // Stores the next state.
    struct StoreNext {
        static const bool is_last = true;
        template <class G> static VXM_FN bool visit(const ChangedLoop& c, G g, u32 i) {
            const T next = c.next_state[i];
            if constexpr (Scatter::scatters) return g.first() && c.scatter(i, load_state(c.state + i), next, c.targets[i]);
            if (same_bits(load_state(c.state + i), next)) return false;
            if (g.first()) store_state(c.state + i, next);
            return true;
        }
    };

    // Puts element `i` on the lists of the next round.
    VXM_FN void schedule(u32 round, u32 i) const {
        const bool newly_due = set_bit(due[round + 1 & 1], i);
        if constexpr (skewed) {
            const bool is_long_row = bit(is_long, i);
            append(newly_due && is_long_row, long_lists[round + 1 & 1], control->long_counts + (round + 1) % 3, i);
            append(newly_due && !is_long_row && !bit(is_hub, i), short_lists[round + 1 & 1], control->short_counts + (round + 1) % 3, i);
        } else {
            append(newly_due, short_lists[round + 1 & 1], control->short_counts + (round + 1) % 3, i);
        }
    }
    // Schedules the readers of element `i`, by a group.
    template <class G> VXM_FN void schedule_readers(G g, u32 round, u32 i) const {
        if (reads_own && g.first()) schedule(round, i);
#pragma unroll
        for (u32 l = 0; l < links; l++) {
            const u64 end = reader_rows[l].offsets[i + 1];
            for (u64 p = reader_rows[l].offsets[i] + g.rank(); p < end; p += g.members()) schedule(round, reader_rows[l].columns[p]);
        }
    }
    // Schedules the readers of the lanes' elements. If an element has more than 32 readers, the whole warp schedules them.
    VXM_FN void schedule_readers_of_lanes(u32 round, bool changed, u32 i) const {
        u64 readers = 0;
        if (changed)
            for (u32 l = 0; l < links; l++) readers += reader_rows[l].offsets[i + 1] - reader_rows[l].offsets[i];
        const bool many = readers > 32;
        if (changed && !many) schedule_readers(Thread(), round, i);
        __syncwarp();
        for (u32 todo = __ballot_sync(~0u, many); todo; todo &= todo - 1)
            schedule_readers(Warp(), round, __shfl_sync(~0u, i, __ffs(todo) - 1));
        __syncwarp();
    }

    // Records which of the lanes' elements changed: their readers are scheduled, or, in a round that visits all, they are marked.
    VXM_FN void record_changes(u32 round, bool all, bool changed, u32 i, u32& changes) const {
        const u32 moves = __ballot_sync(~0u, changed);
        changes += __popc(moves);
        if (reads_any) return;
        if (!all) schedule_readers_of_lanes(round, changed, i);
        else if (skewed && changed) atomicOr(changed_bits[round & 1] + (i >> 5), 1u << (i & 31));
        else if (!skewed && lane() == 0) changed_bits[round & 1][i >> 5] = moves; // the word belongs to this warp alone
    }
    // Clears the due bits of the word of element `i`. Bits of hubs stay: `visit_hubs` clears them.
    VXM_FN void clear_due(u32 round, u32 i) const {
        if constexpr (skewed) atomicAnd(due[round & 1] + (i >> 5), is_hub[i >> 5]);
        else due[round & 1][i >> 5] = 0;
    }
    template <class Phase> VXM_FN void visit_all(u32 round, u32& changes) const {
        for (u64 w = first_of(Warp()); w < (count + 31) / 32; w += step_of(Warp())) {
            const u32 i = (u32)(w * 32 + lane());
            const bool mine = w * 32 + lane() < count && !(skewed && (is_long[w] | is_hub[w]) >> lane() & 1);
            if (!reads_any && Phase::is_last && lane() == 0) {
                due[0][w] = due[1][w] = 0;
                if (skewed) changed_bits[round + 1 & 1][w] = 0;
            }
            record_changes(round, true, mine && Phase::visit(*this, Thread(), i), i, changes);
        }
    }
    template <class Phase> VXM_FN void visit_listed(u32 round, u32& changes) const {
        const u32 length = load_acquire(control->short_counts + round % 3);
        for (u64 at = first_of(Warp()) * 32; at < length; at += step_of(Warp()) * 32) {
            const bool inside = at + lane() < length;
            const u32 i = inside ? short_lists[round & 1][at + lane()] : 0;
            if (Phase::is_last && inside) clear_due(round, i);
            const bool changed = inside && Phase::visit(*this, Thread(), i);
            __syncwarp();
            record_changes(round, false, changed, i, changes);
        }
    }
    // Visits long rows, a warp each.
    template <class Phase> VXM_FN void visit_long(u32 round, bool all, u32& changes) const {
        const u64 length = all ? longs.count : load_acquire(control->long_counts + round % 3);
        const u32* list = all ? longs.list : long_lists[round & 1];
        for (u64 at = first_of(Warp()); at < length; at += step_of(Warp())) {
            const u32 i = list[at];
            if (Phase::is_last && !all && lane() == 0) clear_due(round, i);
            // All lanes must take the same branch, though they may have read different states. The first lane's result decides.
            if (!__shfl_sync(~0u, (int)Phase::visit(*this, Warp(), i), 0)) continue;
            changes++;
            if (reads_any) continue;
            if (!all) schedule_readers(Warp(), round, i);
            else if (lane() == 0) atomicOr(changed_bits[round & 1] + (i >> 5), 1u << (i & 31));
            __syncwarp();
        }
    }
    // Visits hubs, a block each.
    template <class Phase> VXM_FN void visit_hubs(u32 round, bool all, u32& changes) const {
        for (u64 k = blockIdx.x; k < hubs.count; k += gridDim.x) {
            const u32 i = hubs.list[k];
            u32* word = due[round & 1] + (i >> 5);
            const u32 one = 1u << (i & 31);
            if (!__syncthreads_or(all || (threadIdx.x == 0 && *word & one))) continue;
            if (Phase::is_last && !all && threadIdx.x == 0) atomicAnd(word, ~one);
            const bool moves = Phase::visit(*this, Block(), i);
            if (!__syncthreads_or(threadIdx.x == 0 && moves)) continue;
            if (warp() == 0) changes++;
            if (reads_any) continue;
            if (!all) schedule_readers(Block(), round, i);
            else if (threadIdx.x == 0) atomicOr(changed_bits[round & 1] + (i >> 5), 1u << (i & 31));
        }
    }
    // Visits all elements, or those that are due. Returns the number that changed, of this warp's.
    template <class Phase> VXM_FN u32 pass(u32 round, bool all) const {
        u32 changes = 0;
        if (all) visit_all<Phase>(round, changes);
        else visit_listed<Phase>(round, changes);
        if constexpr (skewed) {
            visit_long<Phase>(round, all, changes);
            visit_hubs<Phase>(round, all, changes);
        }
        return changes;
    }

    // Schedules the readers of the elements that changed in a round that visited all.
    VXM_FN void expand(u32 round) const {
        const u64 threads = (u64)gridDim.x * blockDim.x, words = (count + 31) / 32;
        for (u64 w = (u64)blockIdx.x * blockDim.x + threadIdx.x; w - lane() < words; w += threads) {
            u32* word = changed_bits[round & 1] + w;
            u32 bits = w < words ? *word : 0;
            if (bits) *word = 0;
            while (__any_sync(~0u, bits)) {
                schedule_readers_of_lanes(round, bits != 0, (u32)(w * 32 + __ffs(bits) - 1));
                bits &= bits - 1;
            }
        }
    }

    VXM_FN void run() const {
        if constexpr (skewed) {
            each_thread(longs.count, [&](u64 k) { set_bit(is_long, longs.list[k]); });
            each_thread(hubs.count, [&](u64 k) { set_bit(is_hub, hubs.list[k]); });
            grid_barrier_wait(control);
        }
        bool all = true;
        for (u32 round = 0;; round++) {
            u32 changes;
            if constexpr (in_place) {
                changes = pass<Update>(round, all);
            } else {
                pass<ComputeNext>(round, all);
                grid_barrier_wait(control);
                changes = pass<StoreNext>(round, all);
            }
            VXM_END_ROUND(round);
            if (lane() == 0 && changes) atomicAdd(control->changed + round % 3, changes);
            grid_barrier_wait(control);
            const u32 now = load_acquire(control->changed + round % 3);
            if (blockIdx.x == 0 && threadIdx.x == 0) {
                // Resets the counters for the round after the next. All blocks have read this round's list lengths, and the previous
                // round's number of changes, before the barrier above. No block writes these slots again before the next barrier.
                control->short_counts[round % 3] = control->long_counts[round % 3] = control->changed[(round + 2) % 3] = 0;
            }
            if (now == 0 || round + 1 >= max_rounds) return leave_grid(control, [&] { post_to_host(result, round + 1, now); });
            const bool next = reads_any || now >= count / 64;
            if (all && !next) {
                expand(round);
                grid_barrier_wait(control);
            }
            all = next;
        }
    }
};

} // namespace vxm
