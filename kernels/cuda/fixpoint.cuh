// A loop that stays on the device: every element that may still change is visited until none may. One cooperative launch; each warp
// keeps a list of its own short rows and one of long ones, each block one of hubs, so lists shrink without a word to anybody else.
namespace vxm {

// Where blocks meet: arrivals, meetings so far, what was seen in a round (of the last three), passes, warps that change nothing, and
// whether the loop gave up: 1 if none changed, 2 if some did still.
struct Board {
    u32 arrived, met, seen[3], passes, idle, stuck;
};
VXM_FN u64 nanoseconds() {
    u64 x;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(x));
    return x;
}
struct Visit {
    bool alive, changed;
};
struct Rounds {};
struct Asynchronous {};

// The rows of a class, and the room that a list of a warp's (a block's) share of them has; beside each row, if rows are watched, the column
// of the entry that ended its fold.
struct Share {
    const u32* list; // null: all below `count`
    u64 count;
    u32* work;
    u64 room;
    u32* watched;
};

// `monotone` says that a state may be written at once; or else all are computed from the states before, and written after. Without
// long rows and hubs, which is not `skewed`, a kernel needs fewer registers.
// `Watched` is the product of which each row's is remembered who ended it, if any is; it lies at word `place` of the view.
struct Nothing {};
// `shares` says that lanes share a row where few of a warp's are read: which pays where rows are not very short.
template <class V, class Active, bool monotone, bool skewed, bool shares, class Watched, u32 place> struct Fixpoint {
    typedef typename V::Elem T;
    static const bool watches = !is_same<Watched, Nothing>::value;
    Share shorts, longs, hubs;
    T* state;
    T* fresh;
    Board* board;
    u64 most; // rounds, or passes of a warp's, that change something
    V view;

    // How many are left in each list; that of short rows is a ring, whose first is at `head`.
    struct Left {
        u32 head, shorts, longs, hubs;
        VXM_FN bool any() const { return shorts | longs | hubs; }
    };

    // Computes, and writes.
    struct Settle {
        template <class G> static VXM_FN Visit visit(const Fixpoint& f, G g, u32 i) {
            const T own = peek(f.state + i);
            Visit v = {Active::call(own), false};
            T next;
            if (!v.alive || !f.view.selects(g, i) || !f.view.at(g, i, next) || same(own, next)) return v;
            if (g.first()) poke(f.state + i, next);
            v.changed = true;
            v.alive = Active::call(next);
            return v;
        }
    };
    // Computes.
    struct Propose {
        template <class G> static VXM_FN Visit visit(const Fixpoint& f, G g, u32 i) {
            const T own = peek(f.state + i);
            const Visit v = {Active::call(own), false};
            if (!v.alive) return v;
            T next;
            if (!f.view.selects(g, i) || !f.view.at(g, i, next)) next = own;
            if (g.first()) f.fresh[i] = next;
            return v;
        }
    };
    // Writes.
    struct Commit {
        template <class G> static VXM_FN Visit visit(const Fixpoint& f, G g, u32 i) {
            const T own = peek(f.state + i), next = f.fresh[i];
            if (g.first()) poke(f.state + i, next);
            return {Active::call(next), !same(own, next)};
        }
    };

    // Whether row i still waits for who ended its fold before: then it stays as it is.
    VXM_FN bool waits(u32 i, u32 column) const {
        if constexpr (watches) return column != NOBODY && ((const Watched*)((const u64*)&view + place))->ends(i, column);
        else return false;
    }

    // Visits the rows of some lanes, four at a time, eight lanes one: most of the warp would wait for a few otherwise.
    template <class Phase> VXM_FN void few(u32 todo, u32 i, u32& column, Visit& v) const {
        while (todo) {
            u32 mine = todo;
            for (u32 k = 0; k < lane() / 8; k++) mine &= mine - 1;
            const u32 owner = mine ? __ffs(mine) - 1 : 32, row = __shfl_sync(~0u, i, owner & 31);
            u32 found = NOBODY;
            Visit w = {false, false};
            if (mine) w = Phase::visit(*this, LanesWatcher<8>(&found), row);
            __syncwarp();
            for (u32 k = 0; k < 32; k += 8) {
                const u32 to = __shfl_sync(~0u, owner, k), who = __shfl_sync(~0u, found, k);
                const u32 how = __shfl_sync(~0u, (u32)w.alive | (u32)w.changed << 1, k);
                if (lane() != to) continue;
                v = {(how & 1) != 0, how > 1};
                column = who;
            }
            for (u32 k = 0; k < 4; k++) todo &= todo - 1;
        }
    }

    // Visits up to 32 short rows, a lane one, and appends those that stay alive to the warp's ring. Returns how many do.
    template <class Phase> VXM_FN u32 batch(Left& left, bool inside, u32 i, u32 column, bool& changed) const {
        u32* ring = shorts.work + first_of(Warp()) * shorts.room;
        Visit v = {false, false};
        if constexpr (watches) {
            const bool ready = inside && !waits(i, column);
            v.alive = inside;
            const u32 todo = __ballot_sync(~0u, ready);
            if (shares && __popc(todo) <= 12) few<Phase>(todo, i, column, v);
            else if (ready) v = Phase::visit(*this, Watcher(&column), i);
        } else if (inside) {
            v = Phase::visit(*this, Thread(), i);
        }
        changed |= v.changed;
        const u32 alive = __ballot_sync(~0u, v.alive);
        const u32 at = (left.head + left.shorts + __popc(alive & ((1u << lane()) - 1))) % (u32)shorts.room;
        if (v.alive) ring[at] = i;
        if (watches && v.alive) shorts.watched[first_of(Warp()) * shorts.room + at] = column;
        left.shorts += __popc(alive);
        // others will read it
        __syncwarp();
        return __popc(alive);
    }
    // The same for the first ones of the ring, up to 32.
    template <class Phase> VXM_FN u32 again(Left& left, u32 most, bool& changed) const {
        const u32* ring = shorts.work + first_of(Warp()) * shorts.room;
        const u32 count = most < 32 ? most : 32;
        u32 i = 0, column = NOBODY;
        const u32 at = (left.head + lane()) % (u32)shorts.room;
        if (lane() < count) i = ring[at];
        if (watches && lane() < count) column = shorts.watched[first_of(Warp()) * shorts.room + at];
        __syncwarp();
        left.head = (left.head + count) % (u32)shorts.room;
        left.shorts -= count;
        return batch<Phase>(left, lane() < count, i, column, changed);
    }

    // Visits what is left of this warp's share, and keeps what stays alive. `first` says that the lists are still those of the classes.
    // Returns whether anything changed: the same in all lanes.
    template <class Phase> VXM_FN bool pass(Left& left, bool first) const {
        const u64 w = first_of(Warp()), warps = step_of(Warp());
        bool changed = false;
        if (first) {
            // where there is much to go through, what was just visited won't be in a cache when all is visited again
            const bool eager = direct && monotone && shorts.count / (warps * 32) >= 32;
            bool luck = true;
            for (u64 at = w * 32; at < shorts.count; at += warps * 32) {
                const u64 p = at + lane();
                const bool inside = p < shorts.count;
                batch<Phase>(left, inside, !inside ? 0 : shorts.list ? shorts.list[p] : (u32)p, NOBODY, changed);
                // so some of those that wait are visited again at once, for as long as that settles any worth the while
                if (eager && left.shorts >= 32 && (luck || at / (warps * 32) % 8 == 0))
                    luck = again<Phase>(left, 32, changed) <= 28;
            }
        } else {
            for (u32 todo = left.shorts; todo > 0; todo -= todo < 32 ? todo : 32) again<Phase>(left, todo, changed);
        }
        if constexpr (!skewed) return __any_sync(~0u, changed);

        u32 *mine = longs.work + w * longs.room, *watched = longs.watched + w * longs.room;
        u64 len = first ? (w < longs.count ? (longs.count - w + warps - 1) / warps : 0) : left.longs;
        u32 kept = 0;
        for (u64 k = 0; k < len; k++) {
            const u32 i = first ? longs.list[k * warps + w] : mine[k];
            Visit v;
            u32 column = NOBODY;
            if constexpr (watches) {
                if (!first) column = watched[k];
                // each lane reads at another moment
                if (__shfl_sync(~0u, (int)waits(i, column), 0)) v = {true, false};
                else v = Phase::visit(*this, LanesWatcher<32>(&column), i);
            } else {
                v = Phase::visit(*this, Warp(), i);
            }
            // all lanes must go the same way, whatever each of them saw
            const bool alive = __shfl_sync(~0u, (int)v.alive, 0);
            changed |= v.changed;
            if (!alive) continue;
            if (lane() == 0) mine[kept] = i;
            if (watches && lane() == 0) watched[kept] = column;
            kept++;
        }
        left.longs = kept;

        if (hubs.count > 0) {
            mine = hubs.work + blockIdx.x * hubs.room;
            const u64 b = blockIdx.x;
            len = first ? (b < hubs.count ? (hubs.count - b + gridDim.x - 1) / gridDim.x : 0) : left.hubs;
            kept = 0;
            for (u64 k = 0; k < len; k++) {
                const u32 i = first ? hubs.list[k * gridDim.x + b] : mine[k];
                const Visit v = Phase::visit(*this, Block(), i);
                const bool alive = __syncthreads_or(threadIdx.x == 0 && v.alive);
                changed |= v.changed;
                if (!alive) continue;
                if (threadIdx.x == 0) mine[kept] = i;
                kept++;
            }
            left.hubs = kept;
            __syncthreads();
        }
        __syncwarp();
        return __any_sync(~0u, changed);
    }

    // All see the states of the round before, or newer ones.
    VXM_FN void run(Rounds) const {
        Left left = {0, 0, 0, 0};
        for (u32 round = 0;; round++) {
            bool changed;
            if constexpr (monotone) {
                changed = pass<Settle>(left, round == 0);
            } else {
                pass<Propose>(left, round == 0);
                meet(board);
                changed = pass<Commit>(left, false);
            }
            const bool some_left = __syncthreads_or(left.any()), some_changed = __syncthreads_or(changed);
            u32* seen = board->seen + round % 3;
            if (threadIdx.x == 0) atomicOr(seen, some_left | some_changed << 1);
            meet(board);
            const u32 now = watch(seen);
            if (blockIdx.x == 0 && threadIdx.x == 0) {
                // nobody reads the last round's any more, and nobody writes the next but one's yet
                atomicExch(board->seen + (round + 2) % 3, 0);
                board->passes = round + (now != 0);
                board->stuck = now == 1 ? 1 : now == 3 && round + 1 >= most ? 2 : 0;
            }
            // nothing left, or nothing changed, or no end
            if (now != 3 || round + 1 >= most) return;
        }
    }

    // Nobody waits: each visits its own until they are settled.
    VXM_FN void run(Asynchronous) const {
        const u32 patience = 64;
        const u64 sure = 200000000;
        Left left = {0, 0, 0, 0};
        u32 passes = 0, changes = 0, still = 0;
        u64 since = 0;
        bool idle = false, some = false;
        for (bool first = true;; first = false) {
            bool changed = pass<Settle>(left, first), any = left.any();
            if (skewed && hubs.count > 0) {
                // a block's warps share its hubs
                any = __syncthreads_or(any);
                changed = __syncthreads_or(changed);
            }
            some |= changed | any;
            passes++;
            if (!any) break;
            changes += changed;
            if (changes >= most) {
                // all give up, whatever they are doing
                if (lane() == 0) atomicMax(&board->stuck, 2);
                break;
            }
            if (passes % 256 == 0 && __any_sync(~0u, watch(&board->stuck))) break;
            still = changed ? 0 : still + 1;
            if (idle && changed) {
                idle = false;
                if (lane() == 0) atomicSub(&board->idle, 1);
            } else if (!idle && still == patience) {
                idle = true;
                since = nanoseconds();
                if (lane() == 0) atomicAdd(&board->idle, 1);
            }
            if (still > patience && still % 256 == 0) {
                // all have changed nothing for long, and this one for a fifth of a second
                const bool all = watch(&board->idle) == (u32)step_of(Warp());
                const bool stuck = watch(&board->stuck) || (all && nanoseconds() - since > sure);
                if (__any_sync(~0u, stuck)) {
                    if (lane() == 0) atomicMax(&board->stuck, 1);
                    break;
                }
            }
        }
        if (lane() == 0) {
            if (!idle) atomicAdd(&board->idle, 1);
            if (some) atomicMax(&board->passes, passes);
        }
    }
};

} // namespace vxm
