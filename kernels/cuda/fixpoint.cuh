// A loop that stays on the device: every element that may still change is visited until none may. One cooperative launch; each warp
// keeps a list of its own short rows and one of long ones, each block one of hubs, so lists shrink without a word to anybody else.
namespace vxm {

// Where blocks meet: arrivals, meetings so far, blocks that are done, what was seen in a round (of the last three), passes, and whether the
// loop gave up: 1 if none changed, 2 if some did still. Where nobody waits: warps that are done, and, in the upper half, how often one told
// that it had changed something; votes of those that find nothing to change, and, in the upper half, in which vote. All zero at first.
struct Board {
    u32 arrived, met, left, seen[3], passes, stuck;
    u64 done, votes;
};
struct Visit {
    bool alive, changed;
};
struct Rounds {};
struct Asynchronous {};

// A row that may still change; one that waits; one of which it is kept too which of its first 32 entries take part; where it begins, too;
// one that waits for two.
struct Row {
    u32 row;
    static VXM_FN Row of(u32 row, Rest) { return {row}; }
    VXM_FN Rest rest() const { return Rest(); }
};
struct alignas(8) Waiting {
    u32 row, column;
    static VXM_FN Waiting of(u32 row, Rest rest) { return {row, rest.column}; }
    VXM_FN Rest rest() const { return {column, NOBODY, ~0u}; }
};
struct Sifted {
    u32 row, column, bits;
    static VXM_FN Sifted of(u32 row, Rest rest) { return {row, rest.column, rest.bits}; }
    VXM_FN Rest rest() const { return {column, NOBODY, bits}; }
};
struct alignas(16) Placed {
    u32 row, begin, column, bits;
    static VXM_FN Placed of(u32 row, Rest rest) { return {row, rest.begin, rest.column, rest.bits}; }
    VXM_FN Rest rest() const { return {column, NOBODY, bits, begin}; }
};
struct alignas(16) Twice {
    u32 row, column, second, bits;
    static VXM_FN Twice of(u32 row, Rest rest) { return {row, rest.column, rest.second, rest.bits}; }
    VXM_FN Rest rest() const { return {column, second, bits}; }
};
// One that waits no longer, and its own element; without bits, if all of its entries take part for all that is known.
template <class T, Way way> struct Ready {
    u32 row;
    T own;
    static VXM_FN Ready of(u32 row, T own, Rest) { return {row, own}; }
    VXM_FN Rest rest() const { return Rest(); }
};
template <class T> struct Ready<T, sifted> {
    u32 row, bits;
    T own;
    static VXM_FN Ready of(u32 row, T own, Rest rest) { return {row, rest.bits, own}; }
    VXM_FN Rest rest() const { return {NOBODY, NOBODY, bits}; }
};
template <class T> struct alignas(16) Ready<T, placed> {
    u32 row, begin, bits;
    T own;
    static VXM_FN Ready of(u32 row, T own, Rest rest) { return {row, rest.begin, rest.bits, own}; }
    VXM_FN Rest rest() const { return {NOBODY, NOBODY, bits, begin}; }
};
template <class T> struct Ready<T, brief> : Ready<T, placed> {
    VXM_FN Ready() {}
    VXM_FN Ready(Ready<T, placed> of) : Ready<T, placed>(of) {}
};
// What a warp keeps of its share of a class: a ring, of which the first is at `head`.
template <class Item> struct Ring {
    Item* items;
    u32 room, head, count;
    VXM_FN Item& at(u32 k) const {
        const u32 place = head + k;
        return items[place < room ? place : place - room];
    }
    // Whoever reads those must have done so.
    VXM_FN void drop(u32 k) {
        __syncwarp();
        head += k;
        if (head >= room) head -= room;
        count -= k;
    }
    // Appends the items of the lanes that have one.
    VXM_FN void add(bool has, Item item) {
        const u32 all = __ballot_sync(~0u, has);
        if (has) at(count + __popc(all & ((1u << lane()) - 1))) = item;
        count += __popc(all);
        // others will read it
        __syncwarp();
    }
};
// The rows of a class, and the room that a list of a warp's (a block's) share of them has: in memory, or as far from where a block's shared
// memory begins.
struct Share {
    const u32* list; // null: all below `count`
    u64 count;
    u64 work;
    u64 room;
    u64 near; // whether it is there
};
extern __shared__ __align__(16) u64 vxm_near[];

// `monotone` says that a state may be written at once; or else all are computed from the states before, and written after. Without
// long rows and hubs, which is not `skewed`, a kernel needs fewer registers.
// `Watched` is the product of which each row's is remembered for whom it waits, if any is; it lies at word `place` of the view.
struct Nothing {
    static const bool narrows = false, chooses = false, places = false, measures = false;
};
// The body, and that of the first round if it has one of its own.
template <class V, class Start> struct Bodies {
    V view;
    Start start;
};
template <class V> struct Bodies<V, Nothing> {
    V view;
};
// A thread that folds a row has so many entries in `flight`, and so many as it is `choosing` some; `sifts` that it is kept which entries of
// a short row take part; `eager` that those that wait are visited again at once, while what they read is in a cache still: where there is
// much to go through, it won't be later; `tails` that rows may have more entries than bits tell apart.
template <class V, class Start, class Active, bool monotone, bool skewed, u32 flight, u32 choosing, class Watched, u32 place, bool sifts,
          bool eager, bool tails>
struct Fixpoint {
    typedef typename V::Elem T;
    static const bool watches = !is_same<Watched, Nothing>::value;
    // Whether hubs' entries are looked through before rows are visited.
    static const bool looks = skewed && Watched::narrows;
    // Whether a row's entries are chosen, by their ends, before it is visited.
    static const bool chooses = sifts && Watched::chooses;
    static const bool measures = looks && Watched::measures;
    // Whether long rows are told apart by how long they are. Who comes first is mostly among the longest, so those are begun before all others,
    // and looked at in each pass, however much there is to begin or to look at beside them.
    static const bool ranks = looks && chooses;
    // Where rows differ much, who waits for one mostly waits for more.
    static const bool twice = skewed && sifts;
    // Whether where a row begins is kept with it: rows whose entries were chosen are read for nothing else.
    static const bool places = chooses && !twice && Watched::places;
    typedef typename Choice<watches, Waiting, Row>::type Plainly;
    typedef typename Choice<twice, Twice, typename Choice<places, Placed, typename Choice<sifts, Sifted, Plainly>::type>::type>::type Item;
    static const Way kept = places ? (tails ? placed : brief) : sifts ? sifted : whole;
    typedef Ready<T, kept> Next;
    // Rows of a ring that are looked at together.
    static const u32 TOGETHER = watches && (!sifts || (chooses && !skewed)) ? 64 : 32;
    // Entries that are left of a long row which a lane may visit, where there are several; and of one that eight lanes may.
    static const u32 FEW = 8, SEVERAL = 5, MIDDLE = 64;
    // As long as long rows wait, a pass looks at the first of the short ones only, but in every so many.
    static const u32 SELDOM = 64;
    // Where long rows are told apart, the classes of them, the longest first; how many of them, or batches of short ones, are begun between two
    // looks at the longest; and how many of a class that isn't looked at whole a pass looks at.
    static const u32 RANKS = 4, BEGUN = 4, BATCHES = 4, LOOKS = 16;
    Share shorts, longs, ranked[RANKS], hubs;
    const T* before; // what the state begins as; null: as it is
    u64 count;
    T* state;
    T* fresh;
    Board* board;
    u64* told; // for the host: passes, and why it gave up, if it did
    u64 most; // rounds, or passes of a warp's, those over a part too, that change something
    Bodies<V, Start> body;

