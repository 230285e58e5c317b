// Verbs over a matrix' entries: map, select, element-wise union and intersection, extract. A thread or warp handles a fixed number of
// entries, however long the rows are. Columns are searched for by bisection, so an entry of a hub costs about as much as any other.
namespace vxm {

// mapped = op(a) for every entry a.
template <class F, class A, class T> struct MapEntries {
    const A* values;
    u64 count;
    T* mapped;
    VXM_FN void run() const {
        each_thread(count, [&](u64 p) {
            const T y = F::call(weight_at(values, p));
            put_entry(mapped, p, y);
        });
    }
};

// mapped = op(row, column, a) for every entry a.
template <class F, class A, class T> struct MapEntriesIndexed {
    const u64* starts;
    u64 count;
    const u32* columns;
    const A* values;
    T* mapped;
    VXM_FN void run() const {
        each_place(starts, count, [&](u64 p, u64 i) {
            const u32 row = (u32)i, column = columns[p];
            const T y = F::call(row, column, weight_at(values, p));
            put_entry(mapped, p, y);
        });
    }
};

// The predicate "op(row, column, a) is true", for `Mark`.
template <class F, class A> struct SelectEntries {
    const u32* columns;
    const A* values;
    typedef u32 Row;
    VXM_FN Row row(u64 i) const { return (u32)i; }
    VXM_FN bool marks(u64 p, Row row, u32 column) const { return F::call(row, column, weight_at(values, p)); }
};

// The predicate "u has both ends, and op(u[row], u[column]) is true", for `Mark`.
template <class V, class F> struct SelectByEnds {
    const u32* columns;
    V ends;
    typedef Maybe<typename V::Elem> Row;
    VXM_FN Row row(u64 i) const {
        Row own;
        own.present = ends.at(Thread(), (u32)i, own.value);
        return own;
    }
    VXM_FN bool marks(u64, Row own, u32 column) const {
        typename V::Elem other;
        return own.present && ends.at(Thread(), column, other) && F::call(own.value, other);
    }
};

// The submatrix between the vertices where u has an element, with rows and columns renumbered. It keeps the entries for which op(u[row],
// u[column]) is true.
// Each row is cut into parts of PART entries, one for a warp. The first pass sets a bit for each kept entry and counts them by part. The
// second pass copies them to the positions that the parts' running sums give.
template <class T, class F, class A> struct InducedSubmatrix {
    const u32* list; // indices at which u has an element, ascending
    u64 count;
    const u64* starts;
    const u64* parts; // running sums of the number of parts of each listed row
    u64* sums;        // kept entries by part: counts at first, running sums in the second pass
    u32* bits;        // one bit an entry of a listed row; each row starts at a word of its own
    Marks numbers;    // renumbers the vertices: `numbers.before(i)` is the new number of i
    const u32* columns;
    const A* values;
    u64* kept_starts;
    u32* kept_columns;
    A* kept_values;
    Stored<T, true> ends; // u; its presence bits are those of `numbers`
    static const u32 PART = 4096, UNROLL = 8, STEP = 32 * UNROLL;
    // Calls use(part, row, from, length, words), once a part, by a whole warp. `from` and `length` say which entries the part has. `words`
    // is where its bits are stored. The word index adds one for each earlier listed row, so no two rows share a word.
    template <class Use> VXM_FN void each_part(const Use& use) const {
        const u64 all = parts[count];
        for (u64 part = first_of(Warp()); part < all; part += step_of(Warp())) {
            Cursor cursor(parts, count);
            cursor.approach(part);
            const u64 k = cursor.seek(part), row = list[k], begin = starts[row], before = (part - parts[k]) * PART;
            const u64 rest = starts[row + 1] - begin - before;
            use(part, (u32)row, begin + before, rest < PART ? (u32)rest : PART, bits + begin / 32 + k + before / 32);
        }
    }
    VXM_FN void run(Counting) const {
        each_part([&](u64 part, u32 row, u64 from, u32 length, u32* words) {
            const auto load = [&](u32 base, u32 (&column)[UNROLL]) {
#pragma unroll
                for (u32 k = 0; k < UNROLL; k++)
                    column[k] = base + k * 32 + lane() < length ? columns[from + base + k * 32 + lane()] : NONE;
            };
            T own;
            ends.at(Thread(), row, own);
            u32 kept = 0, column[UNROLL], next[UNROLL];
            load(0, next);
            for (u32 base = 0; base < length; base += STEP) {
#pragma unroll
                for (u32 k = 0; k < UNROLL; k++) column[k] = next[k];
                load(base + STEP, next);
                bool there[UNROLL];
                T other[UNROLL];
#pragma unroll
                for (u32 k = 0; k < UNROLL; k++) there[k] = column[k] != NONE && numbers.at(column[k]);
#pragma unroll
                for (u32 k = 0; k < UNROLL; k++)
                    if (there[k]) ends.at(Thread(), column[k], other[k]);
                u32 mine = 0;
#pragma unroll
                for (u32 k = 0; k < UNROLL; k++) {
                    const u32 word = __ballot_sync(~0u, there[k] && F::call(own, other[k]));
                    if (lane() == k) mine = word;
                    kept += __popc(word);
                }
                if (lane() < UNROLL && base + lane() * 32 < length) words[base / 32 + lane()] = mine;
            }
            if (lane() == 0) sums[part + 1] = kept;
        });
    }
    VXM_FN void run(Filling) const {
        each_thread(count + 1, [&](u64 k) { kept_starts[k] = sums[parts[k]]; });
        each_part([&](u64 part, u32, u64 from, u32 length, const u32* words) {
            u64 place = sums[part];
            if (place == sums[part + 1]) return;
            const auto load = [&](u32 base) {
                return lane() < UNROLL && base + lane() * 32 < length ? words[base / 32 + lane()] : 0;
            };
            u32 next = load(0);
            for (u32 base = 0; base < length; base += STEP) {
                const u32 mine = next;
                next = load(base + STEP);
                u32 word[UNROLL], column[UNROLL];
#pragma unroll
                for (u32 k = 0; k < UNROLL; k++) {
                    word[k] = __shfl_sync(~0u, mine, k);
                    if (word[k] >> lane() & 1) column[k] = columns[from + base + k * 32 + lane()];
                }
#pragma unroll
                for (u32 k = 0; k < UNROLL; k++)
                    if (word[k] >> lane() & 1) column[k] = (u32)numbers.before(column[k]);
#pragma unroll
                for (u32 k = 0; k < UNROLL; k++) {
                    const u64 to = place + __popc(word[k] & ((1u << lane()) - 1));
                    place += __popc(word[k]);
                    if (!(word[k] >> lane() & 1)) continue;
                    kept_columns[to] = column[k];
                    copy_entry(kept_values, to, values, from + base + k * 32 + lane());
                }
            }
        });
    }
};

// mapped = op(u[row], u[column]) for every entry. The caller ensures that u has both ends of each.
template <class V, class F, class T> struct MapEnds {
    const u64* starts;
    u64 count;
    const u32* columns;
    T* mapped;
    V ends;
    VXM_FN void run() const {
        each_place(starts, count, [&](u64 p, u64 i) {
            typename V::Elem own, other;
            if (!ends.at(Thread(), (u32)i, own) || !ends.at(Thread(), columns[p], other)) return;
            const T y = F::call(own, other);
            put_entry(mapped, p, y);
        });
    }
};

// The most vectors of `MapEndsMany`.
const u32 MANY_ENDS = 32;

// Sixteen bytes of elements, which are loaded at once.
template <class T> struct alignas(16) Pack {
    enum { LEN = 16 / sizeof(T) };
    T at[LEN];
};

// packed[i] = the elements i of several vectors, side by side. Bit k of held[i] says whether vector k holds one.
template <class T> struct PackEnds {
    u64 count, many, packs; // elements, vectors, and packs of an element
    const T* values[MANY_ENDS];
    const u32* bits[MANY_ENDS]; // null if the vector is full
    Pack<T>* packed;
    u32* held;
    VXM_FN void run() const {
        // a thread for each pack, so that a warp writes its packs side by side
        each_thread(count * packs, [&](u64 place) {
            const u64 i = place / packs, p = place % packs;
            Pack<T> pack = {};
            for (u32 l = 0; l < Pack<T>::LEN; l++) {
                const u64 k = p * Pack<T>::LEN + l;
                if (holds(k, i)) pack.at[l] = weight_at(values[k], i);
            }
            packed[place] = pack;
        });
        each_thread(count, [&](u64 i) {
            u32 here = 0;
            for (u32 k = 0; k < MANY_ENDS; k++) here |= (u32)holds(k, i) << k;
            held[i] = here;
        });
    }
    // Whether vector k holds element i.
    VXM_FN bool holds(u64 k, u64 i) const { return k < many && (!bits[k] || bit(bits[k], (u32)i)); }
};

// Bit k of mapped = op(u[row], u[column]) for vector k, for every entry, where the vector holds both elements.
template <class T, class F> struct MapEndsMany {
    const u64* starts;
    u64 count;
    const u32* columns;
    u64 packs;
    const Pack<T>* packed;
    const u32* held;
    u32* mapped;
    VXM_FN void run() const {
        each_place(starts, count, [&](u64 p, u64 i) {
            const u64 j = columns[p];
            const Pack<T>*own = packed + i * packs, *other = packed + j * packs;
            u32 answers = 0;
            for (u64 k = 0; k < packs; k++) {
                const Pack<T> x = own[k], y = other[k];
                for (u32 l = 0; l < Pack<T>::LEN; l++) {
                    answers |= (u32)F::call(x.at[l], y.at[l]) << (k * Pack<T>::LEN + l);
                }
            }
            mapped[p] = answers & held[i] & held[j];
        });
    }
};

// A matrix with rows that are searched by column.
template <class A> struct SearchedRows {
    const u64* starts;
    const u32* columns;
    const A* values;
    // The position of the first entry of row i in column j or a later one; the row's end if there is none.
    VXM_FN u64 find(u64 i, u32 j) const { return lower_bound(columns, starts[i], starts[i + 1], j); }
    VXM_FN bool has(u64 q, u64 i, u32 j) const { return q < starts[i + 1] && columns[q] == j; }
};

// The predicate "the other matrix has an entry at this row and column" (`shared`), or "has none" (not `shared`), for `Mark`.
template <class B, bool shared> struct SelectByPattern {
    const u32* columns;
    SearchedRows<B> other;
    typedef u64 Row;
    VXM_FN Row row(u64 i) const { return i; }
    VXM_FN bool marks(u64, Row i, u32 j) const { return other.has(other.find(i, j), i, j) == shared; }
};

// The row starts after compaction: row i starts behind all marked entries of earlier rows.
VXM_FN void move_starts(const u64* starts, u64 count, const Marks& marks, u64* moved) {
    each_thread(count + 1, [&](u64 i) { moved[i] = marks.before(starts[i]); });
}

// A copy of the marked entries, in order.
template <class A> struct KeepMarked {
    const u64* starts;
    u64 count;
    Marks marks;
    const u32* columns;
    const A* values;
    u64* kept_starts;
    u32* kept_columns;
    A* kept_values;
    VXM_FN void run() const {
        move_starts(starts, count, marks, kept_starts);
        struct Target {
            bool marked;
            u32 column;
            u64 to;
        };
        each_loaded(
            starts[count], [&](u64 p) { return marks.at(p) ? Target{true, columns[p], marks.before(p)} : Target{false, 0, 0}; },
            [&](u64 p, Target kept) {
                if (!kept.marked) return;
                kept_columns[kept.to] = kept.column;
                copy_entry(kept_values, kept.to, values, p);
            });
    }
};

// The marked entries, each joined to the other matrix' entry in the same row and column. All marked entries have such a partner.
template <class A, class B, class T, class F> struct JoinMarked {
    const u64* starts;
    u64 count;
    Marks marks;
    const u32* columns;
    const A* values;
    SearchedRows<B> other;
    u64* kept_starts;
    u32* kept_columns;
    T* joined;
    VXM_FN void run() const {
        move_starts(starts, count, marks, kept_starts);
        each_place(starts, count, [&](u64 p, u64 i) {
            if (!marks.at(p)) return;
            const u64 to = marks.before(p);
            const u32 j = columns[p];
            const T x = F::call(weight_at(values, p), weight_at(other.values, other.find(i, j)));
            kept_columns[to] = j;
            put_entry(joined, to, x);
        });
    }
};

// The union of x and y: where both have an entry, op joins the two. `marks` are the entries of y that x lacks.
// An entry at (i, j) goes behind all entries of x and all marked entries of y that lie before (i, j) in row order. The number of these is
// its position in the result.
template <class A, class F> struct MergeEntries {
    u64 count;
    SearchedRows<A> x;
    SearchedRows<A> y;
    Marks marks;
    u64* starts;
    u32* columns;
    A* values;
    VXM_FN void put(u64 to, u32 j, A a) const {
        columns[to] = j;
        put_entry(values, to, a);
    }
    VXM_FN void run() const {
        each_thread(count + 1, [&](u64 i) { starts[i] = x.starts[i] + marks.before(y.starts[i]); });
        each_place(x.starts, count, [&](u64 p, u64 i) {
            const u32 j = x.columns[p];
            const u64 q = y.find(i, j);
            A a = weight_at(x.values, p);
            if (y.has(q, i, j)) a = F::call(a, weight_at(y.values, q));
            put(p + marks.before(q), j, a);
        });
        each_place(y.starts, count, [&](u64 q, u64 i) {
            if (!marks.at(q)) return;
            const u32 j = y.columns[q];
            put(marks.before(q) + x.find(i, j), j, weight_at(y.values, q));
        });
    }
};

// Rows chosen by a list: row k of these is row list[k] of the matrix. `entry(t, k)` is the position in the matrix of their entry t, which
// lies in row k.
struct ListedRows {
    const u32* list;
    u64 count;
    const u64* sums; // running sums of the listed rows' lengths
    const u64* starts;
    VXM_FN u64 entry(u64 t, u64 k) const { return starts[list[k]] + (t - sums[k]); }
};

// First pass of extract: how often each entry of the listed rows is copied. Column j was asked for at the positions places[first[j]] to
// places[first[j + 1]] (exclusive).
struct CountExtracted {
    ListedRows rows;
    const u32* columns;
    const u64* first;
    u64* counts;
    VXM_FN void run() const {
        each_place(rows.sums, rows.count, [&](u64 t, u64 k) {
            const u32 j = columns[rows.entry(t, k)];
            counts[t + 1] = first[j + 1] - first[j];
        });
    }
};

// Second pass of extract: the position of each copy in the result, packed as row << 32 | column, and its value. `sums[t]` is the number of
// copies made of entries before t; there are `entries` entries.
template <class A> struct TakeExtracted {
    ListedRows rows;
    const u32* columns;
    const u64* first;
    const u64* sums;
    u64 entries;
    const u32* places;
    const A* values;
    u64* keys;
    A* taken;
    VXM_FN void run() const {
        each_place(sums, entries, [&](u64 q, u64 t) {
            const u64 k = Cursor(rows.sums, rows.count).seek(t), p = rows.entry(t, k);
            keys[q] = k << 32 | places[first[columns[p]] + (q - sums[t])];
            put_entry(taken, q, weight_at(values, p));
        });
    }
};

// A vector: element i is the fold of row i of a matrix. Rows without entries have none.
template <class O, class A, class Add> struct FoldRow {
    typedef A Elem;
    static const bool full = false;
    const O* offsets;
    const u32* columns;
    const A* weights;
    struct Row {
        static const u32 unroll = 4;
        static const bool full = true;
        const A* weights;
        VXM_FN Row from(u64 p) const { return {weights + p}; }
        VXM_FN A load(u32 p) const { return weight_at(weights, p); }
        VXM_FN A reach(A x) const { return x; }
        VXM_FN Maybe<A> make(A x, A) const { return {x, true}; }
    };
    template <class G> VXM_FN bool at(G g, u32 i, A& y) const {
        const u64 begin = offsets[i], len = offsets[i + 1] - begin;
        const Row row = {weights};
        const Maybe<A> sum = fold<Add, A>(g, len, row.from(begin), Unstopped());
        if (sum.present) y = sum.value;
        return sum.present;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};

} // namespace vxm
