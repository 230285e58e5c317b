// Bitmaps of marked positions with their running counts, which tell where each marked item goes when the marked ones are compacted in
// order.
namespace vxm {

// A bitmap over positions, 32 in a word; bits past the last position are 0. `sums[w]` is the number of marks in the words before w, and
// `sums[words]` the total.
// `before(p)` is the number of marks below p.
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

// Writes the number of marks of word w to `sums[w + 1]`. A prefix sum over `sums` follows.
struct CountMarks {
    const u32* bits;
    u64* sums;
    u64 words;
    VXM_FN void run() const {
        each_thread(words, [&](u64 w) { sums[w + 1] = __popc(bits[w]); });
    }
};

// Lists the marked positions in ascending order.
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
