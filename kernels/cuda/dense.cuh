// Rows of a sparse matrix times a dense one: a thread a place, which adds up its products in the row's order. Neighbours share a row.
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
