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
// indices are folded from left to right, whatever the monoid, and the fold of position p is written to `dots[p]`.
template <class A, class B, class T, class Mul, class Add> struct DotAtPlaces {
    const u32* columns; // of the mask
    SearchedRows<A> left;
    SearchedRows<B> right; // a row of it is a column of the right matrix
    T* dots;
    typedef u64 Row;
    // A list that is more than this many times as long as the other one is searched instead of read.
    static const u32 SEARCHED = 32;
    VXM_FN Row row(u64 i) const { return i; }
    VXM_FN bool marks(u64 p, Row i, u32 j) const {
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

} // namespace vxm
