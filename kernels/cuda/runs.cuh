// Runs that lie one behind the other, given where each begins: rows and their entries, sources and their products. Places are
// shared out evenly, however long the runs are, and each finds the run that it lies in.
namespace vxm {

// The first place from `low` on, below `high`, of ascending words where there is `x` or more.
template <class K> VXM_FN u64 lower_bound(const K* words, u64 low, u64 high, K x) {
    while (low < high) {
        const u64 middle = low + (high - low) / 2;
        if (words[middle] < x) low = middle + 1;
        else high = middle;
    }
    return low;
}

// The runs of ascending places: `seek(p)` is the last run that begins at p or before, for p below where the last one ends.
struct Cursor {
    const u64* starts;
    u64 count;
    u64 run, end; // where the run ends, or 0
    VXM_FN Cursor(const u64* starts, u64 count) : starts(starts), count(count), run(0), end(0) {}
    // Goes to the run of p, or to one of the 31 before it: called by all lanes of a warp, which search together.
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

// Words of 32 places that a warp goes through in order, so that only the first must be searched for far.
[[maybe_unused]] const u32 RUN_WORDS = 8;

// Calls use(place, run) for each place of all runs.
template <class Use> VXM_FN void each_place(const u64* starts, u64 count, const Use& use) {
    const u64 total = starts[count], chunk = 32 * RUN_WORDS;
    for (u64 base = first_of(Warp()) * chunk; base < total; base += step_of(Warp()) * chunk) {
        Cursor cursor(starts, count);
        cursor.approach(base);
        for (u64 p = base + lane(); p < total && p < base + chunk; p += 32) use(p, cursor.seek(p));
    }
}

// Marks the places of which `which.marks(place, row, column)` holds, where `which` has each place's column, and `which.row(run)` is what is
// known of a run: their bits, and each word's number of marks, one place further.
template <class W> struct Mark {
    const u64* starts;
    u64 count;
    u32* bits;
    u64* sums;
    W which;
    VXM_FN void run() const {
        const u64 total = starts[count], words = (total + 31) / 32;
        for (u64 base = first_of(Warp()) * RUN_WORDS; base < words; base += step_of(Warp()) * RUN_WORDS) {
            Cursor cursor(starts, count);
            cursor.approach(base * 32);
            // all under way before the first is looked at
            u32 columns[RUN_WORDS];
#pragma unroll
            for (u32 k = 0; k < RUN_WORDS; k++) {
                const u64 p = (base + k) * 32 + lane();
                columns[k] = p < total ? which.columns[p] : 0;
            }
            u64 run = ~0ull;
            typename W::Row row;
#pragma unroll
            for (u32 k = 0; k < RUN_WORDS; k++) {
                const u64 w = base + k, p = w * 32 + lane();
                if (w >= words) break;
                if (p < total && cursor.seek(p) != run) {
                    run = cursor.run;
                    row = which.row(run);
                }
                const u32 word = __ballot_sync(~0u, p < total && which.marks(p, row, columns[k]));
                if (lane() > 0) continue;
                bits[w] = word;
                sums[w + 1] = __popc(word);
            }
        }
    }
};

// The run of each place.
struct RunOf {
    const u64* starts;
    u64 count;
    u32* runs;
    VXM_FN void run() const {
        each_place(starts, count, [&](u64 p, u64 run) { runs[p] = (u32)run; });
    }
};

// The length of each listed run, or of all, in parts of `each`, one place further: running sums follow.
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