    // What is left of each list.
    struct Left {
        Ring<Item> shorts, longs;
        u32 hubs;
        // Where long rows are told apart: batches of short ones begun so far, whether all are, and whether a pass has begun any. Of the long ones
        // no more than the count stands here.
        u32 batches = 0;
        bool begun = !ranks, begins = false;
        VXM_FN bool any() const { return shorts.count | longs.count | hubs | !begun; }
    };
    template <class G> static constexpr VXM_FN u32 many() { return is_same<G, Thread>::value ? flight : G::flight; }
    static VXM_FN Ring<Item> ring(const Share& share) {
        Item* items = share.near ? (Item*)((char*)vxm_near + share.work) + warp() * share.room : (Item*)share.work + first_of(Warp()) * share.room;
        // computed once, not wherever it is used
        asm("" : "+l"(items));
        return {items, (u32)share.room, 0, 0};
    }

    // Computes, and writes, given the row's own element, which becomes the new one; `rest` says for whom the row waits then.
    template <bool starts> struct Settling {
        typedef Settling<!is_same<Start, Nothing>::value> First;
        template <Way way, class G> static VXM_FN Visit visit(const Fixpoint& f, G g, u32 i, T& own, Rest* rest = nullptr) {
            Visit v = {Active::call(own), false};
            // which entries take part another body doesn't tell
            const Visitor<G, watches && !is_same<G, Block>::value, many<G>(), starts ? whole : way> visitor(word_of(own), rest);
            T next;
            if (!v.alive || !settles(f.body, visitor, i, next) || same(own, next)) return v;
            if (g.first()) poke(f.state + i, next);
            own = next;
            v.changed = true;
            v.alive = Active::call(next);
            return v;
        }
        template <class B, class G> static VXM_FN bool settles(const B& body, G g, u32 i, T& next) {
            if constexpr (starts) return body.start.selects(g, i) && body.start.at(g, i, next);
            else return body.view.selects(g, i) && body.view.at(g, i, next);
        }
    };
    typedef Settling<false> Settle;
    // Computes.
    struct Propose {
        typedef Propose First;
        template <Way, class G> static VXM_FN Visit visit(const Fixpoint& f, G g, u32 i, const T& own, Rest* = nullptr) {
            const Visit v = {Active::call(own), false};
            if (!v.alive) return v;
            const Visitor<G, false, many<G>()> visitor(word_of(own), nullptr);
            T next;
            if (!f.body.view.selects(visitor, i) || !f.body.view.at(visitor, i, next)) next = own;
            if (g.first()) f.fresh[i] = next;
            return v;
        }
    };
    // Writes.
    struct Commit {
        typedef Commit First;
        template <Way, class G> static VXM_FN Visit visit(const Fixpoint& f, G g, u32 i, const T& own, Rest* = nullptr) {
            const T next = f.fresh[i];
            if (g.first()) poke(f.state + i, next);
            return {Active::call(next), !same(own, next)};
        }
    };

