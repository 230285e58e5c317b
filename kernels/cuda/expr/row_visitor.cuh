// Row visitors: groups that visit a row of a loop's state. A visitor knows the row's own state and may record what keeps the row from
// settling.
namespace vxm {

// `NONE` marks an absent column or length. `LIVE_TAIL` is the bit of a prefiltered row's live-edge mask that stands for all entries from
// number 31 on.
[[maybe_unused]] const u32 NONE = ~0u, LIVE_TAIL = 1u << 31;
// What a loop keeps for a row between visits: the columns of up to two blockers, the live-edge mask of the first 32 entries, and the row's
// first position. For a compacted row `live` is instead the number of live entries.
struct RowContext {
    u32 blocker = NONE, second_blocker = NONE, live = ~0u, begin = 0;
};
// A group that visits row `i` of a loop's state. `own` has the bits of the row's own state. `context` receives the row's blockers and
// live-edge mask, if the group records them.
template <class G, bool records, u32 depth = G::unroll, RowAccess mode = all_entries> struct RowVisitor : G {
    static const u32 unroll = depth;
    static const bool has_own_state = true, records_blockers = records;
    static const RowAccess access = mode;
    TwoWords own;
    RowContext* context;
    template <class W> VXM_FN RowVisitor(W own, RowContext* context) : own(two_words(own)), context(context) {}
};
// A visitor that lowers the row's own state, at `place`, to intermediate results of the visit.
template <class G, class T> struct PublishingVisitor : RowVisitor<G, false> {
    static const bool publishes = true;
    T* place;
    VXM_FN PublishingVisitor(Bits<T> own, T* place) : RowVisitor<G, false>(own, nullptr), place(place) {}
    VXM_FN void publish(T x) const {
        if (G::first()) atomicMin(place, x);
    }
};
// Whether a group knows the count of its row of the primary product, which counts over tiles. Groups that do have a member `count`.
template <class G> struct KnowsCount {
    static const bool value = false;
};
// Returns the group without the right to publish.
template <class G> VXM_FN G without_publishing(G g) { return g; }
template <class G, class T> VXM_FN RowVisitor<G, false> without_publishing(PublishingVisitor<G, T> g) { return g; }
// Returns the plain group, for reading an element other than the visited row.
template <class G> VXM_FN G without_row(G g) { return g; }
template <class G, bool records, u32 depth, RowAccess mode> VXM_FN G without_row(RowVisitor<G, records, depth, mode> g) { return g; }
template <class G, class T> VXM_FN G without_row(PublishingVisitor<G, T> g) { return g; }

} // namespace vxm
