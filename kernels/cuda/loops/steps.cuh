// A loop over active elements with several steps a round. It is one cooperative launch, whatever the number of rounds. After each step
// blocks meet, so a step reads what the step before has written. Each warp keeps a list of its own short rows and one of its long rows, and
// each block a list of its hubs. Lists shrink in the last step of a round, without communication.
namespace vxm {

// The steps of a round, in order: the body of the first one, and the rest. `NoStep` or `Presence` ends the list.
template <class V, class Rest> struct Steps {
    typedef typename V::Elem Elem;
    typedef typename Rest::End End;
    static const bool is_end = false, is_last = Rest::is_end;
    V view;
    Rest rest;
};
struct NoStep {
    typedef NoStep End;
    static const bool is_end = true, is_kept = false;
};
template <class V> struct Steps<V, NoStep> {
    typedef typename V::Elem Elem;
    typedef NoStep End;
    static const bool is_end = false, is_last = true;
    V view;
};
// The presence bitmap of `V`, an expression of the state's own element, which a counting product over tiles reads. The loop keeps it up to
// date: it writes a bit where a new state changes the presence.
template <class V> struct Presence {
    typedef Presence End;
    static const bool is_end = true, is_kept = true;
    V view;
    u32* bits;
    template <class G, class T> VXM_FN bool at(G, u32 i, T state) const {
        typename V::Elem x;
        return view.at(RowVisitor<G, false>(word_of(state), nullptr), i, x);
    }
};
template <class V> VXM_FN const Presence<V>& end_of(const Presence<V>& end) { return end; }
template <class V, class Rest> VXM_FN const typename Rest::End& end_of(const Steps<V, Rest>& steps) { return end_of(steps.rest); }

// A step with the product `P`, at word `word` of the list of steps, which is counted for a warp's rows together.
template <class V, class P, u32 word> struct CountedStep {
    typedef typename V::Elem Elem;
    static const u32 at_word = word;
    typedef P Product;
    V view;
};
// A thread that visits a row with a known count.
struct CountingVisitor : RowVisitor<Thread, false> {
    u32 count;
    template <class W> VXM_FN CountingVisitor(W own, u32 count) : RowVisitor<Thread, false>(own, nullptr), count(count) {}
};
template <> struct KnowsCount<CountingVisitor> {
    static const bool value = true;
};
VXM_FN Thread without_row(CountingVisitor) { return Thread(); }

// The rows of one class, and where the lists of the warps (for hubs, of the blocks) are: `capacity` row numbers for each.
struct StepRows {
    const u32* rows; // null: all rows below `count`
    u64 count;
    u32* lists;
    u64 capacity;
    // Number `k` of the rows that are handed out in turn.
    VXM_FN u32 row(u64 k) const { return rows ? rows[k] : (u32)k; }
};

// The type behind a reference to a constant.
template <class T> struct Plain;
template <class T> struct Plain<const T&> {
    typedef T Type;
};
// The loop. `Active` tells active states. `in_place` says that a step has the same result whether or not its visits see each other's
// writes; otherwise all new states of a step are computed before the first is stored.
template <class Active, bool in_place, class List> struct SteppedLoop {
    typedef typename List::Elem T;
    StepRows shorts, longs, hubs;
    const T* initial; // the initial state; null: `state` already holds it
    u64 count;
    T* state;
    T* next_state;
    ActiveControl* control;
    u64* result;
    u64 max_rounds;
    List steps;

    // The numbers of rows in this warp's lists, and in its block's list of hubs.
    struct Remaining {
        u32 shorts, longs, hubs;
        VXM_FN bool any() const { return shorts | longs | hubs; }
    };

    // Visits get an active row with its state, and return whether the row stays active. They set `changed` if they change the state.
    // Computes the next state and stores it.
    template <class V> struct Take {
        const V& view;
        template <class G, class Visitor>
        VXM_FN bool operator()(const SteppedLoop& f, G g, const Visitor& visitor, u32 i, T own, bool& changed) const {
            T next;
            if (!view.selects(visitor, i) || !view.at(visitor, i, next) || same_bits(own, next)) return true;
            f.store(g, i, own, next);
            changed = true;
            return Active::call(next);
        }
    };
    // Computes the next state, without storing it.
    template <class V> struct Compute {
        const V& view;
        template <class G, class Visitor>
        VXM_FN bool operator()(const SteppedLoop& f, G g, const Visitor& visitor, u32 i, T own, bool&) const {
            T next;
            if (!view.selects(visitor, i) || !view.at(visitor, i, next)) next = own;
            if (g.first()) f.next_state[i] = next;
            return true;
        }
    };
    // Stores the next state.
    struct StoreNext {
        template <class G, class Visitor>
        VXM_FN bool operator()(const SteppedLoop& f, G g, const Visitor&, u32 i, T own, bool& changed) const {
            const T next = f.next_state[i];
            if (same_bits(own, next)) return true;
            // all members must have read the state before it changes
            sync_members(g);
            f.store(g, i, own, next);
            changed = true;
            return Active::call(next);
        }
        static VXM_FN void sync_members(Thread) {}
        static VXM_FN void sync_members(Warp) { __syncwarp(); }
        static VXM_FN void sync_members(Block) { __syncthreads(); }
    };
    // Stores a row's next state, and keeps the presence bitmap up to date.
    template <class G> VXM_FN void store(G g, u32 i, T own, T next) const {
        if (!g.first()) return;
        store_state(state + i, next);
        if constexpr (List::End::is_kept) {
            const auto& kept = end_of(steps);
            const bool has = kept.at(Thread(), i, next);
            if (kept.at(Thread(), i, own) != has) put_bit(kept.bits, i, has);
        }
    }
    // Visits one row by a group.
    template <class G, class Visit> VXM_FN bool visit_row(G g, u32 i, T own, const Visit& visit, bool& changed) const {
        if (!Active::call(own)) return false;
        return visit(*this, g, RowVisitor<G, false>(word_of(own), nullptr), i, own, changed);
    }
    // Visits up to 32 rows, one for each lane with `inside`. The rows' counts are computed by the warp, if the step has such a product.
    template <class V, class Visit> VXM_FN bool visit_batch(const V&, bool inside, u32 i, T own, const Visit& visit, bool& changed) const {
        return inside && visit_row(Thread(), i, own, visit, changed);
    }
    template <class V, class P, u32 word, class Visit>
    VXM_FN bool visit_batch(const CountedStep<V, P, word>& step, bool inside, u32 i, T own, const Visit& visit, bool& changed) const {
        bool stays = inside && Active::call(own);
        const bool wanted = stays && step.view.selects(RowVisitor<Thread, false>(word_of(own), nullptr), i);
        const P& product = *(const P*)((const u64*)&steps + word);
        const u32 count = product.count_rows(i, wanted);
        if (stays) stays = visit(*this, Thread(), CountingVisitor(word_of(own), count), i, own, changed);
        return stays;
    }

    // Visits this warp's short rows, a thread each. In the first round they come from the class, later from the list. If `keeps`, the list
    // then holds those that stay active, in order.
    template <class V, class Visit>
    VXM_FN void visit_shorts(const V& step, u32& remaining, bool first, bool keeps, const Visit& visit, bool& changed) const {
        const u64 w = first_of(Warp()), warps = step_of(Warp());
        u32* list = shorts.lists + w * shorts.capacity;
        u32 kept = 0;
        const u64 end = first ? shorts.count : remaining;
        for (u64 k = 0;; k++) {
            const u64 at = first ? (w + k * warps) * 32 + lane() : k * 32 + lane();
            if (at - lane() >= end) break;
            const bool inside = at < end;
            u32 i = 0;
            T own;
            if (inside) {
                i = first ? shorts.row(at) : list[at];
                own = load_state(state + i);
            }
            const bool stays = visit_batch(step, inside, i, own, visit, changed);
            if (!keeps) continue;
            // rows are read before they are overwritten, because no more are kept than were visited
            const u32 all = __ballot_sync(~0u, stays);
            if (stays) list[kept + __popc(all & ((1u << lane()) - 1))] = i;
            kept += __popc(all);
        }
        if (keeps) remaining = kept;
        __syncwarp();
    }
    // Visits the rows of a class by groups, one row after another. `list` is the group's own.
    template <class G, class Visit>
    VXM_FN void visit_by(G g, const StepRows& rows, u32& remaining, bool first, bool keeps, const Visit& visit, bool& changed) const {
        const u64 own = first_of(g), groups = step_of(g);
        u32* list = rows.lists + own * rows.capacity;
        u32 kept = 0;
        for (u64 k = 0;; k++) {
            const u64 at = first ? own + k * groups : k, end = first ? rows.count : remaining;
            if (at >= end) break;
            const u32 i = first ? rows.row(at) : list[at];
            const bool stays = visit_row(g, i, load_state(state + i), visit, changed);
            if (!keeps || !stays) continue;
            if (G::first()) list[kept] = i;
            kept++;
        }
        if (keeps) remaining = kept;
    }
    template <class V, class Visit>
    VXM_FN void pass(const V& step, Remaining& remaining, bool first, bool keeps, const Visit& visit, bool& changed) const {
        visit_shorts(step, remaining.shorts, first, keeps, visit, changed);
        if (longs.count > 0) visit_by(Warp(), longs, remaining.longs, first, keeps, visit, changed);
        if (hubs.count > 0) visit_by(Block(), hubs, remaining.hubs, first, keeps, visit, changed);
    }
    template <class V> static VXM_FN const V& view_of(const V& step) { return step; }
    template <class V, class P, u32 word> static VXM_FN const V& view_of(const CountedStep<V, P, word>& step) { return step.view; }
    // Takes step number `number`, counted over all rounds, and those behind it. Returns the number of the step after them.
    template <class Rest> VXM_FN u32 take(const Rest& rest, u32 number, Remaining& remaining, bool first, bool& changed) const {
        const bool keeps = Rest::is_last;
        const auto& view = view_of(rest.view);
        typedef typename Plain<decltype(view)>::Type V;
        if constexpr (in_place) {
            pass(rest.view, remaining, first, keeps, Take<V>{view}, changed);
        } else {
            pass(rest.view, remaining, first, false, Compute<V>{view}, changed);
            grid_barrier_wait(control);
            pass(NoStep(), remaining, first, keeps, StoreNext(), changed);
        }
        VXM_END_ROUND(number);
        if constexpr (!Rest::is_last) {
            grid_barrier_wait(control);
            return take(rest.rest, number + 1, remaining, first, changed);
        }
        return number + 1;
    }

    VXM_FN void copy_initial_state() const {
        if (!initial) return;
        const u64 words = count * sizeof(T) / 16;
        each_thread(words, [&](u64 k) { ((uint4*)state)[k] = ((const uint4*)initial)[k]; });
        if (blockIdx.x == 0)
            for (u64 i = words * 16 / sizeof(T) + threadIdx.x; i < count; i += blockDim.x) state[i] = initial[i];
        grid_barrier_wait(control);
    }
    // Fills the presence bitmap, by whole words.
    VXM_FN void begin_presence() const {
        if constexpr (List::End::is_kept) {
            const auto& kept = end_of(steps);
            for (u64 from = 32 * first_of(Warp()); from < count; from += 32 * step_of(Warp())) {
                const u64 i = from + lane();
                const bool has = i < count && kept.at(Thread(), (u32)i, load_state(state + (i < count ? i : 0)));
                const u32 word = __ballot_sync(~0u, has);
                if (lane() == 0) kept.bits[from / 32] = word;
            }
            grid_barrier_wait(control);
        }
    }
    VXM_FN void run() const {
        copy_initial_state();
        begin_presence();
        Remaining remaining = {0, 0, 0};
        [[maybe_unused]] u32 steps_taken = 0;
        for (u32 round = 0;; round++) {
            bool changed = false;
            steps_taken = take(steps, steps_taken, remaining, round == 0, changed);
            const bool some_left = __syncthreads_or(remaining.any()), some_changed = __syncthreads_or(changed);
            u32* flags = control->round_flags + round % 3;
            if (threadIdx.x == 0) atomicOr(flags, some_left | some_changed << 1);
            grid_barrier_wait(control);
            const u32 now = load_acquire(flags);
            // the flags of the round after the next: all blocks have read them, and none sets new ones before the next barrier
            if (blockIdx.x == 0 && threadIdx.x == 0) atomicExch(control->round_flags + (round + 2) % 3, 0);
            // The loop ends if no active element is left, if nothing changed (it stalled), or after the most rounds.
            const u32 rounds = round + (now != 0);
            if (now == 3 && rounds < max_rounds) continue;
            return leave_grid(control, [&] { post_to_host(result, rounds, now == 1 ? 1u : now == 3 ? 2u : 0u); });
        }
    }
};

} // namespace vxm