    // Visits up to 32 rows, a lane one, and keeps those that stay alive.
    template <class Phase, Way way> VXM_FN void batch(Ring<Item>& ring, bool inside, Next of, bool& changed) const {
        Visit v = {false, false};
        Rest rest = of.rest();
        if (inside) v = Phase::template visit<way>(*this, Thread(), of.row, of.own, &rest);
        changed |= v.changed;
        ring.add(v.alive, Item::of(of.row, rest));
    }
    // Visits a row each by all lanes, by those of a part of the warp, or by one, and keeps those that stay alive.
    template <class Phase, Way way, class L>
    VXM_FN void one(Ring<Item>& ring, L lanes, bool inside, u32 i, T own, Rest rest, bool& changed) const {
        Visit v = {false, false};
        if (inside) v = Phase::template visit<way>(*this, lanes, i, own, &rest);
        changed |= v.changed;
        // what the first saw counts: another may have seen something else
        ring.add(v.alive && L::first(), Item::of(i, rest));
    }
    // The first of a ring, as many as are looked at together, or `most`, which isn't 0: those that wait go to its end, the others to
    // `ready`. Returns how many do.
    VXM_FN u32 take(Ring<Item>& ring, u32 most, Next* ready) const {
        const u32 each = TOGETHER / 32, count = most < TOGETHER ? most : TOGETHER;
        Item items[each];
        bool waits[each];
        T owns[each];
#pragma unroll
        for (u32 k = 0; k < each; k++) items[k] = ring.at(k * 32 + lane() < count ? k * 32 + lane() : count - 1);
        ring.drop(count);
#pragma unroll
        for (u32 k = 0; k < each; k++) owns[k] = peek(state + items[k].row);
        if constexpr (watches) {
            u32 rows[each];
            Rest rests[each];
#pragma unroll
            for (u32 k = 0; k < each; k++) rows[k] = items[k].row, rests[k] = items[k].rest();
            watched().template wait<twice>(rows, owns, rests, waits);
            if (twice)
#pragma unroll
                for (u32 k = 0; k < each; k++) items[k] = Item::of(rows[k], rests[k]);
        }
        u32 taken = 0;
#pragma unroll
        for (u32 k = 0; k < each; k++) {
            if (k * 32 >= count) break;
            const bool inside = k * 32 + lane() < count, stays = watches && waits[k];
            if (watches) ring.add(inside && stays, items[k]);
            const u32 all = __ballot_sync(~0u, inside && !stays);
            if (inside && !stays) ready[taken + __popc(all & ((1u << lane()) - 1))] = Next::of(items[k].row, owns[k], items[k].rest());
            taken += __popc(all);
        }
        __syncwarp();
        return taken;
    }
    // Chooses the entries of 32 short rows, from number `at` on. Those that have any wait for one of theirs, whatever that holds; the others
    // go to `ready`. Returns how many do.
    VXM_FN u32 choose_short(Ring<Item>& ring, u64 at, Next* ready) const {
        const u64 p = at + lane();
        const bool inside = p < shorts.count;
        const u32 i = !inside ? 0 : shorts.list ? shorts.list[p] : (u32)p;
        // both are on their way before it is known whether the row is read
        const auto bounds = watched().bounds(i);
        const T own = peek(state + i);
        const bool alive = inside && Active::call(own);
        Rest rest;
        if (alive) rest = watched().choose(Visitor<Thread, false, choosing, kept>(word_of(own), nullptr), i, bounds);
        const bool waits = rest.column != NOBODY;
        ring.add(waits, Item::of(i, rest));
        const u32 all = __ballot_sync(~0u, alive && !waits);
        if (alive && !waits) ready[__popc(all & ((1u << lane()) - 1))] = Next::of(i, own, rest);
        __syncwarp();
        return __popc(all);
    }
    // The same of long ones, all of which wait to be visited.
    VXM_FN void choose_long(Ring<Item>& ring, bool inside, u32 i) const {
        auto row = watched().bounds(i);
        const u32 before = watched().left[i];
        const T own = peek(state + i);
        for (u32 todo = __ballot_sync(~0u, inside && Active::call(own)); todo; todo &= todo - 1) {
            const u32 from = __ffs(todo) - 1, which = __shfl_sync(~0u, i, from);
            auto its = row;
            its.begin = __shfl_sync(~0u, row.begin, from), its.len = __shfl_sync(~0u, row.len, from);
            const Visitor<Warp, false> g(word_of(from_lane<Warp>(own, from)), nullptr);
            const Rest rest = watched().choose_kept(g, which, its, __shfl_sync(~0u, before, from));
            ring.add(Warp::first(), Item::of(which, rest));
        }
    }
    // Visits the first of the short rows that are left, up to `most`, which aren't kept waiting: `ready` holds `held` of them already, and
    // will hold those that don't fill a warp, unless this is the `last`.
    template <class Phase> VXM_FN void again(Left& left, u32 most, Next* ready, u32& held, bool last, bool& changed) const {
        const u32 all = held + take(left.shorts, most, ready + held), full = last ? all : all & ~31u;
        for (u32 k = 0; k < full; k += 32) batch<Phase, kept>(left.shorts, k + lane() < all, ready[k + lane() < all ? k + lane() : 0], changed);
        held = all - full;
        if (held == 0) return;
        const Next rest = ready[full + lane() < all ? full + lane() : 0];
        __syncwarp();
        if (lane() < held) ready[lane()] = rest;
        __syncwarp();
    }

