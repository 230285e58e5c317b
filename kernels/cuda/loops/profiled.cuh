// Counters of a loop's visits. This file is part of a kernel only if its loop is counted, so other kernels stay as they are.
namespace vxm {

// Stands for a test of active states where a loop has none.
struct AlwaysActive {
    template <class T> static VXM_FN bool call(T) { return true; }
};
// A loop's body that counts its visits: a row of counters for each kind of group and each event, with a column for each thread of the
// launch. A group's first member counts for the group. `Active` tells active states. `offsets` are those of the rows that a visit may read;
// null if there are none.
template <class V, class Active, class Offset> struct Profiled {
    typedef typename V::Elem Elem;
    static const bool full = V::full;
    enum Event { visits, masked, changed, finalised, edges, events };
    V view;
    const Offset* offsets;
    u64* counters;
    u64 threads;
    template <class G> VXM_FN void add(G g, u32 event, u64 amount) const {
        if (!g.first()) return;
        const u32 kind = g.members() == 1 ? 0 : g.members() <= 32 ? 1 : 2;
        // no other thread has this column
        counters[(kind * events + event) * threads + (u64)blockIdx.x * blockDim.x + threadIdx.x] += amount;
    }
    template <class G> VXM_FN bool selects(G g, u32 i) const {
        const bool selected = view.selects(g, i);
        if (!selected) {
            add(g, visits, 1);
            add(g, masked, 1);
        }
        return selected;
    }
    template <class G> VXM_FN bool at(G g, u32 i, Elem& next) const {
        add(g, visits, 1);
        if (offsets) add(g, edges, offsets[i + 1] - offsets[i]);
        const bool found = view.at(g, i, next);
        if (found && word_of(next) != g.own) {
            add(g, changed, 1);
            if (!Active::call(next)) add(g, finalised, 1);
        }
        return found;
    }
};
template <class V, class A, class O, class Op> struct CompressesPaths<Profiled<V, A, O>, Op> : CompressesPaths<V, Op> {};

} // namespace vxm
