// Rows by their length: a bit for each row and class, how many each class has, and the longest.
namespace vxm {

struct Classify {
    const u64* offsets;
    u64 count;
    u32* shorter; // the offsets in 32 bits; null where they don't fit
    u64 from[3];  // the lengths at which the second class and those after begin
    u32* marks;   // a class' words after the other's
    u64 words;
    u64* counts; // and the longest
    VXM_FN void run() const {
        u32 held[4] = {0, 0, 0, 0}, longest = 0;
        each_thread(words * 32, [&](u64 i) {
            u32 in = 4;
            if (i < count) {
                const u64 begin = offsets[i], length = offsets[i + 1] - begin;
                in = (length >= from[0]) + (length >= from[1]) + (length >= from[2]);
                longest = length > longest ? (u32)length : longest;
                if (shorter) {
                    shorter[i] = (u32)begin;
                    if (i + 1 == count) shorter[count] = (u32)offsets[count];
                }
            }
#pragma unroll
            for (u32 c = 0; c < 4; c++) {
                const u32 word = __ballot_sync(~0u, in == c);
                if (lane() == c) marks[c * words + i / 32] = word;
                held[c] += __popc(word);
            }
        });
        longest = __reduce_max_sync(~0u, longest);
        if (lane() < 4) atomicAdd(counts + lane(), (u64)(lane() == 0 ? held[0] : lane() == 1 ? held[1] : lane() == 2 ? held[2] : held[3]));
        if (lane() == 0) atomicMax(counts + 4, (u64)longest);
    }
};

} // namespace vxm