    // Visits what is left of this warp's short rows, or the first of it, and keeps those that stay alive. `first` says that the list is
    // still that of the class.
    template <class Phase> VXM_FN void visit_shorts(Left& left, bool first, bool all, Next* ready, bool& changed) const {
        const u64 w = first_of(Warp()), warps = step_of(Warp());
        u32 held = 0;
        if (!first) {
            u32 todo = all || left.shorts.count < TOGETHER ? left.shorts.count : TOGETHER;
            for (; todo > 0; todo -= todo < TOGETHER ? todo : TOGETHER) again<Phase>(left, todo, ready, held, todo <= TOGETHER, changed);
            return;
        }
        bool luck = true;
        for (u64 at = w * 32; at < shorts.count; at += warps * 32) {
            const u64 p = at + lane();
            const bool inside = p < shorts.count;
            const u32 i = !inside ? 0 : shorts.list ? shorts.list[p] : (u32)p;
            batch<typename Phase::First, kept>(left.shorts, inside, Next::of(i, peek(state + i), Rest()), changed);
            if constexpr (eager) {
                // for as long as that settles any worth the while
                if (left.shorts.count < TOGETHER || !(luck || at / (warps * 32) % 8 == 0)) continue;
                const u32 before = left.shorts.count;
                again<Phase>(left, TOGETHER, ready, held, true, changed);
                luck = before - left.shorts.count >= TOGETHER / 8;
            }
        }
    }
    // The same where entries are chosen first.
    template <class Phase> VXM_FN void visit_chosen(Left& left, bool first, bool all, Next* ready, bool& changed) const {
        const u64 step = 32 * step_of(Warp());
        u64 at = first ? 32 * first_of(Warp()) : shorts.count, end = shorts.count;
        if constexpr (ranks) {
            // a few batches at a time
            at = 32 * first_of(Warp()) + left.batches * step;
            first = at < end;
            if (!all && at + BATCHES * step < end) end = at + BATCHES * step;
            left.begun = end == shorts.count;
            left.batches = left.begun ? ~0u : left.batches + BATCHES;
            left.begins |= first;
        }
        u32 todo = first ? 0 : all || left.shorts.count < TOGETHER ? left.shorts.count : TOGETHER, held = 0;
        bool luck = true, revisits = false;
        while (at < end || todo > 0 || held > 0) {
            if (!revisits && at < end) {
                held += choose_short(left.shorts, at, ready + held);
                at += step;
                // for as long as that settles any worth the while
                revisits = eager && left.shorts.count >= TOGETHER && (luck || at / step % 8 == 0);
            } else {
                const u32 most = revisits ? TOGETHER : todo, taken = most > 0 ? take(left.shorts, most, ready + held) : 0;
                held += taken;
                if (revisits) luck = taken >= TOGETHER / 8;
                else todo -= todo < TOGETHER ? todo : TOGETHER;
                revisits = false;
            }
            // those that are visited again at once are to see what these come to
            const u32 full = eager ? held : at < end || todo > 0 ? held & ~31u : held;
            for (u32 k = 0; k < full; k += 32) batch<Phase, kept>(left.shorts, k + lane() < held, ready[k + lane() < held ? k + lane() : 0], changed);
            held -= full;
            if (full == 0 || held == 0) continue;
            const Next rest = ready[full + (lane() < held ? lane() : 0)];
            __syncwarp();
            if (lane() < held) ready[lane()] = rest;
            __syncwarp();
        }
    }
    // Begins up to `most` of a class of long rows, no more than 32, the longest first: they are visited, or their entries are chosen. Returns
    // whether there were any.
    template <class Phase> VXM_FN bool begin_longs(Ring<Item>& ring, const Share& share, u32& begun, u32 most, bool& changed) const {
        // a warp's are far from each other: the hubs stand together
        const u64 k = first_of(Warp()) + (u64)(begun + lane()) * step_of(Warp());
        const bool inside = lane() < most && k < share.count;
        if (!__any_sync(~0u, inside)) return false;
        const u32 i = inside ? share.list[share.count - 1 - k] : 0;
        if constexpr (ranks) choose_long(ring, inside, i);
        else visit_some<Phase>(ring, inside, Next::of(i, peek(state + i), Rest()), changed);
        begun += most;
        return true;
    }
    // Looks at the first `todo` of long ones, and visits those that aren't kept waiting.
    template <class Phase> VXM_FN void look_longs(Ring<Item>& ring, u32 todo, Next* ready, bool& changed) const {
        for (; todo > 0; todo -= todo < TOGETHER ? todo : TOGETHER) {
            const u32 count = take(ring, todo, ready);
            for (u32 k = 0; k < count; k += 32) visit_some<Phase>(ring, k + lane() < count, ready[k + lane() < count ? k + lane() : k], changed);
        }
    }
    // Visits this warp's long rows, all of them.
    template <class Phase> VXM_FN void visit_longs(Left& left, bool first, Next* ready, bool& changed) const {
        u32 begun = 0;
        if (first)
            while (begin_longs<Phase>(left.longs, longs, begun, 32, changed)) {}
        else look_longs<Phase>(left.longs, left.longs.count, ready, changed);
    }
    // A list of those that are told apart, and how many of its class are begun: it isn't held in registers.
    struct Rank {
        Ring<Item> ring;
        u32 begun;
    };
    static VXM_FN Rank& rank(u32 which) {
        __shared__ Rank all[8][RANKS];
        return all[warp()][which];
    }
    // The same where they are told apart: the longest all, and those of which no longer ones are left, once all are begun; of the others the
    // first. Returns whether there may be more to begin: then neither shorter ones nor short rows are begun yet.
    template <class Phase> VXM_FN bool visit_ranks(Left& left, bool all, Next* ready, bool& changed) const {
        bool more = false, whole = true;
        left.longs.count = 0;
#pragma unroll 1
        for (u32 which = 0; which < RANKS && !more; which++) {
            Ring<Item> ring = rank(which).ring;
            u32 begun = rank(which).begun;
            while (begin_longs<Phase>(ring, ranked[which], begun, whole ? 32 : BEGUN, changed)) {
                left.begins = true;
                if ((more = !whole)) break;
            }
            if (!more) look_longs<Phase>(ring, whole || ring.count < LOOKS ? ring.count : LOOKS, ready, changed);
            __syncwarp();
            if (lane() == 0) rank(which) = {ring, begun};
            __syncwarp();
            left.longs.count += ring.count;
            whole = all || (left.begun && left.longs.count == 0);
        }
        return more;
    }
    // Visits up to 32 long rows. Those that are short by now are a lane's, if there are several, or four at a time eight lanes' each.
    template <class Phase> VXM_FN void visit_some(Ring<Item>& ring, bool inside, Next of, bool& changed) const {
        u32 todo = __ballot_sync(~0u, inside);
        Rest rest;
        if constexpr (looks) {
            const u32 len = inside ? watched().length(of.row) : ~0u, few = __ballot_sync(~0u, len <= FEW);
            if constexpr (measures) rest.bits = len, rest.begin = (u32)watched().offsets[of.row];
            if (__popc(few) >= SEVERAL) {
                one<Phase, measures ? measured : whole>(ring, Thread(), few >> lane() & 1, of.row, of.own, rest, changed);
                todo &= ~few;
            }
            u32 middle = __ballot_sync(~0u, len <= MIDDLE) & todo;
            if (middle & (middle - 1)) {
                for (todo &= ~middle; middle;) {
                    u32 mine = middle;
#pragma unroll
                    for (u32 k = 0; k < 4; k++) {
                        if (k < lane() / 8) mine &= mine - 1;
                        middle &= middle - 1;
                    }
                    const u32 from = __ffs(mine) - 1 & 31;
                    one_of<Phase>(ring, Lanes<8>(), mine, of, rest, from, changed);
                }
            }
        }
        for (; todo; todo &= todo - 1) {
            const u32 from = __ffs(todo) - 1;
            one_of<Phase>(ring, Warp(), true, of, rest, from, changed);
        }
    }
    // Visits that of a lane's.
    template <class Phase, class L>
    VXM_FN void one_of(Ring<Item>& ring, L lanes, bool inside, Next of, Rest rest, u32 from, bool& changed) const {
        Rest its;
        if constexpr (measures) its.bits = __shfl_sync(~0u, rest.bits, from), its.begin = __shfl_sync(~0u, rest.begin, from);
        const u32 row = __shfl_sync(~0u, of.row, from);
        one<Phase, measures ? measured : whole>(ring, lanes, inside, row, from_lane<Warp>(of.own, from), its, changed);
    }
    // The same of this block's hubs.
    template <class Phase> VXM_FN void visit_hubs(Left& left, bool first, bool& changed) const {
        u32 *mine = (u32*)hubs.work + blockIdx.x * hubs.room, kept = 0;
        const u64 b = blockIdx.x, len = first ? (b < hubs.count ? (hubs.count - b + gridDim.x - 1) / gridDim.x : 0) : left.hubs;
        for (u64 k = 0; k < len; k++) {
            const u32 i = first ? hubs.list[k * gridDim.x + b] : mine[k];
            T own = peek(state + i);
            const Visit v = Phase::template visit<whole>(*this, Block(), i, own);
            const bool alive = __syncthreads_or(threadIdx.x == 0 && v.alive);
            changed |= v.changed;
            if (!alive) continue;
            if (threadIdx.x == 0) mine[kept] = i;
            kept++;
        }
        left.hubs = kept;
        __syncthreads();
    }
    // Its lists, all of them empty.
    VXM_FN Left lists() const {
        if constexpr (ranks) {
            for (u32 which = 0; which < RANKS; which++)
                if (lane() == 0) rank(which) = {ring(ranked[which]), 0};
            __syncwarp();
        }
        return {ring(shorts), ring(longs), 0};
    }
    // Visits what is left, pass by pass: all of it, or no more than the first of the short rows. Returns whether anything changed: the same
    // in all lanes.
    template <class Phase> VXM_FN bool pass(Left& left, bool first, bool all = true) const {
        __shared__ Next queues[8][TOGETHER + 32];
        Next* ready = queues[warp()];
        bool changed = false;
        // who is waited for is mostly long: what those come to the short ones know at once
        if constexpr (ranks) {
            left.begins = false;
            if (visit_ranks<Phase>(left, all, ready, changed)) return __any_sync(~0u, changed);
        } else if (skewed && watches) visit_longs<Phase>(left, first, ready, changed);
        if constexpr (chooses) visit_chosen<Phase>(left, first, all, ready, changed);
        else visit_shorts<Phase>(left, first, all, ready, changed);
        if (skewed && !watches) visit_longs<Phase>(left, first, ready, changed);
        if constexpr (skewed && !watches)
            if (hubs.count > 0) visit_hubs<Phase>(left, first, changed);
        __syncwarp();
        return __any_sync(~0u, changed);
    }

