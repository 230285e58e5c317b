// Rows that become shorter as a loop visits them: an entry that no longer takes part in a product is left out from then on. Each row's
// entries that are left lie where the row's do, in a copy of the columns.
namespace vxm {

template <class V, class O, class A, class T, class Mul, class Add, class Limit, bool leads>
struct Narrowing : Pull<V, O, A, T, Mul, Add, Limit, leads> {
    typedef Pull<V, O, A, T, Mul, Add, Limit, leads> Rows;
    u32* kept;
    u32* left; // how many entries of each row; NOBODY: all, as they lie in the matrix
    template <class G> VXM_FN bool at(G g, u32 i, T& y) const {
        if constexpr (G::watches) {
            const Maybe<T> sum = visit(g, i, Limit(g, this->operand, i));
            if (sum.present) y = sum.value;
            return sum.present;
        } else {
            return Rows::at(g, i, y);
        }
    }
    // Folds what is left of a row, keeps what takes part, and remembers for whom it waits.
    template <class G> VXM_FN Maybe<T> visit(G g, u32 i, const Limit& limit) const {
        const u32 flight = 4, width = g.members();
        const u64 begin = this->offsets[i];
        u32 len = left[i];
        const bool fresh = len == NOBODY;
        if (fresh) len = (u32)(this->offsets[i + 1] - begin);
        const u32* columns = (fresh ? this->columns : kept) + begin;
        Maybe<T> sum = nothing<T>();
        u32 awaited = NOBODY, count = 0;
        typename V::Elem own;
        const bool waits = this->operand.at(g, i, own);
        for (u32 p = g.rank(); p - g.rank() < len; p += flight * width) {
            u32 column[flight];
            typename V::Elem x[flight];
            bool present[flight];
#pragma unroll
            for (u32 k = 0; k < flight; k++)
                if (p + k * width < len) column[k] = columns[p + k * width];
#pragma unroll
            for (u32 k = 0; k < flight; k++) present[k] = p + k * width < len && this->operand.at(Thread(), column[k], x[k]);
#pragma unroll
            for (u32 k = 0; k < flight; k++) present[k] = present[k] && limit.takes(x[k]);
#pragma unroll
            for (u32 k = 0; k < flight; k++) {
                // all have read what lies where they write
                const u32 place = keep(g, present[k], count);
                if (!present[k]) continue;
                if (fresh || place != p + k * width) kept[begin + place] = column[k];
                Maybe<T> product;
                product.present = true;
                product.value = Mul::call(x[k], A());
                // who is met last is waited for: waiting for the last to be settled would miss what others' being settled tells
                if (waits && Rows::Waits::call(own, x[k])) awaited = column[k];
                sum = join<Add>(sum, product);
            }
            if (Add::stops && ended(g, sum.present && Add::terminal(sum.value)) >= 0) {
                // what is behind was not read: should the row be visited again, it begins anew
                if (g.first()) left[i] = NOBODY;
                *g.column = NOBODY;
                return all_of<Add>(g, sum);
            }
        }
        if (g.first() && (fresh || count != len)) left[i] = count;
        *g.column = agreed(g, awaited);
        return all_of<Add>(g, sum);
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
