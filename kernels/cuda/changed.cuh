// A loop over what has changed, that stays on the device: a round visits the elements of which something that they read was changed by
// the round before, until one changes nothing. One cooperative launch; blocks meet once a round. Where few changed, who reads them is
// listed, once each, which a bit an element sees to; where many did, all are visited, and who changed is marked instead.
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
// Where blocks meet; how many of them are done; how many elements changed in a round, and how many it lists of short rows and of long ones,
// of the last three. All zero at first.
struct Changes {
    u32 arrived, met, left, changed[3], shorts[3], longs[3];
};

// Sets a bit; whether it wasn't set.
VXM_FN bool set_bit(u32* bits, u32 i) {
    u32* word = bits + (i >> 5);
    const u32 one = 1u << (i & 31);
    // most are set already where many set the same
    return !(*(volatile u32*)word & one) && !(atomicOr(word, one) & one);
}
// Appends i to a list, if it is to be: the lanes that come here together take their places at once.
VXM_FN void append(bool listed, u32* list, u32* length, u32 i) {
    const u32 all = __activemask(), here = __ballot_sync(all, listed);
    if (!here) return;
    const u32 first = __ffs(here) - 1;
    u32 at = 0;
    if (lane() == first) at = atomicAdd(length, __popc(here));
    at = __shfl_sync(all, at, first) + __popc(here & ((1u << lane()) - 1));
    if (listed) list[at] = i;
}

// Elements are joined into others that they name: F says into which, M joins. `order` says of M that it is the least or the greatest.
struct Unhooked {
    typedef void Joining;
    static const bool hooks = false;
    template <class T> static constexpr VXM_FN bool lowest() { return false; }
};
template <class T> constexpr VXM_FN bool is_whole() {
    return is_same<T, int>::value || is_same<T, u32>::value || is_same<T, long long>::value || is_same<T, u64>::value;
}
template <class F, class M, int order> struct Hooked {
    typedef M Joining;
    static const bool hooks = true;
    // Whether the least stays, and one step of the hardware's sees to it.
    template <class T> static constexpr VXM_FN bool lowest() { return order < 0 && is_whole<T>(); }
    template <class T> static VXM_FN u32 onto(T own) { return F::call(own); }
    template <class T> static VXM_FN T call(T held, T x) { return M::call(held, x); }
    // Joins x into what is held at p, `held` as of a while ago; whether that made a difference to what `held` is then.
    template <class T> static VXM_FN bool join(T* p, T& held, T x) {
        if (same(call(held, x), held)) return false;
        if constexpr (is_whole<T>() && order != 0) {
            held = order < 0 ? atomicMin(p, x) : atomicMax(p, x);
            return !same(call(held, x), held);
        } else {
            for (;;) {
                const T joined = call(held, x);
                if (same(joined, held)) return false;
                const T found = swap(p, held, joined);
                if (same(found, held)) return true;
                held = found;
            }
        }
    }
};

// Whether a body is where the state leads, and no more than joined by M with something else. What it passes on the way there is no lower, and
// may be joined too.
template <class V, class M> struct Leads {
    static const bool value = false;
};
template <class T, class F, class L, class M> struct Leads<Follow<State<T>, F, L>, M> {
    static const bool value = true;
};
template <class V, class W, class M> struct Leads<Undecided<V, W, M>, M> : Leads<V, M> {};

