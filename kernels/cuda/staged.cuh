// Short rows, staged: a warp makes the products of 32 consecutive rows in the order in which they lie, whosever they are, and keeps
// them in shared memory; then each thread folds a row of its own. So loads are coalesced whatever the rows' lengths. Longer rows are
// skipped: they are a warp's or a block's. For inexact monoids: exact ones fold in order, with few registers, and may stop early.
namespace vxm {

// Warps of a block that stages.
[[maybe_unused]] const u32 STAGING_WARPS = 4;

// A kernel that stages the rows of `lead`. `whole` says that it folds longer rows too, a warp one: where they are few, another launch
// would take longer.
template <class Lead, bool whole> struct Staging {
    const Lead& lead;
};

// The products of 32 rows: where they go, and where their entries lie.
template <class Lead> struct Stage {
    typedef typename Lead::Elem T;
    const Lead& lead;
    T* products;
    u32* present;

    template <u32 count, class Rows> VXM_FN void keep(const Rows& rows, u32 e, u32 total, decltype(rows.load(0)) (&entries)[count]) const {
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
    // Of rows that are all short: their entries are one run.
    VXM_FN void fill(u64 first, u32 total) const {
        const u32 count = 4;
        const auto rows = lead.template rows<true>().from(first);
        for (u32 e = lane(); e - lane() < total; e += count * 32) {
            decltype(rows.load(0)) entries[count];
#pragma unroll
            for (u32 k = 0; k < count; k++)
                if (e + k * 32 < total) entries[k] = rows.load(e + k * 32);
            keep(rows, e, total, entries);
        }
    }
    // Of some: this thread's row begins at place `start`, and its entries at `start + shift`. `heads` has a bit for each place
    // where a row begins, and `shifts` those rows' shifts.
    VXM_FN void fill_around(u32 len, u32 start, u64 shift, u32 total, u32* heads, u64* shifts) const {
        const u32 count = 4;
        const auto rows = lead.template rows<true>();
        const u32 some = __ballot_sync(~0u, len > 0);
        heads[lane()] = 0;
        __syncwarp();
        if (len > 0) {
            atomicOr(heads + start / 32, 1u << start % 32);
            shifts[__popc(some & ((1u << lane()) - 1))] = shift;
        }
        __syncwarp();
        // rows that begin before this thread's word
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
            keep(rows, e, total, entries);
        }
    }
};

// A warp goes through 32 indices, and owns their word of bits.
template <class Lead, bool whole, class K> VXM_FN void each(Staging<Lead, whole> staging, const Range& range, u32* bits, const K& kernel) {
    typedef typename Lead::Elem T;
    __shared__ u64 products[STAGING_WARPS][SHORT * 32 * sizeof(T) / 8];
    __shared__ u32 present[STAGING_WARPS][SHORT + 1];
    __shared__ u32 heads[STAGING_WARPS][SHORT];
    __shared__ u64 shifts[STAGING_WARPS][32];
    const Lead& lead = staging.lead;
    const Stage<Lead> stage = {lead, (T*)products[warp()], present[warp()]};
    // where the next word's rows lie is known before this one's are folded
    const auto row = [&](u64 i) { return lead.offsets[i < range.count ? i : range.count]; };
    u64 word = first_of(Warp());
    auto next_begin = row(word * 32 + lane()), next_end = row(word * 32 + lane() + 1);
    // words of 64 bits are written whole
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
            stage.fill_around(len, start, (u64)begin - start, __shfl_sync(~0u, upto, 31), heads[warp()], shifts[warp()]);
        }
        __syncwarp();
        const Staged g = {products[warp()], present[warp()], start, len};
        const bool has = i < range.count && is_short && kernel.step(g, (u32)i);
        u32 now = __ballot_sync(~0u, has), skipped = __ballot_sync(~0u, !is_short);
        if constexpr (whole) {
            for (; skipped; skipped &= skipped - 1) {
                const u32 l = __ffs(skipped) - 1;
                if (kernel.step(Warp(), (u32)(word * 32 + l))) now |= 1u << l;
            }
        }
        if (bits) {
            if (K::fresh) skipped = 0;
            if (lane() == 0) bits[word] = skipped ? now | bits[word] & skipped : now;
        }
        __syncwarp();
    }
}

} // namespace vxm
