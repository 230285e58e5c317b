// Pull products: the reduction of a matrix's rows with a vector. In a loop a product may record the blockers of a row.
namespace vxm {

// Returns the group that reduces a row which is not staged.
template <class G> VXM_FN G unstaged(G g) { return g; }
VXM_FN Thread unstaged(Staged) { return Thread(); }
VXM_FN Thread unstaged(StagedMedium) { return Thread(); }
VXM_FN Warp unstaged(StagedRow) { return Warp(); }
template <u32 most> VXM_FN Thread unstaged(BoundedRowThread<most>) { return Thread(); }
// Returns the group that reduces a row: only rows of the primary product may be staged.
template <bool is_primary, class G> VXM_FN auto fold_group(G g) {
    if constexpr (is_primary) return g;
    else return unstaged(g);
}

// Loads a value that is read only once, so that it does not evict data that is read again.
template <class W> VXM_FN W load_streaming(const W* p) {
    W x;
    if constexpr (sizeof(W) == 16) {
        const TwoWords words = {__ldcs((const u64*)p), __ldcs((const u64*)p + 1)};
        memcpy(&x, &words, 16);
    } else if constexpr (sizeof(W) == 8) {
        const u64 word = __ldcs((const u64*)p);
        memcpy(&x, &word, 8);
    } else if constexpr (sizeof(W) == 4) {
        const u32 word = __ldcs((const u32*)p);
        memcpy(&x, &word, 4);
    } else if constexpr (sizeof(W) == 2) {
        const unsigned short word = __ldcs((const unsigned short*)p);
        memcpy(&x, &word, 2);
    } else {
        const unsigned char word = __ldcs((const unsigned char*)p);
        memcpy(&x, &word, 1);
    }
    return x;
}
VXM_FN vxm_unit load_streaming(const vxm_unit*) { return vxm_unit(); }

// Makes all members of a group agree on up to two blockers among the columns that the members recorded. Any two will do.
VXM_FN void agree_on_blockers(Thread, RowContext&) {}
template <u32 width> VXM_FN void agree_on_blockers(Lanes<width>, RowContext& context) {
    typedef Lanes<width> L;
    const u32 blocked = __ballot_sync(L::mask(), context.blocker != NONE) & L::mask();
    const u32 first = __ffs(blocked) - 1 & 31, last = 31 - __clz(blocked) & 31;
    context.second_blocker = __shfl_sync(L::mask(), first == last ? context.second_blocker : context.blocker, last);
    context.blocker = __shfl_sync(L::mask(), context.blocker, first);
    if (!blocked) context.blocker = context.second_blocker = NONE;
}
// Returns the rank of the first member for which `holds` is true, or -1 if there is none.
VXM_FN int first_member_where(Thread, bool holds) { return holds ? 0 : -1; }
template <u32 width> VXM_FN int first_member_where(Lanes<width>, bool holds) {
    const u32 holding = __ballot_sync(Lanes<width>::mask(), holds);
    return holding ? (__ffs(holding) - 1) & (width - 1) : -1;
}
template <class T> VXM_FN Maybe<T> from_member(Thread, Maybe<T> x, int) { return x; }
template <u32 width, class T> VXM_FN Maybe<T> from_member(Lanes<width>, Maybe<T> x, int member) {
    return from_lane<Lanes<width>>(x, member);
}
template <class M, class T> VXM_FN Maybe<T> join_members(Thread, Maybe<T> sum) { return sum; }
template <class M, u32 width, class T> VXM_FN Maybe<T> join_members(Lanes<width>, Maybe<T> sum) { return join_lanes<Lanes<width>, M>(sum); }

// A semiring: the type of its results, the multiplication, and the monoid.
template <class T, class Mul, class Add> struct Semiring {
    typedef T Result;
    typedef Mul Multiply;
    typedef Add Monoid;
};
// The types of a matrix: `O` of its row offsets, `A` of its values.
template <class O, class A> struct MatrixTypes {
    typedef O Offset;
    typedef A Value;
};
// A matrix-vector product: element `i` is the reduction of row `i` with the operand `V`. `is_primary` says that this is the primary
// product: a terminal may stage its rows.
template <class V, class Matrix, class Ring, class Policy, bool is_primary> struct Pull {
    typedef typename Matrix::Offset O;
    typedef typename Matrix::Value A;
    typedef typename Ring::Result T;
    typedef typename Ring::Multiply Mul;
    typedef typename Ring::Monoid Add;
    typedef T Elem;
    typedef typename Policy::Blocks Blocks;
    typedef typename Policy::Final Final;
    static const bool full = false, compacts = false, caches_bounds = false;
    V operand;
    const O* offsets;
    const u32* columns;
    const A* weights;
    struct Entry {
        u32 column;
        A weight;
    };
    // A row's products as the items of a reduction. `streams` says that adjacent threads read adjacent entries and no entry is read again.
    template <bool streams, class L, u32 depth = 4> struct RowItems {
        static const bool full = V::full && !L::filters, are_entries = true;
        // where a partial result may end the row, few entries are loaded at once
        static const u32 unroll = L::stops ? 4 : depth;
        const V& operand;
        const u32* columns;
        const A* weights;
        L policy;
        VXM_FN RowItems from(u64 p) const { return {operand, columns + p, weights + p, policy}; }
        VXM_FN Entry load(u32 p) const {
            if constexpr (streams) return {load_streaming(columns + p), load_streaming(weights + p)};
            else return {columns[p], weight_at(weights, p)};
        }
        VXM_FN Maybe<typename V::Elem> reach(Entry entry) const {
            Maybe<typename V::Elem> x;
            x.present = operand.at(Thread(), entry.column, x.value);
            if constexpr (L::filters_by_key) x.present &= policy.key_passes(entry.column);
            return x;
        }
        VXM_FN Maybe<T> make(Entry entry, Maybe<typename V::Elem> x) const {
            Maybe<T> product;
            product.present = x.present & policy.state_passes(x.value);
            product.value = Mul::call(x.value, entry.weight);
            return product;
        }
    };
    template <class G> VXM_FN bool at(G g, u32 i, T& y) const {
        Maybe<T> sum;
        if constexpr (G::staged && is_primary) {
            sum = fold_staged<Add, T, V::full>(g);
        } else if constexpr (G::records_blockers && G::access != all_entries && G::access != compacted && prefilters) {
            sum = visit_prefiltered(g, i);
        } else {
            const u64 begin = offsets[i], len = offsets[i + 1] - begin;
            const Policy policy(g, operand, i);
            if constexpr (G::records_blockers && !is_same<Blocks, Never>::value) {
                sum = fold_recording(g, i, begin, (u32)len, policy);
            } else {
                const RowItems<G::wide, Policy, G::unroll> row = {operand, columns, weights, policy};
                sum = fold<Add, T>(fold_group<is_primary && !G::staged>(g), (u32)len, row.from(begin), policy);
            }
        }
        if (sum.present) y = sum.value;
        return sum.present;
    }
    // Whether a visit records which entries of a short row are still live, so that later visits skip the others.
    static const bool keeps_live_mask = Policy::filters && !Policy::stops && !is_same<Blocks, Never>::value;
    // Whether a loop filters a row's entries by their keys before it visits the row.
    static const bool prefilters = keeps_live_mask && Policy::filters_by_key;
    // A visit of a row: where the row begins, its own element and whether that is present, the blockers and live entries found so far, and
    // the partial result.
    struct RowVisit {
        u64 begin;
        typename V::Elem own;
        bool has_own;
        RowContext context;
        Maybe<T> sum;
    };
    // Reduces row `i`, and records its blockers in the group's context.
    template <class G> VXM_FN Maybe<T> fold_recording(G g, u32 i, u64 begin, u32 len, const Policy& policy) const {
        RowVisit visit;
        visit.begin = begin, visit.context.live = 0;
        visit.has_own = operand.at(g, i, visit.own);
        visit.sum = empty<Add, T>();
        if constexpr (G::access == live_mask && keeps_live_mask) {
            // live entries only, `unroll` at a time
            const u32 unroll = 4;
            for (u32 from = 0; from < len; from += 32) {
                u32 todo = from == 0 ? g.context->live : ~0u;
                if (len - from < 32) todo &= (1u << (len - from)) - 1;
                VXM_TALLY(edges, __popc(todo));
                while (todo) {
                    ListedPositions<unroll> some;
#pragma unroll
                    for (u32 k = 0; k < unroll; k++) some.p[k] = todo ? from + __ffs(todo) - 1 : NONE, todo &= todo - 1;
                    fold_at(some, policy, visit);
                }
            }
            *g.context = visit.context;
            return visit.sum;
        }
        const int found = fold_all_entries(g, len, policy, visit);
        agree_on_blockers(g, visit.context);
        g.context->blocker = visit.context.blocker, g.context->second_blocker = visit.context.second_blocker;
        // A partial result at which the row may stop is returned as it is. Combined with other members' results, it might no longer satisfy
        // the condition.
        return found >= 0 ? from_member(g, visit.sum, found) : join_members<Add>(g, visit.sum);
    }
    // Reduces all entries. Returns the rank of the member with the partial result that ended the row, or -1.
    template <class G> VXM_FN int fold_all_entries(G g, u32 len, const Policy& policy, RowVisit& visit) const {
        const u32 unroll = Policy::stops && !G::wide ? 4 : G::unroll;
        // a thread reads adjacent entries; the members of a wider group interleave theirs
        const u32 step = g.members();
        for (u32 p = g.rank(); p - g.rank() < len; p += unroll * step) {
            VXM_TALLY(edges, g.first() ? min(unroll * step, len - p) : 0);
            fold_at(StridedPositions<unroll>{p, step, len}, policy, visit);
            if (!Add::stops && !Policy::stops) continue;
            const int found = first_member_where(g, visit.sum.present && (Add::terminal(visit.sum.value) || policy(visit.sum.value)));
            VXM_TALLY(early_exits, found >= 0 && g.first() && p + unroll * step < len);
            if (found >= 0) return found;
        }
        return -1;
    }
    // Positions within a row: equally spaced ones below `len`, or listed ones.
    template <u32 depth> struct StridedPositions {
        static const u32 count = depth;
        u32 p, step, len;
        VXM_FN u32 at(u32 k) const { return p + k * step; }
        VXM_FN bool inside(u32 k) const { return at(k) < len; }
    };
    template <u32 depth> struct ListedPositions {
        static const u32 count = depth;
        u32 p[depth];
        VXM_FN u32 at(u32 k) const { return p[k]; }
        VXM_FN bool inside(u32 k) const { return p[k] != NONE; }
    };
    // Loads and combines the entries at some positions of a row.
    template <class Positions> VXM_FN void fold_at(const Positions& positions, const Policy& policy, RowVisit& visit) const {
        const u32 unroll = Positions::count;
        u32 column[unroll];
        typename V::Elem x[unroll];
        bool there[unroll];
#pragma unroll
        for (u32 k = 0; k < unroll; k++)
            if (positions.inside(k)) column[k] = columns[visit.begin + positions.at(k)];
#pragma unroll
        for (u32 k = 0; k < unroll; k++)
            if (positions.inside(k)) there[k] = operand.at(Thread(), column[k], x[k]) && policy.key_passes(column[k]);
#pragma unroll
        for (u32 k = 0; k < unroll; k++) {
            // No lane skips work, because other lanes of the warp go on: products of absent entries are computed and not taken.
            const bool taken = positions.inside(k) & ((V::full && !Policy::filters_by_key) || there[k]) & policy.state_passes(x[k]);
            if (keeps_live_mask && positions.at(k) < 32 && stays_live(visit, positions.inside(k), V::full || there[k], taken, x[k]))
                visit.context.live |= 1u << positions.at(k);
            add_entry(visit, taken, column[k], x[k], positions.inside(k) ? weight_at(weights, visit.begin + positions.at(k)) : A());
        }
    }
    // Where a row begins, and how many entries it has.
    struct Bounds {
        O begin;
        u32 len;
    };
    VXM_FN Bounds bounds(u32 i) const {
        const O begin = offsets[i];
        return {begin, (u32)(offsets[i + 1] - begin)};
    }
    // Returns the live-edge mask of a short row: the entries that pass the key filter, whatever their state. Also the columns of two of
    // them, as blockers.
    template <class G> VXM_FN RowContext prefilter(G g, u32 i, Bounds row) const {
        const O begin = row.begin;
        const u32 len = row.len, unroll = G::unroll;
        const Policy policy(g, operand, i);
        RowContext context;
        context.live = 0, context.begin = (u32)begin;
        VXM_TALLY(edges, len);
        for (u32 p = 0; p < len; p += unroll) {
            u32 column[unroll];
            typename Policy::FarKey far_key[unroll];
#pragma unroll
            for (u32 k = 0; k < unroll; k++)
                if (p + k < len) column[k] = columns[begin + p + k];
            // All keys are loaded before the first comparison, unless that takes too many registers.
            bool key_passes[unroll];
            const bool loads_keys_first = unroll <= 4 || G::access == short_cached_start;
#pragma unroll
            for (u32 k = 0; k < unroll; k++) {
                key_passes[k] = p + k < len;
                if (!key_passes[k]) continue;
                if (loads_keys_first) far_key[k] = policy.far_key(column[k]);
                else key_passes[k] = policy.key_passes(column[k]);
            }
#pragma unroll
            for (u32 k = 0; k < unroll; k++) {
                if (loads_keys_first) key_passes[k] = key_passes[k] & policy.compare_keys(far_key[k]);
                if (!key_passes[k]) continue;
                context.second_blocker = context.blocker, context.blocker = column[k];
                context.live |= p + k < 31 ? 1u << (p + k & 31) : LIVE_TAIL;
            }
        }
        return context;
    }
    // Whether a row's first position fits its work-list record.
    static const bool caches_start = sizeof(O) == 4;
    // Reduces the live entries of a prefiltered short row, and records its blockers and the entries that stay live.
    template <class G> VXM_FN Maybe<T> visit_prefiltered(G g, u32 i) const {
        const Policy policy(g, operand, i);
        const O begin = G::access == live_mask ? offsets[i] : (O)g.context->begin;
        RowVisit visit;
        visit.context.live = 0, visit.context.begin = g.context->begin;
        visit.has_own = operand.at(g, i, visit.own);
        visit.sum = empty<Add, T>();
        const u32 unroll = G::unroll;
        VXM_TALLY(edges, __popc(g.context->live & ~LIVE_TAIL));
        for (u32 todo = g.context->live & ~LIVE_TAIL; todo;) {
            u32 bit[unroll], column[unroll];
            typename V::Elem x[unroll];
            bool there[unroll];
#pragma unroll
            for (u32 k = 0; k < unroll; k++) bit[k] = todo & (0 - todo), todo &= todo - 1;
#pragma unroll
            for (u32 k = 0; k < unroll; k++)
                if (bit[k]) column[k] = columns[begin + (31 - __clz(bit[k]))];
#pragma unroll
            for (u32 k = 0; k < unroll; k++)
                if (bit[k]) there[k] = operand.at(Thread(), column[k], x[k]);
#pragma unroll
            for (u32 k = 0; k < unroll; k++) {
                const bool taken = bit[k] && (V::full || there[k]) & policy.state_passes(x[k]);
                if (stays_live(visit, bit[k], V::full || there[k], taken, x[k])) visit.context.live |= bit[k];
                add_entry(visit, taken, column[k], x[k], bit[k] ? weight_at(weights, begin + (31 - __clz(bit[k]))) : A());
            }
        }
        if (G::access != short_cached_start && g.context->live & LIVE_TAIL) visit_tail(g, i, visit);
        *g.context = visit.context;
        return visit.sum;
    }
    // The same for the entries that bit 31, `LIVE_TAIL`, stands for.
    template <class G> VXM_FN void visit_tail(G g, u32 i, RowVisit& visit) const {
        // The policy loads the row's own key, which only these entries need. So the key takes no register elsewhere.
        const Policy policy(g, operand, i);
        const O begin = offsets[i];
        const u32 len = (u32)(offsets[i + 1] - begin);
        VXM_TALLY(edges, len - 31);
#pragma unroll 1
        for (u32 p = 31; p < len; p++) {
            const u32 column = columns[begin + p];
            typename V::Elem x;
            const bool key_passes = policy.key_passes(column), there = key_passes && operand.at(Thread(), column, x);
            const bool taken = there && policy.state_passes(x);
            if (stays_live(visit, key_passes, there, taken, x)) visit.context.live |= LIVE_TAIL;
            add_entry(visit, taken, column, x, weight_at(weights, begin + p));
        }
    }
    // Returns whether an entry may take part in a later visit: if it took part now and is not final. Under a key filter an entry without an
    // operand element stays live, because that element may appear later. Without a key filter, absence counts as refusal.
    template <class S> static VXM_FN bool stays_live(const S& visit, bool inside, bool there, bool taken, typename V::Elem x) {
        if (Policy::filters_by_key && !V::full && inside && !there) return true;
        return taken & !(visit.has_own & Final::call(visit.own, x));
    }
    // Combines an entry's product, if it is taken, and records its column if it blocks the row. The blockers recorded last replace earlier
    // ones, because any blocker will do. Seeking the blocker that settles last would delay the row: another blocker may settle earlier and
    // change it.
    VXM_FN void add_entry(RowVisit& visit, bool taken, u32 column, typename V::Elem x, A weight) const {
        if (taken & visit.has_own & Blocks::call(visit.own, x))
            visit.context.second_blocker = visit.context.blocker, visit.context.blocker = column;
        add<Add>(visit.sum, taken, Mul::call(x, weight));
    }
    // Returns whether an entry still blocks its row. A prefiltered entry passed the key filter only, so its state filter is tested too.
    static VXM_FN bool is_blocking(typename V::Elem own, typename V::Elem other) {
        return Blocks::call(own, other) && (!prefilters || Policy::StateFilter::call(own, other));
    }
    // Tests for `count` rows at once, in each lane, whether they are still blocked. `states` are the rows' own elements. With
    // `two_blockers`, a row that its first blocker has released is tested for its second, which becomes the first. A row without a blocker
    // reads its own element instead, because conditional loads would be issued one after the other.
    template <bool two_blockers, u32 count, class W>
    VXM_FN void test_blockers(const u32 (&rows)[count], const W (&states)[count], RowContext (&contexts)[count],
                              bool (&blocked)[count]) const {
        typename V::Elem own[count], other[count];
        bool there[count];
#pragma unroll
        for (u32 k = 0; k < count; k++) {
            const u32 column = contexts[k].blocker == NONE ? rows[k] : contexts[k].blocker;
            const RowVisitor<Thread, false> g(word_of(states[k]), nullptr);
            there[k] = operand.at(g, rows[k], own[k]) & operand.at(Thread(), column, other[k]);
        }
#pragma unroll
        for (u32 k = 0; k < count; k++) blocked[k] = contexts[k].blocker != NONE & (V::full || there[k]) & is_blocking(own[k], other[k]);
        if constexpr (two_blockers) {
#pragma unroll
            for (u32 k = 0; k < count; k++) {
                if (blocked[k]) continue;
                contexts[k].blocker = contexts[k].second_blocker, contexts[k].second_blocker = NONE;
                there[k] = contexts[k].blocker != NONE && operand.at(Thread(), contexts[k].blocker, other[k]);
            }
#pragma unroll
            for (u32 k = 0; k < count; k++) blocked[k] = contexts[k].blocker != NONE & there[k] & is_blocking(own[k], other[k]);
        }
    }
    template <bool streams> VXM_FN auto rows() const { return RowItems<streams, AllEdges>{operand, columns, weights, AllEdges()}; }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};

} // namespace vxm
