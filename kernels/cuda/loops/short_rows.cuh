// Members of `ActiveLoop`: passes over short rows, a thread each. After active.cuh.
namespace vxm {

VXM_ACTIVE_LOOP_TEMPLATE
template <class Phase>
VXM_FN void VXM_ACTIVE_LOOP::revisit_short(Remaining& remaining, u32 most, Ready* ready, u32& queued, bool last, bool& changed) const {
    const u32 all = queued + pop_unblocked(remaining.shorts, most, ready + queued), full = last ? all : all & ~31u;
    for (u32 k = 0; k < full; k += 32)
        visit_batch<Phase, list_access>(remaining.shorts, k + lane() < all, ready[k + lane() < all ? k + lane() : 0], changed);
    queued = all - full;
    if (queued == 0) return;
    const Ready leftover = ready[full + lane() < all ? full + lane() : 0];
    __syncwarp();
    if (lane() < queued) ready[lane()] = leftover;
    __syncwarp();
}

VXM_ACTIVE_LOOP_TEMPLATE
template <class Phase>
VXM_FN void VXM_ACTIVE_LOOP::visit_short_rows(Remaining& remaining, bool first, bool all, Ready* ready, bool& changed) const {
    const u64 w = first_of(Warp()), warps = step_of(Warp());
    u32 queued = 0;
    if (!first) {
        u32 todo = all || remaining.shorts.count < TEST_BATCH ? remaining.shorts.count : TEST_BATCH;
        for (; todo > 0; todo -= todo < TEST_BATCH ? todo : TEST_BATCH)
            revisit_short<Phase>(remaining, todo, ready, queued, todo <= TEST_BATCH, changed);
        return;
    }
    bool pays = true;
    for (u64 at = w * 32; at < shorts.count; at += warps * 32) {
        const u64 p = at + lane();
        const bool inside = p < shorts.count;
        const u32 i = !inside ? 0 : shorts.list ? shorts.list[p] : (u32)p;
        const Ready ready_row = Ready::of(i, load_state(state + i), RowContext());
        visit_batch<typename Phase::FirstRound, list_access>(remaining.shorts, inside, ready_row, changed);
        if constexpr (immediate_revisit) {
            // for as long as enough rows are unblocked to make it worth while, and now and then to find out
            if (remaining.shorts.count < TEST_BATCH || !(pays || at / (warps * 32) % 8 == 0)) continue;
            const u32 count_before = remaining.shorts.count;
            revisit_short<Phase>(remaining, TEST_BATCH, ready, queued, true, changed);
            pays = count_before - remaining.shorts.count >= TEST_BATCH / 8;
        }
    }
}

VXM_ACTIVE_LOOP_TEMPLATE
template <class Phase>
VXM_FN void VXM_ACTIVE_LOOP::visit_prefiltered(Remaining& remaining, bool first, bool all, Ready* ready, bool& changed) const {
    const u64 step = 32 * step_of(Warp());
    u64 at = first ? 32 * first_of(Warp()) : shorts.count, end = shorts.count;
    if constexpr (ranks_long_rows) {
        // starts a few batches at a time
        at = 32 * first_of(Warp()) + remaining.batches_started * step;
        first = at < end;
        if (!all && at + Config::begin_batches * step < end) end = at + Config::begin_batches * step;
        remaining.all_started = end == shorts.count;
        remaining.batches_started = remaining.all_started ? ~0u : remaining.batches_started + Config::begin_batches;
        remaining.started_any |= first;
    }
    u32 todo = first ? 0 : all || remaining.shorts.count < TEST_BATCH ? remaining.shorts.count : TEST_BATCH, queued = 0;
    bool pays = true, revisits = false;
    while (at < end || todo > 0 || queued > 0) {
        if (!revisits && at < end) {
            queued += prefilter_short(remaining.shorts, at, ready + queued);
            at += step;
            // for as long as enough rows are unblocked to make it worth while, and now and then to find out
            revisits = immediate_revisit && remaining.shorts.count >= TEST_BATCH && (pays || at / step % 8 == 0);
        } else {
            const u32 most = revisits ? TEST_BATCH : todo, taken = most > 0 ? pop_unblocked(remaining.shorts, most, ready + queued) : 0;
            queued += taken;
            if (revisits) pays = taken >= TEST_BATCH / 8;
            else todo -= todo < TEST_BATCH ? todo : TEST_BATCH;
            revisits = false;
        }
        // with immediate revisits a warp that is not full is visited too: rows tested next are to see its results
        const u32 full = immediate_revisit ? queued : at < end || todo > 0 ? queued & ~31u : queued;
        for (u32 k = 0; k < full; k += 32)
            visit_batch<Phase, list_access>(remaining.shorts, k + lane() < queued, ready[k + lane() < queued ? k + lane() : 0], changed);
        queued -= full;
        if (full == 0 || queued == 0) continue;
        const Ready leftover = ready[full + (lane() < queued ? lane() : 0)];
        __syncwarp();
        if (lane() < queued) ready[lane()] = leftover;
        __syncwarp();
    }
}

} // namespace vxm
