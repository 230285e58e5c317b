// What ranks tell each other of vectors on their devices: which elements changed, parcels of them, and partial results of several ranks.
namespace vxm {

// An element as a word of so many bytes. Elements are compared by their bits.
template <u32 width> struct Word;
template <> struct Word<1> { typedef unsigned char type; };
template <> struct Word<2> { typedef unsigned short type; };
template <> struct Word<4> { typedef u32 type; };
template <> struct Word<8> { typedef u64 type; };

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

// Marks the positions at which something changed, and counts the marks of each word: a prefix sum over `sums` follows. A position reads the
// place that `places` tells; none if that is all ones. The number of positions is a multiple of 32.
template <u32 width> struct MarkChanges {
    u64 known;
    Cells<width> before, now;
    const u32* places;
    u64 positions;
    u32* marks;
    u64* sums;
    VXM_FN void run() const {
        each_thread(positions, [&](u64 p) {
            const u32 place = places[p];
            const u32 word = __ballot_sync(~0u, place != ~0u && differs(known, before, now, place));
            if (lane() == 0) {
                marks[p / 32] = word;
                sums[p / 32 + 1] = __popc(word);
            }
        });
    }
};

// Writes the marks before each of `count` words to `out`, and the word `extra` after them.
struct MarksBefore {
    const u64* sums;
    const u32* words;
    u64 count;
    const u64* extra;
    u64* out;
    VXM_FN void run() const {
        each_thread(count, [&](u64 k) { out[k] = sums[words[k]]; });
        if (blockIdx.x == 0 && threadIdx.x == 0) out[count] = *extra;
    }
};

// Writes a parcel: the elements at the marked positions of `words` words from word `first`, in order. Each of the other arrays may be null:
// a bit for each element that says whether it is present, its position, and the words of marks themselves.
template <u32 width> struct PackParcel {
    Cells<width> now;
    const u32* places;
    const u32* marks;
    const u64* sums;
    u64 first, words;
    Cells<width> out;
    u32* positions;
    u32* marked;
    VXM_FN void run() const {
        each_thread(words * 32, [&](u64 p) {
            const u64 w = first + p / 32;
            const u32 word = marks[w];
            if (marked && lane() == 0) marked[p / 32] = word;
            if (!(word >> p % 32 & 1)) return;
            const u64 k = sums[w] - sums[first] + __popc(word & ((1u << p % 32) - 1));
            const u32 place = places[w * 32 + p % 32];
            const bool has = now.has(place);
            if (has) out.copy(k, now, place);
            if (out.bits && has) atomicOr(out.bits + k / 32, 1u << k % 32);
            if (positions) positions[k] = (u32)p;
        });
    }
};

// Stores a parcel's elements from slot `first` on: at their positions, or one after the other if `positions` is null. Marks the slots in
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
            if (changed) atomicOr(changed + slot / 32, 1u << slot % 32);
        });
    }
};

// Copies what changed of a rank's own elements to the first slots, marks those in `changed`, and adds their number to `total`.
template <u32 width> struct TakeOwn {
    Cells<width> own, slots;
    u64 count;
    u32* changed;
    u64* total;
    VXM_FN void run() const {
        each_thread(count, [&](u64 i) {
            if (!differs(1, slots, own, i)) return;
            const bool has = own.has(i);
            if (has) slots.copy(i, own, i);
            if (slots.bits) put_bit(slots.bits, (u32)i, has);
            atomicOr(changed + i / 32, 1u << i % 32);
            atomicAdd(total, 1ull);
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

} // namespace vxm
