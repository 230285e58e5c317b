// Marked places, and how many are marked before each: what is kept moves up, in order.
namespace vxm {

// Bits of places, 32 a word, 0 above the last; `sums[w]` says how many are set in the words before w.
struct Marks {
    const u32* bits;
    const u64* sums;
    u64 words;
    VXM_FN bool at(u64 p) const { return bits[p / 32] >> p % 32 & 1; }
    VXM_FN u64 before(u64 p) const {
        const u64 w = p / 32;
        return w < words ? sums[w] + __popc(bits[w] & (1u << p % 32) - 1) : sums[words];
    }
};

// Each word's number of marks, one place further: running sums follow.
struct CountMarks {
    const u32* bits;
    u64* sums;
    u64 words;
    VXM_FN void run() const {
        each_thread(words, [&](u64 w) { sums[w + 1] = __popc(bits[w]); });
    }
};

// The marked places, ascending.
struct ListMarks {
    Marks marks;
    u32* list;
    VXM_FN void run() const {
        each_thread(marks.words * 32, [&](u64 p) {
            if (marks.at(p)) list[marks.before(p)] = (u32)p;
        });
    }
};

} // namespace vxm
