// Products of two sparse matrices: what is counted beforehand, and under a mask a dot product for each of its places. Those without a mask
// are in mxm_rows.cuh.
namespace vxm {

// The number of products of each entry of the left matrix: the length of the right matrix' row of its column. `sums[p + 1]` is that of p.
struct CountProducts {
    const u32* columns;
    u64 count;
    const u64* starts; // of the right matrix
    u64* sums;
    VXM_FN void run() const {
        each_thread(count, [&](u64 p) { sums[p + 1] = starts[columns[p] + 1] - starts[columns[p]]; });
    }
};

// The number of products before each row, and at `longest[i + 1]` the most of an entry of row i: the row of the product has at least so many
// entries.
struct CountByRow {
    const u64* starts; // of the left matrix
    u64 rows;
    const u64* sums;
    u64* before;
    u64* longest;
    VXM_FN void run() const {
        each_thread(rows + 1, [&](u64 i) {
            before[i] = sums[starts[i]];
            u64 most = 0;
            for (u64 p = starts[i]; i < rows && p < starts[i + 1]; p++) {
                if (sums[p + 1] - sums[p] > most) most = sums[p + 1] - sums[p];
            }
            if (i < rows) longest[i + 1] = most;
        });
    }
};

// The row starts of a piece of a matrix, behind `base` entries of pieces before.
struct ShiftStarts {
    const u64* starts;
    u64 count;
    u64 base;
    u64* shifted;
    VXM_FN void run() const {
        each_thread(count, [&](u64 i) { shifted[i] = starts[i] + base; });
    }
};

// Which rows of the mask are computed over a table of the left matrix' row: rows with `least` to `longest` entries of that, and 8 places. Those
// of at most `most` entries are a warp's, others a block's. A longer row would need too many tables for each of its tasks.
struct TableRows {
    const u64 *starts, *places; // of the left matrix, and of the mask
    u64 rows;
    u64 least, most, longest;
    u32 *all, *of_warps, *of_blocks; // a bit for each row
    VXM_FN void run() const {
        each_thread((rows + 31) / 32 * 32, [&](u64 i) {
            u64 length = 0;
            if (i < rows && places[i + 1] - places[i] >= 8) length = starts[i + 1] - starts[i];
            const bool marked = length > 0 && length >= least && length <= longest;
            const u32 word = __ballot_sync(~0u, marked), longer = __ballot_sync(~0u, marked && length > most);
            if (lane() > 0) return;
            all[i / 32] = word;
            of_warps[i / 32] = word & ~longer;
            of_blocks[i / 32] = longer;
        });
    }
};

// The dot products at the places of listed rows. A task is up to `PLACES` places of a row; a warp or block that is free takes the next one. The
// left matrix' row is put into a hash table in shared memory, in pieces if it is long. Then the lanes of a warp look the entries of the right
// matrix' row up in it. A dot product is folded from left to right, or in any order if that gives the same bits. A block has 256 threads.
template <class A, class B, class T, class Mul, class Add, bool by_block> struct DotsOverTables {
    static const u32 SLOTS = by_block ? 4096 : 512, HELD = SLOTS / 2, PLACES = by_block ? 256 : 64, FREE = ~0u;
    // Places that a warp of a block takes at a time.
    static const u32 SHARE = 8;
    // Entries that a lane looks up alone.
    static const u32 ALONE = 16;
    // A row of the right matrix that is so many times as long as the left one's piece is searched for each entry of that.
    static const u32 SEARCHED = 32;
    static const bool any_order = Add::exact && Add::commutative;
    const u32* list;
    u64 listed;
    const u64* tasks; // the running sums of the rows' tasks
    u64* taken;       // the number of tasks that were taken
    const u64* places;
    const u32* columns; // of the mask
    SearchedRows<A> left;
    SearchedRows<B> right; // a row of it is a column of the right matrix
    u32* known;            // the places that have a dot product, zeros before
    T* dots;
    // A piece of a row of the left matrix, and its table: buckets of four slots, which are filled in order and read at once.
    struct Piece {
        u32* keys;
        unsigned short* numbers;
        u32 slots;
        u64 begin, end;
        bool is_whole;
        // The first slot of the column's bucket.
        VXM_FN u32 bucket(u32 column) const { return (u32)((u64)(column * 0x9e3779b1u) * (slots / 4) >> 32) * 4; }
        VXM_FN void insert(u32 column, u32 number) const {
            u32 at = bucket(column);
            while (atomicCAS(keys + at, FREE, column) != FREE) at = (at + 1) & (slots - 1);
            numbers[at] = (unsigned short)number;
        }
        // Whether the piece has this column, at `position`.
        VXM_FN bool find(u32 column, u64& position) const {
            for (u32 at = bucket(column);; at = (at + 4) & (slots - 1)) {
                const uint4 held = *(const uint4*)(keys + at);
                const bool first = held.x == column, second = held.y == column, third = held.z == column;
                if (first || second || third || held.w == column) {
                    position = begin + numbers[at + (first ? 0 : second ? 1 : third ? 2 : 3)];
                    return true;
                }
                if (held.w == FREE) return false;
            }
        }
    };
    VXM_FN static void wait() {
        if (by_block) __syncthreads();
        else __syncwarp();
    }
    VXM_FN u64 take(u64& shared) const {
        if (by_block ? threadIdx.x == 0 : lane() == 0) shared = atomicAdd(taken, (u64)1);
        wait();
        const u64 task = shared;
        wait();
        return task;
    }
    VXM_FN void run() const {
        __shared__ uint4 slots_of_all[1024];
        u32* const keys = (u32*)slots_of_all;
        __shared__ unsigned short numbers[4096];
        __shared__ u64 next[8];
        __shared__ u32 shared_out;
        u64& own = next[by_block ? 0 : warp()];
        const u32 rank = by_block ? threadIdx.x : lane(), members = by_block ? blockDim.x : 32, table = by_block ? 0 : warp() * SLOTS;
        for (u64 task = take(own); task < tasks[listed]; task = take(own)) {
            const u64 k = lower_bound(tasks, (u64)0, listed, task + 1) - 1, row = list[k];
            const u64 place = places[row] + (task - tasks[k]) * PLACES;
            const u64 last = place + PLACES < places[row + 1] ? place + PLACES : places[row + 1];
            const u64 begin = left.starts[row], end = left.starts[row + 1];
            for (u64 from = begin; from < end; from += HELD) {
                const u64 to = from + HELD < end ? from + HELD : end;
                u32 slots = 64;
                while (slots < 2 * (to - from)) slots *= 2;
                const Piece piece = {keys + table, numbers + table, slots, from, to, to - from == end - begin};
                for (u32 at = rank; at < slots; at += members) piece.keys[at] = FREE;
                if (by_block && rank == 0) shared_out = 0;
                wait();
                for (u64 x = from + rank; x < to; x += members) piece.insert(left.columns[x], (u32)(x - from));
                wait();
                if constexpr (by_block) {
                    while (true) {
                        const u32 before = lane() == 0 ? atomicAdd(&shared_out, SHARE) : 0;
                        const u64 p = place + __shfl_sync(~0u, before, 0);
                        if (p >= last) break;
                        dots_of_warp(piece, p + lane(), p + SHARE < last ? p + SHARE : last);
                    }
                } else {
                    for (u64 p = place; p < last; p += 32) dots_of_warp(piece, p + lane(), last);
                }
                wait();
            }
        }
    }
    // The dot products at a place for each lane.
    VXM_FN void dots_of_warp(const Piece& piece, u64 p, u64 last) const {
        u64 begin = 0, end = 0;
        if (p < last) {
            const u32 j = columns[p];
            begin = right.starts[j];
            end = right.starts[j + 1];
            if (!piece.is_whole && begin < end) {
                begin = lower_bound(right.columns, begin, end, left.columns[piece.begin]);
                end = lower_bound(right.columns, begin, end, left.columns[piece.end - 1] + 1);
            }
        }
        const u32 bit = 1u << p % 32;
        Maybe<T> sum = {T(), false};
        // the fold goes on where the piece before has ended
        if (!piece.is_whole && p < last && *(volatile u32*)(known + p / 32) & bit) sum = {weight_at((const T*)dots, p), true};
        const bool waits = end - begin > ALONE;
        if (!waits) {
            u64 l;
            for (u64 r = begin; r < end; r++)
                if (piece.find(right.columns[r], l)) sum = joined(sum, product(l, r));
        }
        for (u32 waiting = __ballot_sync(~0u, waits); waiting; waiting &= waiting - 1) {
            const u32 from = __ffs(waiting) - 1;
            const Maybe<T> found = dot(piece, __shfl_sync(~0u, begin, from), __shfl_sync(~0u, end, from), from_lane<Warp>(sum, from));
            if (lane() == from) sum = found;
        }
        if (!sum.present) return;
        atomicOr(known + p / 32, bit);
        put_entry(dots, p, sum.value);
    }
    VXM_FN T product(u64 l, u64 r) const { return Mul::call(weight_at(left.values, l), weight_at(right.values, r)); }
    VXM_FN static Maybe<T> joined(Maybe<T> sum, T x) { return {sum.present ? Add::call(sum.value, x) : x, true}; }
    // `sum` joined with the dot product of the piece and the entries begin .. end, by all lanes of a warp.
    VXM_FN Maybe<T> dot(const Piece& piece, u64 begin, u64 end, Maybe<T> sum) const {
        const bool searches = (end - begin) / SEARCHED > piece.end - piece.begin;
        u64 low = begin;
        if (any_order && lane() > 0) sum.present = false;
        const u64 first = searches ? piece.begin : begin, behind = searches ? piece.end : end;
        const u32* const listed = searches ? left.columns : right.columns;
        u32 next = first + lane() < behind ? listed[first + lane()] : FREE;
        for (u64 base = first; base < behind; base += 32) {
            const u64 x = base + lane();
            const u32 column = next;
            // the load takes long, so it begins before it is needed
            next = x + 32 < behind ? listed[x + 32] : FREE;
            u64 l = x, r = x;
            bool found = false;
            if (x < behind && searches) {
                low = lower_bound(right.columns, low, end, column);
                r = low;
                found = r < end && right.columns[r] == column;
            } else if (x < behind) found = piece.find(column, l);
            Maybe<T> own = {T(), found};
            if (found) own.value = product(l, r);
            if (any_order) {
                if (found) sum = joined(sum, own.value);
            } else {
                for (u32 some = __ballot_sync(~0u, found); some; some &= some - 1)
                    sum = joined(sum, from_lane<Warp>(own, __ffs(some) - 1).value);
            }
        }
        if constexpr (any_order) return join_lanes<Warp, Add>(sum);
        else return sum;
    }
};

// The predicate "row i of the left matrix and column j of the right one have an index in common", for `Mark`. The products of common
// indices are folded, and the fold of position p is written to `dots[p]`.
//
// A lane walks along both lists and folds from left to right, whatever the monoid. If the order doesn't matter and the lists are long, the
// warp takes the position together: each lane looks some indices of the shorter list up in the longer one. Rows that were computed over
// tables are known.
template <class A, class B, class T, class Mul, class Add> struct DotAtPlaces {
    const u32* columns; // of the mask
    SearchedRows<A> left;
    SearchedRows<B> right; // a row of it is a column of the right matrix
    const u32* over_tables; // a bit for each row
    const u32* known;       // a bit for each place of such a row
    T* dots;
    struct Row {
        u64 i;
        bool is_known;
    };
    // A list that is more than this many times as long as the other one is searched instead of read.
    static const u32 SEARCHED = 32;
    // Indices that a lane walks along alone: about what a search by the warp costs its lanes together.
    static const u32 ALONE = 128;
    static const bool together = Add::exact && Add::commutative;
    VXM_FN Row row(u64 i) const { return {i, (bool)(over_tables[i / 32] >> (i % 32) & 1)}; }
    VXM_FN bool marks(bool inside, u64 p, Row row, u32 j) const {
        bool some = false, waits = false;
        const u64 i = row.i;
        if (inside && row.is_known) {
            some = known[p / 32] >> (p % 32) & 1;
        } else if (inside) {
            const u64 x = left.starts[i + 1] - left.starts[i], y = right.starts[j + 1] - right.starts[j];
            waits = together && x > 0 && y > 0 && x + y > ALONE;
            if (!waits) some = dot(p, i, j);
        }
        for (u32 waiting = __ballot_sync(~0u, waits); waiting; waiting &= waiting - 1) {
            const u32 from = __ffs(waiting) - 1;
            const Maybe<T> sum = dot_of_warp((u32)__shfl_sync(~0u, (u32)i, from), __shfl_sync(~0u, j, from));
            if (lane() == from && sum.present) {
                put_entry(dots, p, sum.value);
                some = true;
            }
        }
        return some;
    }
    VXM_FN Maybe<T> dot_of_warp(u32 i, u32 j) const {
        const u64 x = left.starts[i], x_end = left.starts[i + 1], y = right.starts[j], y_end = right.starts[j + 1];
        const bool by_left = x_end - x <= y_end - y;
        const u32* const longer = by_left ? right.columns : left.columns;
        const u32* const shorter = by_left ? left.columns : right.columns;
        const u64 end = by_left ? x_end : y_end, high = by_left ? y_end : x_end;
        u64 low = by_left ? y : x;
        Maybe<T> sum = {T(), false};
        for (u64 k = (by_left ? x : y) + lane(); k < end && low < high; k += 32) {
            low = lower_bound(longer, low, high, shorter[k]);
            if (low == high || longer[low] != shorter[k]) continue;
            const u64 l = by_left ? k : low, r = by_left ? low : k;
            const T product = Mul::call(weight_at(left.values, l), weight_at(right.values, r));
            sum = {sum.present ? Add::call(sum.value, product) : product, true};
        }
        return join_lanes<Warp, Add>(sum);
    }
    VXM_FN bool dot(u64 p, u64 i, u32 j) const {
        u64 x = left.starts[i], y = right.starts[j];
        const u64 x_end = left.starts[i + 1], y_end = right.starts[j + 1];
        const bool search_x = (x_end - x) / SEARCHED > y_end - y, search_y = (y_end - y) / SEARCHED > x_end - x;
        bool some = false;
        T sum;
        while (x < x_end && y < y_end) {
            const u32 k = left.columns[x], l = right.columns[y];
            if (k < l) {
                x = search_x ? lower_bound(left.columns, x + 1, x_end, l) : x + 1;
            } else if (l < k) {
                y = search_y ? lower_bound(right.columns, y + 1, y_end, k) : y + 1;
            } else {
                const T product = Mul::call(weight_at(left.values, x++), weight_at(right.values, y++));
                sum = some ? Add::call(sum, product) : product;
                some = true;
                if (Add::exact && Add::stops && Add::terminal(sum)) break;
            }
        }
        if (some) put_entry(dots, p, sum);
        return some;
    }
};
template <class A, class B, class T, class Mul, class Add> struct AsksTogether<DotAtPlaces<A, B, T, Mul, Add>> {
    static const bool value = true;
};

} // namespace vxm