    VXM_FN const Watched& watched() const { return *(const Watched*)((const u64*)&body + place); }

    // Makes the state what it begins as.
    VXM_FN void start() const {
        if (!before) return;
        // 16 bytes at a time: a read that may be of what was just written would wait for that
        const u64 words = count * sizeof(T) / 16;
        each_thread(words, [&](u64 k) { ((uint4*)state)[k] = ((const uint4*)before)[k]; });
        if (blockIdx.x == 0)
            for (u64 i = words * 16 / sizeof(T) + threadIdx.x; i < count; i += blockDim.x) state[i] = before[i];
        meet(board);
    }
    // Looks through hubs' entries, all warps together, before rows are visited: who comes first is a hub, whose warp would read it
    // alone, and everybody waits for that one.
    VXM_FN void narrow_hubs() const {
        const u32 each = 2048;
        const Watched& rows = watched();
        each_thread(hubs.count, [&](u64 k) { rows.left[hubs.list[k]] = 0; });
        meet(board);
        const u64 w = first_of(Warp()), warps = step_of(Warp());
        u64 passed = 0;
        for (u64 k = 0; k < hubs.count; k += 32) {
            const bool inside = k + lane() < hubs.count;
            const u32 row = inside ? hubs.list[k + lane()] : 0;
            const bool alive = inside && Active::call(peek(state + row));
            const u32 len = alive ? (u32)(rows.offsets[row + 1] - rows.offsets[row]) : 0, runs = (len + each - 1) / each;
            const u32 sum = running_sum(runs), all = __shfl_sync(~0u, sum, 31);
            for (u64 run = (w + warps - passed % warps) % warps; run < all; run += warps) {
                const u32 whose = __popc(__ballot_sync(~0u, sum <= run)), of = __shfl_sync(~0u, len, whose);
                const u32 from = (u32)(run - __shfl_sync(~0u, sum - runs, whose)) * each;
                rows.look_through(__shfl_sync(~0u, row, whose), from, from + each < of ? from + each : of);
            }
            passed += all;
        }
        meet(board);
    }
    VXM_FN void begin() const {
        start();
        if constexpr (looks)
            if (hubs.count > 0) narrow_hubs();
    }

