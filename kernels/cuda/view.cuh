// Readable vectors, composed as the expression is: `at(group, i, x)` puts the element at i in x and says whether there is one,
// `selects(group, i)` says whether a terminal may write at i, `full` whether there is an element everywhere. All members are 8 bytes
// wide, so a view's bytes are its leaves', in order.
namespace vxm {

VXM_FN bool bit(const u32* bits, u32 i) { return bits[i >> 5] >> (i & 31) & 1; }


// A vector: values, and presence bits unless all are present, which `is_full` says beforehand.
template <class T, bool is_full = false> struct Stored {
    typedef T Elem;
    static const bool full = is_full;
    const T* values;
    const u32* bits;
    template <class G> VXM_FN bool at(G, u32 i, T& x) const {
        if (!is_full && bits && !bit(bits, i)) return false;
        x = values[i];
        return true;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};
template <bool is_full> struct Stored<vxm_unit, is_full> {
    typedef vxm_unit Elem;
    static const bool full = is_full;
    const vxm_unit* values;
    const u32* bits;
    template <class G> VXM_FN bool at(G, u32 i, vxm_unit&) const { return is_full || !bits || bit(bits, i); }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};

// What was scattered to a region: written within it, kept outside.
template <class T> struct Region {
    typedef T Elem;
    static const bool full = false;
    Stored<T> inner;
    const u32* region;
    template <class G> VXM_FN bool at(G g, u32 i, T& x) const { return inner.at(g, i, x); }
    template <class G> VXM_FN bool selects(G, u32 i) const { return bit(region, i); }
};

template <class T> struct Fill {
    typedef T Elem;
    static const bool full = true;
    u64 value;
    template <class G> VXM_FN bool at(G, u32, T& x) const {
        x = element<T>(value);
        return true;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};

template <class V, class F, class T> struct Map {
    typedef T Elem;
    static const bool full = V::full;
    V inner;
    template <class G> VXM_FN bool at(G g, u32 i, T& y) const {
        typename V::Elem x;
        if (!inner.at(g, i, x)) return false;
        y = F::call(x);
        return true;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};
template <class V, class F, class T> struct MapIndex {
    typedef T Elem;
    static const bool full = V::full;
    V inner;
    template <class G> VXM_FN bool at(G g, u32 i, T& y) const {
        typename V::Elem x;
        if (!inner.at(g, i, x)) return false;
        y = F::call(i, x);
        return true;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};
template <class V, class F> struct Select {
    typedef typename V::Elem Elem;
    static const bool full = false;
    V inner;
    template <class G> VXM_FN bool at(G g, u32 i, Elem& x) const { return inner.at(g, i, x) && F::call(x); }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};
template <class V, class F> struct SelectIndex {
    typedef typename V::Elem Elem;
    static const bool full = false;
    V inner;
    template <class G> VXM_FN bool at(G g, u32 i, Elem& x) const { return inner.at(g, i, x) && F::call(i, x); }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};
template <class V> struct Or {
    typedef typename V::Elem Elem;
    static const bool full = true;
    V inner;
    u64 value;
    template <class G> VXM_FN bool at(G g, u32 i, Elem& x) const {
        if (!inner.at(g, i, x)) x = element<Elem>(value);
        return true;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};
template <class V> struct Pattern {
    typedef vxm_unit Elem;
    static const bool full = V::full;
    V inner;
    template <class G> VXM_FN bool at(G g, u32 i, vxm_unit&) const {
        typename V::Elem x;
        return inner.at(g, i, x);
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};

template <class V, class W, class F, class T> struct Both {
    typedef T Elem;
    static const bool full = V::full && W::full;
    V left;
    W right;
    template <class G> VXM_FN bool at(G g, u32 i, T& z) const {
        typename V::Elem x;
        typename W::Elem y;
        if (!left.at(g, i, x) || !right.at(g, i, y)) return false;
        z = F::call(x, y);
        return true;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};
template <class U, class V, class W, class F, class T> struct Three {
    typedef T Elem;
    static const bool full = U::full && V::full && W::full;
    U first;
    V second;
    W third;
    template <class G> VXM_FN bool at(G g, u32 i, T& r) const {
        typename U::Elem x;
        typename V::Elem y;
        typename W::Elem z;
        if (!first.at(g, i, x) || !second.at(g, i, y) || !third.at(g, i, z)) return false;
        r = F::call(x, y, z);
        return true;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};
template <class V, class W, class F> struct Either {
    typedef typename V::Elem Elem;
    static const bool full = V::full || W::full;
    V left;
    W right;
    template <class G> VXM_FN bool at(G g, u32 i, Elem& x) const {
        Elem y;
        bool has_x = left.at(g, i, x), has_y = right.at(g, i, y);
        if (has_y) x = has_x ? F::call(x, y) : y;
        return has_x || has_y;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};
// The same, where nothing is right of what is terminal.
template <class V, class W, class M> struct Undecided {
    typedef typename V::Elem Elem;
    static const bool full = V::full || W::full;
    V left;
    W right;
    template <class G> VXM_FN bool at(G g, u32 i, Elem& x) const {
        Maybe<Elem> y;
        y.present = left.at(g, i, y.value);
        // members go the same way, whatever each of them saw
        y = of_first(g, y);
        x = y.value;
        if (y.present && M::terminal(x)) return true;
        Elem z;
        const bool found = right.at(silent(g), i, z);
        if (found) x = y.present ? M::call(x, z) : z;
        return y.present || found;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};
template <class V> struct Extract {
    typedef typename V::Elem Elem;
    static const bool full = V::full;
    V inner;
    const u32* indices;
    template <class G> VXM_FN bool at(G g, u32 k, Elem& x) const { return inner.at(bare(g), indices[k], x); }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};
// Elements from where others say.
template <class V, class W> struct Gather {
    typedef typename V::Elem Elem;
    static const bool full = false;
    V inner;
    W index;
    u64 length;
    template <class G> VXM_FN bool at(G g, u32 k, Elem& x) const {
        u32 i;
        return index.at(g, k, i) && i < length && inner.at(Thread(), i, x);
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};
// Where elements lead, as long as that is lower. `least` is what nothing is lower than: where many end, it isn't read by all.
template <class V, class F, class L> struct Follow {
    typedef typename V::Elem Elem;
    static const bool full = V::full;
    V inner;
    u64 length;
    u64 least;
    template <class G> VXM_FN bool at(G g, u32 i, Elem& x) const {
        Maybe<Elem> y;
        y.present = inner.at(g, i, y.value);
        const Elem floor = element<Elem>(least);
        for (u32 hops = 1; y.present && L::call(floor, y.value); hops++) {
            const u32 k = F::call(y.value);
            Elem z;
            if (k >= length || !inner.at(Thread(), k, z) || !L::call(z, y.value)) break;
            y.value = z;
            // who comes here meanwhile goes on from there
            if constexpr (G::tells)
                if ((hops & (hops - 1)) == 0) g.tell(z);
        }
        // members may have seen different states, and must go the same way
        y = of_first(g, y);
        x = y.value;
        return y.present;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};

// Masks: `test(group, i)`.
template <class V> struct Present {
    V inner;
    template <class G> VXM_FN bool test(G g, u32 i) const {
        typename V::Elem x;
        return inner.at(g, i, x);
    }
};
template <class T> struct Zero {
    static VXM_FN bool is(T x) { return eq(x, element<T>(0)); }
};
template <> struct Zero<vxm_unit> {
    static VXM_FN bool is(vxm_unit) { return false; }
};
template <class V> struct NonZero {
    V inner;
    template <class G> VXM_FN bool test(G g, u32 i) const {
        typename V::Elem x;
        return inner.at(g, i, x) && !Zero<typename V::Elem>::is(x);
    }
};
template <class M> struct Unset {
    M inner;
    template <class G> VXM_FN bool test(G g, u32 i) const { return !inner.test(g, i); }
};
template <class V, class M> struct Masked {
    typedef typename V::Elem Elem;
    static const bool full = false;
    V inner;
    M mask;
    template <class G> VXM_FN bool at(G g, u32 i, Elem& x) const { return mask.test(g, i) && inner.at(g, i, x); }
    template <class G> VXM_FN bool selects(G g, u32 i) const { return mask.test(g, i) && inner.selects(g, i); }
};

// A type without const and reference.
template <class T> struct Plain { typedef T type; };
template <class T> struct Plain<const T> { typedef T type; };
template <class T> struct Plain<T&> { typedef typename Plain<T>::type type; };

template <bool first, class T, class U> struct Choice { typedef T type; };
template <class T, class U> struct Choice<false, T, U> { typedef U type; };
template <class T, class U> struct is_same { static const bool value = false; };
template <class T> struct is_same<T, T> { static const bool value = true; };

template <class W> VXM_FN W weight_at(const W* weights, u64 p) { return weights[p]; }
VXM_FN vxm_unit weight_at(const vxm_unit*, u64) { return vxm_unit(); }

// Nobody is waited for.
struct Nobody {
    template <class T> static VXM_FN bool call(T, T) { return false; }
};
// One of two operators holds, or both do.
template <class F, class G> struct OneOf {
    template <class T> static VXM_FN bool call(T own, T other) { return F::call(own, other) || G::call(own, other); }
};
template <class F> struct OneOf<F, Nobody> : F {};
template <class F, class G> struct BothOf {
    template <class T> static VXM_FN bool call(T own, T other) { return F::call(own, other) && G::call(own, other); }
};
struct Everybody {
    template <class T> static VXM_FN bool call(T, T) { return true; }
};
template <class F> struct BothOf<F, Everybody> : F {};
// What of row i is folded, by a group. A limit may stop a fold, given a partial result; entries join, given the other's index, which
// it `chooses` if ever they don't; it takes them, given the other's element, and `selects` if ever it doesn't, or they don't join; `Waits`
// tells, by (own element, the other's), which entries the row waits for.
struct Whole {
    static const bool stops = false, selects = false, chooses = false;
    typedef Nobody Waits;
    typedef Nobody Told;
    typedef Everybody Takes;
    VXM_FN Whole() {}
    template <class G, class U> VXM_FN Whole(G, const U&, u32) {}
    template <class T> VXM_FN bool operator()(T) const { return false; }
    template <class X> VXM_FN bool takes(X) const { return true; }
    // What stands at an entry's other end.
    struct Far {};
    VXM_FN Far far(u32) const { return {}; }
    VXM_FN bool meets(Far) const { return true; }
    VXM_FN bool joins(u32) const { return true; }
};
// Once an operator of (own element, partial result) holds.
template <class F, class X, class H> struct Until {
    static const bool stops = true, selects = H::selects, chooses = H::chooses;
    typedef typename H::Waits Waits;
    typedef typename H::Told Told;
    typedef typename H::Takes Takes;
    H other;
    X own;
    bool present;
    template <class G, class U> VXM_FN Until(G g, const U& operand, u32 i) : other(g, operand, i) { present = operand.at(g, i, own); }
    template <class T> VXM_FN bool operator()(T partial) const {
        return (present && F::call(own, partial)) || other(partial);
    }
    VXM_FN bool takes(X x) const { return other.takes(x); }
    typedef typename H::Far Far;
    VXM_FN Far far(u32 column) const { return other.far(column); }
    VXM_FN bool meets(Far x) const { return other.meets(x); }
    VXM_FN bool joins(u32 column) const { return other.joins(column); }
};
// The entries for which an operator of (own element, the other's) holds.
template <class F, class X, class H> struct Among : H {
    static const bool selects = true;
    typedef BothOf<F, typename H::Takes> Takes;
    X own;
    bool present;
    template <class G, class U> VXM_FN Among(G g, const U& operand, u32 i) : H(g, operand, i) { present = operand.at(g, i, own); }
    VXM_FN bool takes(X x) const { return present && F::call(own, x) && H::takes(x); }
};
// An operand, and a full vector by which the ends of entries are compared.
template <class V, class E> struct Ended : V {
    E ends;
};
// The entries for which an operator of what stands at their ends there holds. `V` is an `Ended` operand.
template <class F, class V, class H> struct Ends : H {
    static const bool selects = true, chooses = true;
    typedef typename Plain<decltype(*V::ends.values)>::type E;
    const E* ends;
    typename Plain<E>::type mine;
    template <class G, class U> VXM_FN Ends(G g, const U& operand, u32 i) : H(g, operand, i) {
        const V& ended = operand;
        ends = ended.ends.values;
        mine = weight_at(ends, i);
    }
    struct Far : H::Far {
        typename Plain<E>::type value;
    };
    VXM_FN Far far(u32 column) const {
        Far x;
        (typename H::Far&)x = H::far(column);
        x.value = weight_at(ends, column);
        return x;
    }
    VXM_FN bool meets(Far x) const { return F::call(mine, x.value) & H::meets(x); }
    VXM_FN bool joins(u32 column) const { return meets(far(column)); }
};
// Waiting for entries for which such an operator holds.
template <class F, class H> struct Awaiting : H {
    typedef OneOf<F, typename H::Waits> Waits;
    template <class G, class U> VXM_FN Awaiting(G g, const U& operand, u32 i) : H(g, operand, i) {}
};

// Folding entries once for which such an operator holds.
template <class F, class H> struct Once : H {
    typedef OneOf<F, typename H::Told> Told;
    template <class G, class U> VXM_FN Once(G g, const U& operand, u32 i) : H(g, operand, i) {}
};

// Who folds a row that isn't staged.
template <class G> VXM_FN G alone(G g) { return g; }
VXM_FN Thread alone(Staged) { return Thread(); }
VXM_FN Thread alone(StagedMedium) { return Thread(); }
VXM_FN Warp alone(StagedRow) { return Warp(); }
template <u32 most> VXM_FN Thread alone(Few<most>) { return Thread(); }
// Who folds one of the leading product.
template <bool leads, class G> VXM_FN auto folds(G g) {
    if constexpr (leads) return g;
    else return alone(g);
}


// A word that is read once, and should push nothing out of the cache that is read again.
template <class W> VXM_FN W streamed(const W* p) {
    W x;
    if constexpr (sizeof(W) == 8) {
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
VXM_FN vxm_unit streamed(const vxm_unit*) { return vxm_unit(); }

// Of the columns that members of a group have met, two: any will do.
VXM_FN void agreed(Thread, Rest&) {}
template <u32 width> VXM_FN void agreed(Lanes<width>, Rest& rest) {
    typedef Lanes<width> L;
    const u32 met = __ballot_sync(L::mask(), rest.column != NOBODY) & L::mask();
    const u32 first = __ffs(met) - 1 & 31, last = 31 - __clz(met) & 31;
    rest.second = __shfl_sync(L::mask(), first == last ? rest.second : rest.column, last);
    rest.column = __shfl_sync(L::mask(), rest.column, first);
    if (!met) rest.column = rest.second = NOBODY;
}
// The member of whom `holds` is true, the first; none: -1.
VXM_FN int ended(Thread, bool holds) { return holds ? 0 : -1; }
template <u32 width> VXM_FN int ended(Lanes<width>, bool holds) {
    const u32 held = __ballot_sync(Lanes<width>::mask(), holds);
    return held ? (__ffs(held) - 1) & (width - 1) : -1;
}
template <class T> VXM_FN Maybe<T> held_by(Thread, Maybe<T> x, int) { return x; }
template <u32 width, class T> VXM_FN Maybe<T> held_by(Lanes<width>, Maybe<T> x, int member) { return from_lane<Lanes<width>>(x, member); }
template <class M, class T> VXM_FN Maybe<T> all_of(Thread, Maybe<T> sum) { return sum; }
template <class M, u32 width, class T> VXM_FN Maybe<T> all_of(Lanes<width>, Maybe<T> sum) { return join_lanes<Lanes<width>, M>(sum); }

// Row i of a matrix folded with a vector. O is the offsets' type.
// `leads` says that its rows are those that a terminal may stage.
template <class V, class O, class A, class T, class Mul, class Add, class Limit, bool leads> struct Pull {
    typedef T Elem;
    typedef typename Limit::Waits Waits;
    typedef typename Limit::Told Told;
    static const bool full = false, narrows = false, measures = false;
    V operand;
    const O* offsets;
    const u32* columns;
    const A* weights;
    struct Entry {
        u32 column;
        A weight;
    };
    // `once`: neighbouring threads read neighbouring entries, and nobody reads them again.
    template <bool once, class L, u32 many = 4> struct Row {
        static const bool full = V::full && !L::selects;
        // where a part may be enough few are read at once
        static const u32 flight = L::stops ? 4 : many;
        const V& operand;
        const u32* columns;
        const A* weights;
        L limit;
        VXM_FN Row from(u64 p) const { return {operand, columns + p, weights + p, limit}; }
        VXM_FN Entry load(u32 p) const {
            if constexpr (once) return {streamed(columns + p), streamed(weights + p)};
            else return {columns[p], weight_at(weights, p)};
        }
        VXM_FN Maybe<typename V::Elem> reach(Entry entry) const {
            Maybe<typename V::Elem> x;
            x.present = operand.at(Thread(), entry.column, x.value);
            if constexpr (L::chooses) x.present &= limit.joins(entry.column);
            return x;
        }
        VXM_FN Maybe<T> make(Entry entry, Maybe<typename V::Elem> x) const {
            Maybe<T> product;
            product.present = x.present & limit.takes(x.value);
            product.value = Mul::call(x.value, entry.weight);
            return product;
        }
    };
    template <class G> VXM_FN bool at(G g, u32 i, T& y) const {
        Maybe<T> sum;
        if constexpr (G::staged && leads) {
            sum = fold_staged<Add, T, V::full>(g);
        } else if constexpr (G::watches && G::way != whole && G::way != measured && chooses) {
            sum = visit_chosen(g, i);
        } else {
            const u64 begin = offsets[i], len = offsets[i + 1] - begin;
            const Limit limit(g, operand, i);
            if constexpr (G::watches && !is_same<Waits, Nobody>::value) {
                sum = watch(g, i, begin, (u32)len, limit);
            } else {
                const Row<G::wide, Limit, G::flight> row = {operand, columns, weights, limit};
                sum = fold<Add, T>(folds<leads && !G::staged>(g), (u32)len, row.from(begin), limit);
            }
        }
        if (sum.present) y = sum.value;
        return sum.present;
    }
    // Whether a short row's entries that take part no longer are left out from then on.
    static const bool sifts = Limit::selects && !Limit::stops && !is_same<Waits, Nobody>::value;
    // Whether a loop chooses a row's entries before it visits the row.
    static const bool chooses = sifts && Limit::chooses;
    // A row that is visited, and what has come of it so far.
    struct Seen {
        u64 begin;
        typename V::Elem own;
        bool waits;
        Rest rest;
        Maybe<T> sum;
    };
    // Folds a row, and remembers for whom it waits.
    template <class G> VXM_FN Maybe<T> watch(G g, u32 i, u64 begin, u32 len, const Limit& limit) const {
        Seen seen;
        seen.begin = begin, seen.rest.bits = 0;
        seen.waits = operand.at(g, i, seen.own);
        seen.sum = empty<Add, T>();
        if constexpr (G::way == sifted && sifts) {
            // so many at a time of those whose bits are set
            const u32 flight = 4;
            for (u32 from = 0; from < len; from += 32) {
                u32 todo = from == 0 ? g.rest->bits : ~0u;
                if (len - from < 32) todo &= (1u << (len - from)) - 1;
                while (todo) {
                    Picked<flight> some;
#pragma unroll
                    for (u32 k = 0; k < flight; k++) some.p[k] = todo ? from + __ffs(todo) - 1 : NOBODY, todo &= todo - 1;
                    look(some, limit, seen);
                }
            }
            *g.rest = seen.rest;
            return seen.sum;
        }
        const int found = fold_whole(g, len, limit, seen);
        agreed(g, seen.rest);
        g.rest->column = seen.rest.column, g.rest->second = seen.rest.second;
        // what one has at which the row may stop: joined to others' it might not be
        return found >= 0 ? held_by(g, seen.sum, found) : all_of<Add>(g, seen.sum);
    }
    // Folds all entries. The member by whom the fold may stop; none: -1.
    template <class G> VXM_FN int fold_whole(G g, u32 len, const Limit& limit, Seen& seen) const {
        const u32 flight = Limit::stops && !G::wide ? 4 : G::flight;
        // a thread's entries are neighbours, those of lanes stand as far apart as there are lanes
        const u32 step = g.members();
        for (u32 p = g.rank(); p - g.rank() < len; p += flight * step) {
            look(Apart<flight>{p, step, len}, limit, seen);
            if (!Add::stops && !Limit::stops) continue;
            const int found = ended(g, seen.sum.present && (Add::terminal(seen.sum.value) || limit(seen.sum.value)));
            if (found >= 0) return found;
        }
        return -1;
    }
    // Places of a row: some that stand equally far apart, before `len`; those that were picked.
    template <u32 many> struct Apart {
        static const u32 count = many;
        u32 p, step, len;
        VXM_FN u32 at(u32 k) const { return p + k * step; }
        VXM_FN bool inside(u32 k) const { return at(k) < len; }
    };
    template <u32 many> struct Picked {
        static const u32 count = many;
        u32 p[many];
        VXM_FN u32 at(u32 k) const { return p[k]; }
        VXM_FN bool inside(u32 k) const { return p[k] != NOBODY; }
    };
    // Folds the entries at some places of a row.
    template <class Places> VXM_FN void look(const Places& where, const Limit& limit, Seen& seen) const {
        const u32 flight = Places::count;
        u32 column[flight];
        typename V::Elem x[flight];
        bool there[flight];
#pragma unroll
        for (u32 k = 0; k < flight; k++)
            if (where.inside(k)) column[k] = columns[seen.begin + where.at(k)];
#pragma unroll
        for (u32 k = 0; k < flight; k++)
            if (where.inside(k)) there[k] = operand.at(Thread(), column[k], x[k]) && limit.joins(column[k]);
#pragma unroll
        for (u32 k = 0; k < flight; k++) {
            // nothing is skipped, since others of the warp go on: all is computed of what may not be there
            const bool taken = where.inside(k) & ((V::full && !Limit::chooses) || there[k]) & limit.takes(x[k]);
            if (sifts && where.at(k) < 32 && stays(seen, where.inside(k), V::full || there[k], taken, x[k])) seen.rest.bits |= 1u << where.at(k);
            meet(seen, taken, column[k], x[k], where.inside(k) ? weight_at(weights, seen.begin + where.at(k)) : A());
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
    // Which entries of a short row join, whatever the operand holds there, and the columns of two of them.
    template <class G> VXM_FN Rest choose(G g, u32 i, Bounds row) const {
        const O begin = row.begin;
        const u32 len = row.len, flight = G::flight;
        const Limit limit(g, operand, i);
        Rest rest;
        rest.bits = 0, rest.begin = (u32)begin;
        for (u32 p = 0; p < len; p += flight) {
            u32 column[flight];
            typename Limit::Far far[flight];
#pragma unroll
            for (u32 k = 0; k < flight; k++)
                if (p + k < len) column[k] = columns[begin + p + k];
            // all is on its way before any is compared, unless that is of too many registers
            bool joins[flight];
            const bool apart = flight <= 4 || G::way == brief;
#pragma unroll
            for (u32 k = 0; k < flight; k++) {
                joins[k] = p + k < len;
                if (!joins[k]) continue;
                if (apart) far[k] = limit.far(column[k]);
                else joins[k] = limit.joins(column[k]);
            }
#pragma unroll
            for (u32 k = 0; k < flight; k++) {
                if (apart) joins[k] = joins[k] & limit.meets(far[k]);
                if (!joins[k]) continue;
                rest.second = rest.column, rest.column = column[k];
                rest.bits |= p + k < 31 ? 1u << (p + k & 31) : BEYOND;
            }
        }
        return rest;
    }
    // Whether where a row begins may be kept with it.
    static const bool places = sizeof(O) == 4;
    // Folds those entries of a short row that were chosen and take part still, and remembers for whom it waits.
    template <class G> VXM_FN Maybe<T> visit_chosen(G g, u32 i) const {
        const Limit limit(g, operand, i);
        const O begin = G::way == sifted ? offsets[i] : (O)g.rest->begin;
        Seen seen;
        seen.rest.bits = 0, seen.rest.begin = g.rest->begin;
        seen.waits = operand.at(g, i, seen.own);
        seen.sum = empty<Add, T>();
        const u32 flight = G::flight;
        for (u32 todo = g.rest->bits & ~BEYOND; todo;) {
            u32 bit[flight], column[flight];
            typename V::Elem x[flight];
            bool there[flight];
#pragma unroll
            for (u32 k = 0; k < flight; k++) bit[k] = todo & (0 - todo), todo &= todo - 1;
#pragma unroll
            for (u32 k = 0; k < flight; k++)
                if (bit[k]) column[k] = columns[begin + (31 - __clz(bit[k]))];
#pragma unroll
            for (u32 k = 0; k < flight; k++)
                if (bit[k]) there[k] = operand.at(Thread(), column[k], x[k]);
#pragma unroll
            for (u32 k = 0; k < flight; k++) {
                const bool taken = bit[k] && (V::full || there[k]) & limit.takes(x[k]);
                if (stays(seen, bit[k], V::full || there[k], taken, x[k])) seen.rest.bits |= bit[k];
                meet(seen, taken, column[k], x[k], bit[k] ? weight_at(weights, begin + (31 - __clz(bit[k]))) : A());
            }
        }
        if (G::way != brief && g.rest->bits & BEYOND) visit_beyond(g, i, seen);
        *g.rest = seen.rest;
        return seen.sum;
    }
    // The same of entries for which the last bit stands.
    template <class G> VXM_FN void visit_beyond(G g, u32 i, Seen& seen) const {
        // reads by what the row's own end is compared, of which the others have no need
        const Limit limit(g, operand, i);
        const O begin = offsets[i];
        const u32 len = (u32)(offsets[i + 1] - begin);
#pragma unroll 1
        for (u32 p = 31; p < len; p++) {
            const u32 column = columns[begin + p];
            typename V::Elem x;
            const bool joins = limit.joins(column), there = joins && operand.at(Thread(), column, x), taken = there && limit.takes(x);
            if (stays(seen, joins, there, taken, x)) seen.rest.bits |= BEYOND;
            meet(seen, taken, column, x, weight_at(weights, begin + p));
        }
    }
    // Whether an entry may take part at another visit: unless it was refused, or all is told of it. Of one where the operand holds nothing now
    // nobody knows; but of what is taken by the operand alone that says enough.
    template <class S> static VXM_FN bool stays(const S& seen, bool inside, bool there, bool taken, typename V::Elem x) {
        if (Limit::chooses && !V::full && inside && !there) return true;
        return taken & !(seen.waits & Told::call(seen.own, x));
    }
    // Joins an entry's product, if it is taken, and remembers the entry if the row waits for it: who is met last is waited for, since waiting
    // for the last to be settled would miss what others' being settled tells.
    VXM_FN void meet(Seen& seen, bool taken, u32 column, typename V::Elem x, A weight) const {
        if (taken & seen.waits & Waits::call(seen.own, x)) seen.rest.second = seen.rest.column, seen.rest.column = column;
        add<Add>(seen.sum, taken, Mul::call(x, weight));
    }
    // Whether a row waits for an entry, if that takes part, which one that was chosen by its ends alone may not.
    static VXM_FN bool waits_for(typename V::Elem own, typename V::Elem other) {
        return Waits::call(own, other) && (!chooses || Limit::Takes::call(own, other));
    }
    // Which rows, whose elements of the state these are, wait still for an entry, or `twice` for a second one, of as many as are looked at
    // together. All are read, whether they wait or not: reads that may not happen would be made one after the other.
    template <bool twice, u32 count, class W>
    VXM_FN void wait(const u32 (&rows)[count], const W (&states)[count], Rest (&rests)[count], bool (&waits)[count]) const {
        typename V::Elem own[count], other[count];
        bool there[count];
#pragma unroll
        for (u32 k = 0; k < count; k++) {
            const u32 column = rests[k].column == NOBODY ? rows[k] : rests[k].column;
            const Visitor<Thread, false> g(word_of(states[k]), nullptr);
            there[k] = operand.at(g, rows[k], own[k]) & operand.at(Thread(), column, other[k]);
        }
#pragma unroll
        for (u32 k = 0; k < count; k++) waits[k] = rests[k].column != NOBODY & (V::full || there[k]) & waits_for(own[k], other[k]);
        if constexpr (twice) {
#pragma unroll
            for (u32 k = 0; k < count; k++) {
                if (waits[k]) continue;
                rests[k].column = rests[k].second, rests[k].second = NOBODY;
                there[k] = rests[k].column != NOBODY && operand.at(Thread(), rests[k].column, other[k]);
            }
#pragma unroll
            for (u32 k = 0; k < count; k++) waits[k] = rests[k].column != NOBODY & there[k] & waits_for(own[k], other[k]);
        }
    }
    template <bool once> VXM_FN auto rows() const { return Row<once, Whole>{operand, columns, weights, Whole()}; }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};

} // namespace vxm