// `in_place` says that a state may be written at once; or else all are computed from the states before, and written after. `own` that an
// element is to be visited again once it has changed itself, `everything` that any may be once any other has. `skewed` that there are
// long rows, which are a warp's, and hubs, which are a block's. Where elements are joined into others nobody may store what he found.
template <class V, bool in_place, bool skewed, bool own, bool everything, u32 links, class H> struct Changing {
    typedef typename V::Elem T;
    u64 count;
    u64 most; // rounds
    T* state;
    T* fresh;
    u32* onto;      // whom elements named in a round, if they are joined into those
    u32* due[2];    // whom a round visits where it doesn't visit all, in turn: a bit an element,
    u32* shorts[2]; // a list of those with short rows,
    u32* listed[2]; // and one of those with long rows; hubs are found by their bits
    u32* moved[2];  // who changed in a round that visited all, in turn
    u32* is_long;   // whose rows are in these lists
    u32* is_hub;
    Rows longs;
    Rows hubs;
    Changes* board;
    u64* told; // for the host: rounds, and how many elements the last one changed
    Link link[links > 0 ? links : 1];
    V view;

    // Element i, the same to all members of a group, though others join into it meanwhile.
    template <class G> VXM_FN T held(G g, u32 i) const {
        const T x = peek(state + i);
        if constexpr (H::hooks) return of_first(g, Maybe<T>{x, true}).value;
        else return x;
    }
    // Joins next into element `named`, if there is one; whether that made a difference to what `there` is then.
    VXM_FN bool join_into(u32 named, T next, T& there) const {
        if (named >= count) return false;
        // many may name one: most of them learn without holding it up that they don't matter
        there = peek(state + named);
        return H::join(state + named, there, next);
    }
    // Joins what has become of element i into it, `before` as it was, and into whom it named; whether that changed either. Who leads elsewhere
    // then tells whom he named until then, or his tree would be left behind.
    VXM_FN bool join(u32 i, T before, T next, u32 named) const {
        // changed since it was read, by whomever: what it passed on the way may be there already
        const bool changed = !same(H::call(before, next), before);
        H::join(state + i, before, next);
        T there;
        if (!join_into(named, next, there)) return changed;
        const u32 onward = H::onto(there);
        if (onward != named) join_into(onward, next, there);
        return true;
    }

    // Computes, and writes; whether that changed anything.
    struct Settle {
        static const bool last = true;
        static const bool tells = H::template lowest<T>() && Leads<V, typename H::Joining>::value;
        template <class G> static VXM_FN auto visitor(const Changing& c, u32 i, T before) {
            if constexpr (tells) return Teller<G, T>(word_of(before), c.state + i);
            else return Visitor<G, false>(word_of(before), nullptr);
        }
        template <class G> static VXM_FN bool visit(const Changing& c, G g, u32 i) {
            const T before = c.held(g, i);
            T next;
            const auto v = visitor<G>(c, i, before);
            const bool found = c.view.selects(v, i) && c.view.at(v, i, next);
            if constexpr (H::hooks) {
                return g.first() && c.join(i, before, found ? H::call(before, next) : before, H::onto(before));
            } else {
                if (!found || same(before, next)) return false;
                if (g.first()) poke(c.state + i, next);
                return true;
            }
        }
    };
    // Computes.
    struct Propose {
        static const bool last = false;
        template <class G> static VXM_FN bool visit(const Changing& c, G g, u32 i) {
            const T before = c.held(g, i);
            T next;
            const Visitor<G, false> v(word_of(before), nullptr);
            if (!c.view.selects(v, i) || !c.view.at(v, i, next)) next = before;
            if constexpr (H::hooks) {
                next = H::call(before, next);
                if (g.first()) c.onto[i] = H::onto(before);
            }
            if (g.first()) c.fresh[i] = next;
            return false;
        }
    };
    // Writes.
    struct Commit {
        static const bool last = true;
        template <class G> static VXM_FN bool visit(const Changing& c, G g, u32 i) {
            const T next = c.fresh[i];
            if constexpr (H::hooks) return g.first() && c.join(i, peek(c.state + i), next, c.onto[i]);
            if (same(peek(c.state + i), next)) return false;
            if (g.first()) poke(c.state + i, next);
            return true;
        }
    };

    // Lists element i for the next round.
    VXM_FN void call(u32 round, u32 i) const {
        const bool fresh = set_bit(due[round + 1 & 1], i);
        if constexpr (skewed) {
            const bool far = bit(is_long, i);
            append(fresh && far, listed[round + 1 & 1], board->longs + (round + 1) % 3, i);
            append(fresh && !far && !bit(is_hub, i), shorts[round + 1 & 1], board->shorts + (round + 1) % 3, i);
        } else {
            append(fresh, shorts[round + 1 & 1], board->shorts + (round + 1) % 3, i);
        }
    }
    // Calls who reads element i, by a group.
    template <class G> VXM_FN void tell(G g, u32 round, u32 i) const {
        if (own && g.first()) call(round, i);
#pragma unroll
        for (u32 l = 0; l < links; l++) {
            const u64 end = link[l].offsets[i + 1];
            for (u64 p = link[l].offsets[i] + g.rank(); p < end; p += g.members()) call(round, link[l].columns[p]);
        }
    }
    // The same for some lanes' elements: those whom many read are the warp's.
    VXM_FN void tell_some(u32 round, bool changed, u32 i) const {
        u64 readers = 0;
        if (changed)
            for (u32 l = 0; l < links; l++) readers += link[l].offsets[i + 1] - link[l].offsets[i];
        const bool many = readers > 32;
        if (changed && !many) tell(Thread(), round, i);
        __syncwarp();
        for (u32 todo = __ballot_sync(~0u, many); todo; todo &= todo - 1) tell(Warp(), round, __shfl_sync(~0u, i, __ffs(todo) - 1));
        __syncwarp();
    }

    // What becomes of elements that changed: who reads them is called, or they are marked.
    VXM_FN void after(u32 round, bool all, bool changed, u32 i, u32& changes) const {
        const u32 moves = __ballot_sync(~0u, changed);
        changes += __popc(moves);
        if (everything) return;
        if (!all) tell_some(round, changed, i);
        else if (skewed && changed) atomicOr(moved[round & 1] + (i >> 5), 1u << (i & 31));
        else if (!skewed && lane() == 0) moved[round & 1][i >> 5] = moves; // the word is this warp's alone
    }
    // The bits of who was called are taken away: hubs' are by those who visit them.
    VXM_FN void forget(u32 round, u32 i) const {
        if constexpr (skewed) atomicAnd(due[round & 1] + (i >> 5), is_hub[i >> 5]);
        else due[round & 1][i >> 5] = 0;
    }
    template <class Phase> VXM_FN void visit_all(u32 round, u32& changes) const {
        for (u64 w = first_of(Warp()); w < (count + 31) / 32; w += step_of(Warp())) {
            const u32 i = (u32)(w * 32 + lane());
            const bool mine = w * 32 + lane() < count && !(skewed && (is_long[w] | is_hub[w]) >> lane() & 1);
            if (!everything && Phase::last && lane() == 0) {
                due[0][w] = due[1][w] = 0;
                if (skewed) moved[round + 1 & 1][w] = 0;
            }
            after(round, true, mine && Phase::visit(*this, Thread(), i), i, changes);
        }
    }
    template <class Phase> VXM_FN void visit_listed(u32 round, u32& changes) const {
        const u32 length = watch(board->shorts + round % 3);
        for (u64 at = first_of(Warp()) * 32; at < length; at += step_of(Warp()) * 32) {
            const bool inside = at + lane() < length;
            const u32 i = inside ? shorts[round & 1][at + lane()] : 0;
            if (Phase::last && inside) forget(round, i);
            const bool changed = inside && Phase::visit(*this, Thread(), i);
            __syncwarp();
            after(round, false, changed, i, changes);
        }
    }
    // Long rows, a warp one.
    template <class Phase> VXM_FN void visit_long(u32 round, bool all, u32& changes) const {
        const u64 length = all ? longs.count : watch(board->longs + round % 3);
        const u32* list = all ? longs.list : listed[round & 1];
        for (u64 at = first_of(Warp()); at < length; at += step_of(Warp())) {
            const u32 i = list[at];
            if (Phase::last && !all && lane() == 0) forget(round, i);
            // all lanes must go the same way, whatever each of them saw
            if (!__shfl_sync(~0u, (int)Phase::visit(*this, Warp(), i), 0)) continue;
            changes++;
            if (everything) continue;
            if (!all) tell(Warp(), round, i);
            else if (lane() == 0) atomicOr(moved[round & 1] + (i >> 5), 1u << (i & 31));
            __syncwarp();
        }
    }
    // Hubs, a block one.
    template <class Phase> VXM_FN void visit_hubs(u32 round, bool all, u32& changes) const {
        for (u64 k = blockIdx.x; k < hubs.count; k += gridDim.x) {
            const u32 i = hubs.list[k];
            u32* word = due[round & 1] + (i >> 5);
            const u32 one = 1u << (i & 31);
            if (!__syncthreads_or(all || (threadIdx.x == 0 && *word & one))) continue;
            if (Phase::last && !all && threadIdx.x == 0) atomicAnd(word, ~one);
            const bool moves = Phase::visit(*this, Block(), i);
            if (!__syncthreads_or(threadIdx.x == 0 && moves)) continue;
            if (warp() == 0) changes++;
            if (everything) continue;
            if (!all) tell(Block(), round, i);
            else if (threadIdx.x == 0) atomicOr(moved[round & 1] + (i >> 5), 1u << (i & 31));
        }
    }
    // Visits all elements, or those that are due. Returns how many changed, of a warp's.
    template <class Phase> VXM_FN u32 pass(u32 round, bool all) const {
        u32 changes = 0;
        if (all) visit_all<Phase>(round, changes);
        else visit_listed<Phase>(round, changes);
        if constexpr (skewed) {
            visit_long<Phase>(round, all, changes);
            visit_hubs<Phase>(round, all, changes);
        }
        return changes;
    }

    // Calls who reads those that changed in a round that visited all.
    VXM_FN void expand(u32 round) const {
        const u64 threads = (u64)gridDim.x * blockDim.x, words = (count + 31) / 32;
        for (u64 w = (u64)blockIdx.x * blockDim.x + threadIdx.x; w - lane() < words; w += threads) {
            u32* word = moved[round & 1] + w;
            u32 bits = w < words ? *word : 0;
            if (bits) *word = 0;
            while (__any_sync(~0u, bits)) {
                tell_some(round, bits != 0, (u32)(w * 32 + __ffs(bits) - 1));
                bits &= bits - 1;
            }
        }
    }

    VXM_FN void run() const {
        if constexpr (skewed) {
            each_thread(longs.count, [&](u64 k) { set_bit(is_long, longs.list[k]); });
            each_thread(hubs.count, [&](u64 k) { set_bit(is_hub, hubs.list[k]); });
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
                // nobody reads this round's lists any more, and nobody adds to those of the next but one yet
                board->shorts[round % 3] = board->longs[round % 3] = board->changed[(round + 2) % 3] = 0;
            }
            if (now == 0 || round + 1 >= most) return leave(board, [&] { post(told, round + 1, now); });
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