    // All see the states of the round before, or newer ones.
    VXM_FN void run(Rounds) const {
        begin();
        Left left = lists();
        for (u32 round = 0;; round++) {
            bool changed;
            if constexpr (monotone) {
                changed = pass<Settle>(left, round == 0);
            } else {
                pass<Propose>(left, round == 0);
                meet(board);
                changed = pass<Commit>(left, false);
            }
            // where the first body changes nothing, or all wait for whom they chose, the next round may
            if (round == 0 && (chooses || !is_same<Start, Nothing>::value)) changed = true;
            const bool some_left = __syncthreads_or(left.any()), some_changed = __syncthreads_or(changed);
            u32* seen = board->seen + round % 3;
            if (threadIdx.x == 0) atomicOr(seen, some_left | some_changed << 1);
            meet(board);
            const u32 now = watch(seen);
            if (blockIdx.x == 0 && threadIdx.x == 0) {
                // nobody reads the last round's any more, and nobody writes the next but one's yet
                atomicExch(board->seen + (round + 2) % 3, 0);
            }
            // nothing left, or nothing changed, or no end
            // the round in which entries were chosen is none of the loop's
            const u32 rounds = round + (now != 0) - (chooses && round + (now != 0) > 0);
            if (now == 3 && rounds < most) continue;
            return leave(board, [&] { post(told, rounds, now == 1 ? 1u : now == 3 ? 2u : 0u); });
        }
    }

