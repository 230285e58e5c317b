// Termination detection of an asynchronous loop. A loop is stalled if active rows are left but none can change. No warp can see that alone,
// so the warps find it out by ballots.
// 1. A warp becomes idle once it has changed nothing for `Config::idle_passes` passes. At least four of those passes test all rows that the warp
//    has left.
// 2. A warp that has changed something announces that before it counts as idle or as done. An idle warp that changes something after all
//    announces it at once. An announcement follows the writes that it is about, after a fence.
// 3. An idle warp reads the number of announcements. This number plus 1 is the number of its ballot. A fence puts all later reads of the
//    warp after this read. So its later passes see every write announced so far.
// 4. The warp goes on for another `Config::idle_passes` passes. It votes if it still finds nothing to change and the number of announcements is the
//    same. If the number differs, it joins the new ballot and starts over. All votes of the old ballot are void.
// 5. The loop is stalled once every warp has voted in the ballot or is done, and the number of announcements still belongs to that ballot.
// Why this is right: each voter tested all its rows after it could see every write announced before the ballot began. No write was
// announced since, and no voter found a row that can change. So no warp will ever change anything again. The argument does not depend on
// how long a pass takes.
namespace vxm {

// The control block that all blocks share. All of it is zero at the start.
// - `arrived`, `phase`, `departed`: the grid barrier's counters, and the number of blocks that have left.
// - `round_flags`: of each of the last three rounds, whether active elements are left (bit 0) and whether any changed (bit 1).
// - `passes`: the most passes of any warp.
// - `gave_up`: 1 if the loop stalled, because active elements are left and none can change. 2 if elements still change after the most
//   passes.
// - `done`: the number of warps that are done. In the upper half, the number of announcements of changes.
// - `votes`: the number of votes in the current ballot. In the upper half, the number of the ballot.
struct ActiveControl {
    u32 arrived, phase, departed, round_flags[3], passes, gave_up;
    u64 done, votes;
};

// How far a warp has come: its passes, those that changed something, and those since the last change. The ballot that it takes part in.
// Whether it is idle, whether it has voted, and whether it had any work.
struct Progress {
    u32 passes, changes, quiet, ballot;
    bool idle, voted, had_work;
};

// The control block, and the limits of a loop.
struct TerminationDetection {
    ActiveControl* control;
    u64* result; // for the host: the number of passes, and why the loop gave up, if it did
    u64 max_passes; // the most rounds, or the most passes of a warp that change something; passes over part of the rows count too

    // Adds a vote to ballot number `ballot`, unless a later ballot has begun. Called by lane 0.
    VXM_FN void cast_vote(u32 ballot) const {
        u64 current = *(volatile u64*)&control->votes;
        while ((u32)(current >> 32) <= ballot) {
            const u64 next = (u32)(current >> 32) == ballot ? current + 1 : (u64)ballot << 32 | 1;
            const u64 found = atomicCAS(&control->votes, current, next);
            if (found == current) return;
            current = found;
        }
    }
    // Returns whether every warp has voted in ballot number `ballot` or is done, and no change was announced since the ballot began.
    VXM_FN bool all_voted(u32 ballot) const {
        const u64 votes = *(volatile u64*)&control->votes, done = *(volatile u64*)&control->done;
        return (u32)(votes >> 32) == ballot && (u32)(done >> 32) + 1 == ballot && (u32)votes + (u32)done == (u32)step_of(Warp());
    }
    // Announces that this warp has changed something, and with `done` that it is done. The fence puts the announcement after the warp's
    // writes.
    VXM_FN void announce_change(bool done = false) const {
        __syncwarp();
        if (lane() > 0) return;
        __threadfence();
        atomicAdd(&control->done, 1ull << 32 | done);
    }
    // Counts a pass and returns whether another one follows. `any` says whether active rows are left. `shares_hubs` says that the block's
    // warps go on or end together.
    VXM_FN bool continues(Progress& p, bool changed, bool any, bool shares_hubs, bool started_any = false) const {
        p.had_work |= changed | any;
        p.passes++;
        if (!any) return false;
        p.changes += changed;
        // rows that were started in this pass were not tested yet
        p.quiet = changed | started_any ? 0 : p.quiet + 1;
        const bool checks = p.quiet == 0 ? p.idle : p.quiet % Config::idle_passes == 0;
        if (!checks && p.changes < max_passes && p.passes % 256 != 0) return true;
        // The slow path is rare. It works on a copy and is not inlined, so that its state takes no registers on the common path.
        Progress now = p;
        const bool more = continues_slow(now, shares_hubs);
        p = now;
        return more;
    }
    // Returns whether `x` holds in any lane of the warp or, if the block's warps go on together, in any thread of the block.
    static VXM_FN bool any_of_group(bool shares_hubs, bool x) { return shares_hubs ? (bool)__syncthreads_or(x) : (bool)__any_sync(~0u, x); }
    // The slow path of `continues`: gives up after the most passes, or if another warp did. Else takes the steps described above.
    __noinline__ __device__ bool continues_slow(Progress& p, bool shares_hubs) const {
        if (p.changes >= max_passes) {
            // all warps give up, whatever they are doing
            if (lane() == 0) atomicMax(&control->gave_up, 2);
            return false;
        }
        if (p.passes % 256 == 0 && any_of_group(shares_hubs, load_acquire(&control->gave_up))) return false;
        if (p.idle && p.quiet == 0) {
            p.idle = false;
            announce_change();
        }
        if (p.quiet == 0 || p.quiet % Config::idle_passes != 0) return true;
        if (!p.idle) {
            p.idle = true;
            announce_change();
        }
        u32 now = 0;
        if (lane() == 0) now = (u32)(*(volatile u64*)&control->done >> 32) + 1;
        __threadfence();
        now = __shfl_sync(~0u, now, 0);
        // all later reads see what was written before the announcements counted here
        __syncwarp();
        if (now != p.ballot) {
            p.ballot = now;
            p.voted = false;
        } else if (!p.voted) {
            p.voted = true;
            if (lane() == 0) cast_vote(p.ballot);
        }
        if (!any_of_group(shares_hubs, load_acquire(&control->gave_up) || (p.voted && all_voted(p.ballot)))) return true;
        if (lane() == 0) atomicMax(&control->gave_up, 1);
        return false;
    }
};

} // namespace vxm
