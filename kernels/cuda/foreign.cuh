// Arrays that another library has put into this device's memory: brought into our words, and checked.
namespace vxm {

// The element as it is.
struct AsIs {
    template <class E> VXM_FN static E of(E x) { return x; }
};

// 0 or 1, for a byte that stands for a bool.
struct Truth {
    VXM_FN static unsigned char of(unsigned char x) { return x != 0; }
};

// The bits of a float. All NaNs get those of one.
struct OneNan {
    VXM_FN static u32 of(u32 bits) { return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : bits; }
    VXM_FN static u64 of(u64 bits) { return (bits & 0x7fffffffffffffffu) > 0x7ff0000000000000u ? 0x7ff8000000000000u : bits; }
};

// A column. What no column can be becomes the greatest number, below which no number of columns lies.
struct Column {
    template <class E> VXM_FN static u32 of(E x) { return x < (E)0 || (u64)x > 0xffffffffu ? 0xffffffffu : (u32)x; }
};

// Elements of type E that lie `stride` bytes apart, as words of type W.
template <class E, class W, class As> struct WordsOf {
    const char* from;
    long long stride;
    u64 count;
    W* to;
    VXM_FN void run() const {
        each_thread(count, [&](u64 k) { to[k] = (W)As::of(*(const E*)(from + (long long)k * stride)); });
    }
};

// Checks rows: offsets ascend from 0 to `total`, and columns lie below `ncols`. `found[0]` is set if one is wrong. A column that doesn't lie above
// the one before counts in `found[1]`, and in `found[2]` if it is the first of its row. So if both are equal, the columns of each row ascend.
struct CheckRows {
    const u64* starts;
    u64 rows;
    u64 total;
    const u32* columns;
    u64 ncols;
    u64* found;
    VXM_FN void run() const {
        bool wrong = false;
        u64 falls = 0, first = 0;
        each_thread(rows + 1, [&](u64 i) {
            const u64 at = starts[i];
            wrong |= at > total || (i == 0 && at != 0) || (i == rows && at != total) || (i > 0 && at < starts[i - 1]);
            first += i < rows && at > 0 && at < total && starts[i + 1] > at && columns[at - 1] >= columns[at];
        });
        each_thread(total, [&](u64 k) {
            wrong |= columns[k] >= ncols;
            falls += k > 0 && columns[k - 1] >= columns[k];
        });
        if (wrong) atomicOr(found, (u64)1);
        if (falls) atomicAdd(found + 1, falls);
        if (first) atomicAdd(found + 2, first);
    }
};

// Sets `found` if two arrays differ.
template <class W> struct DifferingWords {
    const W *one, *other;
    u64 count;
    u64* found;
    VXM_FN void run() const {
        bool wrong = false;
        each_thread(count, [&](u64 k) { wrong |= one[k] != other[k]; });
        if (wrong) atomicOr(found, (u64)1);
    }
};

} // namespace vxm
