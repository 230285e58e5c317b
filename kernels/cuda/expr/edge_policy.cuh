// Edge policies of a product: which entries of a row take part, which block the row, and when the row may stop. First some type traits.
namespace vxm {

// A type without const and reference.
template <class T> struct Decayed { typedef T type; };
template <class T> struct Decayed<const T> { typedef T type; };
template <class T> struct Decayed<T&> { typedef typename Decayed<T>::type type; };

template <bool first, class T, class U> struct Conditional { typedef T type; };
template <class T, class U> struct Conditional<false, T, U> { typedef U type; };
template <class T, class U> struct is_same { static const bool value = false; };
template <class T> struct is_same<T, T> { static const bool value = true; };

template <class W> VXM_FN W weight_at(const W* weights, u64 p) { return weights[p]; }
VXM_FN vxm_unit weight_at(const vxm_unit*, u64) { return vxm_unit(); }

// An operator that never holds.
struct Never {
    template <class T> static VXM_FN bool call(T, T) { return false; }
};
// An operator that holds where one of two operators holds.
template <class F, class G> struct AnyOf {
    template <class T> static VXM_FN bool call(T own, T other) { return F::call(own, other) || G::call(own, other); }
};
template <class F> struct AnyOf<F, Never> : F {};
template <class F, class G> struct AllOf {
    template <class T> static VXM_FN bool call(T own, T other) { return F::call(own, other) && G::call(own, other); }
};
struct Always {
    template <class T> static VXM_FN bool call(T, T) { return true; }
};
template <class F> struct AllOf<F, Always> : F {};
// Edge policies say which entries of row `i` take part in a product, and what a loop may conclude from them. `AllEdges` is the policy that
// takes all entries. A policy has these members:
// - `stops`: whether the reduction of a row may stop early. `operator()(partial)` says when.
// - `filters_by_key`: whether entries are filtered by static keys of their two ends. `key_passes(column)` says which remain.
// - `filters`: whether entries are filtered at all, by keys or by state. `state_passes(x)` tests the element `x` at the entry's column.
// - `Blocks`, an operator of (own element, other element): whether the entry blocks the row.
// - `Final`, an operator of the same: whether the row needs the entry no more after this visit.
// - `StateFilter`, an operator of the same: the test of `state_passes`.
struct AllEdges {
    static const bool stops = false, filters = false, filters_by_key = false;
    typedef Never Blocks;
    typedef Never Final;
    typedef Always StateFilter;
    VXM_FN AllEdges() {}
    template <class G, class U> VXM_FN AllEdges(G, const U&, u32) {}
    template <class T> VXM_FN bool operator()(T) const { return false; }
    template <class X> VXM_FN bool state_passes(X) const { return true; }
    // The static keys at an entry's column.
    struct FarKey {};
    VXM_FN FarKey far_key(u32) const { return {}; }
    VXM_FN bool compare_keys(FarKey) const { return true; }
    VXM_FN bool key_passes(u32) const { return true; }
};
// A row's reduction stops once `F(own element, partial result)` holds.
template <class F, class X, class H> struct Until {
    static const bool stops = true, filters = H::filters, filters_by_key = H::filters_by_key;
    typedef typename H::Blocks Blocks;
    typedef typename H::Final Final;
    typedef typename H::StateFilter StateFilter;
    H other;
    X own;
    bool present;
    template <class G, class U> VXM_FN Until(G g, const U& operand, u32 i) : other(g, operand, i) { present = operand.at(g, i, own); }
    template <class T> VXM_FN bool operator()(T partial) const {
        return (present && F::call(own, partial)) || other(partial);
    }
    VXM_FN bool state_passes(X x) const { return other.state_passes(x); }
    typedef typename H::FarKey FarKey;
    VXM_FN FarKey far_key(u32 column) const { return other.far_key(column); }
    VXM_FN bool compare_keys(FarKey x) const { return other.compare_keys(x); }
    VXM_FN bool key_passes(u32 column) const { return other.key_passes(column); }
};
// Only entries for which `F(own element, other element)` holds take part.
template <class F, class X, class H> struct FilterByState : H {
    static const bool filters = true;
    typedef AllOf<F, typename H::StateFilter> StateFilter;
    X own;
    bool present;
    template <class G, class U> VXM_FN FilterByState(G g, const U& operand, u32 i) : H(g, operand, i) { present = operand.at(g, i, own); }
    VXM_FN bool state_passes(X x) const { return present && F::call(own, x) && H::state_passes(x); }
};
// An operand, and a full vector of static keys by which entries are filtered.
template <class V, class E> struct KeyedOperand : V {
    E keys;
};
// Only entries for which `F(own key, other key)` holds take part. `V` is the `KeyedOperand`.
template <class F, class V, class H> struct FilterByKey : H {
    static const bool filters = true, filters_by_key = true;
    typedef typename Decayed<decltype(*V::keys.values)>::type E;
    const E* keys;
    typename Decayed<E>::type own_key;
    template <class G, class U> VXM_FN FilterByKey(G g, const U& operand, u32 i) : H(g, operand, i) {
        const V& keyed = operand;
        keys = keyed.keys.values;
        own_key = weight_at(keys, i);
    }
    struct FarKey : H::FarKey {
        typename Decayed<E>::type value;
    };
    VXM_FN FarKey far_key(u32 column) const {
        FarKey x;
        (typename H::FarKey&)x = H::far_key(column);
        x.value = weight_at(keys, column);
        return x;
    }
    VXM_FN bool compare_keys(FarKey x) const { return F::call(own_key, x.value) & H::compare_keys(x); }
    VXM_FN bool key_passes(u32 column) const { return compare_keys(far_key(column)); }
};
// The members of `JudgedEdges`: what the status `F(own element, other element)` says of an entry.
template <class F> struct TakesPart {
    template <class T> static VXM_FN bool call(T own, T other) { return F::call(own, other) != Edge::Irrelevant; }
};
template <class F> struct IsBlocking {
    template <class T> static VXM_FN bool call(T own, T other) { return F::call(own, other) == Edge::Blocking; }
};
template <class F> struct IsFinal {
    template <class T> static VXM_FN bool call(T own, T other) { return F::call(own, other) == Edge::Final; }
};
// The status `F(own element, other element)` says whether an entry takes part, blocks the row, or is final: then the row's own element
// includes what it contributes after one visit.
template <class F, class X, class H> struct JudgedEdges : FilterByState<TakesPart<F>, X, H> {
    typedef AnyOf<IsBlocking<F>, typename H::Blocks> Blocks;
    typedef AnyOf<IsFinal<F>, typename H::Final> Final;
    template <class G, class U> VXM_FN JudgedEdges(G g, const U& operand, u32 i) : FilterByState<TakesPart<F>, X, H>(g, operand, i) {}
};

} // namespace vxm
