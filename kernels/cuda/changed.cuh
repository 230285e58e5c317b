// A loop over what has changed, that stays on the device: a round visits the elements of which something that they read was changed by
// the round before, until one changes nothing. One cooperative launch; blocks meet once a round. Where few changed, who reads them is
// marked, a bit an element, and a round goes through the marks; where many did, all are visited, and who changed is marked instead.
namespace vxm {

// Who reads an element: the columns of its row.
struct Link {
    const u64* offsets;
    const u32* columns;
};
// Rows of a class.
struct Rows {
    const u32* list;
    u64 count;
};
// Where blocks meet, how many elements changed in a round (of the last three), rounds, and how many the last one changed.
struct Changes {
    u32 arrived, met, changed[3], rounds, left, unused;
};

template <class G> VXM_FN u32 rank_of(G) { return G::rank(); }
template <class G> VXM_FN u32 width_of(G) { return G::size; }
VXM_FN u32 rank_of(Thread) { return 0; }
VXM_FN u32 width_of(Thread) { return 1; }
VXM_FN u32 rank_of(Block) { return threadIdx.x; }
VXM_FN u32 width_of(Block) { return blockDim.x; }

VXM_FN void set_bit(u32* bits, u32 i) {
    u32* word = bits + (i >> 5);
    const u32 one = 1u << (i & 31);
    // most are set already where many mark the same
    if (!(*(volatile u32*)word & one)) atomicOr(word, one);
}

// `in_place` says that a state may be written at once; or else all are computed from the states before, and written after. `own` that an
// element is to be visited again once it has changed itself, `everything` that any may be once any other has. `skewed` that there are
// long rows, which are a warp's, and hubs, which are a block's.
template <class V, bool in_place, bool skewed, bool own, bool everything, u32 links> struct Changing {
    typedef typename V::Elem T;
    u64 count;
    u64 most; // rounds
    T* state;
    T* fresh;
    u32* due[2];   // this round's and the next one's, in turn: whom it visits, where it doesn't visit all
    u32* moved[2]; // who changed in a round that visited all, in turn
    u32* heavy;    // whose rows are in these lists
    Rows longs;
    Rows hubs;
    Changes* board;
    Link link[links > 0 ? links : 1];
    V view;

    // Computes, and writes; whether that changed anything.
    struct Settle {
        static const bool last = true;
        template <class G> static VXM_FN bool visit(const Changing& c, G g, u32 i) {
            const T before = peek(c.state + i);
            T next;
            if (!c.view.selects(g, i) || !c.view.at(g, i, next) || same(before, next)) return false;
            if (g.first()) poke(c.state + i, next);
            return true;
        }
    };
    // Computes.
    struct Propose {
        static const bool last = false;
        template <class G> static VXM_FN bool visit(const Changing& c, G g, u32 i) {
            T next;
            if (!c.view.selects(g, i) || !c.view.at(g, i, next)) next = peek(c.state + i);
            if (g.first()) c.fresh[i] = next;
            return false;
        }
    };
    // Writes.
    struct Commit {
        static const bool last = true;
        template <class G> static VXM_FN bool visit(const Changing& c, G g, u32 i) {
            const T next = c.fresh[i];
            if (same(peek(c.state + i), next)) return false;
            if (g.first()) poke(c.state + i, next);
            return true;
        }
    };

    // Marks who reads element i, by a group.
    template <class G> VXM_FN void mark(G g, u32* next, u32 i) const {
        if (own && g.first()) set_bit(next, i);
#pragma unroll
        for (u32 l = 0; l < links; l++) {
            const u64 end = link[l].offsets[i + 1];
            for (u64 p = link[l].offsets[i] + rank_of(g); p < end; p += width_of(g)) set_bit(next, link[l].columns[p]);
        }
    }
    // The same for some lanes' elements: those whom many read are the warp's.
    VXM_FN void mark_some(u32* next, bool changed, u32 i) const {
        u64 readers = 0;
        if (changed)
            for (u32 l = 0; l < links; l++) readers += link[l].offsets[i + 1] - link[l].offsets[i];
        const bool many = readers > 32;
        if (changed && !many) mark(Thread(), next, i);
        for (u32 todo = __ballot_sync(~0u, many); todo; todo &= todo - 1) mark(Warp(), next, __shfl_sync(~0u, i, __ffs(todo) - 1));
    }

    // What becomes of elements that changed: who reads them is marked, or they are.
    VXM_FN void after(u32 round, bool all, bool changed, u32 i, u32& changes) const {
        changes += __popc(__ballot_sync(~0u, changed));
        if (everything) return;
        if (!all) mark_some(due[round + 1 & 1], changed, i);
        else if (changed) atomicOr(moved[round & 1] + (i >> 5), 1u << (i & 31));
    }
    // Whether row i of a list is due, and takes its mark away.
    VXM_FN bool takes(u32 round, bool last, u32 i) const {
        u32* word = due[round & 1] + (i >> 5);
        const u32 one = 1u << (i & 31);
        if (!(*word & one)) return false;
        if (last) atomicAnd(word, ~one);
        return true;
    }

    // Visits all elements, or those that are due. Returns how many changed, of a warp's.
    template <class Phase> VXM_FN u32 pass(u32 round, bool all) const {
        u32 changes = 0;
        const u64 words = (count + 31) / 32;
        if (all) {
            for (u64 w = first_of(Warp()); w < words; w += step_of(Warp())) {
                const u32 i = (u32)(w * 32 + lane());
                const bool mine = w * 32 + lane() < count && !(skewed && heavy[w] >> lane() & 1);
                if (Phase::last && lane() == 0) due[round & 1][w] = moved[round + 1 & 1][w] = 0;
                after(round, true, mine && Phase::visit(*this, Thread(), i), i, changes);
            }
        } else {
            const u64 threads = (u64)gridDim.x * blockDim.x;
            for (u64 w = (u64)blockIdx.x * blockDim.x + threadIdx.x; w - lane() < words; w += threads) {
                u32* word = due[round & 1] + w;
                u32 bits = w < words ? *word : 0;
                if (skewed && bits) {
                    bits &= ~heavy[w];
                    if (Phase::last && bits) atomicAnd(word, heavy[w]);
                } else if (Phase::last && bits) {
                    *word = 0;
                }
                while (__any_sync(~0u, bits)) {
                    const u32 i = (u32)(w * 32 + __ffs(bits) - 1);
                    const bool changed = bits && Phase::visit(*this, Thread(), i);
                    bits &= bits - 1;
                    __syncwarp();
                    after(round, false, changed, i, changes);
                }
            }
        }
        if constexpr (skewed) {
            for (u64 at = first_of(Warp()) * (all ? 1 : 32); at < longs.count; at += step_of(Warp()) * (all ? 1 : 32)) {
                // a row of a warp's, or those due of 32
                const bool inside = all ? lane() == 0 : at + lane() < longs.count;
                const u32 i = inside ? longs.list[all ? at : at + lane()] : 0;
                bool changed = false;
                for (u32 todo = __ballot_sync(~0u, inside && (all || takes(round, Phase::last, i))); todo; todo &= todo - 1) {
                    const u32 l = __ffs(todo) - 1, row = __shfl_sync(~0u, i, l);
                    // all lanes must go the same way, whatever each of them saw
                    const bool moves = __shfl_sync(~0u, (int)Phase::visit(*this, Warp(), row), 0);
                    if (lane() == l) changed = moves;
                }
                after(round, all, changed, i, changes);
            }
            for (u64 k = blockIdx.x; k < hubs.count; k += gridDim.x) {
                const u32 i = hubs.list[k];
                const bool mine = all || (threadIdx.x == 0 && takes(round, Phase::last, i));
                if (!__syncthreads_or(mine)) continue;
                const bool moves = Phase::visit(*this, Block(), i);
                if (!__syncthreads_or(threadIdx.x == 0 && moves)) continue;
                if (warp() == 0) changes++;
                if (everything) continue;
                if (!all) mark(Block(), due[round + 1 & 1], i);
                else if (threadIdx.x == 0) atomicOr(moved[round & 1] + (i >> 5), 1u << (i & 31));
            }
        }
        return changes;
    }

    // Marks who reads those that changed in a round that visited all.
    VXM_FN void expand(u32 round) const {
        const u64 threads = (u64)gridDim.x * blockDim.x, words = (count + 31) / 32;
        for (u64 w = (u64)blockIdx.x * blockDim.x + threadIdx.x; w - lane() < words; w += threads) {
            u32* word = moved[round & 1] + w;
            u32 bits = w < words ? *word : 0;
            if (bits) *word = 0;
            while (__any_sync(~0u, bits)) {
                mark_some(due[round + 1 & 1], bits != 0, (u32)(w * 32 + __ffs(bits) - 1));
                bits &= bits - 1;
            }
        }
    }

    VXM_FN void run() const {
        if constexpr (skewed) {
            each_thread(longs.count, [&](u64 k) { set_bit(heavy, longs.list[k]); });
            each_thread(hubs.count, [&](u64 k) { set_bit(heavy, hubs.list[k]); });
            meet(board);
        }
        bool all = true;
        for (u32 round = 0;; round++) {
            u32 changes;
            if constexpr (in_place) {
                changes = pass<Settle>(round, all);
            } else {
                pass<Propose>(round, all);
                meet(board);
                changes = pass<Commit>(round, all);
            }
            if (lane() == 0 && changes) atomicAdd(board->changed + round % 3, changes);
            meet(board);
            const u32 now = watch(board->changed + round % 3);
            if (blockIdx.x == 0 && threadIdx.x == 0) {
                // nobody reads the last round's any more, and nobody adds to the next but one's yet
                atomicExch(board->changed + (round + 2) % 3, 0);
                board->rounds = round + 1;
                board->left = now;
            }
            if (now == 0 || round + 1 >= most) return;
            const bool next = everything || now >= count / 64;
            if (all && !next) {
                expand(round);
                meet(board);
            }
            all = next;
        }
    }
};

} // namespace vxm
