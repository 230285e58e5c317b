// A loop over active elements that stays on the device: it visits every active element until none is left. It is one cooperative launch.
// Each warp keeps a list of its own short rows and one of its long rows, and each block a list of its hubs. So lists shrink without
// communication.
namespace vxm {

// Whether a visited element is still active, and whether the visit changed it.
struct VisitResult {
    bool still_active, changed;
};
// The schedules, as tags of `run`.
struct Rounds {};
struct Asynchronous {};

// Stands for a product or a first-round body that a loop does not have.
struct Absent {
    static const bool compacts = false, prefilters = false, caches_start = false, caches_bounds = false;
    typedef Absent Product;
    static const u32 at = 0;
};
// The product with tracked blockers. It begins at word `word` of the body.
template <class P, u32 word> struct TrackedProduct {
    typedef P Product;
    static const u32 at = word;
};
// The loop's body, and the body of the first round if that has its own.
template <class V, class Start> struct Bodies {
    V view;
    Start start;
};
template <class V> struct Bodies<V, Absent> {
    V view;
};
// How rows are visited.
// - `in_place`: a state may be stored at once. Otherwise all new states are computed from the old ones first, and stored after a barrier.
// - `revisits`: blocked rows are tested again at once, while what they read is still in a cache. This pays if a pass covers many rows,
//   because the next pass comes much later.
template <bool in_place, bool revisits> struct VisitConfig {
    static const bool monotone = in_place, immediate_revisit = revisits;
};
// What rows there are, and what is kept for each.
// - `uneven`: there are long rows and hubs. A kernel without them needs fewer registers.
// - `live_mask`: a short row's record has a live-edge mask. `tails`: rows may have more entries than the mask has bits.
template <bool uneven, bool live_mask, bool tails> struct RowConfig {
    static const bool skewed = uneven, keeps_live_mask = live_mask, has_tails = tails;
};
// The unroll depth of a thread that reduces a row, and of one that filters its entries.
template <u32 reduce, u32 prefilter> struct UnrollConfig {
    static const u32 unroll = reduce, prefilter_unroll = prefilter;
};
// `CopiesOf` says where copies of states lie on other GPUs.
template <class Visit, class Row, class Unroll, class CopiesOf> struct ActiveConfig : Visit, Row, Unroll {
    typedef CopiesOf Copies;
};
// The loop. `Start` is the body of the first round, or `Absent`. `Active` tells active states. `Blocking` is the `TrackedProduct`, or
// `Absent`.
template <class V, class Start, class Active, class Blocking, class LoopConfig> struct ActiveLoop : LoopConfig::Copies {
    typedef typename V::Elem T;
    typedef typename Blocking::Product Tracked;
    static const bool monotone = LoopConfig::monotone, immediate_revisit = LoopConfig::immediate_revisit;
    static const bool skewed = LoopConfig::skewed, keeps_live_mask = LoopConfig::keeps_live_mask, has_tails = LoopConfig::has_tails;
    static const u32 unroll = LoopConfig::unroll, prefilter_unroll = LoopConfig::prefilter_unroll;
    static const bool tracks_blockers = !is_same<Tracked, Absent>::value;
    // Whether the hubs' entries are compacted before any row is visited.
    static const bool compacts_hubs = skewed && Tracked::compacts;
    // Whether a row's entries are filtered by key before the row is visited.
    static const bool prefilters = keeps_live_mask && Tracked::prefilters;
    // Whether a long row's start and its number of live entries are loaded before the visit.
    static const bool caches_bounds = compacts_hubs && Tracked::caches_bounds;
    // Whether long rows are kept in lists by class of length. Blockers are mostly among the longest rows. So those are started before all
    // others, and tested in every pass, however many rows remain to start or to test.
    static const bool ranks_long_rows = compacts_hubs && prefilters;
    // Whether two blockers of a row are kept. Where row lengths differ much, a row with one blocker mostly has more.
    static const bool two_blockers = skewed && keeps_live_mask;
    // Whether a record holds the row's first position. A prefiltered row needs its offsets for nothing else.
    static const bool caches_start = prefilters && !two_blockers && Tracked::caches_start;
    typedef typename Conditional<tracks_blockers, BlockedRow, ActiveRow>::type PlainRecord;
    typedef typename Conditional<keeps_live_mask, MaskedRow, PlainRecord>::type UncachedRecord;
    typedef typename Conditional<caches_start, CachedStartRow, UncachedRecord>::type OneBlockerRecord;
    typedef typename Conditional<two_blockers, TwoBlockersRow, OneBlockerRecord>::type Record;
    static const RowAccess list_access = caches_start ? (has_tails ? cached_start : short_cached_start)
                                          : keeps_live_mask ? live_mask : all_entries;
    typedef ReadyRow<T, list_access> Ready;
    // The number of rows of a list that a warp tests for blockers together.
    static const u32 TEST_BATCH = tracks_blockers && (!keeps_live_mask || (prefilters && !skewed)) ? 64 : 32;
    // The numbers of `Config` come from the engine's tuning table (src/backend/tuning.rs), where their reasons stand. A long row with at most
    // `lane_row` live entries may be visited by one lane, if there are at least `lane_rows` such rows; one with at most `eight_lane_row` by
    // eight lanes. While long rows remain, a pass tests only the first of the short rows; every `short_rows_every`-th pass tests all.
    // For lists by class of length: the number of classes, the longest first. Between two tests of the longest class, `begin_rows` rows of
    // a shorter class, or `begin_batches` batches of short rows, are started. `look_rows` is the number of rows that a pass tests of a
    // class that it does not test whole.
    static const u32 LENGTH_CLASSES = 4;
    RowClass shorts, longs, ranked[LENGTH_CLASSES], hubs;
    const T* initial; // the initial state; null: `state` already holds it
    u64 count;
    T* state;
    T* next_state;
    TerminationDetection termination;
    Bodies<V, Start> body;

    // What is left of each list of a warp, and of the block's hubs.
    struct Remaining {
        Ring<Record> shorts, longs;
        u32 hubs;
        // For lists by class of length: the number of batches of short rows started, whether all are started, and whether this pass has
        // started any. `longs` then holds no rows, but the number of them.
        u32 batches_started = 0;
        bool all_started = !ranks_long_rows, started_any = false;
        VXM_FN bool any() const { return shorts.count | longs.count | hubs | !all_started; }
    };
    template <class G> static constexpr VXM_FN u32 unroll_of() { return is_same<G, Thread>::value ? unroll : G::unroll; }
    static VXM_FN Ring<Record> ring(const RowClass& row_class) {
        Record* items = row_class.in_shared ? (Record*)((char*)vxm_shared_lists + row_class.storage) + warp() * row_class.capacity
                                            : (Record*)row_class.storage + first_of(Warp()) * row_class.capacity;
        // computed once, not at each use
        asm("" : "+l"(items));
        return {items, (u32)row_class.capacity, 0, 0};
    }

    // A phase of a round, which computes and stores in place. Its `visit` takes the row's own state in `own`, which becomes the new one.
    // `context` receives the row's blockers and live-edge mask. `FirstRound` is the phase to use in the first round.
    template <bool uses_start> struct UpdateBy {
        typedef UpdateBy<!is_same<Start, Absent>::value> FirstRound;
        template <RowAccess access, class G>
        static VXM_FN VisitResult visit(const ActiveLoop& f, G g, u32 i, T& own, RowContext* context = nullptr) {
            VisitResult v = {Active::call(own), false};
            // the body of the first round does not say which entries of the tracked product are live
            const bool records = tracks_blockers && !is_same<G, Block>::value;
            const RowVisitor<G, records, unroll_of<G>(), uses_start ? all_entries : access> visitor(word_of(own), context);
            T next;
            if (!v.still_active || !evaluate(f.body, visitor, i, next) || same_bits(own, next)) return v;
            if (g.first()) {
                store_state(f.state + i, next);
                f.store_copies(i, next);
            }
            own = next;
            v.changed = true;
            v.still_active = Active::call(next);
            return v;
        }
        template <class B, class G> static VXM_FN bool evaluate(const B& body, G g, u32 i, T& next) {
            if constexpr (uses_start) return body.start.selects(g, i) && body.start.at(g, i, next);
            else return body.view.selects(g, i) && body.view.at(g, i, next);
        }
    };
    typedef UpdateBy<false> Update;
    // Computes the next state, without storing it.
    struct ComputeNext {
        typedef ComputeNext FirstRound;
        template <RowAccess, class G>
        static VXM_FN VisitResult visit(const ActiveLoop& f, G g, u32 i, const T& own, RowContext* = nullptr) {
            const VisitResult v = {Active::call(own), false};
            if (!v.still_active) return v;
            const RowVisitor<G, false, unroll_of<G>()> visitor(word_of(own), nullptr);
            T next;
            if (!f.body.view.selects(visitor, i) || !f.body.view.at(visitor, i, next)) next = own;
            if (g.first()) f.next_state[i] = next;
            return v;
        }
    };
    // Stores the next state.
    struct StoreNext {
        typedef StoreNext FirstRound;
        template <RowAccess, class G>
        static VXM_FN VisitResult visit(const ActiveLoop& f, G g, u32 i, const T& own, RowContext* = nullptr) {
            const T next = f.next_state[i];
            if (g.first()) store_state(f.state + i, next);
            return {Active::call(next), !same_bits(own, next)};
        }
    };

    // Visits up to 32 rows, one for each lane with `inside`, and keeps those that stay active.
    template <class Phase, RowAccess access> VXM_FN void visit_batch(Ring<Record>& ring, bool inside, Ready of, bool& changed) const {
        VisitResult v = {false, false};
        RowContext context = of.context();
        if (inside) v = Phase::template visit<access>(*this, Thread(), of.row, of.own, &context);
        changed |= v.changed;
        ring.push(v.still_active, Record::of(of.row, context));
    }
    // Visits rows by groups of lanes, one row for each group with `inside`, and keeps those that stay active.
    template <class Phase, RowAccess access, class L>
    VXM_FN void visit_row(Ring<Record>& ring, L lanes, bool inside, u32 i, T own, RowContext context, bool& changed) const {
        VisitResult v = {false, false};
        if (inside) v = Phase::template visit<access>(*this, lanes, i, own, &context);
        changed |= v.changed;
        // the first member's result decides: other members may have read different states
        ring.push(v.still_active && L::first(), Record::of(i, context));
    }
    // Takes rows from the front of a list: `TEST_BATCH` of them, or `most` if that is less (not 0). Rows that are still blocked go to the
    // list's end, the others to `ready`. Returns the number of the latter.
    VXM_FN u32 pop_unblocked(Ring<Record>& ring, u32 most, Ready* ready) const;
    // Filters the entries of 32 short rows by key, from number `at` of the class. A row with entries that pass goes to the list, blocked by
    // one of them whatever that one's state is. Active rows without any go to `ready`. Returns the number of the latter.
    VXM_FN u32 prefilter_short(Ring<Record>& ring, u64 at, Ready* ready) const;
    // Filters the entries of long rows by key, one row for each lane with `inside`. All active ones go to the list, to be visited later.
    VXM_FN void prefilter_long(Ring<Record>& ring, bool inside, u32 i) const;
    // Takes up to `most` short rows from the list and visits those that are not blocked. `ready` already holds `queued` rows. Rows are
    // visited 32 at a time. Those that don't fill a warp stay in `ready`, unless this is the `last` call.
    template <class Phase>
    VXM_FN void revisit_short(Remaining& remaining, u32 most, Ready* ready, u32& queued, bool last, bool& changed) const;

    // Visits this warp's short rows, or the first of them unless `all`, and keeps those that stay active. `first` says that this is the
    // first pass, in which the rows come from the class instead of the list.
    template <class Phase> VXM_FN void visit_short_rows(Remaining& remaining, bool first, bool all, Ready* ready, bool& changed) const;
    // The same if entries are filtered by key before the first visit.
    template <class Phase> VXM_FN void visit_prefiltered(Remaining& remaining, bool first, bool all, Ready* ready, bool& changed) const;
    // Starts up to `most` rows of a class of long rows (at most 32), the longest first: filters their entries, or visits them. `started`
    // counts the warp's rows started. Returns whether there were any.
    template <class Phase>
    VXM_FN bool start_long_rows(Ring<Record>& ring, const RowClass& row_class, u32& started, u32 most, bool& changed) const;
    // Tests the first `todo` rows of a list of long rows, and visits those that are not blocked.
    template <class Phase> VXM_FN void revisit_long_rows(Ring<Record>& ring, u32 todo, Ready* ready, bool& changed) const;
    // Visits this warp's long rows, all of them.
    template <class Phase> VXM_FN void visit_long_rows(Remaining& remaining, bool first, Ready* ready, bool& changed) const;
    // A list of the rows of one class of length, and how many rows of the class this warp has started. It is in shared memory, so that it
    // takes no registers.
    struct RankedList {
        Ring<Record> ring;
        u32 started;
    };
    static VXM_FN RankedList& ranked_list(u32 which) {
        __shared__ RankedList all[8][LENGTH_CLASSES];
        return all[warp()][which];
    }
    // Visits long rows by class of length, the longest first. The longest class is started and tested whole. A shorter class is tested
    // whole if `all`, or once all short rows are started and no longer row is left. Otherwise a few of its rows are started, or its first
    // rows are tested. Returns whether more rows of a class may have to be started. In that case no shorter class and no short rows were
    // started in this pass.
    template <class Phase> VXM_FN bool visit_ranked_rows(Remaining& remaining, bool all, Ready* ready, bool& changed) const;
    // Visits up to 32 long rows, one given by each lane with `inside`. Rows with few live entries are visited by one lane each, if there
    // are enough of them, or by eight lanes each, four at a time. The others are visited by the whole warp.
    template <class Phase> VXM_FN void visit_long_batch(Ring<Record>& ring, bool inside, Ready of, bool& changed) const;
    // Visits the row given by lane `from`.
    template <class Phase, class L>
    VXM_FN void visit_lane_row(Ring<Record>& ring, L lanes, bool inside, Ready of, RowContext context, u32 from, bool& changed) const;
    // Visits this block's hubs, and keeps those that stay active.
    template <class Phase> VXM_FN void visit_hubs(Remaining& remaining, bool first, bool& changed) const;
    // Returns this warp's lists, all empty.
    VXM_FN Remaining empty_lists() const {
        if constexpr (ranks_long_rows) {
            for (u32 which = 0; which < LENGTH_CLASSES; which++)
                if (lane() == 0) ranked_list(which) = {ring(ranked[which]), 0};
            __syncwarp();
        }
        return {ring(shorts), ring(longs), 0};
    }
    // Visits what is left: all of it, or only the first of the short rows unless `all`. Returns whether anything changed, the same in all
    // lanes.
    template <class Phase> VXM_FN bool pass(Remaining& remaining, bool first, bool all = true) const {
        __shared__ Ready queues[8][TEST_BATCH + 32];
        Ready* ready = queues[warp()];
        bool changed = false;
        // blockers are mostly long rows: if those are visited first, short rows see their new states in the same pass
        if constexpr (ranks_long_rows) {
            remaining.started_any = false;
            if (visit_ranked_rows<Phase>(remaining, all, ready, changed)) return __any_sync(~0u, changed);
        } else if (skewed && tracks_blockers) visit_long_rows<Phase>(remaining, first, ready, changed);
        if constexpr (prefilters) visit_prefiltered<Phase>(remaining, first, all, ready, changed);
        else visit_short_rows<Phase>(remaining, first, all, ready, changed);
        if (skewed && !tracks_blockers) visit_long_rows<Phase>(remaining, first, ready, changed);
        if constexpr (skewed && !tracks_blockers)
            if (hubs.count > 0) visit_hubs<Phase>(remaining, first, changed);
        __syncwarp();
        return __any_sync(~0u, changed);
    }

    VXM_FN const Tracked& tracked() const { return *(const Tracked*)((const u64*)&body + Blocking::at); }

    // Copies the initial state.
    VXM_FN void copy_initial_state() const {
        if (!initial) return;
        // 16 bytes at a time: the compiler cannot tell that the arrays don't overlap, so each read waits for the write before it
        const u64 words = count * sizeof(T) / 16;
        each_thread(words, [&](u64 k) { ((uint4*)state)[k] = ((const uint4*)initial)[k]; });
        if (blockIdx.x == 0)
            for (u64 i = words * 16 / sizeof(T) + threadIdx.x; i < count; i += blockDim.x) state[i] = initial[i];
        grid_barrier_wait(termination.control);
    }
    // Compacts the rows of hubs before any row is visited, by all warps together. Other rows are mostly blocked by hubs. If each hub were
    // read by a single warp, all other warps would wait for that. The hubs' entries are cut into chunks, which the warps take in turn.
    VXM_FN void compact_hubs() const {
        const u32 chunk = 2048;
        const Tracked& rows = tracked();
        each_thread(hubs.count, [&](u64 k) { rows.live_counts[hubs.list[k]] = 0; });
        grid_barrier_wait(termination.control);
        const u64 w = first_of(Warp()), warps = step_of(Warp());
        u64 passed = 0;
        for (u64 k = 0; k < hubs.count; k += 32) {
            const bool inside = k + lane() < hubs.count;
            const u32 row = inside ? hubs.list[k + lane()] : 0;
            const bool still_active = inside && Active::call(load_state(state + row));
            const u32 len = still_active ? (u32)(rows.offsets[row + 1] - rows.offsets[row]) : 0, runs = (len + chunk - 1) / chunk;
            const u32 sum = running_sum(runs), all = __shfl_sync(~0u, sum, 31);
            for (u64 run = (w + warps - passed % warps) % warps; run < all; run += warps) {
                const u32 owner = __popc(__ballot_sync(~0u, sum <= run)), owner_len = __shfl_sync(~0u, len, owner);
                const u32 from = (u32)(run - __shfl_sync(~0u, sum - runs, owner)) * chunk;
                rows.compact_range(__shfl_sync(~0u, row, owner), from, from + chunk < owner_len ? from + chunk : owner_len);
            }
            passed += all;
        }
        grid_barrier_wait(termination.control);
    }
    VXM_FN void begin() const {
        copy_initial_state();
        if constexpr (compacts_hubs)
            if (hubs.count > 0) compact_hubs();
    }

    // In rounds: every visit sees the states of the previous round, or newer ones.
    VXM_FN void run(Rounds) const {
        begin();
        Remaining remaining = empty_lists();
        for (u32 round = 0;; round++) {
            bool changed;
            if constexpr (monotone) {
                changed = pass<Update>(remaining, round == 0);
            } else {
                pass<ComputeNext>(remaining, round == 0);
                grid_barrier_wait(termination.control);
                changed = pass<StoreNext>(remaining, false);
            }
            VXM_END_ROUND(round);
            // a first round that only filters entries, or that has its own body, may change nothing; the next round may
            if (round == 0 && (prefilters || !is_same<Start, Absent>::value)) changed = true;
            const bool some_left = __syncthreads_or(remaining.any()), some_changed = __syncthreads_or(changed);
            u32* flags = termination.control->round_flags + round % 3;
            if (threadIdx.x == 0) atomicOr(flags, some_left | some_changed << 1);
            grid_barrier_wait(termination.control);
            const u32 now = load_acquire(flags);
            if (blockIdx.x == 0 && threadIdx.x == 0) {
                // Clears the flags of the round after the next, which the previous round used. All blocks have read those before the
                // barrier above. No block sets new ones before the next barrier.
                atomicExch(termination.control->round_flags + (round + 2) % 3, 0);
            }
            // The loop ends if no active element is left, if nothing changed (it stalled), or after the most rounds. A round that only
            // filtered entries is not counted.
            const u32 rounds = round + (now != 0) - (prefilters && round + (now != 0) > 0);
            if (now == 3 && rounds < termination.max_passes) continue;
            return leave_grid(termination.control, [&] { post_to_host(termination.result, rounds, now == 1 ? 1u : now == 3 ? 2u : 0u); });
        }
    }

    // One of the last short rows, held by a lane in registers with its own state, which no other thread writes. So a pass is one test for
    // blockers and one visit.
    struct HeldRow {
        Record item;
        T own;
        bool still_active;
    };
    // Takes the rows of a list, which must be 32 or fewer.
    VXM_FN HeldRow hold_last_rows(const Ring<Record>& ring) const;
    // Visits a held row, unless it is blocked. Returns whether that changed it.
    VXM_FN bool visit(HeldRow& last) const;

    // Asynchronously: no warp waits for another. Each warp visits its own rows until none is active.
    VXM_FN void run(Asynchronous) const {
        begin();
        Remaining remaining = empty_lists();
        Progress p = {};
        // a block's warps share its hubs, so they go on or end together
        const bool shares_hubs = skewed && !tracks_blockers && hubs.count > 0;
        bool more;
        do {
            // while long rows remain, short rows that may be blocked are tested less often
            const bool all = !skewed || !tracks_blockers || (remaining.longs.count == 0 && remaining.all_started) ||
                             p.passes % Config::short_rows_every == (ranks_long_rows ? Config::short_rows_every - 1 : 0);
            bool changed = pass<Update>(remaining, p.passes == 0, all), any = remaining.any();
            VXM_END_ROUND(p.passes);
            if (shares_hubs) {
                any = __syncthreads_or(any);
                changed = __syncthreads_or(changed);
            }
            more = termination.continues(p, changed, any, shares_hubs, remaining.started_any);
        } while (more && (shares_hubs || remaining.longs.count > 0 || remaining.shorts.count > 32 || !remaining.all_started));
        if (more) {
            HeldRow last = hold_last_rows(remaining.shorts);
            while (more) {
                const bool changed = __any_sync(~0u, visit(last));
                VXM_END_ROUND(p.passes);
                more = termination.continues(p, changed, __any_sync(~0u, last.still_active), shares_hubs);
            }
        }
        termination.announce_change(true);
        if (lane() == 0 && p.had_work) atomicMax(&termination.control->passes, p.passes);
        leave_grid(termination.control, [&] {
            post_to_host(termination.result, load_acquire(&termination.control->passes), load_acquire(&termination.control->gave_up));
        });
    }
};

// The heads of members that are defined outside the class: `ActiveLoop`'s template parameters, and its name.
#define VXM_ACTIVE_LOOP_TEMPLATE template <class V, class Start, class Active, class Blocking, class LoopConfig>
#define VXM_ACTIVE_LOOP ActiveLoop<V, Start, Active, Blocking, LoopConfig>

} // namespace vxm
