// Rows by their length: a bit for each row and class, how many each class has, the first of the longest, and the length of row 0.
namespace vxm {

struct Classify {
    static const u32 classes = 7;
    const u64* offsets;
    u64 count;
    u32* shorter; // the offsets in 32 bits; null where they don't fit
    u64 from[classes - 1]; // the lengths at which the second class and those after begin
    u32* marks;   // a class' words after the other's
    u64 words;
    u64* counts; // and the longest row's length, above its number's complement; and the length of row 0
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
                if (shorter) {
                    shorter[i] = (u32)begin;
                    if (i + 1 == count) shorter[count] = (u32)offsets[count];
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
