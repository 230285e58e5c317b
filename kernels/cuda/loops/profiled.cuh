// Counters of a loop's visits, by thread and by element. This file is part of a kernel only if its loop is counted, so other kernels stay as they
// are. After tallies.cuh.
namespace vxm {

// Stands for a test of active states where a loop has none.
struct AlwaysActive {
    template <class T> static VXM_FN bool call(T) { return true; }
};
// The visits of an element: all, those that changed nothing, those that changed it and left it active, and the entries of its longest row.
struct alignas(16) Place {
    u32 visits, unchanged, narrowed, row;
};
// A loop's body that counts its visits: a row of counters for each kind of group and each column, with a place for each thread of the
// launch. A group's first member counts for the group. `Active` tells active states. `offsets` are those of the rows that a visit may read;
// null if there are none. `places` has one for each of `elements`.
template <class V, class Active, class Offset> struct Profiled {
    typedef typename V::Elem Elem;
    static const bool full = V::full;
    enum Column { visits, finalised, entries, columns };
    V view;
    const Offset* offsets;
    u64* counters;
    u64 threads;
    Place* places;
    u64 elements;
    template <class G> VXM_FN void add(G g, u32 column, u64 amount) const {
        const u32 kind = g.members() == 1 ? 0 : g.members() <= 32 ? 1 : 2;
        // no other thread has this place; atomic additions, for which no thread waits, take longer (E070)
        counters[(kind * columns + column) * threads + (u64)blockIdx.x * blockDim.x + threadIdx.x] += amount;
    }
    template <class G> VXM_FN void begin_visit(G g) const {
        tally_thread();
        tally(Event::visits, 1);
        add(g, visits, 1);
    }
    template <class G> VXM_FN bool selects(G g, u32 i) const {
        const bool selected = view.selects(g, i);
        if (selected || !g.first()) return selected;
        begin_visit(g);
        tally(Event::masked, 1);
        places[i].visits++;
        return false;
    }
    template <class G> VXM_FN bool at(G g, u32 i, Elem& next) const {
        Place place;
        if (g.first()) {
            place = places[i];
            begin_visit(g);
            place.visits++;
            if (offsets) {
                const u64 row = offsets[i + 1] - offsets[i];
                add(g, entries, row);
                place.row = max(place.row, (u32)row);
            }
        }
        const bool found = view.at(g, i, next);
        if (!g.first()) return found;
        const bool changes = found && two_words(word_of(next)) != g.own, ends = changes && !Active::call(next);
        place.unchanged += !changes, place.narrowed += changes && !ends;
        places[i] = place;
        if (changes) tally_change(i, elements);
        if (ends) {
            tally(Event::finalised, 1);
            add(g, finalised, 1);
        }
        return found;
    }
};
// What a loop that relaxes edges counts. It counts visits by warp, in the columns of `Profiled`.
struct CountedByWarps {
    u64* counters;
    u64 threads;
    VXM_FN void add(u32 column, u64 amount) const {
        counters[(3 + column) * threads + (u64)blockIdx.x * blockDim.x + threadIdx.x] += amount;
    }
    VXM_FN void visit(u32 elements) const {
        if (elements == 0) return;
        tallies().active[warp()] = ~0u;
        tally(Event::visits, elements);
        add(0, elements);
    }
    VXM_FN void read(u64 edges) const {
        tally(Event::edges, (u32)edges);
        add(2, edges);
    }
    static VXM_FN void change(u32 i, u64 count) { tally_change(i, count); }
};
template <class V, class A, class O, class Op> struct CompressesPaths<Profiled<V, A, O>, Op> : CompressesPaths<V, Op> {};

} // namespace vxm
