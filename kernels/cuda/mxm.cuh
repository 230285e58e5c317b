// Products of two sparse matrices. Under a mask: a dot product for each place of the mask. Without one: all products are written, sorted by
// place and folded.
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

// Products first .. first + count, in order: row after row, and within a row entry after entry of the left matrix. The key of a product is
// its place: its row, counted from `first_row`, and its column.
template <class A, class B, class T, class Mul> struct Products {
    const u64* sums; // products before each entry of the left matrix
    u64 entries;     // of the left matrix
    u64 first, count;
    const u32* rows; // of the entries of the left matrix
    u64 first_row;
    const u32* columns;
    const A* values;
    SearchedRows<B> right;
    u64* keys;
    T* products;
    VXM_FN void run() const {
        const u64 last = first + count, chunk = 32 * RUN_WORDS;
        for (u64 base = first + first_of(Warp()) * chunk; base < last; base += step_of(Warp()) * chunk) {
            Cursor cursor(sums, entries);
            cursor.approach(base);
            for (u64 q = base + lane(); q < last && q < base + chunk; q += 32) {
                const u64 p = cursor.seek(q), at = right.starts[columns[p]] + (q - sums[p]);
                keys[q - first] = (u64)(rows[p] - first_row) << 32 | right.columns[at];
                put_entry(products, q - first, Mul::call(weight_at(values, p), weight_at(right.values, at)));
            }
        }
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

// The predicate "row i of the left matrix and column j of the right one have an index in common", for `Mark`. The products of common
// indices are folded, and the fold of position p is written to `dots[p]`.
//
// A lane walks along both lists and folds from left to right, whatever the monoid. If the order doesn't matter and the lists are long, the
// warp takes the position together: each lane looks some indices of the shorter list up in the longer one.
template <class A, class B, class T, class Mul, class Add> struct DotAtPlaces {
    const u32* columns; // of the mask
    SearchedRows<A> left;
    SearchedRows<B> right; // a row of it is a column of the right matrix
    T* dots;
    typedef u64 Row;
    // A list that is more than this many times as long as the other one is searched instead of read.
    static const u32 SEARCHED = 32;
    // Indices that a lane walks along alone: about what a search by the warp costs its lanes together.
    static const u32 ALONE = 128;
    static const bool together = Add::exact && Add::commutative;
    VXM_FN Row row(u64 i) const { return i; }
    VXM_FN bool marks(bool inside, u64 p, Row i, u32 j) const {
        bool some = false, waits = false;
        if (inside) {
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
