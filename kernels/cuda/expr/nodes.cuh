// The nodes of an expression: vectors that are read element by element. A node has these members:
// - `at(group, i, x)` stores element `i` in `x` and returns whether it is present.
// - `selects(group, i)` returns whether a terminal may write at `i`.
// - `full` is true if all elements are present.
// Every data member has 8 bytes, or 16 in two words. So a node's bytes are the words of its leaves, in order.
namespace vxm {

VXM_FN bool bit(const u32* bits, u32 i) { return bits[i >> 5] >> (i & 31) & 1; }

// A stored vector: values, and a presence bitmap. `bits` may be null if all elements are present. `is_full` says at compile time that they
// are.
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

// The result of a scatter to a region: a terminal writes within the region and keeps the rest.
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
    Bits<T> value;
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
// The indices of a rank's places: blocks of 64 indices were dealt out to ranks, and shuffled before that unless `bits` is 0. `full` is the
// number of full blocks. It equals `Owners::vertex` in src/ranks/owners.rs.
struct OwnIndices {
    u64 ranks, rank, full, bits;
    VXM_FN u32 unshuffled(u32 number) const {
        const u32 mask = ~0u >> (32 - bits), half = ((u32)bits + 1) / 2;
        number = (number ^ number >> half) * 0xa5cb9243u & mask;
        return (number ^ number >> half) * 0x0e8b2f51u & mask;
    }
    VXM_FN u32 at(u32 place) const {
        u32 block = (u32)(place / 64 * ranks + rank);
        if (bits && block < full) {
            do block = unshuffled(block);
            while (block >= full);
        }
        return block * 64 + place % 64;
    }
    VXM_FN u32 shuffled(u32 number) const {
        const u32 mask = ~0u >> (32 - bits), half = ((u32)bits + 1) / 2;
        number = number * 0x9e3779b1u & mask;
        number = (number ^ number >> half) * 0x85ebca6bu & mask;
        return number ^ number >> half;
    }
    // The owner of an index, and its place there. It equals `Owners::owner`.
    VXM_FN u32 owner(u32 index, u32& place) const {
        u32 block = index / 64;
        if (bits && block < full) {
            do block = shuffled(block);
            while (block >= full);
        }
        place = (u32)(block / ranks * 64 + index % 64);
        return (u32)(block % ranks);
    }
};
// The elements of all ranks' pieces, by their indices. They lie in windows of the ranks' GPUs, with presence bits behind the values.
template <class T, bool is_full> struct Shown {
    typedef T Elem;
    static const bool full = is_full;
    const u64* windows;
    u64 presence;
    OwnIndices owners;
    template <class G> VXM_FN bool at(G g, u32 i, T& x) const {
        u32 place;
        const char* window = (const char*)windows[owners.owner(i, place)];
        const Stored<T, is_full> piece = {(const T*)window, (const u32*)(window + presence)};
        return piece.at(g, place, x);
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};
// A view of all indices, at those of a rank's places.
template <class V> struct AtOwnIndex {
    typedef typename V::Elem Elem;
    static const bool full = V::full;
    V inner;
    OwnIndices indices;
    template <class G> VXM_FN bool at(G g, u32 i, Elem& x) const { return inner.at(g, indices.at(i), x); }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};
// `MapIndex` and `SelectIndex` over a rank's places.
template <class V, class F, class T> struct MapOwnIndex {
    typedef T Elem;
    static const bool full = V::full;
    V inner;
    OwnIndices indices;
    template <class G> VXM_FN bool at(G g, u32 i, T& y) const {
        typename V::Elem x;
        if (!inner.at(g, i, x)) return false;
        y = F::call(indices.at(i), x);
        return true;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};
template <class V, class F> struct SelectOwnIndex {
    typedef typename V::Elem Elem;
    static const bool full = false;
    V inner;
    OwnIndices indices;
    template <class G> VXM_FN bool at(G g, u32 i, Elem& x) const { return inner.at(g, i, x) && F::call(indices.at(i), x); }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};
template <class V> struct Or {
    typedef typename V::Elem Elem;
    static const bool full = true;
    V inner;
    Bits<Elem> value;
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

template <class V, class W, class F, class T> struct EWiseMult {
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
template <class U, class V, class W, class F, class T> struct EWiseMult3 {
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
template <class V, class W, class F> struct EWiseAdd {
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
// Whether a loop that combines elements by `Op` compresses paths as it visits the view: a visit then passes elements that are no lower than
// its result, and they may be combined into the row's own state early. Views that do specialise this.
template <class V, class Op> struct CompressesPaths {
    static const bool value = false;
};
// An element-wise union that does not evaluate `right` where `left` is absorbing: then `F` returns `left`, whatever `right` is.
template <class V, class W, class F, class IsAbsorbing> struct ShortCircuitEWiseAdd {
    typedef typename V::Elem Elem;
    static const bool full = V::full || W::full;
    V left;
    W right;
    template <class G> VXM_FN bool at(G g, u32 i, Elem& x) const {
        Maybe<Elem> y;
        y.present = left.at(g, i, y.value);
        // members may have read different states, but must take the same branch
        y = from_first(g, y);
        x = y.value;
        if (y.present && IsAbsorbing::call(x)) {
            VXM_TALLY(skipped_rows, g.first());
            return true;
        }
        Elem z;
        const bool found = right.at(without_publishing(g), i, z);
        if (found) x = y.present ? F::call(x, z) : z;
        return y.present || found;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};
template <class V, class W, class F, class Z> struct CompressesPaths<ShortCircuitEWiseAdd<V, W, F, Z>, F> : CompressesPaths<V, F> {};
// The elements of `inner` at listed indices; without a list, index k is k.
template <class V> struct Extract {
    typedef typename V::Elem Elem;
    static const bool full = V::full;
    V inner;
    const u32* indices;
    template <class G> VXM_FN bool at(G g, u32 k, Elem& x) const {
        return inner.at(without_row(g), indices ? indices[k] : k, x);
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};
// The elements of `inner` at the indices that `index` gives. An index out of range gives an absent element.
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
// Whether a view reads the state of a loop; see `State`.
template <class V> struct IsState {
    static const bool value = false;
};
// Pointer jumping: follows `F(x)` from an element to the next one while the next is lower by `L`. `least` is the least element. A path ends
// there without a read of its target, because many paths may end at the same element.
template <class V, class F, class L> struct PointerJump {
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
            VXM_TALLY(jumps, g.first());
            // publish after 1, 2, 4, ... hops: others that arrive at this row then start from there
            if constexpr (G::publishes)
                if ((hops & (hops - 1)) == 0) g.publish(z);
        }
        // members may have read different states, but must return the same result
        y = from_first(g, y);
        x = y.value;
        return y.present;
    }
    template <class G> VXM_FN bool selects(G, u32) const { return true; }
};
// The elements on the way are no lower than the end. If they are the loop's own state, the visited element may be lowered to them.
template <class V, class F, class L, class Op> struct CompressesPaths<PointerJump<V, F, L>, Op> : IsState<V> {};

// Masks have `test(group, i)`, which returns whether the mask selects `i`. `StructureMask` tests presence, `ValueMask` the value.
template <class V> struct StructureMask {
    V inner;
    template <class G> VXM_FN bool test(G g, u32 i) const {
        typename V::Elem x;
        return inner.at(g, i, x);
    }
};
template <class T> struct IsZero {
    static VXM_FN bool is(T x) { return eq(x, element<T>(Bits<T>{})); }
};
template <> struct IsZero<vxm_unit> {
    static VXM_FN bool is(vxm_unit) { return false; }
};
template <class V> struct ValueMask {
    V inner;
    template <class G> VXM_FN bool test(G g, u32 i) const {
        typename V::Elem x;
        return inner.at(g, i, x) && !IsZero<typename V::Elem>::is(x);
    }
};
template <class M> struct MaskComplement {
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

} // namespace vxm
