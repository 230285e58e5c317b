// A loop in which elements wait for others by their number: of an element the entries are counted that end its row's fold, whoever
// changes takes itself off its readers' counts, and who has none left is visited. So each row is read twice, once to count and once it is
// ready, and nobody is asked in vain. One cooperative launch; blocks meet once a round, whose elements don't wait for each other.
namespace vxm {

// Where blocks meet; how many elements are listed of short rows, of long ones and of hubs, for a round, of the last three; how many are
// active still, who changed in a round (of the last three), rounds, and whether the loop gave up.
struct Desk {
    u32 arrived, met, lengths[3][3], changed[3], rounds, stuck;
    u64 active;
};
// Added to the count of an element that was woken: it is visited in every round until it settles, and never woken again.
[[maybe_unused]] const u32 AWAKE = 1u << 31;
// The count of an element that waits for nobody from the start; what is at least LEAST was that once.
[[maybe_unused]] const u32 READY = 15u << 28, LEAST = 14u << 28;

// `Watched` is the product whose entries are counted, over the state itself. `skewed` says that there are long rows, which are a warp's, and
// hubs, which are a block's.
template <class V, class Active, bool skewed, class Watched> struct Woken {
    typedef typename V::Elem T;
    u64 count;
    T* state;
    T* fresh;
    u32* waits; // by how many entries
    u32* shorts[2];
    u32* listed[2];
    u32* hubbed[2];
    u32* is_long; // whose rows are in these lists
    u32* is_hub;
    Rows longs;
    Rows hubs;
    Link readers;
    Desk* desk;
    V view;

    // What a thread has seen of a round.
    struct Sums {
        bool changed;
        int active;
    };

    // Lists element i for the next round.
    VXM_FN void call(u32 round, bool called, u32 i) const {
        const u32 turn = round + 1 & 1, third = (round + 1) % 3;
        if constexpr (skewed) {
            const bool hub = called && bit(is_hub, i), far = called && bit(is_long, i);
            append(called && !hub && !far, shorts[turn], desk->lengths[0] + third, i);
            append(far, listed[turn], desk->lengths[1] + third, i);
            append(hub, hubbed[turn], desk->lengths[2] + third, i);
        } else {
            append(called, shorts[turn], desk->lengths[0] + third, i);
        }
    }
    // Element i has changed: who waited for it waits for one less.
    template <class G> VXM_FN void tell(G g, u32 round, u32 i, T before, T after) const {
        const u64 end = readers.offsets[i + 1];
        for (u64 p = readers.offsets[i] + g.rank(); p < end; p += g.members()) {
            const u32 j = readers.columns[p];
            const T own = peek(state + j);
            if (!Active::call(own)) continue;
            const bool was = Watched::ending(own, before), is = Watched::ending(own, after);
            bool woken = false;
            if (was && !is) woken = atomicSub(waits + j, 1) == 1;
            else if (is && !was) atomicAdd(waits + j, 1);
            if (woken) atomicOr(waits + j, AWAKE);
            call(round, woken, j);
        }
    }
    // Writes what became of element i, and tells those that read it.
    template <class G> VXM_FN void settle(G g, u32 round, u32 i, T before, T after, Sums& sums) const {
        const bool changed = !same(before, after);
        // others of the group have read it by now
        g.sync();
        if (g.first()) {
            if (changed) poke(state + i, after);
            sums.changed |= changed;
            sums.active -= !Active::call(after);
        }
        if (changed) tell(g, round, i, before, after);
    }

    // Computes an element over the states at the beginning, and counts for whom it waits.
    struct Begin {
        template <class G> static VXM_FN void visit(const Woken& w, G g, u32, u32 i, Sums& sums) {
            const T own = peek(w.state + i);
            T next = own;
            u32 found = 0;
            if (Active::call(own)) {
                const Watcher<G, Enders> watcher(&found);
                if (!w.view.selects(watcher, i) || !w.view.at(watcher, i, next)) next = own;
                if (g.first()) sums.active++;
            }
            if (!g.first()) return;
            w.fresh[i] = next;
            w.waits[i] = found ? found : READY;
        }
    };
    // Writes it.
    struct Follow {
        template <class G> static VXM_FN void visit(const Woken& w, G g, u32 round, u32 i, Sums& sums) {
            const T own = peek(w.state + i), next = w.fresh[i];
            if (!Active::call(own)) return;
            w.settle(g, round, i, own, next, sums);
            if (!g.first() || !Active::call(next)) return;
            bool awake = *(volatile u32*)(w.waits + i) >= LEAST;
            if (!awake && !same(own, next)) {
                // who has changed doesn't wait; whoever has taken the last one off its count has listed it
                const u32 before = atomicOr(w.waits + i, AWAKE);
                awake = before > 0 && before < AWAKE;
            }
            w.call(round, awake, i);
        }
    };
    // Visits an element that is awake.
    struct Visit {
        template <class G> static VXM_FN void visit(const Woken& w, G g, u32 round, u32 i, Sums& sums) {
            const T own = peek(w.state + i);
            if (!Active::call(own)) return;
            T next;
            if (!w.view.selects(g, i) || !w.view.at(g, i, next)) next = own;
            w.settle(g, round, i, own, next, sums);
            if (g.first()) w.call(round, Active::call(next), i);
        }
    };

    // All elements.
    template <class Phase> VXM_FN void pass(Sums& sums) const {
        each_thread(count, [&](u64 i) {
            if (!skewed || !(bit(is_long, (u32)i) || bit(is_hub, (u32)i))) Phase::visit(*this, Thread(), 0, (u32)i, sums);
        });
        if constexpr (skewed) {
            __syncwarp();
            for (u64 k = first_of(Warp()); k < longs.count; k += step_of(Warp())) Phase::visit(*this, Warp(), 0, longs.list[k], sums);
            __syncthreads();
            for (u64 k = blockIdx.x; k < hubs.count; k += gridDim.x) Phase::visit(*this, Block(), 0, hubs.list[k], sums);
        }
    }
    // Those of a list, by groups.
    template <class G> VXM_FN void go(G g, u32 round, const u32* list, u64 length, Sums& sums) const {
        for (u64 k = first_of(g); k < length; k += step_of(g)) Visit::visit(*this, g, round, list[k], sums);
    }
    VXM_FN void tell_all(u32 round, const Sums& sums) const {
        __syncwarp();
        const bool changed = __any_sync(~0u, sums.changed);
        const int active = __reduce_add_sync(~0u, sums.active);
        if (lane() != 0) return;
        if (changed) atomicOr(desk->changed + round % 3, 1);
        if (active) atomicAdd(&desk->active, (u64)(long long)active);
    }
    VXM_FN void run() const {
        if constexpr (skewed) {
            each_thread(longs.count, [&](u64 k) { set_bit(is_long, longs.list[k]); });
            each_thread(hubs.count, [&](u64 k) { set_bit(is_hub, hubs.list[k]); });
            meet(desk);
        }
        Sums sums = {false, 0};
        pass<Begin>(sums);
        meet(desk);
        pass<Follow>(sums);
        tell_all(0, sums);
        meet(desk);
        for (u32 round = 1;; round++) {
            const u32 third = round % 3;
            u32 lengths[3];
            for (u32 k = 0; k < 3; k++) lengths[k] = watch(desk->lengths[k] + third);
            const bool changed = watch(desk->changed + (round + 2) % 3);
            if (!changed || !(lengths[0] | lengths[1] | lengths[2])) {
                if (blockIdx.x == 0 && threadIdx.x == 0) {
                    desk->rounds = round;
                    desk->stuck = *(volatile u64*)&desk->active != 0;
                }
                return;
            }
            sums = {false, 0};
            const u32 turn = round & 1;
            // where they are few, several lanes a row: the next ones wait for them
            if (lengths[0] <= step_of(Lanes<8>())) go(Lanes<8>(), round, shorts[turn], lengths[0], sums);
            else go(Thread(), round, shorts[turn], lengths[0], sums);
            if constexpr (skewed) {
                __syncwarp();
                go(Warp(), round, listed[turn], lengths[1], sums);
                __syncthreads();
                go(Block(), round, hubbed[turn], lengths[2], sums);
            }
            tell_all(round, sums);
            meet(desk);
            if (blockIdx.x == 0 && threadIdx.x == 0) {
                // nobody reads this round's lists any more, and nobody adds to those of the next but one yet
                for (u32 k = 0; k < 3; k++) desk->lengths[k][third] = 0;
                desk->changed[(round + 2) % 3] = 0;
            }
        }
    }
};

} // namespace vxm
