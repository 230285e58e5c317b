// Products of two sparse matrices, row by row. A block writes the products of some rows, or of a range of columns of a long row, into shared
// memory, sorts them by place, and folds those of each place from left to right.
namespace vxm {

// The products that a block holds, or a warp if `THREADS` is 32. The first product of a row stands for the row in keys, because rows may be
// far apart.
template <class T, u32 THREADS> struct Chunk {
    static const u32 EACH = sizeof(T) > 8 ? 4 : 8, ROOM = THREADS * EACH, WORDS = ROOM / 32, BITS = 11;
    static const bool of_block = THREADS > 32;
    // from high bits to low: the first product of the row, the column, the product's number
    u64 keys[ROOM];
    alignas(16) u64 values[ROOM * sizeof(T) / 8];
    u32 firsts[WORDS + 1]; // bits of sorted products that are the first of their place
    u32 before[WORDS + 1]; // their running sums
    u64 reserved;

    VXM_FN static u32 rank() { return of_block ? threadIdx.x : lane(); }
    VXM_FN static void wait() {
        if (of_block) __syncthreads();
        else __syncwarp();
    }
    VXM_FN T* products() { return (T*)values; }
    VXM_FN void put(u32 number, u32 row_begin, u32 column, T product) {
        keys[number] = (u64)row_begin << (32 + BITS) | (u64)column << BITS | number;
        put_entry(products(), number, product);
    }
    VXM_FN u32 column(u32 i) const { return (u32)(keys[i] >> BITS); }
    VXM_FN bool is_first(u32 i) const { return firsts[i / 32] >> (i % 32) & 1; }
    // The number of places of the sorted products before i.
    VXM_FN u32 places_before(u32 i) const { return before[i / 32] + __popc(firsts[i / 32] & ((1u << i % 32) - 1)); }
    // The product at i, or `sum`, joined with the others of its place.
    template <class Add> VXM_FN T fold(u32 i, u32 count, T sum) {
        const u64 place = keys[i] >> BITS;
        for (u32 k = i + 1; k < count && keys[k] >> BITS == place; k++) sum = Add::call(sum, product(k));
        return sum;
    }
    VXM_FN T product(u32 i) { return weight_at((const T*)products(), (u32)keys[i] & (ROOM - 1)); }

    // Sorts the first `count` products and marks the first of each place. Returns the number of places. All its threads call it.
    VXM_FN u32 sort(u32 count) {
        wait();
        u32 size = 32 * EACH;
        while (size < count) size *= 2;
        // thread t holds the sorted keys t * EACH and following. Threads beyond `size` hold none
        const u32 holders = size / EACH;
        const bool holds = rank() < holders;
        u64 held[EACH];
#pragma unroll
        for (u32 x = 0; x < EACH; x++) {
            const u32 from = x * holders + rank();
            held[x] = holds && from < count ? keys[from] : ~(u64)0;
        }
        for (u32 run = 2; run <= size; run *= 2) {
            u32 stride = run / 2;
            for (; of_block && stride >= 32 * EACH; stride /= 2) trade_over_block(held, run, stride);
            for (; stride >= EACH; stride /= 2)
                if (holds) trade_over_warp(held, run, stride);
            if (holds) trade_alone(held, run, stride);
        }
        wait();
#pragma unroll
        for (u32 x = 0; x < EACH; x++)
            if (holds) keys[rank() * EACH + x] = held[x];
        wait();
        return mark(count);
    }

  private:
    // Bitonic sort (Batcher, AFIPS 1968): keys `stride` apart trade places if they are out of order. Each other run descends.
    VXM_FN static bool ascends(u32 x, u32 run) { return ((rank() * EACH + x) & run) == 0; }
    VXM_FN static u64 better(u64 own, u64 other, bool least) { return (own < other) == least ? own : other; }
    VXM_FN static void trade_alone(u64 (&held)[EACH], u32 run, u32 stride) {
#pragma unroll
        for (u32 s = EACH / 2; s > 0; s /= 2) {
            if (s > stride) continue;
#pragma unroll
            for (u32 x = 0; x < EACH; x++) {
                if (x & s) continue;
                const u64 low = held[x], high = held[x | s];
                const bool stay = (low < high) == ascends(x, run);
                held[x] = stay ? low : high;
                held[x | s] = stay ? high : low;
            }
        }
    }
    VXM_FN static void trade_over_warp(u64 (&held)[EACH], u32 run, u32 stride) {
        const bool least = ((rank() * EACH & stride) == 0) == ascends(0, run);
#pragma unroll
        for (u32 x = 0; x < EACH; x++) held[x] = better(held[x], __shfl_xor_sync(~0u, held[x], stride / EACH), least);
    }
    VXM_FN void trade_over_block(u64 (&held)[EACH], u32 run, u32 stride) {
        const bool least = ((rank() * EACH & stride) == 0) == ascends(0, run);
        wait();
#pragma unroll
        for (u32 x = 0; x < EACH; x++) keys[x * THREADS + rank()] = held[x];
        wait();
#pragma unroll
        for (u32 x = 0; x < EACH; x++) held[x] = better(held[x], keys[x * THREADS + (rank() ^ stride / EACH)], least);
    }
    VXM_FN u32 mark(u32 count) {
        for (u32 i = rank(); i < ROOM; i += THREADS) {
            const bool first = i < count && (i == 0 || keys[i] >> BITS != keys[i - 1] >> BITS);
            const u32 word = __ballot_sync(~0u, first);
            if (lane() == 0) firsts[i / 32] = word;
        }
        wait();
        if (rank() < 32) {
            u32 sum = 0;
            for (u32 base = 0; base < WORDS; base += 32) {
                const u32 w = base + lane(), own = w < WORDS ? __popc(firsts[w]) : 0, sums = running_sum(own);
                if (w < WORDS) before[w] = sum + sums - own;
                sum += __shfl_sync(~0u, sums, 31);
            }
            if (lane() == 0) before[WORDS] = sum;
            if (lane() == 0) firsts[WORDS] = 0;
        }
        wait();
        return before[WORDS];
    }
};

// How many parts each row of a product has, at `parts[i + 1]`: ranges of columns, which blocks compute. A row of more than `room` products is
// long, and marked in `bits`. If a block can't sort it at once, it has several parts of about `part` products, half of what a block sorts.
// Each part searches all entries of the row of the left matrix, so it has no fewer products than four for each. A part has at most
// `widest` columns.
struct PartsOfRows {
    const u64* starts; // of the left matrix
    const u64* before; // products before each row
    u64 rows, columns;
    u64 room, part, widest;
    u32* bits;
    u64* parts;
    VXM_FN void run() const {
        each_thread((rows + 31) / 32 * 32, [&](u64 i) {
            bool is_long = false;
            if (i < rows) {
                const u64 products = before[i + 1] - before[i], least = 4 * (starts[i + 1] - starts[i]);
                is_long = products > room;
                const u64 by_work = products / (part > least ? part : least) + 1, by_width = (columns + widest - 1) / widest;
                parts[i + 1] = products <= 2 * part || !is_long ? 1 : by_work > by_width ? by_work : by_width;
            }
            const u32 word = __ballot_sync(~0u, is_long);
            if (lane() == 0) bits[i / 32] = word;
        });
    }
};

// Where the entries of a product's parts are put while their numbers aren't known: each part in one piece, in any order.
template <class T> struct PartEntries {
    u64* taken; // entries so far
    u64* from;  // the first entry of each part
    u64* sizes; // the number of entries of part k at k + 1, zeros before
    u32* columns;
    T* values;
    // Makes room for `count` entries. All threads of the chunk call it.
    template <class Chunk> VXM_FN u64 reserve(Chunk& chunk, u64 count) const {
        if (chunk.rank() == 0) chunk.reserved = atomicAdd(taken, count);
        chunk.wait();
        return chunk.reserved;
    }
    VXM_FN void is_at(u64 part, u64 first, u64 count) const {
        from[part] = first;
        sizes[part + 1] = count;
    }
    VXM_FN void put(u64 at, u32 column, T value) const {
        columns[at] = column;
        put_entry(values, at, value);
    }
    // The entries of the sorted products.
    template <class Add, u32 THREADS> VXM_FN void put_sorted(Chunk<T, THREADS>& chunk, u32 count, u64 first) const {
        for (u32 i = chunk.rank(); i < count; i += THREADS) {
            if (chunk.is_first(i)) put(first + chunk.places_before(i), chunk.column(i), chunk.template fold<Add>(i, count, chunk.product(i)));
        }
    }
};

// The two matrices of a product.
template <class A, class B, class T, class Mul> struct Factors {
    const u32* columns;
    const A* values;
    SearchedRows<B> right;
    VXM_FN T product(u64 p, u64 at) const { return Mul::call(weight_at(values, p), weight_at(right.values, at)); }
};

// The rows that aren't long. A block, or a warp, takes the rows that begin within a unit of products, together if they fit a chunk.
template <class A, class B, class T, class Mul, class Add, u32 THREADS> struct ShortProductRows {
    typedef Chunk<T, THREADS> Products;
    const u64* starts; // of the left matrix
    const u64* before; // products before each row
    u64 count;         // of rows
    u64 room;          // the products of a chunk
    const u64* sums;   // products before each entry of the left matrix
    const u32* rows;   // of the entries of the left matrix
    u64 first_row;
    const u64* first_parts;
    Factors<A, B, T, Mul> factors;
    PartEntries<T> entries;
    VXM_FN void run() const {
        __shared__ Products chunks[256 / THREADS];
        Products& chunk = chunks[threadIdx.x / THREADS];
        // less than a chunk, so that short rows fit
        const u64 first = before[0], total = before[count] - first, unit = room - room / 16;
        const u64 own = (u64)blockIdx.x * (256 / THREADS) + threadIdx.x / THREADS, step = (u64)gridDim.x * (256 / THREADS) * unit;
        for (u64 base = own * unit; base < total; base += step) {
            u64 row = lower_bound(before, (u64)0, count, first + base);
            const u64 end = lower_bound(before, row, count, first + base + unit);
            while (row < end) {
                // all rows but the last have at most a unit's products together
                const u64 to = before[end] - before[row] <= room || row + 1 == end ? end : end - 1;
                if (before[to] - before[row] <= room) multiply(chunk, row, to);
                row = to;
            }
        }
    }
    VXM_FN void multiply(Products& chunk, u64 row, u64 end) const {
        const u64 base = before[row];
        const u32 products = (u32)(before[end] - base);
        if (products == 0) return;
        Cursor cursor(sums + starts[row], starts[end] - starts[row]);
        for (u32 k = chunk.rank(); k < products; k += THREADS) {
            const u64 p = starts[row] + cursor.seek(base + k), at = factors.right.starts[factors.columns[p]] + (base + k - sums[p]);
            chunk.put(k, (u32)(before[rows[p] - first_row] - base), factors.right.columns[at], factors.product(p, at));
        }
        const u64 to = entries.reserve(chunk, chunk.sort(products));
        entries.template put_sorted<Add>(chunk, products, to);
        // a row is said by the thread of its first product, if most rows are empty
        const bool by_rows = end - row <= products;
        Cursor again(sums + starts[row], starts[end] - starts[row]);
        for (u64 k = chunk.rank(); k < (by_rows ? end - row : products); k += THREADS) {
            const u64 i = by_rows ? row + k : rows[starts[row] + again.seek(base + k)] - first_row;
            const u32 first = (u32)(before[i] - base), last = (u32)(before[i + 1] - base);
            if (first == last || (!by_rows && first != k)) continue;
            const u32 begin = chunk.places_before(first);
            entries.is_at(first_parts[i], to + begin, chunk.places_before(last) - begin);
        }
        chunk.wait();
    }
};

// The long rows. A block takes a range of columns. If more products lie in it than a chunk holds, they are folded chunk by chunk into one
// element for each column.
template <class A, class B, class T, class Mul, class Add> struct LongProductRows {
    const u64* starts; // of the left matrix
    const u32* list;   // the long rows
    u64 listed;
    u64 room;         // the products of a chunk
    const u64* tasks; // the running sums of their parts
    u64 columns;      // of the right matrix
    const u64* first_parts;
    Factors<A, B, T, Mul> factors;
    PartEntries<T> entries;
    u64 width; // of a block's elements, a multiple of 32
    u32* bits; // the columns of a block that hold an element, zeros before
    T* sums;
    typedef Chunk<T, 256> Products;
    // What lies in the range: the part of the right matrix' row for each of some entries of the left one, and their running sums.
    struct Pieces {
        u64 at[256], ends[256], parts[8];
    };
    VXM_FN void run() const {
        __shared__ Products chunk;
        __shared__ Pieces pieces;
        for (u64 task = blockIdx.x; task < tasks[listed]; task += gridDim.x) {
            const u64 k = lower_bound(tasks, (u64)0, listed, task + 1) - 1, part = task - tasks[k], parts = tasks[k + 1] - tasks[k];
            const u64 span = (columns + parts - 1) / parts, low = part * span;
            if (low >= columns) continue;
            const u64 high = low + span < columns ? low + span : columns;
            multiply(chunk, pieces, list[k], low, high, first_parts[list[k]] + part);
        }
    }
    VXM_FN void multiply(Products& chunk, Pieces& pieces, u64 row, u64 low, u64 high, u64 part) const {
        u32 filled = 0;
        bool folded = false;
        for (u64 first = starts[row]; first < starts[row + 1]; first += blockDim.x) {
            const u64 total = look(pieces, first, starts[row + 1], low, high);
            for (u64 done = 0; done < total;) {
                if (filled == room) {
                    fold_in(chunk, filled, low);
                    filled = 0;
                    folded = true;
                }
                const u32 left = (u32)room - filled, now = total - done < left ? (u32)(total - done) : left;
                for (u32 k = threadIdx.x; k < now; k += blockDim.x) {
                    const u64 entry = lower_bound(pieces.ends, (u64)0, (u64)255, done + k + 1);
                    const u64 at = pieces.at[entry] + (done + k - (entry ? pieces.ends[entry - 1] : 0));
                    chunk.put(filled + k, 0, factors.right.columns[at], factors.product(first + entry, at));
                }
                filled += now;
                done += now;
            }
            // the pieces are read no more
            __syncthreads();
        }
        if (folded) {
            fold_in(chunk, filled, low);
            put_folded(pieces, chunk, low, high, part);
        } else if (filled) {
            const u32 places = chunk.sort(filled);
            const u64 to = entries.reserve(chunk, places);
            entries.template put_sorted<Add>(chunk, filled, to);
            if (threadIdx.x == 0) entries.is_at(part, to, places);
        }
        __syncthreads();
    }
    // Finds the pieces of 256 entries from `first` on. Returns the number of their products.
    VXM_FN u64 look(Pieces& pieces, u64 first, u64 end, u64 low, u64 high) const {
        u64 length = 0;
        if (first + threadIdx.x < end) {
            const u32 k = factors.columns[first + threadIdx.x];
            u64 from = factors.right.starts[k], to = factors.right.starts[k + 1];
            if (low > 0) from = lower_bound(factors.right.columns, from, to, (u32)low);
            if (high < columns) to = lower_bound(factors.right.columns, from, to, (u32)high);
            pieces.at[threadIdx.x] = from;
            length = to - from;
        }
        const u64 sum = sum_before(pieces, length);
        pieces.ends[threadIdx.x] = sum + length;
        __syncthreads();
        return pieces.ends[255];
    }
    // The sum of `x` over the threads before this one. `pieces.parts` holds the sums of warps.
    VXM_FN static u64 sum_before(Pieces& pieces, u64 x) {
        u64 sum = x;
#pragma unroll
        for (u32 step = 1; step < 32; step *= 2) {
            const u64 other = __shfl_up_sync(~0u, sum, step);
            if (lane() >= step) sum += other;
        }
        if (lane() == 31) pieces.parts[warp()] = sum;
        __syncthreads();
        for (u32 w = 0; w < warp(); w++) sum += pieces.parts[w];
        return sum - x;
    }
    VXM_FN u32* own_bits() const { return bits + blockIdx.x * (width / 32); }
    VXM_FN T* own_sums() const { return sums + blockIdx.x * width; }
    VXM_FN void fold_in(Products& chunk, u32 count, u64 low) const {
        chunk.sort(count);
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
            if (!chunk.is_first(i)) continue;
            const u32 at = (u32)(chunk.column(i) - low);
            u32* const word = own_bits() + at / 32;
            // no other thread changes this bit
            const bool there = *(volatile u32*)word >> (at % 32) & 1;
            T sum = chunk.product(i);
            if (there) sum = Add::call(weight_at((const T*)own_sums(), at), sum);
            else atomicOr(word, 1u << at % 32);
            put_entry(own_sums(), at, chunk.template fold<Add>(i, count, sum));
        }
        __syncthreads();
    }
    // The entries of the folded elements. The bits become zeros again.
    VXM_FN void put_folded(Pieces& pieces, Products& chunk, u64 low, u64 high, u64 part) const {
        const u64 words = (high - low + 31) / 32;
        u64 own = 0;
        for (u64 w = threadIdx.x; w < words; w += blockDim.x) own += __popc(own_bits()[w]);
        const u64 sum = sum_before(pieces, own);
        pieces.ends[threadIdx.x] = sum + own;
        __syncthreads();
        const u64 count = pieces.ends[255], first = entries.reserve(chunk, count);
        if (threadIdx.x == 0) entries.is_at(part, first, count);
        u64 to = first;
        for (u64 base = 0; base < words; base += blockDim.x) {
            const u64 w = base + threadIdx.x;
            const u32 word = w < words ? own_bits()[w] : 0;
            if (word) own_bits()[w] = 0;
            const u64 sum = sum_before(pieces, __popc(word));
            // the lanes of a warp write the elements of a word together
            for (u32 some = __ballot_sync(~0u, word != 0); some; some &= some - 1) {
                const u32 from = __ffs(some) - 1, marked = __shfl_sync(~0u, word, from);
                const u64 before = __shfl_sync(~0u, sum, from), at = (base + threadIdx.x - lane() + from) * 32 + lane();
                if (!(marked >> lane() & 1)) continue;
                entries.put(to + before + __popc(marked & ((1u << lane()) - 1)), (u32)(low + at), weight_at((const T*)own_sums(), at));
            }
            pieces.ends[threadIdx.x] = sum + __popc(word);
            __syncthreads();
            to += pieces.ends[255];
            __syncthreads();
        }
    }
};

// The row starts of the product, from where its parts begin.
struct StartsOfParts {
    const u64* first_parts;
    u64 rows;
    const u64* part_starts;
    u64* starts;
    VXM_FN void run() const {
        each_thread(rows + 1, [&](u64 i) { starts[i] = part_starts[first_parts[i]]; });
    }
};

// The entries of all parts, in order.
template <class T> struct GatherParts {
    const u64* part_starts;
    u64 parts;
    const u64* from;
    const u32* part_columns;
    const T* part_values;
    u32* columns;
    T* values;
    VXM_FN void run() const {
        each_place(part_starts, parts, [&](u64 p, u64 part) {
            const u64 at = from[part] + (p - part_starts[part]);
            columns[p] = part_columns[at];
            put_entry(values, p, weight_at(part_values, at));
        });
    }
};

} // namespace vxm
