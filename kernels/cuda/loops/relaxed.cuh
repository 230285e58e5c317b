// A loop x = x (+) (x (+).(x) A) that relaxes edges, where few elements differ from (+)'s identity at first. It is one cooperative launch, with
// a grid barrier a round. A round takes the elements that the round before changed, and joins the product of each along each of its edges into
// the element at the other end: it pushes. If these elements have one value, and entries have no weights, all products are equal. Then the
// others may look for one of them, and stop at the first: they pull (Beamer, Asanović and Patterson, "Direction-optimizing breadth-first
// search").
namespace vxm {

// The edges: `offsets`, `columns` and `weights` by the element that is read, and `in_offsets` and `in_columns` by the element that is written,
// if `can_pull`. `Join` joins a product into an element. `ordered` says that elements are numbers, of which the least or the greatest is the best.
template <class T, class A, class Mul, class Join, class Out, class In, bool can_pull_edges, bool is_ordered> struct RelaxedEdges {
    typedef T Elem;
    typedef Join Joining;
    static const bool can_pull = can_pull_edges, ordered = is_ordered, has_weights = !is_same<A, vxm_unit>::value;
    const Out* offsets;
    const u32* columns;
    const A* weights;
    const In* in_offsets;
    const u32* in_columns;
    u64 entries;
    VXM_FN T product(T x, u64 p) const { return Mul::call(x, weight_at(weights, p)); }
};

// A part of a long row: its edges from number `part * Config::relaxed_row` on.
struct RowPart {
    u32 row, part;
};
// What the round before has found (`RelaxedFlag`).
// `unfit`: relaxing isn't right here, or a list was full. `mixed`: not all elements have the value of the products.
enum RelaxedFlag { unfit = 1u << 30, mixed = 1u << 31 };
// The lengths of a round's lists, and the number of edges of its elements. The highest bits of that are the flags, which must not be seen before a
// barrier either.
struct RoundSize {
    u32 listed, parts;
    u64 edges;
    VXM_FN u32* flags() { return (u32*)&edges + 1; }
};
// The control block: the grid barrier's counters, the number of blocks that have left, and the sizes of the last three rounds. All are zero at the
// start.
struct RelaxedControl {
    u32 arrived, phase, departed, unused;
    RoundSize sizes[3];
};

// Counts nothing. `visit` and `read` are called by a warp's first lane: so many elements were visited, or so many of their edges were read. `change`
// says that element `i` of `count` changed.
struct Uncounted {
    static VXM_FN void visit(u32) {}
    static VXM_FN void read(u64) {}
    static VXM_FN void change(u32, u64) {}
};

template <class E, class Counts> struct RelaxedLoop : Counts {
    typedef typename E::Elem T;
    typedef typename E::Joining Join;
    static const u32 depth = 4; // edges that a lane has in flight
    u64 count;
    u64 max_rounds;
    u64 most_first; // the most elements that may differ from the identity at first
    u64 most_parts; // the room of a list of parts; a list of elements has room for `count`
    Bits<T> identity; // its bits
    T* state;
    u32* lists[2];     // the elements of even and of odd rounds
    RowPart* parts[2]; // likewise of long rows
    // The elements of even and of odd rounds that pull: a bit for each. In a round that pushes, and in which an element may change twice, those
    // that are listed for the next round already.
    u32* marks[2];
    RelaxedControl* control;
    u64* result; // for the host: the number of rounds, and whether elements are left
    Waiting<T, Join::order> waiting;
    E edges;

    // What a block found in a round: elements for the next one, those that wait, the number of edges of the former, flags, and the best value
    // that waits.
    struct Staging {
        StagedList due, waits;
        u32 flags;
        u64 edges, best;
    };
    // What a lane found. Elements that are worse than `limit` wait in the list with number `list`. `directly` says that few elements are due: then
    // warps add to global memory, so that a block's warps need not wait for each other.
    struct Found {
        Staging& block;
        bool directly;
        double limit;
        u32 list;
        u64 edges, best;
        u32 flags;
    };
    static VXM_FN void empty(Staging& block) {
        block.due.clear();
        block.waits.clear();
        block.flags = 0;
        block.edges = block.best = 0;
    }

    VXM_FN u32 warps() const { return gridDim.x * (blockDim.x / 32); }
    // The number of this warp. Adjacent warps are on different multiprocessors, so that a short list is spread over all.
    VXM_FN u32 number() const { return warp() * gridDim.x + blockIdx.x; }

    // Lists the lanes' elements for a round, without those that have no edges. All lanes of a warp call this.
    template <u32 n> VXM_FN void list(u32 round, const bool (&taken)[n], const u32 (&i)[n], Found& found) const {
        u64 degrees[n];
        u32 long_rows = 0;
#pragma unroll
        for (u32 k = 0; k < n; k++) degrees[k] = taken[k] ? edges.offsets[i[k] + 1] - edges.offsets[i[k]] : 0;
#pragma unroll
        for (u32 k = 0; k < n; k++) {
            found.edges += degrees[k];
            long_rows |= (u32)(degrees[k] > Config::relaxed_row) << k;
        }
        bool is_listed[n];
#pragma unroll
        for (u32 k = 0; k < n; k++) is_listed[k] = is_short(degrees[k]);
        found.block.due.add(is_listed, i, list_of(round), found.directly);
        if (!__any_sync(~0u, long_rows)) return;
#pragma unroll
        for (u32 k = 0; k < n; k++)
            if (__any_sync(~0u, long_rows >> k & 1)) list_parts(round, long_rows >> k & 1 ? degrees[k] : 0, i[k]);
    }
    VXM_FN List list_of(u32 round) const {
        RoundSize& size = control->sizes[round % 3];
        return {lists[round & 1], &size.listed, count, size.flags(), unfit};
    }
    VXM_FN List waits_list(u32 round, u32 number) const { return waiting.list(number, count, control->sizes[round % 3].flags(), unfit); }
    static VXM_FN bool is_short(u64 degree) { return degree > 0 && degree <= Config::relaxed_row; }
    // Lists the parts of the lanes' long rows.
    VXM_FN void list_parts(u32 round, u64 degree, u32 row) const {
        const u32 mine = (u32)((degree + Config::relaxed_row - 1) / Config::relaxed_row), ends = running_sum(mine);
        u32 first = 0;
        if (lane() == 31) first = atomicAdd(&control->sizes[round % 3].parts, ends);
        first = __shfl_sync(~0u, first, 31);
        for (u32 todo = __ballot_sync(~0u, mine > 0); todo; todo &= todo - 1) {
            const u32 from = __ffs(todo) - 1, length = __shfl_sync(~0u, mine, from);
            const u32 at = first + __shfl_sync(~0u, ends, from) - length, of = __shfl_sync(~0u, row, from);
            for (u32 part = lane(); part < length && at + part < most_parts; part += 32) parts[round & 1][at + part] = {of, part};
            if (at + length > most_parts && lane() == 0) atomicOr(control->sizes[round % 3].flags(), unfit);
        }
    }
    // Adds what the block found to the control block, and its list to that of the round. All threads of the block call this.
    VXM_FN void tell(u32 round, const Found& found) const {
        Staging& block = found.block;
        const u64 edges_found = sum_of_lanes(found.edges);
        const u32 flags = __any_sync(~0u, found.flags & unfit) * unfit | __any_sync(~0u, found.flags & mixed) * mixed;
        RoundSize& size = control->sizes[round % 3];
        if (found.directly) {
            if (E::ordered && found.best) atomicMax(waiting.control->best + found.list, found.best);
            if (lane() == 0 && edges_found) atomicAdd(&size.edges, edges_found);
            if (lane() == 0 && flags) atomicOr(size.flags(), flags);
            return;
        }
        if (E::ordered && found.best) atomicMax(&block.best, found.best);
        if (lane() == 0) {
            if (edges_found) atomicAdd(&block.edges, edges_found);
            if (flags) atomicOr(&block.flags, flags);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            if (block.edges) atomicAdd(&size.edges, block.edges);
            if (block.flags) atomicOr(size.flags(), block.flags);
            if (E::ordered && block.best) atomicMax(waiting.control->best + found.list, block.best);
        }
        block.due.copy_to(list_of(round));
        if constexpr (E::ordered) block.waits.copy_to(waits_list(round, found.list));
        __syncthreads();
        if (threadIdx.x == 0) empty(block);
    }
    // The size of a round, after the barrier that ends the one before. Adds its flags to `flags`. Both words are on their way at once. The
    // lengths are those of all blocks only if the round before pushed: others may have begun to list marked elements.
    VXM_FN RoundSize size_of(u32 round, u32& flags) const {
        const volatile u64* words = (const volatile u64*)&control->sizes[round % 3];
        const u64 lengths = words[0], found = words[1], most = ~0ull >> 2;
        flags |= (u32)((found & ~most) >> 32);
        // a list that is full leaves elements out, and ends the loop
        return {(u32)min(lengths & ~0u, count), (u32)min(lengths >> 32, most_parts), found & most};
    }

    // Joins the lanes' products into the elements `to`. Lists those that change for the next round. With `once`, no element changes twice in
    // this round.
    template <bool once>
    VXM_FN void relax(u32 round, const bool (&has)[depth], const u32 (&to)[depth], const T (&products)[depth], Found& found) const {
        T held[depth];
        bool changed[depth];
        // a plain read spares most elements the atomic instruction
#pragma unroll
        for (u32 k = 0; k < depth; k++)
            if (has[k]) held[k] = load_state(state + to[k]);
#pragma unroll
        for (u32 k = 0; k < depth; k++) {
            changed[k] = has[k] && Join::join(state + to[k], held[k], products[k]);
            if (!E::has_weights && changed[k] && !same_bits(Join::call(held[k], products[k]), products[k])) found.flags |= mixed;
            if (changed[k]) Counts::change(to[k], count);
        }
        if constexpr (E::ordered) {
            const List waits = waits_list(round + 1, found.list);
            waiting.hold(changed, to, products, found.limit, found.block.waits, waits, found.directly, found.best);
        }
        bool any = false;
#pragma unroll
        for (u32 k = 0; k < depth; k++) {
            // a list has room for each element once
            if (!once) changed[k] = changed[k] && set_bit(marks[round + 1 & 1], to[k]);
            any |= changed[k];
        }
        if (__any_sync(~0u, any)) list(round + 1, changed, to, found);
    }
    // Splits a list of waiting elements: those that are at most as bad as the limit are listed for a round, others go to the other list.
    VXM_FN void split_waiting(u32 round, u32 from, Found& found) const {
        const u32 length = min(waiting.length_of(from), (u32)count);
        for (u64 at = (u64)number() * 32; at < length; at += (u64)warps() * 32) {
            const u32 i[1] = {at + lane() < length ? waiting.lists[from][at + lane()] : 0};
            // one that became due since has no mark
            const bool waits = at + lane() < length && bit(waiting.marks, i[0]);
            const double x = waits ? waiting.distance(load_state(state + i[0])) : 0;
            const bool due[1] = {waits && !(x > found.limit)}, stays[1] = {waits && x > found.limit};
            if (due[0]) waiting.release(i[0]);
            if (stays[0]) found.best = max(found.best, waiting.rank_of(x));
            list(round, due, i, found);
            found.block.waits.add(stays, i, waits_list(round, found.list), found.directly);
        }
        tell(round, found);
    }

    // The lane that has edge number `k`, where a lane's edges end at `ends`.
    static VXM_FN u32 lane_of(u32 ends, u32 k) {
        u32 at = 0;
#pragma unroll
        for (u32 step = 16; step; step /= 2)
            if (__shfl_sync(~0u, ends, at + step - 1) <= k) at += step;
        return at;
    }
    // An edge's place among the entries, and the value of the element that it begins at.
    struct End {
        u64 entry;
        T value;
    };
    // Pushes `total` edges by a warp. `end_of` tells of an edge by its number; all lanes call it, also for numbers that are too high.
    template <bool once, class F> VXM_FN void push_edges(u32 round, u32 total, Found& found, const F& end_of) const {
        if (lane() == 0) Counts::read(total);
        for (u32 first = 0; first < total; first += 32 * depth) {
            bool has[depth];
            u32 to[depth];
            T products[depth];
#pragma unroll
            for (u32 k = 0; k < depth; k++) {
                const u32 edge = first + k * 32 + lane();
                const End end = end_of(edge);
                has[k] = edge < total;
                to[k] = has[k] ? edges.columns[end.entry] : 0;
                if (has[k]) products[k] = edges.product(end.value, end.entry);
            }
            relax<once>(round, has, to, products, found);
        }
    }
    // Pushes the listed elements. With `once`, all had this value when they were listed. One that has changed since is listed for the next round,
    // too, so it is pushed as it was.
    template <bool once> VXM_FN void push_listed(u32 round, u32 length, T value, Found& found) const {
        // a warp takes few of a short list, and still fills its lanes with edges of rows of four
        const u32 each = min(32u, max(8u, (length + warps() - 1) / warps()));
        for (u64 at = (u64)number() * each; at < length; at += (u64)warps() * each) {
            const bool mine = lane() < each && at + lane() < length;
            const u32 i = mine ? lists[round & 1][at + lane()] : 0;
            const u64 begin = mine ? edges.offsets[i] : 0;
            const u32 degree = mine ? (u32)(edges.offsets[i + 1] - begin) : 0;
            const T x = once || !mine ? value : load_state(state + i);
            visit<once>(round, mine, i, x, value, found);
            const u32 ends = running_sum(degree), total = __shfl_sync(~0u, ends, 31);
            const u64 base = begin + degree - ends;
            push_edges<once>(round, total, found, [&](u32 edge) {
                const u32 from = lane_of(ends, edge);
                return End{__shfl_sync(~0u, base, from) + edge, once ? value : from_lane<Warp>(x, from)};
            });
        }
    }
    // Pushes the parts of long rows, a warp each.
    template <bool once> VXM_FN void push_parts(u32 round, u32 length, T value, Found& found) const {
        for (u32 at = number(); at < length; at += warps()) {
            const RowPart part = parts[round & 1][at];
            const u64 begin = edges.offsets[part.row] + (u64)part.part * Config::relaxed_row;
            const u64 rest = edges.offsets[part.row + 1] - begin;
            const u32 total = rest < Config::relaxed_row ? (u32)rest : Config::relaxed_row;
            const T x = once ? value : load_state(state + part.row);
            visit<once>(round, lane() == 0 && part.part == 0, part.row, x, value, found);
            push_edges<once>(round, total, found, [&](u32 edge) { return End{begin + edge, x}; });
        }
    }
    // Begins the visit of a lane's element: clears its mark, and compares its value.
    template <bool once> VXM_FN void visit(u32 round, bool mine, u32 i, T x, T value, Found& found) const {
        // all marks of this word are of elements that this round visits
        if ((!once || round <= 1) && mine) marks[round & 1][i >> 5] = 0;
        if (!E::has_weights && !once && mine && !same_bits(x, value)) found.flags |= mixed;
        const u32 visits = __popc(__ballot_sync(~0u, mine));
        if (lane() == 0) Counts::visit(visits);
    }

    // Whether one of the marked elements is among the columns from `p` to `end`. The whole group looks.
    VXM_FN bool any_marked(const u32* marked, u64 p, u64 end) const {
        for (; p < end; p += 32 * depth) {
            bool here = false;
#pragma unroll
            for (u32 k = 0; k < depth; k++) {
                const u64 q = p + k * 32 + lane();
                here |= q < end && bit(marked, edges.in_columns[q]);
            }
            if (__any_sync(~0u, here)) return true;
        }
        return false;
    }
    // Joins `product` into all elements that it changes and that have an edge from a marked element. Marks them for the next round.
    VXM_FN void pull(u32 round, T product, Found& found) const {
        const u32* marked = marks[round & 1];
        for (u64 w = number(); w < (count + 31) / 32; w += warps()) {
            const u32 i = (u32)(w * 32 + lane());
            const bool inside = w * 32 + lane() < count;
            const T held = inside ? load_state(state + i) : product, joined = Join::call(held, product);
            const bool looks = inside && !same_bits(joined, held);
            if (!__any_sync(~0u, looks)) continue;
            const u64 begin = looks ? edges.in_offsets[i] : 0, end = looks ? edges.in_offsets[i + 1] : 0;
            // a lane looks at the first entries of its row by itself
            bool here = false;
            u64 p = begin;
            for (u32 step = 0; step < 4 && !here && p < end; step++) {
                bool one[depth];
#pragma unroll
                for (u32 k = 0; k < depth; k++) one[k] = p + k < end && bit(marked, edges.in_columns[p + k]);
                here = one[0] | one[1] | one[2] | one[3];
                p += depth;
            }
            u64 read = (p < end ? p : end) - begin;
            for (u32 todo = __ballot_sync(~0u, !here && p < end); todo; todo &= todo - 1) {
                const u32 from = __ffs(todo) - 1;
                const bool any = any_marked(marked, __shfl_sync(~0u, p, from), __shfl_sync(~0u, end, from));
                if (lane() == from) here = any, read = end - begin;
            }
            if (here) {
                store_state(state + i, joined);
                if (!same_bits(joined, product)) found.flags |= mixed;
                found.edges += edges.offsets[i + 1] - edges.offsets[i];
                Counts::change(i, count);
            }
            VXM_TALLY(early_exits, here && read < end - begin);
            const u32 mask = __ballot_sync(~0u, here), visits = __popc(__ballot_sync(~0u, looks));
            if (lane() == 0) {
                marks[round + 1 & 1][w] = mask;
                Counts::visit(visits);
            }
            if constexpr (!is_same<Counts, Uncounted>::value) {
                const u64 all = sum_of_lanes(read);
                if (lane() == 0) Counts::read(all);
            }
        }
    }

    // Marks the listed elements, before a round that pulls.
    VXM_FN void mark_listed(u32 round, RoundSize size) const {
        const u64 elements = size.listed, long_parts = size.parts;
        each_thread(elements, [&](u64 k) { set_bit(marks[round & 1], lists[round & 1][k]); });
        each_thread(long_parts, [&](u64 k) {
            if (parts[round & 1][k].part == 0) set_bit(marks[round & 1], parts[round & 1][k].row);
        });
    }
    // Lists the marked elements, before a round that pushes.
    VXM_FN void list_marked(u32 round, Staging& block) const {
        Found found = {block, false, 0, 0, 0, 0, 0};
        for (u64 w = number(); w < (count + 31) / 32; w += warps()) {
            const u32 word = marks[round & 1][w];
            __syncwarp();
            if (lane() == 0) marks[0][w] = marks[1][w] = 0;
            const bool taken[1] = {(bool)(word >> lane() & 1)};
            const u32 i[1] = {(u32)(w * 32 + lane())};
            if (word) list(round, taken, i, found);
        }
        // their edges were counted when they were found
        found.edges = 0;
        tell(round, found);
    }

    // Lists the elements that differ from the identity. Looks whether edges may be relaxed: joining a value twice must change nothing, and the
    // identity's products must be the identity.
    VXM_FN void begin(Staging& block) const {
        const T none = element<T>(identity);
        Found found = {block, false, 0, 0, 0, 0, 0};
        const u64 tried = E::has_weights || edges.entries == 0 ? edges.entries : 1;
        each_thread(tried, [&](u64 p) {
            if (!same_bits(edges.product(none, p), none)) found.flags |= unfit;
        });
        for (u64 w = number(); w < (count + 31) / 32; w += warps()) {
            // a loop that won't run needn't list all its elements
            const u32 listed = lane() == 0 ? max((u32) * (volatile u32*)&control->sizes[0].listed, (u32) * (volatile u32*)&block.due.length) : 0;
            if (__shfl_sync(~0u, listed, 0) > most_first) break;
            const u32 i[1] = {(u32)(w * 32 + lane())};
            const T x = w * 32 + lane() < count ? load_state(state + i[0]) : none;
            if (!same_bits(Join::call(x, x), x)) found.flags |= unfit;
            const bool taken[1] = {!same_bits(x, none)};
            if (__any_sync(~0u, taken[0])) list(0, taken, i, found);
        }
        tell(0, found);
    }

    VXM_FN void run(Block) const {
        __shared__ Staging block;
        if (threadIdx.x == 0) empty(block);
        __syncthreads();
        u32 phase = 0; // the barrier's
        begin(block);
        grid_barrier_wait(control, phase++);
        u32 flags = 0;
        RoundSize now = size_of(0, flags);
        if (flags & unfit || now.listed > most_first) return leave_grid(control, [&] { post_to_host(result, 0, 1); });
        u64 read = 0;
        // the value of all elements of a round, unless they are mixed
        T value = element<T>(identity);
        if (now.edges) value = load_state(state + (now.listed ? lists[0][0] : parts[0][0].row));
        if constexpr (E::ordered) waiting.sample(edges, value);
        grid_barrier_wait(control, phase++);
        bool marked = false;
        u32 waits_in = 0;
        double limit = 0, width = 0;
        if constexpr (E::ordered) {
            width = waiting.measured_width();
            limit = waiting.distance(value) + width;
        }
        // a step is a round, or, if no element is due, a split of those that wait
        u32 rounds = 0;
        for (u32 step = 0;; step++) {
            Found found = {block, now.edges <= Config::relaxed_staged, limit, waits_in, 0, 0, 0};
            bool split = false;
            if (flags & unfit) return leave_grid(control, [&] { post_to_host(result, rounds, 1); });
            if (!now.edges) {
                if constexpr (E::ordered) split = waiting.length_of(waits_in) > 0;
                if (!split) return leave_grid(control, [&] { post_to_host(result, rounds, 0); });
            }
            if (rounds >= max_rounds) return leave_grid(control, [&] { post_to_host(result, rounds, 1); });
            if constexpr (E::ordered) {
                if (split) {
                    const u32 from = waits_in;
                    found.directly = waiting.length_of(from) <= Config::relaxed_staged;
                    waits_in = found.list = 1 - from;
                    limit = found.limit = waiting.distance_of(waiting.best_of(from)) + width;
                    split_waiting(step + 1, from, found);
                }
            }
            if (!split) {
                rounds++;
                const bool one_value = !E::has_weights && step > 0 && !(flags & mixed);
                const u64 left = edges.entries - min(read, edges.entries);
                const bool pulls = E::can_pull && one_value && now.edges > left / Config::relaxed_pull && now.edges * 4 > count;
                if (pulls != marked) {
                    if (pulls) mark_listed(step, now);
                    else list_marked(step, block);
                    grid_barrier_wait(control, phase++);
                    if (!pulls) now = size_of(step, flags);
                }
                marked = pulls;
                read += now.edges;
                const T product = E::has_weights ? value : edges.product(value, 0);
                if (E::can_pull && pulls) {
                    pull(step, product, found);
                } else if (one_value) {
                    push_listed<true>(step, now.listed, value, found);
                    push_parts<true>(step, now.parts, value, found);
                } else {
                    push_listed<false>(step, now.listed, value, found);
                    push_parts<false>(step, now.parts, value, found);
                }
                value = product;
                tell(step + 1, found);
            }
            // a split belongs to the round before
            VXM_END_ROUND(rounds - 1);
            grid_barrier_wait(control, phase++);
            now = size_of(step + 1, flags);
            // all blocks have read this step's size, and none writes it again before the next barrier
            if (blockIdx.x == 0 && threadIdx.x == 0) control->sizes[step % 3] = {0, 0, 0};
            if (E::ordered && split) {
                // likewise the list that was split
                if (blockIdx.x == 0 && threadIdx.x == 0) waiting.clear(1 - waits_in);
                if (!now.edges) grid_barrier_wait(control, phase++);
            }
        }
    }
};

} // namespace vxm
