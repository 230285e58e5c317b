// Members of `ActiveLoop`: passes over long rows, a warp each, and hubs, a block each. After active.cuh.
namespace vxm {

VXM_ACTIVE_LOOP_TEMPLATE
template <class Phase>
VXM_FN bool VXM_ACTIVE_LOOP::start_long_rows(Ring<Record>& ring, const RowClass& row_class, u32& started, u32 most, bool& changed) const {
    // a warp takes rows that are far apart in the list: the longest rows are neighbours there, and are spread over all warps
    const u64 k = first_of(Warp()) + (u64)(started + lane()) * step_of(Warp());
    const bool inside = lane() < most && k < row_class.count;
    if (!__any_sync(~0u, inside)) return false;
    const u32 i = inside ? row_class.list[row_class.count - 1 - k] : 0;
    if constexpr (ranks_long_rows) prefilter_long(ring, inside, i);
    else visit_long_batch<Phase>(ring, inside, Ready::of(i, load_state(state + i), RowContext()), changed);
    started += most;
    return true;
}

VXM_ACTIVE_LOOP_TEMPLATE
template <class Phase>
VXM_FN void VXM_ACTIVE_LOOP::revisit_long_rows(Ring<Record>& ring, u32 todo, Ready* ready, bool& changed) const {
    for (; todo > 0; todo -= todo < TEST_BATCH ? todo : TEST_BATCH) {
        const u32 count = pop_unblocked(ring, todo, ready);
        for (u32 k = 0; k < count; k += 32)
            visit_long_batch<Phase>(ring, k + lane() < count, ready[k + lane() < count ? k + lane() : k], changed);
    }
}

VXM_ACTIVE_LOOP_TEMPLATE
template <class Phase>
VXM_FN void VXM_ACTIVE_LOOP::visit_long_rows(Remaining& remaining, bool first, Ready* ready, bool& changed) const {
    u32 started = 0;
    if (first)
        while (start_long_rows<Phase>(remaining.longs, longs, started, 32, changed)) {}
    else revisit_long_rows<Phase>(remaining.longs, remaining.longs.count, ready, changed);
}

VXM_ACTIVE_LOOP_TEMPLATE
template <class Phase>
VXM_FN bool VXM_ACTIVE_LOOP::visit_ranked_rows(Remaining& remaining, bool all, Ready* ready, bool& changed) const {
    bool more = false, visits_all = true;
    remaining.longs.count = 0;
#pragma unroll 1
    for (u32 which = 0; which < LENGTH_CLASSES && !more; which++) {
        Ring<Record> ring = ranked_list(which).ring;
        u32 started = ranked_list(which).started;
        while (start_long_rows<Phase>(ring, ranked[which], started, visits_all ? 32 : Config::begin_rows, changed)) {
            remaining.started_any = true;
            if ((more = !visits_all)) break;
        }
        if (!more) revisit_long_rows<Phase>(ring, visits_all || ring.count < Config::look_rows ? ring.count : Config::look_rows, ready, changed);
        __syncwarp();
        if (lane() == 0) ranked_list(which) = {ring, started};
        __syncwarp();
        remaining.longs.count += ring.count;
        visits_all = all || (remaining.all_started && remaining.longs.count == 0);
    }
    return more;
}

VXM_ACTIVE_LOOP_TEMPLATE
template <class Phase>
VXM_FN void VXM_ACTIVE_LOOP::visit_long_batch(Ring<Record>& ring, bool inside, Ready of, bool& changed) const {
    u32 todo = __ballot_sync(~0u, inside);
    RowContext context;
    if constexpr (compacts_hubs) {
        const u32 len = inside ? tracked().length(of.row) : ~0u, few = __ballot_sync(~0u, len <= Config::lane_row);
        if constexpr (caches_bounds) context.live = len, context.begin = (u32)tracked().offsets[of.row];
        if (__popc(few) >= Config::lane_rows) {
            visit_row<Phase, caches_bounds ? compacted : all_entries>(ring, Thread(), few >> lane() & 1, of.row, of.own, context, changed);
            todo &= ~few;
        }
        u32 middle = __ballot_sync(~0u, len <= Config::eight_lane_row) & todo;
        if (middle & (middle - 1)) {
            for (todo &= ~middle; middle;) {
                u32 mine = middle;
#pragma unroll
                for (u32 k = 0; k < 4; k++) {
                    if (k < lane() / 8) mine &= mine - 1;
                    middle &= middle - 1;
                }
                const u32 from = __ffs(mine) - 1 & 31;
                visit_lane_row<Phase>(ring, Lanes<8>(), mine, of, context, from, changed);
            }
        }
    }
    for (; todo; todo &= todo - 1) {
        const u32 from = __ffs(todo) - 1;
        visit_lane_row<Phase>(ring, Warp(), true, of, context, from, changed);
    }
}

VXM_ACTIVE_LOOP_TEMPLATE
template <class Phase, class L>
VXM_FN void VXM_ACTIVE_LOOP::visit_lane_row(Ring<Record>& ring, L lanes, bool inside, Ready of, RowContext context, u32 from,
                                            bool& changed) const {
    RowContext lane_context;
    if constexpr (caches_bounds)
        lane_context.live = __shfl_sync(~0u, context.live, from), lane_context.begin = __shfl_sync(~0u, context.begin, from);
    const u32 row = __shfl_sync(~0u, of.row, from);
    const RowAccess access = caches_bounds ? compacted : all_entries;
    visit_row<Phase, access>(ring, lanes, inside, row, from_lane<Warp>(of.own, from), lane_context, changed);
}

VXM_ACTIVE_LOOP_TEMPLATE
template <class Phase>
VXM_FN void VXM_ACTIVE_LOOP::visit_hubs(Remaining& remaining, bool first, bool& changed) const {
    u32 *mine = (u32*)hubs.storage + blockIdx.x * hubs.capacity, still_active_hubs = 0;
    const u64 b = blockIdx.x, len = first ? (b < hubs.count ? (hubs.count - b + gridDim.x - 1) / gridDim.x : 0) : remaining.hubs;
    for (u64 k = 0; k < len; k++) {
        const u32 i = first ? hubs.list[k * gridDim.x + b] : mine[k];
        T own = load_state(state + i);
        const VisitResult v = Phase::template visit<all_entries>(*this, Block(), i, own);
        const bool still_active = __syncthreads_or(threadIdx.x == 0 && v.still_active);
        changed |= v.changed;
        if (!still_active) continue;
        if (threadIdx.x == 0) mine[still_active_hubs] = i;
        still_active_hubs++;
    }
    remaining.hubs = still_active_hubs;
    __syncthreads();
}

} // namespace vxm
