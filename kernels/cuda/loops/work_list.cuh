// Work lists of an active loop: records of rows, and the warps' lists of them.
namespace vxm {

// Work-list records of active rows. `ActiveRow` is the row alone. `BlockedRow` adds its blocker, `MaskedRow` a live-edge mask,
// `CachedStartRow` the row's first position. `TwoBlockersRow` has two blockers and a mask.
struct ActiveRow {
    u32 row;
    static VXM_FN ActiveRow of(u32 row, RowContext) { return {row}; }
    VXM_FN RowContext context() const { return RowContext(); }
};
struct alignas(8) BlockedRow {
    u32 row, blocker;
    static VXM_FN BlockedRow of(u32 row, RowContext context) { return {row, context.blocker}; }
    VXM_FN RowContext context() const { return {blocker, NONE, ~0u}; }
};
struct MaskedRow {
    u32 row, blocker, live;
    static VXM_FN MaskedRow of(u32 row, RowContext context) { return {row, context.blocker, context.live}; }
    VXM_FN RowContext context() const { return {blocker, NONE, live}; }
};
struct alignas(16) CachedStartRow {
    u32 row, begin, blocker, live;
    static VXM_FN CachedStartRow of(u32 row, RowContext context) { return {row, context.begin, context.blocker, context.live}; }
    VXM_FN RowContext context() const { return {blocker, NONE, live, begin}; }
};
struct alignas(16) TwoBlockersRow {
    u32 row, blocker, second_blocker, live;
    static VXM_FN TwoBlockersRow of(u32 row, RowContext context) { return {row, context.blocker, context.second_blocker, context.live}; }
    VXM_FN RowContext context() const { return {blocker, second_blocker, live}; }
};
// A row that is ready for a visit, with its own state. It carries a live-edge mask and the first position if its work-list record has them.
template <class T, RowAccess access> struct ReadyRow {
    u32 row;
    T own;
    static VXM_FN ReadyRow of(u32 row, T own, RowContext) { return {row, own}; }
    VXM_FN RowContext context() const { return RowContext(); }
};
template <class T> struct ReadyRow<T, live_mask> {
    u32 row, live;
    T own;
    static VXM_FN ReadyRow of(u32 row, T own, RowContext context) { return {row, context.live, own}; }
    VXM_FN RowContext context() const { return {NONE, NONE, live}; }
};
template <class T> struct alignas(16) ReadyRow<T, cached_start> {
    u32 row, begin, live;
    T own;
    static VXM_FN ReadyRow of(u32 row, T own, RowContext context) { return {row, context.begin, context.live, own}; }
    VXM_FN RowContext context() const { return {NONE, NONE, live, begin}; }
};
template <class T> struct ReadyRow<T, short_cached_start> : ReadyRow<T, cached_start> {
    VXM_FN ReadyRow() {}
    VXM_FN ReadyRow(ReadyRow<T, cached_start> of) : ReadyRow<T, cached_start>(of) {}
};
// A warp's list of rows of one class: a ring buffer, with its first item at `head`.
template <class Record> struct Ring {
    Record* items;
    u32 capacity, head, count;
    VXM_FN Record& at(u32 k) const {
        const u32 place = head + k;
        return items[place < capacity ? place : place - capacity];
    }
    // Drops the first `k` items. `__syncwarp` makes sure that all lanes have read them.
    VXM_FN void pop_front(u32 k) {
        __syncwarp();
        head += k;
        if (head >= capacity) head -= capacity;
        count -= k;
    }
    // Appends the items of the lanes for which `has` is true.
    VXM_FN void push(bool has, Record item) {
        const u32 all = __ballot_sync(~0u, has);
        if (has) at(count + __popc(all & ((1u << lane()) - 1))) = item;
        count += __popc(all);
        // other lanes will read the new items
        __syncwarp();
    }
};
// The rows of one class, and where the warps' (for hubs, the blocks') lists of them are: `capacity` records for each, from address
// `storage` on. If `in_shared` is set, `storage` is an offset into the block's dynamic shared memory instead.
struct RowClass {
    const u32* list; // null: all rows below `count`
    u64 count;
    u64 storage;
    u64 capacity;
    u64 in_shared; // whether the lists are in shared memory
};
extern __shared__ __align__(16) u64 vxm_shared_lists[];

} // namespace vxm
