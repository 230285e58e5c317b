// A stable radix sort of keys with their items, least significant digit first. In each pass a tile counts its digits. Prefix sums over
// (digit, tile) give where the tile's items of each digit begin. Then each tile scatters its items there, in order.
namespace vxm {

[[maybe_unused]] const u32 DIGITS = 256;     // one a thread of the block
[[maybe_unused]] const u32 SORT_WARPS = 8;   // warps of a block
[[maybe_unused]] const u32 SORT_EACH = 8;    // items of a thread
[[maybe_unused]] const u32 SORT_TILE = 2048; // DIGITS * SORT_EACH

// Unsigned keys that order as the elements do.
struct Unsigned {
    template <class T> static VXM_FN u64 key(T x) { return word_of(x); }
};
struct Signed {
    template <class T> static VXM_FN u64 key(T x) { return word_of(x) ^ (u64)1 << (8 * sizeof(T) - 1); }
};
// For floats: positive numbers get the sign bit set, negative ones are complemented, so that those of greater magnitude come first. Every
// NaN gets the greatest key, whatever its bits.
struct Floating {
    template <class T> static VXM_FN u64 key(T x) {
        const u64 word = word_of(x), sign = (u64)1 << (8 * sizeof(T) - 1), all = sign | (sign - 1);
        if (is_nan(x)) return all;
        return word & sign ? all ^ word : sign | word;
    }
};

VXM_FN u32 and_over_warp(u32 x) { return __reduce_and_sync(~0u, x); }
VXM_FN u64 and_over_warp(u64 x) { return (u64)and_over_warp((u32)(x >> 32)) << 32 | and_over_warp((u32)x); }

// Makes the keys of the listed elements; of all, if `list` is null. `spread[0]` becomes the AND of all keys and `spread[1]` the OR. A digit
// on which the two agree is the same in all keys and needs no pass.
template <class V, class Order, class K> struct SortKeys {
    const u32* list;
    u64 count;
    K* keys;
    u64* spread;
    V view;
    VXM_FN void run() const {
        K all = ~(K)0, none = ~(K)0;
        each_thread(count, [&](u64 k) {
            typename V::Elem x;
            if (!view.at(Thread(), list ? list[k] : (u32)k, x)) return;
            const K key = (K)Order::key(x);
            keys[k] = key;
            all &= key;
            none &= ~key;
        });
        all = and_over_warp(all);
        none = and_over_warp(none);
        if (lane() > 0) return;
        atomicAnd(spread, (u64)all);
        atomicOr(spread + 1, (u64)(K)~none);
    }
};

// One pass over the digit at bit `shift`. If `items` is null, each item is its own position.
template <class K, class P> struct SortPass {
    const K* keys;
    const P* items;
    u64 count;
    u64 shift;
    u64 tiles;
    u64* starts;
    K* sorted_keys;
    P* sorted_items;
    VXM_FN u32 digit(K key) const { return (u32)(key >> shift) & (DIGITS - 1); }
    VXM_FN void run(Counting) const {
        __shared__ u32 counts[DIGITS];
        counts[threadIdx.x] = 0;
        __syncthreads();
        for (u32 k = 0; k < SORT_EACH; k++) {
            const u64 p = (u64)blockIdx.x * SORT_TILE + k * DIGITS + threadIdx.x;
            if (p < count) atomicAdd(counts + digit(keys[p]), 1u);
        }
        __syncthreads();
        starts[threadIdx.x * tiles + blockIdx.x + 1] = counts[threadIdx.x];
    }
    VXM_FN void run(Filling) const {
        __shared__ u32 counts[SORT_WARPS][DIGITS];
        __shared__ u64 begin[DIGITS];
        for (u32 w = 0; w < SORT_WARPS; w++) counts[w][threadIdx.x] = 0;
        __syncthreads();
        const u64 first = (u64)blockIdx.x * SORT_TILE + warp() * (SORT_TILE / SORT_WARPS) + lane();
        K key[SORT_EACH];
        u32 rank[SORT_EACH];
        // A warp takes SORT_TILE / SORT_WARPS consecutive items, 32 at a time. Among equal digits of those 32 the lower lane comes first,
        // so the order is kept. `rank` counts the warp's earlier items of the same digit.
#pragma unroll
        for (u32 k = 0; k < SORT_EACH; k++) {
            const bool inside = first + k * 32 < count;
            key[k] = inside ? keys[first + k * 32] : (K)0;
            const u32 d = inside ? digit(key[k]) : DIGITS;
            const u32 equal = __match_any_sync(~0u, d), before = equal & (1u << lane()) - 1;
            const u32 held = inside ? counts[warp()][d] : 0;
            __syncwarp();
            if (inside && before == 0) counts[warp()][d] = held + __popc(equal);
            __syncwarp();
            rank[k] = held + __popc(before);
        }
        __syncthreads();
        // thread d handles digit d: its counts become exclusive prefix sums over the warps
        u32 sum = 0;
        for (u32 w = 0; w < SORT_WARPS; w++) {
            const u32 own = counts[w][threadIdx.x];
            counts[w][threadIdx.x] = sum;
            sum += own;
        }
        begin[threadIdx.x] = starts[threadIdx.x * tiles + blockIdx.x];
        __syncthreads();
#pragma unroll
        for (u32 k = 0; k < SORT_EACH; k++) {
            const u64 p = first + k * 32;
            if (p >= count) continue;
            const u32 d = digit(key[k]);
            const u64 to = begin[d] + counts[warp()][d] + rank[k];
            sorted_keys[to] = key[k];
            sorted_items[to] = items ? items[p] : (P)p;
        }
    }
};

// The inverse of an order: ranks[order[r]] = r. A null `order` is the identity.
struct Ranks {
    const u32* order;
    u64 count;
    u32* ranks;
    VXM_FN void run() const {
        each_thread(count, [&](u64 r) { ranks[order ? order[r] : (u32)r] = (u32)r; });
    }
};

} // namespace vxm
