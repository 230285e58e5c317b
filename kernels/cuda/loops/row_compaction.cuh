// Row compaction: the rows of a product become shorter as a loop visits them. An entry that can no longer take part is dropped. A row's
// live columns are stored from the row's own first position on, in a copy of the matrix's columns.
namespace vxm {

template <class V, class Matrix, class Ring, class Policy, bool is_primary>
struct CompactingPull : Pull<V, Matrix, Ring, Policy, is_primary> {
    typedef Pull<V, Matrix, Ring, Policy, is_primary> Base;
    typedef typename Base::A A;
    typedef typename Base::T T;
    typedef typename Base::Mul Mul;
    typedef typename Base::Add Add;
    static const bool compacts = true;
    u32* live_columns;
    u32* live_counts; // the number of live entries of each row; NONE: all of them, as the matrix has them
    template <class G> VXM_FN bool at(G g, u32 i, T& y) const {
        if constexpr (G::records_blockers && (G::access == all_entries || G::access == compacted)) {
            const Maybe<T> sum = visit(g, i, Policy(g, this->operand, i));
            if (sum.present) y = sum.value;
            return sum.present;
        } else {
            return Base::at(g, i, y);
        }
    }
    // Whether all that a visit needs to know of a row (its start and the number of live entries) may be loaded before the visit.
    static const bool caches_bounds = Base::prefilters && Base::caches_start && !Add::stops;
    // Returns the number of live entries of row `i`.
    VXM_FN u32 length(u32 i) const {
        const u32 len = live_counts[i];
        return len == NONE ? (u32)(this->offsets[i + 1] - this->offsets[i]) : len;
    }
    // Copies the entries of row `i` that pass the key filter, whatever their state, to the live columns. Returns the columns of two of
    // them, as blockers. `live_before` is the number of live entries if the row was compacted already, or `NONE`.
    template <class G> VXM_FN RowContext prefilter_compacted(G g, u32 i, typename Base::Bounds row, u32 live_before) const {
        const u32 unroll = 4, width = g.members(), len = row.len;
        const u64 begin = row.begin;
        RowContext context;
        if (live_before != NONE) {
            if (live_before > 0) context.blocker = live_columns[begin];
            if (live_before > 1) context.second_blocker = live_columns[begin + 1];
            return context;
        }
        const Policy policy(g, this->operand, i);
        VXM_TALLY(edges, g.first() ? len : 0);
        u32 count = 0;
        for (u32 p = g.rank(); p - g.rank() < len; p += unroll * width) {
            u32 column[unroll];
            bool key_passes[unroll];
#pragma unroll
            for (u32 k = 0; k < unroll; k++)
                if (p + k * width < len) column[k] = this->columns[begin + p + k * width];
#pragma unroll
            for (u32 k = 0; k < unroll; k++) {
                key_passes[k] = false;
                if (p + k * width < len) key_passes[k] = policy.key_passes(column[k]);
            }
#pragma unroll
            for (u32 k = 0; k < unroll; k++) {
                const u32 place = reserve_place(g, key_passes[k], count);
                if (!key_passes[k]) continue;
                live_columns[begin + place] = column[k];
                context.second_blocker = context.blocker, context.blocker = column[k];
            }
        }
        if (g.first()) live_counts[i] = count;
        agree_on_blockers(g, context);
        return context;
    }
    // Copies the live entries from `begin` to `end` of row `i` to the live columns, by a warp, while other warps do so for other parts of
    // the row. The order of the entries is arbitrary, which is right because the monoid is exact and commutative. `live_counts[i]` must
    // start as 0, and counts the entries. Under a key filter, entries that pass it are live; otherwise those that pass the state filter.
    VXM_FN void compact_range(u32 i, u32 begin, u32 end) const {
        const u32 unroll = Warp::unroll;
        const u64 row = this->offsets[i];
        const Policy policy(Warp(), this->operand, i);
        VXM_TALLY(edges, lane() == 0 ? end - begin : 0);
        for (u32 p = begin; p < end; p += unroll * 32) {
            u32 column[unroll];
            typename V::Elem x[unroll];
            bool present[unroll];
#pragma unroll
            for (u32 k = 0; k < unroll; k++)
                if (p + k * 32 + lane() < end) column[k] = this->columns[row + p + k * 32 + lane()];
#pragma unroll
            for (u32 k = 0; k < unroll; k++) {
                present[k] = false;
                if (p + k * 32 + lane() >= end) continue;
                if constexpr (Base::prefilters) present[k] = policy.key_passes(column[k]);
                else present[k] = this->operand.at(Thread(), column[k], x[k]);
            }
            u32 count = 0;
#pragma unroll
            for (u32 k = 0; k < unroll; k++) count += present[k] = present[k] && (Base::prefilters || policy.state_passes(x[k]));
            const u32 sum = running_sum(count);
            u32 place = 0;
            if (lane() == 31) place = atomicAdd(live_counts + i, sum);
            place = __shfl_sync(~0u, place, 31) + sum - count;
#pragma unroll
            for (u32 k = 0; k < unroll; k++)
                if (present[k]) live_columns[row + place++] = column[k];
        }
    }
    // A visit of a row: where its entries are, how many it had and how many stay live, and what was found so far. `fresh` says that the row
    // was not compacted before.
    struct Visited {
        u64 begin;
        const u32* columns;
        u32 len, count;
        bool fresh, has_own;
        typename V::Elem own;
        RowContext context;
        Maybe<T> sum;
    };
    // Reduces the live entries of a row, compacts the row, and records its blockers.
    template <class G> VXM_FN Maybe<T> visit(G g, u32 i, const Policy& policy) const {
        const u32 width = g.members();
        Visited v;
        if constexpr (G::access == compacted) {
            v.begin = g.context->begin, v.len = g.context->live, v.fresh = false;
        } else {
            v.begin = this->offsets[i];
            v.len = live_counts[i];
            v.fresh = v.len == NONE;
            if (v.fresh) v.len = (u32)(this->offsets[i + 1] - v.begin);
        }
        v.columns = (v.fresh ? this->columns : live_columns) + v.begin;
        v.sum = empty<Add, T>();
        v.count = 0;
        v.has_own = this->operand.at(g, i, v.own);
        for (u32 p = g.rank(); p - g.rank() < v.len;) {
            // Most compacted rows are short: the unroll depth is reduced, so that no work is done for entries beyond the end.
            const u32 remaining = v.len - (p - g.rank());
            const u32 unroll = G::size < 32 || remaining > 2 * width ? 4 : remaining > width ? 2 : 1;
            if (unroll == 4) fold_some<4>(g, p, policy, v);
            else if (unroll == 2) fold_some<2>(g, p, policy, v);
            else fold_some<1>(g, p, policy, v);
            VXM_TALLY(edges, g.first() ? min(remaining, unroll * width) : 0);
            p += unroll * width;
            if (Add::stops && first_member_where(g, v.sum.present && Add::terminal(v.sum.value)) >= 0) {
                VXM_TALLY(early_exits, g.first() && unroll * width < remaining);
                // The entries behind were not read, so the row is not compacted: a later visit starts from the matrix again.
                if (g.first()) live_counts[i] = NONE;
                g.context->blocker = g.context->second_blocker = NONE;
                return join_members<Add>(g, v.sum);
            }
        }
        if (g.first() && (v.fresh || v.count != v.len)) live_counts[i] = v.count;
        agree_on_blockers(g, v.context);
        g.context->blocker = v.context.blocker, g.context->second_blocker = v.context.second_blocker;
        return join_members<Add>(g, v.sum);
    }
    // Reduces the entries at p, p + width, ..., `unroll` of them for each member.
    template <u32 unroll, class G> VXM_FN void fold_some(G g, u32 p, const Policy& policy, Visited& v) const {
        const u32 width = g.members();
        u32 column[unroll];
        typename V::Elem x[unroll];
        bool inside[unroll], there[unroll], present[unroll];
#pragma unroll
        for (u32 k = 0; k < unroll; k++)
            if (p + k * width < v.len) column[k] = v.columns[p + k * width];
#pragma unroll
        for (u32 k = 0; k < unroll; k++) {
            inside[k] = p + k * width < v.len;
            // a row that is not compacted yet was not filtered by key either
            if constexpr (Policy::filters_by_key)
                if (v.fresh) inside[k] = inside[k] && policy.key_passes(column[k]);
            there[k] = inside[k] && this->operand.at(Thread(), column[k], x[k]);
        }
#pragma unroll
        for (u32 k = 0; k < unroll; k++) present[k] = there[k] && policy.state_passes(x[k]);
#pragma unroll
        for (u32 k = 0; k < unroll; k++) {
            // No entry is overwritten before it is read: all members have loaded the entries at the positions that they may write to.
            const bool stays_live = Base::stays_live(v, inside[k], there[k], present[k], x[k]);
            const u32 place = reserve_place(g, stays_live, v.count);
            if (stays_live && (v.fresh || place != p + k * width)) live_columns[v.begin + place] = column[k];
            // any blocker will do, so the last one found replaces earlier ones
            if (present[k] && v.has_own && Base::Blocks::call(v.own, x[k]))
                v.context.second_blocker = v.context.blocker, v.context.blocker = column[k];
            add<Add>(v.sum, present[k], Mul::call(x[k], A()));
        }
    }
    // Returns the place of a member's entry among the entries kept, in order of members. `count` grows by the number of entries that all
    // members keep.
    static VXM_FN u32 reserve_place(Thread, bool keeps, u32& count) {
        const u32 place = count;
        count += keeps;
        return place;
    }
    template <u32 width> static VXM_FN u32 reserve_place(Lanes<width>, bool keeps, u32& count) {
        const u32 all = __ballot_sync(Lanes<width>::mask(), keeps), place = count + __popc(all & ((1u << lane()) - 1));
        count += __popc(all);
        return place;
    }
};

} // namespace vxm
