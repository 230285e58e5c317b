// Consecutive runs of positions, given by where each begins: the entries of rows, or the products of a vector's elements. Threads are
// assigned equal numbers of positions, however long the runs are, and each finds the run that its position lies in.
namespace vxm {

// The first index in low .. high with a word of at least `x`; `high` if there is none. The words ascend.
template <class K> VXM_FN u64 lower_bound(const K* words, u64 low, u64 high, K x) {
    while (low < high) {
        const u64 middle = low + (high - low) / 2;
        if (words[middle] < x) low = middle + 1;
        else high = middle;
    }
    return low;
}

// Finds the run of each of a series of ascending positions. `seek(p)` is the last run that begins at p or before. p is below the end of the
// last run.
struct Cursor {
    const u64* starts;
    u64 count;
    u64 run, end; // where the current run ends; 0 before the first `seek`
    VXM_FN Cursor(const u64* starts, u64 count) : starts(starts), count(count), run(0), end(0) {}
    // Moves to the run of p, or to one at most 31 runs before it. All lanes of a warp call it with the same p and search together.
    VXM_FN void approach(u64 p) {
        for (u64 high = count; high - run > 32;) {
            const u64 step = (high - run + 31) / 32, mine = run + lane() * step;
            const u32 before = __popc(__ballot_sync(~0u, mine < high && starts[mine] <= p));
            run += (before - 1) * step;
            if (run + step < high) high = run + step;
        }
    }
    VXM_FN u64 seek(u64 p) {
        if (p < end) return run;
        u64 step = 1;
        for (; run + step < count && starts[run + step] <= p; step *= 2) run += step;
        u64 high = run + step < count ? run + step : count;
        while (high - run > 1) {
            const u64 middle = run + (high - run) / 2;
            if (starts[middle] <= p) run = middle;
            else high = middle;
        }
        end = starts[run + 1];
        return run;
    }
};

// Words of 32 positions that a warp handles in order. Only the first position needs a long search.
[[maybe_unused]] const u32 RUN_WORDS = 8;

// Calls use(position, run) for each position of all runs.
template <class Use> VXM_FN void each_place(const u64* starts, u64 count, const Use& use) {
    const u64 total = starts[count], chunk = 32 * RUN_WORDS;
    for (u64 base = first_of(Warp()) * chunk; base < total; base += step_of(Warp()) * chunk) {
        Cursor cursor(starts, count);
        cursor.approach(base);
        for (u64 p = base + lane(); p < total && p < base + chunk; p += 32) use(p, cursor.seek(p));
    }
}

// Whether a predicate is asked by all lanes of a warp at once, as `marks(inside, position, row, column)`, so that they can help each other.
template <class Predicate> struct AsksTogether {
    static const bool value = false;
};

// Makes a bitmap of the positions for which `predicate.marks(position, row, column)` holds, and writes the number of marks of word w to
// `sums[w + 1]`.
// `predicate.columns` has the column of each position. `predicate.row(run)` is loaded once a run and handed to `marks`.
template <class Predicate> struct Mark {
    const u64* starts;
    u64 count;
    u32* bits;
    u64* sums;
    Predicate predicate;
    VXM_FN void run() const {
        const u64 total = starts[count], words = (total + 31) / 32;
        for (u64 base = first_of(Warp()) * RUN_WORDS; base < words; base += step_of(Warp()) * RUN_WORDS) {
            Cursor cursor(starts, count);
            cursor.approach(base * 32);
            // all loads are issued before the first is used
            u32 columns[RUN_WORDS];
#pragma unroll
            for (u32 k = 0; k < RUN_WORDS; k++) {
                const u64 p = (base + k) * 32 + lane();
                columns[k] = p < total ? predicate.columns[p] : 0;
            }
            u64 run = ~0ull;
            typename Predicate::Row row;
#pragma unroll
            for (u32 k = 0; k < RUN_WORDS; k++) {
                const u64 w = base + k, p = w * 32 + lane();
                if (w >= words) break;
                if (p < total && cursor.seek(p) != run) {
                    run = cursor.run;
                    row = predicate.row(run);
                }
                bool marked;
                if constexpr (AsksTogether<Predicate>::value) marked = predicate.marks(p < total, p, row, columns[k]);
                else marked = p < total && predicate.marks(p, row, columns[k]);
                const u32 word = __ballot_sync(~0u, marked);
                if (lane() > 0) continue;
                bits[w] = word;
                sums[w + 1] = __popc(word);
            }
        }
    }
};

// Writes the run of each position.
struct RunOf {
    const u64* starts;
    u64 count;
    u32* runs;
    VXM_FN void run() const {
        each_place(starts, count, [&](u64 p, u64 run) { runs[p] = (u32)run; });
    }
};

// Writes the length of each listed run to `sums[k + 1]`; of all runs, if `list` is null. A length is counted in parts of `each` positions,
// rounded up. A prefix sum follows.
struct ListedLengths {
    const u32* list;
    u64 count;
    const u64* starts;
    u64* sums;
    u64 each;
    VXM_FN void run() const {
        each_thread(count, [&](u64 k) {
            const u32 i = list ? list[k] : (u32)k;
            const u64 length = starts[i + 1] - starts[i];
            sums[k + 1] = each == 1 ? length : (length + each - 1) / each;
        });
    }
};

} // namespace vxm
