// Short rows, staged: a warp makes the products of 32 consecutive rows in the order in which they lie, whosever they are, and keeps
// them in shared memory; then each thread folds a row of its own. So loads are coalesced whatever the rows' lengths. Longer rows are
// skipped: they are a warp's or a block's.
namespace vxm {

// Warps of a block that stages.
const u32 STAGING_WARPS = 4;

// A kernel that stages the rows of `lead`.
template <class Lead> struct Staging {
    const Lead& lead;
};

// Where the products of 32 rows begin in shared memory, and where their entries lie.
template <class Lead> struct Stage {
    typedef typename Lead::Elem T;
    const Lead& lead;
    T* products;
    u32* present;
    u64 first; // of the first row's entries
    u64 shift; // from the place of this thread's row to its entries
    u32 start, total;

    // The entry of place `at`. Rows that lie together are one run of entries.
    template <bool together, class Rows> VXM_FN void load(const Rows& rows, u32 at, decltype(rows.load(0))& entry) const {
        if (together) {
            if (at < total) entry = rows.load(at);
            return;
        }
        // the last row that starts here or before
        u32 row = 0;
#pragma unroll
        for (u32 step = 16; step > 0; step /= 2)
            if (__shfl_sync(~0u, start, row + step) <= at) row += step;
        const u64 from = __shfl_sync(~0u, shift, row);
        if (at < total) entry = rows.from(from + at).load(0);
    }
    template <u32 count, class Rows> VXM_FN void keep(const Rows& rows, u32 e, decltype(rows.load(0)) (&entries)[count]) const {
        Maybe<T> x[count];
#pragma unroll
        for (u32 k = 0; k < count; k++) {
            x[k] = nothing<T>();
            if (e + k * 32 < total) x[k] = rows.make(entries[k]);
        }
#pragma unroll
        for (u32 k = 0; k < count; k++) {
            const u32 at = e + k * 32, there = __ballot_sync(~0u, x[k].present);
            if (at < total) products[at] = x[k].value;
            if (lane() == 0 && at < total) present[at / 32] = there;
        }
    }
    // All products; the entries of a round are loaded while those of the one before are worked on.
    template <bool together> VXM_FN void fill() const {
        const u32 count = 4;
        const auto rows = lead.rows().from(together ? first : 0);
        typedef decltype(rows.load(0)) Entry;
        Entry now[count], next[count];
#pragma unroll
        for (u32 k = 0; k < count; k++) load<together>(rows, lane() + k * 32, now[k]);
        for (u32 e = lane(); e - lane() < total; e += count * 32) {
            const u32 after = e + count * 32;
            if (after - lane() < total)
#pragma unroll
                for (u32 k = 0; k < count; k++) load<together>(rows, after + k * 32, next[k]);
            keep(rows, e, now);
#pragma unroll
            for (u32 k = 0; k < count; k++) now[k] = next[k];
        }
    }
};

// A warp goes through 32 indices, and owns their word of bits.
template <class Lead, class K> VXM_FN void each(Staging<Lead> staging, const Range& range, u32* bits, const K& kernel) {
    typedef typename Lead::Elem T;
    __shared__ u64 products[STAGING_WARPS][SHORT * 32 * sizeof(T) / 8];
    __shared__ u32 present[STAGING_WARPS][SHORT + 1];
    const Lead& lead = staging.lead;
    const u64 step = step_of(Warp());
    u64 word = first_of(Warp());
    // where a row ends, the next one begins: the offsets of the next 32 are on their way while these are worked on
    auto offset = [&](u64 i) { return (u64)lead.offsets[i < range.count ? i : range.count]; };
    u64 begin = offset(word * 32 + lane()), last = offset(word * 32 + 32);
    for (; word * 32 < range.count; word += step) {
        const u64 i = word * 32 + lane(), next = word + step;
        u64 end = __shfl_down_sync(~0u, begin, 1);
        if (lane() == 31) end = last;
        const u64 len = end - begin, here = begin;
        begin = offset(next * 32 + lane());
        last = offset(next * 32 + 32);
        const bool is_short = len <= SHORT;
        const u32 mine = is_short ? (u32)len : 0;
        u32 upto = mine;
#pragma unroll
        for (u32 step = 1; step < 32; step *= 2) {
            const u32 before = __shfl_up_sync(~0u, upto, step);
            if (lane() >= step) upto += before;
        }
        const u32 start = upto - mine, total = __shfl_sync(~0u, upto, 31);
        const Stage<Lead> stage = {lead, (T*)products[warp()], present[warp()], __shfl_sync(~0u, here, 0), here - start, start, total};
        if (__all_sync(~0u, is_short)) stage.template fill<true>();
        else stage.template fill<false>();
        __syncwarp();
        const Staged g = {products[warp()], present[warp()], start, mine};
        const bool has = i < range.count && is_short && kernel.step(g, (u32)i);
        if (bits) {
            const u32 now = __ballot_sync(~0u, has), skipped = __ballot_sync(~0u, !is_short);
            if (lane() == 0) bits[word] = skipped ? now | bits[word] & skipped : now;
        }
        __syncwarp();
    }
}

} // namespace vxm