    // Votes in vote number `mine` that nothing changes any more, unless there is a later one. Lane 0.
    VXM_FN void vote(u32 mine) const {
        u64 seen = *(volatile u64*)&board->votes;
        while ((u32)(seen >> 32) <= mine) {
            const u64 next = (u32)(seen >> 32) == mine ? seen + 1 : (u64)mine << 32 | 1, found = atomicCAS(&board->votes, seen, next);
            if (found == seen) return;
            seen = found;
        }
    }
    // Whether all who go on have voted so, and nobody has told of a change since.
    VXM_FN bool unanimous(u32 mine) const {
        const u64 votes = *(volatile u64*)&board->votes, done = *(volatile u64*)&board->done;
        return (u32)(votes >> 32) == mine && (u32)(done >> 32) + 1 == mine && (u32)votes + (u32)done == (u32)step_of(Warp());
    }
    // Tells that this warp has changed something, after what it wrote, and whether it is done.
    VXM_FN void stir(bool ends = false) const {
        __syncwarp();
        if (lane() > 0) return;
        __threadfence();
        atomicAdd(&board->done, 1ull << 32 | ends);
    }

    // One of the last short rows, a lane's: it and its own element, which nobody else writes, are held until it is settled, so that a pass
    // is a look and a visit.
    struct Held {
        Item item;
        T own;
        bool alive;
    };
    // Takes those of a ring, which are few enough.
    VXM_FN Held hold(const Ring<Item>& ring) const {
        const bool inside = lane() < ring.count;
        const Item item = ring.at(inside ? lane() : 0);
        return {item, peek(state + item.row), inside};
    }
    // Visits it, unless it is kept waiting. Returns whether that changed it.
    VXM_FN bool visit(Held& held) const {
        const u32 rows[1] = {held.item.row};
        const T owns[1] = {held.own};
        Rest rests[1] = {held.item.rest()};
        bool waits[1] = {false};
        if constexpr (watches) watched().template wait<twice>(rows, owns, rests, waits);
        Visit v = {held.alive, false};
        // a visit that doesn't come to the product says nothing of whom the row waits for: nobody, then
        if (!waits[0]) rests[0].column = rests[0].second = NOBODY;
        if (held.alive && !waits[0]) v = Settle::template visit<kept>(*this, Thread(), held.item.row, held.own, rests);
        held.item = Item::of(held.item.row, rests[0]);
        held.alive = v.alive;
        return v.changed;
    }

