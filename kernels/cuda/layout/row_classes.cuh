// Classifies rows by length: a bitmap of the rows of each class, the number of rows of each class, the longest row (the first of those),
// and the length of row 0.
namespace vxm {

struct Classify {
    static const u32 classes = 7;
    const u64* offsets;
    u64 count;
    u32* offsets32;        // the offsets as 32-bit numbers; null if they don't fit
    u64 from[classes - 1]; // the least lengths of all classes but the first
    u32* marks;            // a bitmap of `words` words for each class
    u64 words;
    // Rows of each class; then the maximum of length << 32 | ~row, for the first of the longest rows; then the length of row 0.
    u64* counts;
    VXM_FN void run() const {
        u32 held[classes] = {}, longest = 0, at = 0;
        each_thread(words * 32, [&](u64 i) {
            u32 in = classes;
            if (i < count) {
                const u64 begin = offsets[i], length = offsets[i + 1] - begin;
                in = 0;
#pragma unroll
                for (u32 c = 0; c < classes - 1; c++) in += length >= from[c];
                if (length > longest) longest = (u32)length, at = (u32)i;
                if (i == 0) counts[classes + 1] = length;
                if (offsets32) {
                    offsets32[i] = (u32)begin;
                    if (i + 1 == count) offsets32[count] = (u32)offsets[count];
                }
            }
#pragma unroll
            for (u32 c = 0; c < classes; c++) {
                const u32 word = __ballot_sync(~0u, in == c);
                if (lane() == c) marks[c * words + i / 32] = word;
                held[c] += __popc(word);
            }
        });
        const u32 most = __reduce_max_sync(~0u, longest);
        at = __reduce_min_sync(~0u, longest == most ? at : ~0u);
#pragma unroll
        for (u32 c = 0; c < classes; c++)
            if (lane() == c) atomicAdd(counts + c, (u64)held[c]);
        if (lane() == 0) atomicMax(counts + classes, (u64)most << 32 | (u32)~at);
    }
};

} // namespace vxm
