// Staging of short rows: a warp computes the products of 32 consecutive rows in the order of their entries and keeps them in shared memory.
// Then each thread folds one row. So loads are coalesced, whatever the rows' lengths.
// Longer rows are skipped; they are folded by a warp or a block. Staging is for inexact monoids: exact ones fold in order, with few
// registers, and may stop early.
namespace vxm {

// The group of a kernel that stages the rows of the primary product. If `folds_long`, a warp also folds each longer row that it meets. That
// is for matrices where few rows are longer, so that another launch would take more time.
template <class Primary, bool folds_long> struct Staging {
    const Primary& primary;
};

// The staged products of 32 rows. If some may be absent, `present` has a bit for each.
template <class Primary> struct Stage {
    typedef typename Primary::Elem T;
    const Primary& primary;
    T* products;
    u32* present;

    template <u32 count, class Rows> VXM_FN void store(const Rows& rows, u32 e, u32 total, decltype(rows.load(0)) (&entries)[count]) const {
        Maybe<T> x[count];
#pragma unroll
        for (u32 k = 0; k < count; k++) {
            x[k].present = false;
            if (e + k * 32 < total) x[k] = rows.make(entries[k], rows.reach(entries[k]));
        }
#pragma unroll
        for (u32 k = 0; k < count; k++) {
            const u32 at = e + k * 32;
            if (at < total) products[at] = x[k].value;
            if (!Rows::full) {
                const u32 there = __ballot_sync(~0u, x[k].present);
                if (lane() == 0 && at < total) present[at / 32] = there;
            }
        }
    }
    // Stages 32 rows that are all short. Their entries are contiguous and begin at `first`.
    VXM_FN void fill(u64 first, u32 total) const {
        const u32 count = 4;
        VXM_TALLY(edges, lane() == 0 ? total : 0);
        const auto rows = primary.template rows<true>().from(first);
        for (u32 e = lane(); e - lane() < total; e += count * 32) {
            decltype(rows.load(0)) entries[count];
#pragma unroll
            for (u32 k = 0; k < count; k++)
                if (e + k * 32 < total) entries[k] = rows.load(e + k * 32);
            store(rows, e, total, entries);
        }
    }
    // Stages the short ones of 32 rows. This thread's row has its products at `start`, and its entries at `start + shift`. `heads` gets a
    // bit for each position at which a nonempty row begins, and `shifts` those rows' shifts, in order.
    VXM_FN void fill_gathered(u32 len, u32 start, u64 shift, u32 total, u32* heads, u64* shifts) const {
        const u32 count = 4;
        VXM_TALLY(edges, lane() == 0 ? total : 0);
        const auto rows = primary.template rows<true>();
        const u32 nonempty = __ballot_sync(~0u, len > 0);
        heads[lane()] = 0;
        __syncwarp();
        if (len > 0) {
            atomicOr(heads + start / 32, 1u << start % 32);
            shifts[__popc(nonempty & ((1u << lane()) - 1))] = shift;
        }
        __syncwarp();
        // number of rows that begin before this lane's word of `heads`
        u32 before = __popc(heads[lane()]);
#pragma unroll
        for (u32 step = 1; step < 32; step *= 2) {
            const u32 x = __shfl_up_sync(~0u, before, step);
            if (lane() >= step) before += x;
        }
        before -= __popc(heads[lane()]);
        for (u32 e = lane(); e - lane() < total; e += count * 32) {
            decltype(rows.load(0)) entries[count];
#pragma unroll
            for (u32 k = 0; k < count; k++) {
                const u32 at = e + k * 32;
                const u32 row = __shfl_sync(~0u, before, at / 32 & 31) + __popc(heads[at / 32 & 31] << 31 - lane()) - 1;
                if (at < total) entries[k] = rows.from(shifts[row] + at).load(0);
            }
            store(rows, e, total, entries);
        }
    }
};

// A warp handles 32 indices at a time, and owns their word of bits.
template <class Primary, bool folds_long, class K>
VXM_FN void each(Staging<Primary, folds_long> staging, const Range& range, u32* bits, const K& kernel) {
    typedef typename Primary::Elem T;
    __shared__ u64 products[Config::staging_warps][SHORT * 32 * sizeof(T) / 8];
    __shared__ u32 present[Config::staging_warps][SHORT + 1];
    __shared__ u32 heads[Config::staging_warps][SHORT];
    __shared__ u64 shifts[Config::staging_warps][32];
    const Primary& primary = staging.primary;
    const Stage<Primary> stage = {primary, (T*)products[warp()], present[warp()]};
    // the next rows' offsets are loaded before this word's rows are folded
    const auto row = [&](u64 i) { return primary.offsets[i < range.count ? i : range.count]; };
    u64 word = first_of(Warp());
    auto next_begin = row(word * 32 + lane()), next_end = row(word * 32 + lane() + 1);
    // bitmaps consist of 64-bit words, which are written whole
    for (; word < (range.count + 63) / 64 * 2; word += step_of(Warp())) {
        const u64 i = word * 32 + lane();
        const auto begin = next_begin, end = next_end;
        next_begin = row(i + step_of(Warp()) * 32);
        next_end = row(i + step_of(Warp()) * 32 + 1);
        const bool is_short = end - begin <= SHORT;
        const u32 len = is_short ? (u32)(end - begin) : 0;
        u32 start;
        if (__all_sync(~0u, is_short)) {
            const auto first = __shfl_sync(~0u, begin, 0);
            start = (u32)(begin - first);
            stage.fill(first, (u32)(__shfl_sync(~0u, end, 31) - first));
        } else {
            u32 upto = len;
#pragma unroll
            for (u32 step = 1; step < 32; step *= 2) {
                const u32 before = __shfl_up_sync(~0u, upto, step);
                if (lane() >= step) upto += before;
            }
            start = upto - len;
            stage.fill_gathered(len, start, (u64)begin - start, __shfl_sync(~0u, upto, 31), heads[warp()], shifts[warp()]);
        }
        __syncwarp();
        const Staged g = {products[warp()], present[warp()], start, len};
        const bool has = i < range.count && is_short && kernel.step(g, (u32)i);
        u32 result = __ballot_sync(~0u, has), skipped = __ballot_sync(~0u, !is_short);
        if constexpr (folds_long) {
            for (; skipped; skipped &= skipped - 1) {
                const u32 l = __ffs(skipped) - 1;
                if (kernel.step(Warp(), (u32)(word * 32 + l))) result |= 1u << l;
            }
        }
        if (bits) {
            if (K::fresh) skipped = 0;
            if (lane() == 0) bits[word] = skipped ? result | bits[word] & skipped : result;
        }
        __syncwarp();
    }
}

} // namespace vxm
