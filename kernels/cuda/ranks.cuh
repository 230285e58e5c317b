// What ranks tell each other of vectors on their devices: which elements changed, parcels of them, and partial results of several ranks.
namespace vxm {

// An element as a word of so many bytes. Elements are compared by their bits.
template <u32 width> struct Word;
template <> struct Word<1> { typedef unsigned char type; };
template <> struct Word<2> { typedef unsigned short type; };
template <> struct Word<4> { typedef u32 type; };
template <> struct Word<8> { typedef u64 type; };
template <> struct Word<16> { typedef TwoWords type; };

// The elements of a vector. A null `bits` says that all are present. Elements of no bytes have no values.
template <u32 width> struct Cells {
    typename Word<width>::type* values;
    u32* bits;
    VXM_FN bool has(u64 i) const { return !bits || (bits[i / 32] >> i % 32 & 1); }
    VXM_FN bool equal(u64 i, const Cells& other, u64 k) const { return values[i] == other.values[k]; }
    VXM_FN void copy(u64 i, const Cells& from, u64 k) const { values[i] = from.values[k]; }
};
template <> struct Cells<0> {
    void* values;
    u32* bits;
    VXM_FN bool has(u64 i) const { return !bits || (bits[i / 32] >> i % 32 & 1); }
    VXM_FN bool equal(u64, const Cells&, u64) const { return true; }
    VXM_FN void copy(u64, const Cells&, u64) const {}
};

// Whether a place holds something else than before. Nothing was there before if `known` is 0.
template <u32 width> VXM_FN bool differs(u64 known, const Cells<width>& before, const Cells<width>& now, u64 i) {
    const bool had = known && before.has(i), has = now.has(i);
    return had != has || (has && !before.equal(i, now, i));
}

// The members of a group: positions belong to members word by word, and each member's are counted from `first`.
struct Members {
    const u32* of_word;
    const u32* first;
    const u32* count;
};

// How many elements a list may have: with more of them, all elements take fewer bytes. It equals `most_listed` in
// src/backend/cuda/ranks/channel.rs.
template <u32 width> VXM_FN u64 most_listed(u64 positions) { return positions * (8 * width + 1) / (8 * width + 33); }

// Lists what changed at each member's positions, in any order: the elements, and their positions. A position reads the place that `places`
// tells; none if that is all ones. `counts` are the numbers of changes, also of those that a list has no room for. The number of positions is a
// multiple of 32.
template <u32 width> struct ListChanges {
    u64 known;
    Cells<width> before, now;
    const u32* places;
    Members members;
    u64 positions;
    unsigned long long* counts;
    Cells<width> out;
    u32* out_positions;
    VXM_FN void run() const {
        each_thread(positions, [&](u64 p) {
            const u32 place = places[p];
            const bool changed = place != ~0u && differs(known, before, now, place);
            const u32 word = __ballot_sync(~0u, changed);
            if (!word) return;
            const u32 member = members.of_word[p / 32];
            u64 k = 0;
            if (lane() == 0) k = atomicAdd(counts + member, (unsigned long long)__popc(word));
            k = __shfl_sync(~0u, k, 0) + __popc(word & ((1u << lane()) - 1));
            const u32 first = members.first[member];
            if (!changed || k >= most_listed<width>(members.count[member])) return;
            const bool has = now.has(place);
            if (has) out.copy(first + k, now, place);
            if (out.bits && has) atomicOr(out.bits + (first + k) / 32, 1u << (first + k) % 32);
            out_positions[first + k] = (u32)p - first;
        });
    }
};

// Writes the elements at `count` positions from `first` on, in order. `count` is a multiple of 32.
template <u32 width> struct PackAll {
    Cells<width> now;
    const u32* places;
    u64 first, count;
    Cells<width> out;
    VXM_FN void run() const {
        each_thread(count, [&](u64 k) {
            const u64 p = first + k;
            const u32 place = places[p];
            const bool has = place != ~0u && now.has(place);
            if (has) out.copy(p, now, place);
            const u32 word = __ballot_sync(~0u, has);
            if (out.bits && lane() == 0) out.bits[p / 32] = word;
        });
    }
};

// Stores a parcel's elements from slot `first` on: at their positions, or one after the other if `positions` is null. Lists the slots in
// `changed`, unless that is null.
template <u32 width> struct UnpackParcel {
    Cells<width> parcel;
    const u32* positions;
    u64 count, first;
    Cells<width> slots;
    u32* changed;
    VXM_FN void run() const {
        each_thread(count, [&](u64 k) {
            const u64 slot = first + (positions ? positions[k] : k);
            const bool has = parcel.has(k);
            if (has) slots.copy(slot, parcel, k);
            if (slots.bits) put_bit(slots.bits, (u32)slot, has);
            if (changed) changed[k] = (u32)slot;
        });
    }
};

// Copies what changed of a rank's own elements to the first slots, and lists these in `changed`, in any order, as far as there is room for
// `most`. Adds their number to `total`. `places` is `count`, rounded up to a multiple of 32.
template <u32 width> struct TakeOwn {
    Cells<width> own, slots;
    u64 count, places;
    u32* changed;
    u64 most;
    unsigned long long* total;
    VXM_FN void run() const {
        each_thread(places, [&](u64 i) {
            const bool differ = i < count && differs(1, slots, own, i);
            const u32 word = __ballot_sync(~0u, differ);
            if (!word) return;
            u64 k = 0;
            if (lane() == 0) k = atomicAdd(total, (unsigned long long)__popc(word));
            k = __shfl_sync(~0u, k, 0) + __popc(word & ((1u << lane()) - 1));
            if (!differ) return;
            const bool has = own.has(i);
            if (has) slots.copy(i, own, i);
            if (slots.bits) put_bit(slots.bits, (u32)i, has);
            if (k < most) changed[k] = (u32)i;
        });
    }
};

// Marks the rows that read the listed slots, and the rows of the slots below `rows`. A warp handles a slot.
struct MarkReaders {
    const u32* slots;
    u64 count;
    const u64* offsets;
    const u32* readers;
    u64 rows;
    u32* stale;
    VXM_FN void mark(u32 row) const {
        const u32 bit = 1u << row % 32;
        if (!(stale[row / 32] & bit)) atomicOr(stale + row / 32, bit);
    }
    VXM_FN void run() const {
        for (u64 k = first_of(Warp()); k < count; k += step_of(Warp())) {
            const u32 slot = slots[k];
            for (u64 e = offsets[slot] + lane(); e < offsets[slot + 1]; e += 32) mark(readers[e]);
            if (slot < rows && lane() == 0) mark(slot);
        }
    }
};

// Takes the stale rows that are wanted: all if `wanted` is null. Others stay stale.
struct TakeStale {
    const u32* wanted;
    u32* stale;
    u32* taken;
    u64 words;
    VXM_FN void run() const {
        each_thread(words, [&](u64 w) {
            const u32 take = stale[w] & (wanted ? wanted[w] : ~0u);
            taken[w] = take;
            stale[w] &= ~take;
        });
    }
};

// Joins the partial results that one rank sent, at `positions` positions from `first`, to the results at their places.
template <class M, class T> struct JoinPartials {
    const T* partials;
    const u32* partial_bits;
    const u32* places;
    u64 first, positions;
    Out<T> out;
    VXM_FN void run() const {
        const Stored<T> heard = {partials, partial_bits}, results = {out.values, out.bits};
        each_thread(positions, [&](u64 k) {
            T x, y;
            if (!heard.at(Thread(), (u32)(first + k), x)) return;
            const u32 place = places[first + k];
            if (results.at(Thread(), place, y)) x = M::call(y, x);
            out.put(place, x);
            put_bit(out.bits, place, true);
        });
    }
};

// Scatter-reduce among peers, after sources/loops/changed.cuh: joins each of a rank's elements with what it was.
template <class S, class T> struct JoinOwn {
    const T* before;
    T* values;
    u64 count;
    VXM_FN void run() const {
        each_thread(count, [&](u64 i) { values[i] = S::call(before[i], values[i]); });
    }
};
// Joins the new elements of all ranks into those of this rank that the old ones name. `Old` and `New` are views of all indices.
template <class S, class Old, class New> struct JoinNamed {
    typedef typename Old::Elem T;
    T* values;
    u64 count;
    Old before;
    New now;
    VXM_FN void run() const {
        each_thread(count, [&](u64 i) {
            T x, y;
            if (!before.at(Thread(), (u32)i, x)) return;
            const u32 target = S::target_of(x);
            u32 place;
            if (target >= count || before.owners.owner(target, place) != before.owners.rank) return;
            if (!now.at(Thread(), (u32)i, y)) return;
            T held = load_state(values + place);
            S::join(values + place, held, y);
        });
    }
};

} // namespace vxm