    // How far a warp has come: its passes, those that have changed something, those since, and the vote that it takes part in; whether it is
    // idle, has voted, and had anything to do.
    struct Progress {
        u32 passes, changes, still, vote;
        bool idle, voted, some;
    };
    // Counts a pass, and tells whether there is another.
    VXM_FN bool goes_on(Progress& p, bool changed, bool any, bool sharing, bool begins = false) const {
        p.some |= changed | any;
        p.passes++;
        if (!any) return false;
        p.changes += changed;
        // what is begun isn't gone through
        p.still = changed | begins ? 0 : p.still + 1;
        const bool tells = p.still == 0 ? p.idle : p.still % PATIENCE == 0;
        if (!tells && p.changes < most && p.passes % 256 != 0) return true;
        // seldom so, and what is done then must take no registers of what is done always
        Progress now = p;
        const bool more = goes_on_still(now, sharing);
        p = now;
        return more;
    }
    static const u32 PATIENCE = 256;
    // Whether it is so for one of a warp's lanes, or, where a block's warps go on together, of all of its threads.
    static VXM_FN bool agreed(bool sharing, bool x) { return sharing ? (bool)__syncthreads_or(x) : (bool)__any_sync(~0u, x); }
    __noinline__ __device__ bool goes_on_still(Progress& p, bool sharing) const {
        if (p.changes >= most) {
            // all give up, whatever they are doing
            if (lane() == 0) atomicMax(&board->stuck, 2);
            return false;
        }
        if (p.passes % 256 == 0 && agreed(sharing, watch(&board->stuck))) return false;
        if (p.idle && p.still == 0) {
            p.idle = false;
            stir();
        }
        if (p.still == 0 || p.still % PATIENCE != 0) return true;
        if (!p.idle) {
            p.idle = true;
            stir();
        }
        u32 now = 0;
        if (lane() == 0) now = (u32)(*(volatile u64*)&board->done >> 32) + 1;
        __threadfence();
        now = __shfl_sync(~0u, now, 0);
        // what is looked at from here on was written before the count was read
        __syncwarp();
        if (now != p.vote) {
            p.vote = now;
            p.voted = false;
        } else if (!p.voted) {
            p.voted = true;
            if (lane() == 0) vote(p.vote);
        }
        if (!agreed(sharing, watch(&board->stuck) || (p.voted && unanimous(p.vote)))) return true;
        if (lane() == 0) atomicMax(&board->stuck, 1);
        return false;
    }

    // Nobody waits: each visits its own until they are settled. The loop is stuck once each warp has gone through all that is left of its own
    // since the last change and found nothing. Who has changed something tells so before it is counted as idle, or done, and, once idle,
    // whenever it changes something; who is idle notes how often that was told, goes through its own, and votes. If it was told again
    // meanwhile, another vote begins. So whoever voted has seen what all others wrote last, however long a pass takes.
    VXM_FN void run(Asynchronous) const {
        begin();
        Left left = lists();
        Progress p = {};
        // a block's warps share its hubs, so they go on or end together
        const bool sharing = skewed && !watches && hubs.count > 0;
        bool more;
        do {
            // of those that wait, short rows are looked at less often
            const bool all = !skewed || !watches || (left.longs.count == 0 && left.begun) || p.passes % SELDOM == (ranks ? SELDOM - 1 : 0);
            bool changed = pass<Settle>(left, p.passes == 0, all), any = left.any();
            if (sharing) {
                any = __syncthreads_or(any);
                changed = __syncthreads_or(changed);
            }
            more = goes_on(p, changed, any, sharing, left.begins);
        } while (more && (sharing || left.longs.count > 0 || left.shorts.count > 32 || !left.begun));
        if (more) {
            Held held = hold(left.shorts);
            while (more) {
                const bool changed = __any_sync(~0u, visit(held));
                more = goes_on(p, changed, __any_sync(~0u, held.alive), sharing);
            }
        }
        stir(true);
        if (lane() == 0 && p.some) atomicMax(&board->passes, p.passes);
        leave(board, [&] { post(told, watch(&board->passes), watch(&board->stuck)); });
    }
};

} // namespace vxm
