// Builds compressed rows from entries sorted by position: for triples in any order, and for the transpose.
namespace vxm {

// Where each key k < count begins in ascending keys; starts[count] is the total.
struct StartsOf {
    const u32* keys;
    u64 total;
    u64 count;
    u64* starts;
    VXM_FN void run() const {
        each_thread(count + 1, [&](u64 k) {
            starts[k] = k < count ? lower_bound(keys, (u64)0, total, (u32)k) : total;
        });
    }
};

// The rows of [0, A; A', 0], from those of A, `above`, and of its transpose, `below`, with m and n rows and `nnz` entries each.
template <class A> struct Bipartite {
    const u64 *above, *below;
    u64 m, n, nnz;
    const u32 *above_columns, *below_columns;
    const A *above_values, *below_values;
    u64* offsets;
    u32* columns;
    A* values;
    VXM_FN void run() const {
        const u64 starts = m + n + 1;
        each_thread(starts > 2 * nnz ? starts : 2 * nnz, [&](u64 k) {
            if (k < starts) offsets[k] = k <= m ? above[k] : nnz + below[k - m];
            if (k < nnz) {
                columns[k] = (u32)m + above_columns[k];
                put_entry(values, k, weight_at(above_values, k));
            } else if (k < 2 * nnz) {
                columns[k] = below_columns[k - nnz];
                put_entry(values, k, weight_at(below_values, k - nnz));
            }
        });
    }
};

// A matrix with one entry in each marked row k: in column `column[k]`, or k where `column` is null, with `value[k]`. Without marks each row has one.
template <class A> struct EntryOfRow {
    Marks marks;
    u64 rows;
    const u32* column;
    const A* value;
    u64* starts;
    u32* columns;
    A* values;
    VXM_FN void run() const {
        each_thread(rows + 1, [&](u64 k) {
            const u64 at = marks.bits ? marks.before(k) : k;
            starts[k] = at;
            if (k == rows || (marks.bits && !marks.at(k))) return;
            columns[at] = column ? column[k] : (u32)k;
            put_entry(values, at, weight_at(value, k));
        });
    }
};

// The first `count` entries of the main diagonal, as a vector: its values, and the words of its presence bits, two at a time.
template <class A> struct DiagonalOf {
    const u64* starts;
    const u32* columns;
    const A* entries;
    u64 count;
    A* values;
    u32* present;
    VXM_FN void run() const {
        each_thread((count + 63) / 64 * 64, [&](u64 i) {
            bool there = false;
            if (i < count) {
                const u64 end = starts[i + 1], p = lower_bound(columns, starts[i], end, (u32)i);
                there = p < end && columns[p] == (u32)i;
                if (there) put_entry(values, i, weight_at(entries, p));
            }
            const u32 word = __ballot_sync(~0u, there);
            if (lane() == 0) present[i / 32] = word;
        });
    }
};

// Entries permuted by `order`. The entry's value in `rows` becomes its column, as a transpose needs. A null `order` is the identity.
template <class P, class A> struct Reorder {
    const P* order;
    u64 count;
    const u32* rows;
    const A* values;
    u32* columns;
    A* ordered;
    VXM_FN void run() const {
        each_thread(count, [&](u64 r) {
            const u64 p = order ? (u64)order[r] : r;
            columns[r] = rows[p];
            put_entry(ordered, r, weight_at(values, p));
        });
    }
};

// Row and column of each triple packed into one key that sorts by rows.
struct PlaceKeys {
    const u32* rows;
    const u32* columns;
    u64 count;
    u64* keys;
    VXM_FN void run() const {
        each_thread(count, [&](u64 k) { keys[k] = (u64)rows[k] << 32 | columns[k]; });
    }
};

// Marks the first of each run of equal keys, and counts the marks of each word for a prefix sum. `repeated` becomes count - p for the first
// p that repeats its predecessor's key; it stays 0 if all keys differ.
struct MarkFirsts {
    const u64* keys;
    u64 count;
    u32* bits;
    u64* sums;
    u64* repeated;
    VXM_FN void run() const {
        each_thread((count + 31) / 32 * 32, [&](u64 p) {
            const bool inside = p < count, first = inside && (p == 0 || keys[p] != keys[p - 1]);
            const u32 word = __ballot_sync(~0u, first), others = __ballot_sync(~0u, inside && !first);
            if (lane() > 0) return;
            bits[p / 32] = word;
            sums[p / 32 + 1] = __popc(word);
            if (others) atomicMax(repeated, count - (p + __ffs(others) - 1));
        });
    }
};

// One entry for each run of equal keys: the run's values joined by F, in order.
template <class P, class A, class F> struct JoinEqual {
    const u64* keys;
    const P* order;
    u64 count;
    Marks firsts;
    const A* values;
    u32* columns;
    A* joined;
    VXM_FN A value(u64 p) const { return weight_at(values, order ? (u64)order[p] : p); }
    VXM_FN void run() const {
        each_thread(count, [&](u64 p) {
            if (!firsts.at(p)) return;
            const u64 to = firsts.before(p), key = keys[p];
            A x = value(p);
            for (u64 q = p + 1; q < count && keys[q] == key; q++) x = F::call(x, value(q));
            columns[to] = (u32)key;
            put_entry(joined, to, x);
        });
    }
};

// The row starts of the joined entries.
struct JoinedStarts {
    const u64* keys;
    u64 count;
    Marks firsts;
    u64 rows;
    u64* starts;
    VXM_FN void run() const {
        each_thread(rows + 1, [&](u64 i) { starts[i] = firsts.before(lower_bound(keys, (u64)0, count, i << 32)); });
    }
};

} // namespace vxm
