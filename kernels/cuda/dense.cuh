// A sparse matrix times a dense one. One thread computes one element of the product and adds up its terms in the order of the row's
// entries. Neighbouring threads share a row.
namespace vxm {

template <class T> struct RowsTimesDense {
    const u64* offsets;
    const u32* columns;
    const T* values;
    const T* factor;
    u64 width;
    u64 places;
    T* product;
    VXM_FN void run() const {
        each_thread(places, [&](u64 at) {
            const u64 i = at / width, j = at % width, end = offsets[i + 1];
            T sum = 0;
            for (u64 p = offsets[i]; p < end; p++) sum = sum + values[p] * factor[columns[p] * width + j];
            product[at] = sum;
        });
    }
};

}  // namespace vxm
