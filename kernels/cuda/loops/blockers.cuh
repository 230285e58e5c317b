// Members of `ActiveLoop`: testing rows for their blockers, and choosing the first blockers by key. After active.cuh.
namespace vxm {

VXM_ACTIVE_LOOP_TEMPLATE
VXM_FN u32 VXM_ACTIVE_LOOP::pop_unblocked(Ring<Record>& ring, u32 most, Ready* ready) const {
    const u32 per_lane = TEST_BATCH / 32, count = most < TEST_BATCH ? most : TEST_BATCH;
    Record items[per_lane];
    bool blocked[per_lane];
    T owns[per_lane];
#pragma unroll
    for (u32 k = 0; k < per_lane; k++) items[k] = ring.at(k * 32 + lane() < count ? k * 32 + lane() : count - 1);
    ring.pop_front(count);
#pragma unroll
    for (u32 k = 0; k < per_lane; k++) owns[k] = load_state(state + items[k].row);
    if constexpr (tracks_blockers) {
        u32 rows[per_lane];
        RowContext contexts[per_lane];
#pragma unroll
        for (u32 k = 0; k < per_lane; k++) rows[k] = items[k].row, contexts[k] = items[k].context();
        tracked().template test_blockers<two_blockers>(rows, owns, contexts, blocked);
        if (two_blockers)
#pragma unroll
            for (u32 k = 0; k < per_lane; k++) items[k] = Record::of(rows[k], contexts[k]);
    }
    u32 taken = 0;
#pragma unroll
    for (u32 k = 0; k < per_lane; k++) {
        if (k * 32 >= count) break;
        const bool inside = k * 32 + lane() < count, stays_blocked = tracks_blockers && blocked[k];
        if (tracks_blockers) ring.push(inside && stays_blocked, items[k]);
        const u32 all = __ballot_sync(~0u, inside && !stays_blocked);
        if (inside && !stays_blocked)
            ready[taken + __popc(all & ((1u << lane()) - 1))] = Ready::of(items[k].row, owns[k], items[k].context());
        taken += __popc(all);
    }
    __syncwarp();
    return taken;
}

VXM_ACTIVE_LOOP_TEMPLATE
VXM_FN u32 VXM_ACTIVE_LOOP::prefilter_short(Ring<Record>& ring, u64 at, Ready* ready) const {
    const u64 p = at + lane();
    const bool inside = p < shorts.count;
    const u32 i = !inside ? 0 : shorts.list ? shorts.list[p] : (u32)p;
    // both loads are issued before it is known whether the row is active
    const auto bounds = tracked().bounds(i);
    const T own = load_state(state + i);
    const bool still_active = inside && Active::call(own);
    RowContext context;
    typedef RowVisitor<Thread, false, prefilter_unroll, list_access> Visitor;
    if (still_active) context = tracked().prefilter(Visitor(word_of(own), nullptr), i, bounds);
    const bool blocked = context.blocker != NONE;
    ring.push(blocked, Record::of(i, context));
    const u32 all = __ballot_sync(~0u, still_active && !blocked);
    if (still_active && !blocked) ready[__popc(all & ((1u << lane()) - 1))] = Ready::of(i, own, context);
    __syncwarp();
    return __popc(all);
}

VXM_ACTIVE_LOOP_TEMPLATE
VXM_FN void VXM_ACTIVE_LOOP::prefilter_long(Ring<Record>& ring, bool inside, u32 i) const {
    auto row = tracked().bounds(i);
    const u32 live_before = tracked().live_counts[i];
    const T own = load_state(state + i);
    for (u32 todo = __ballot_sync(~0u, inside && Active::call(own)); todo; todo &= todo - 1) {
        const u32 from = __ffs(todo) - 1, which = __shfl_sync(~0u, i, from);
        auto lane_bounds = row;
        lane_bounds.begin = __shfl_sync(~0u, row.begin, from), lane_bounds.len = __shfl_sync(~0u, row.len, from);
        const RowVisitor<Warp, false> g(word_of(from_lane<Warp>(own, from)), nullptr);
        const RowContext context = tracked().prefilter_compacted(g, which, lane_bounds, __shfl_sync(~0u, live_before, from));
        ring.push(Warp::first(), Record::of(which, context));
    }
}

VXM_ACTIVE_LOOP_TEMPLATE
VXM_FN typename VXM_ACTIVE_LOOP::HeldRow VXM_ACTIVE_LOOP::hold_last_rows(const Ring<Record>& ring) const {
    const bool inside = lane() < ring.count;
    const Record item = ring.at(inside ? lane() : 0);
    return {item, load_state(state + item.row), inside};
}

VXM_ACTIVE_LOOP_TEMPLATE
VXM_FN bool VXM_ACTIVE_LOOP::visit(HeldRow& last) const {
    const u32 rows[1] = {last.item.row};
    const T owns[1] = {last.own};
    RowContext contexts[1] = {last.item.context()};
    bool blocked[1] = {false};
    if constexpr (tracks_blockers) tracked().template test_blockers<two_blockers>(rows, owns, contexts, blocked);
    VisitResult v = {last.still_active, false};
    // a visit that doesn't evaluate the product records no blocker, and then the row has none
    if (!blocked[0]) contexts[0].blocker = contexts[0].second_blocker = NONE;
    if (last.still_active && !blocked[0]) v = Update::template visit<list_access>(*this, Thread(), last.item.row, last.own, contexts);
    last.item = Record::of(last.item.row, contexts[0]);
    last.still_active = v.still_active;
    return v.changed;
}

} // namespace vxm
