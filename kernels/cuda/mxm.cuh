// Products of two sparse matrices under a mask: a dot product for each place of the mask.
namespace vxm {

// The predicate "row i of the left matrix and column j of the right one have an index in common", for `Mark`. The products of common
// indices are folded from left to right, whatever the monoid, and the fold of position p is written to `dots[p]`.
template <class A, class B, class T, class Mul, class Add> struct DotAtPlaces {
    const u32* columns; // of the mask
    SearchedRows<A> left;
    SearchedRows<B> right; // a row of it is a column of the right matrix
    T* dots;
    typedef u64 Row;
    // A list that is more than this many times as long as the other one is searched instead of read.
    static const u32 SEARCHED = 32;
    VXM_FN Row row(u64 i) const { return i; }
    VXM_FN bool marks(u64 p, Row i, u32 j) const {
        u64 x = left.starts[i], y = right.starts[j];
        const u64 x_end = left.starts[i + 1], y_end = right.starts[j + 1];
        const bool search_x = (x_end - x) / SEARCHED > y_end - y, search_y = (y_end - y) / SEARCHED > x_end - x;
        bool some = false;
        T sum;
        while (x < x_end && y < y_end) {
            const u32 k = left.columns[x], l = right.columns[y];
            if (k < l) {
                x = search_x ? lower_bound(left.columns, x + 1, x_end, l) : x + 1;
            } else if (l < k) {
                y = search_y ? lower_bound(right.columns, y + 1, y_end, k) : y + 1;
            } else {
                const T product = Mul::call(weight_at(left.values, x++), weight_at(right.values, y++));
                sum = some ? Add::call(sum, product) : product;
                some = true;
                if (Add::exact && Add::stops && Add::terminal(sum)) break;
            }
        }
        if (some) put_entry(dots, p, sum);
        return some;
    }
};

} // namespace vxm
