// Rows that become shorter as a loop visits them: an entry that no longer takes part in a product is left out from then on. Each row's
// entries that are left lie where the row's do, in a copy of the columns.
namespace vxm {

template <class V, class O, class A, class T, class Mul, class Add, class Limit, bool leads>
struct Narrowing : Pull<V, O, A, T, Mul, Add, Limit, leads> {
    typedef Pull<V, O, A, T, Mul, Add, Limit, leads> Rows;
    static const bool narrows = true;
    u32* kept;
    u32* left; // how many entries of each row; NOBODY: all, as they lie in the matrix
    template <class G> VXM_FN bool at(G g, u32 i, T& y) const {
        if constexpr (G::watches && (G::way == whole || G::way == measured)) {
            const Maybe<T> sum = visit(g, i, Limit(g, this->operand, i));
            if (sum.present) y = sum.value;
            return sum.present;
        } else {
            return Rows::at(g, i, y);
        }
    }
    // Whether all there is to know of a row that is visited may be known before.
    static const bool measures = Rows::chooses && Rows::places && !Add::stops;
    // How many entries of a row are left.
    VXM_FN u32 length(u32 i) const {
        const u32 len = left[i];
        return len == NOBODY ? (u32)(this->offsets[i + 1] - this->offsets[i]) : len;
    }
    // Keeps what joins of a row's entries, whatever the operand holds there, unless that was done, and `before` are left of it; the columns
    // of two of them.
    template <class G> VXM_FN Rest choose_kept(G g, u32 i, typename Rows::Bounds row, u32 before) const {
        const u32 flight = 4, width = g.members(), len = row.len;
        const u64 begin = row.begin;
        Rest rest;
        if (before != NOBODY) {
            if (before > 0) rest.column = kept[begin];
            if (before > 1) rest.second = kept[begin + 1];
            return rest;
        }
        const Limit limit(g, this->operand, i);
        u32 count = 0;
        for (u32 p = g.rank(); p - g.rank() < len; p += flight * width) {
            u32 column[flight];
            bool joins[flight];
#pragma unroll
            for (u32 k = 0; k < flight; k++)
                if (p + k * width < len) column[k] = this->columns[begin + p + k * width];
#pragma unroll
            for (u32 k = 0; k < flight; k++) {
                joins[k] = false;
                if (p + k * width < len) joins[k] = limit.joins(column[k]);
            }
#pragma unroll
            for (u32 k = 0; k < flight; k++) {
                const u32 place = keep(g, joins[k], count);
                if (!joins[k]) continue;
                kept[begin + place] = column[k];
                rest.second = rest.column, rest.column = column[k];
            }
        }
        if (g.first()) left[i] = count;
        agreed(g, rest);
        return rest;
    }
    // Keeps what takes part of a row's entries from `begin` to `end`, by a warp, while others do so with other entries of the row: in any
    // order, since a fold that is narrowed doesn't ask for one. `left` counts them, from 0. Where entries join by their ends, those that do.
    VXM_FN void look_through(u32 i, u32 begin, u32 end) const {
        const u32 many = Warp::flight;
        const u64 row = this->offsets[i];
        const Limit limit(Warp(), this->operand, i);
        for (u32 p = begin; p < end; p += many * 32) {
            u32 column[many];
            typename V::Elem x[many];
            bool present[many];
#pragma unroll
            for (u32 k = 0; k < many; k++)
                if (p + k * 32 + lane() < end) column[k] = this->columns[row + p + k * 32 + lane()];
#pragma unroll
            for (u32 k = 0; k < many; k++) {
                present[k] = false;
                if (p + k * 32 + lane() >= end) continue;
                if constexpr (Rows::chooses) present[k] = limit.joins(column[k]);
                else present[k] = this->operand.at(Thread(), column[k], x[k]);
            }
            u32 count = 0;
#pragma unroll
            for (u32 k = 0; k < many; k++) count += present[k] = present[k] && (Rows::chooses || limit.takes(x[k]));
            const u32 sum = running_sum(count);
            u32 place = 0;
            if (lane() == 31) place = atomicAdd(left + i, sum);
            place = __shfl_sync(~0u, place, 31) + sum - count;
#pragma unroll
            for (u32 k = 0; k < many; k++)
                if (present[k]) kept[row + place++] = column[k];
        }
    }
    // A row that is visited: where its entries lie, and what has come of it so far.
    struct Visited {
        u64 begin;
        const u32* columns;
        u32 len, count;
        bool fresh, waits;
        typename V::Elem own;
        Rest rest;
        Maybe<T> sum;
    };
    // Folds what is left of a row, keeps what takes part, and remembers for whom it waits.
    template <class G> VXM_FN Maybe<T> visit(G g, u32 i, const Limit& limit) const {
        const u32 width = g.members();
        Visited v;
        if constexpr (G::way == measured) {
            v.begin = g.rest->begin, v.len = g.rest->bits, v.fresh = false;
        } else {
            v.begin = this->offsets[i];
            v.len = left[i];
            v.fresh = v.len == NOBODY;
            if (v.fresh) v.len = (u32)(this->offsets[i + 1] - v.begin);
        }
        v.columns = (v.fresh ? this->columns : kept) + v.begin;
        v.sum = empty<Add, T>();
        v.count = 0;
        v.waits = this->operand.at(g, i, v.own);
        for (u32 p = g.rank(); p - g.rank() < v.len;) {
            // most of what is left is short: nothing is done for entries that aren't there
            const u32 rest = v.len - (p - g.rank());
            const u32 flight = G::size < 32 || rest > 2 * width ? 4 : rest > width ? 2 : 1;
            if (flight == 4) fold_some<4>(g, p, limit, v);
            else if (flight == 2) fold_some<2>(g, p, limit, v);
            else fold_some<1>(g, p, limit, v);
            p += flight * width;
            if (Add::stops && ended(g, v.sum.present && Add::terminal(v.sum.value)) >= 0) {
                // what is behind was not read: should the row be visited again, it begins anew
                if (g.first()) left[i] = NOBODY;
                g.rest->column = g.rest->second = NOBODY;
                return all_of<Add>(g, v.sum);
            }
        }
        if (g.first() && (v.fresh || v.count != v.len)) left[i] = v.count;
        agreed(g, v.rest);
        g.rest->column = v.rest.column, g.rest->second = v.rest.second;
        return all_of<Add>(g, v.sum);
    }
    // Folds the entries at p, p + width, ..., so many as a member has in flight.
    template <u32 flight, class G> VXM_FN void fold_some(G g, u32 p, const Limit& limit, Visited& v) const {
        const u32 width = g.members();
        u32 column[flight];
        typename V::Elem x[flight];
        bool inside[flight], there[flight], present[flight];
#pragma unroll
        for (u32 k = 0; k < flight; k++)
            if (p + k * width < v.len) column[k] = v.columns[p + k * width];
#pragma unroll
        for (u32 k = 0; k < flight; k++) {
            inside[k] = p + k * width < v.len;
            // of a row that begins anew nothing is chosen
            if constexpr (Limit::chooses)
                if (v.fresh) inside[k] = inside[k] && limit.joins(column[k]);
            there[k] = inside[k] && this->operand.at(Thread(), column[k], x[k]);
        }
#pragma unroll
        for (u32 k = 0; k < flight; k++) present[k] = there[k] && limit.takes(x[k]);
#pragma unroll
        for (u32 k = 0; k < flight; k++) {
            // all have read what lies where they write
            const bool stays = Rows::stays(v, inside[k], there[k], present[k], x[k]);
            const u32 place = keep(g, stays, v.count);
            if (stays && (v.fresh || place != p + k * width)) kept[v.begin + place] = column[k];
            // who is met last is waited for: waiting for the last to be settled would miss what others' being settled tells
            if (present[k] && v.waits && Rows::Waits::call(v.own, x[k])) v.rest.second = v.rest.column, v.rest.column = column[k];
            add<Add>(v.sum, present[k], Mul::call(x[k], A()));
        }
    }
    // The place of a member's entry that is kept, after those of the members before it; `count` grows by all.
    static VXM_FN u32 keep(Thread, bool keeps, u32& count) {
        const u32 place = count;
        count += keeps;
        return place;
    }
    template <u32 width> static VXM_FN u32 keep(Lanes<width>, bool keeps, u32& count) {
        const u32 all = __ballot_sync(Lanes<width>::mask(), keeps), place = count + __popc(all & ((1u << lane()) - 1));
        count += __popc(all);
        return place;
    }
};

} // namespace vxm
