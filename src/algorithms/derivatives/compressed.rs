//! The entries of a sparse matrix, from its products with the classes of a colouring.

use crate::prelude::*;

/// The classes of a colouring, as a matrix: row `c - 1` holds an entry in the column of each vertex of colour `c`. A vertex of colour 0 is in
/// none. There are as many rows as the greatest colour. O(n) time.
///
/// The arrays of its [`csr`](Matrix::csr) are the classes one after another. `a.mxm(&classes.transpose(), PLUS_FIRST)` compresses a matrix with
/// coloured columns.
///
/// ```
/// use vxm::algorithms::color_classes;
/// use vxm::prelude::*;
///
/// let classes = color_classes(&Vector::from_dense(vec![1, 2, 1, 3]))?;
/// assert_eq!(classes.csr().offsets(), [0, 2, 3, 4]);
/// assert_eq!(classes.csr().columns(), [0, 2, 1, 3]);
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn color_classes(colors: &Vector<u32>) -> Result<Matrix> {
    let count = colors.reduce(MAX)? as usize;
    // S[c - 1, v] exists where C[v] = c
    let members = colors.iter().filter(|&(_, color)| color > 0).map(|(v, color)| (color - 1, v, ()));
    Matrix::from_triples(count, colors.len(), members)?.to(colors.device())
}

/// The entries of a matrix with columns coloured by [`color_columns`](super::color_columns), from its products with the classes:
/// `J[i, j] = B[i, C[j] - 1]` for each entry `(i, j)` of `pattern`.
///
/// Column `c - 1` of `compressed` is the product of `J` and the vector that is 1 on colour `c` and 0 elsewhere, or the difference of a function
/// along it; [`Matrix::from_columns`] makes the matrix of such vectors. An entry of the pattern without one in its
/// place of `compressed` is left out. O(entries of both * log(colours)) time.
///
/// ```
/// use vxm::algorithms::{color_classes, color_columns, decompress};
/// use vxm::prelude::*;
///
/// let j = Matrix::from_triples(3, 4, [(0, 0, 2i64), (0, 1, 3), (1, 1, 5), (1, 2, 7), (2, 2, 11), (2, 3, 13)])?;
/// let found = color_columns(&j, &Vector::from_dense(vec![4, 3, 2, 1]))?;
/// assert_eq!(found.count, 2);
/// // B = J S, of 3 x 2
/// let compressed = j.mxm(&color_classes(&found.colors)?.transpose(), PLUS_FIRST).eval()?;
/// assert_eq!(decompress(&j.pattern(), &found.colors, &compressed)?, j);
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// `compressed` hasn't a column for each colour, or the other shapes don't match. The device has too little memory, or is lost.
#[track_caller]
pub fn decompress<T: Element>(pattern: &Matrix, colors: &Vector<u32>, compressed: &Matrix<T>) -> Result<Matrix<T>> {
    // J<pattern> = B any.first S
    let classes = color_classes(colors)?;
    compressed.mxm(&classes, ANY_FIRST).mask(pattern).eval()
}

/// The entries of a matrix with rows coloured by [`color_rows`](super::color_rows), from its products with the classes:
/// `J[i, j] = B[C[i] - 1, j]` for each entry `(i, j)` of `pattern`. Row `c - 1` of `compressed` is the sum of the rows of colour `c`.
///
/// # Errors
/// As [`decompress`].
#[track_caller]
pub fn decompress_rows<T: Element>(
    pattern: &Matrix,
    colors: &Vector<u32>,
    compressed: &Matrix<T>,
) -> Result<Matrix<T>> {
    // J<pattern> = S' any.second B
    let classes = color_classes(colors)?;
    classes.transpose().mxm(compressed, ANY_SECOND).mask(pattern).eval()
}

/// The entries of a symmetric matrix with a graph coloured by [`star_coloring`](super::star_coloring), from its products with the classes.
///
/// `pattern` is that of the matrix, with or without its diagonal. Column `c - 1` of `compressed` is the product of the matrix and the vector that
/// is 1 on colour `c`, as for [`decompress`]. Of the entries `(i, j)` and `(j, i)`, the one in the column of the lesser colour is read: no other
/// neighbour of its row has that colour.
///
/// ```
/// use vxm::algorithms::{color_classes, decompress_symmetric, star_coloring};
/// use vxm::prelude::*;
///
/// // an arrow: 5 columns, but 2 colours
/// let arms = (1..5u32).flat_map(|i| [(0, i, i64::from(i)), (i, 0, i64::from(i)), (i, i, 7)]);
/// let h = Matrix::from_triples(5, 5, arms.chain([(0, 0, 9)]))?;
/// let found = star_coloring(&h.pattern(), &Vector::from_dense(vec![5, 4, 3, 2, 1]))?;
/// assert_eq!(found.count, 2);
/// let compressed = h.mxm(&color_classes(&found.colors)?.transpose(), PLUS_FIRST).eval()?;
/// assert_eq!(decompress_symmetric(&h.pattern(), &found.colors, &compressed)?, h);
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// `pattern` isn't square or symmetric; the shapes don't match. The device has too little memory, or is lost.
#[track_caller]
pub fn decompress_symmetric<T: Element>(
    pattern: &Matrix,
    colors: &Vector<u32>,
    compressed: &Matrix<T>,
) -> Result<Matrix<T>> {
    let a = &*pattern.to_weighted_graph()?;
    // L = the entries in the columns of lesser colours, and the diagonal; H = L + L'
    let lower = decompress(&a.oriented(GE, colors).into_matrix()?, colors, compressed)?;
    lower.ewise_add(&lower.transpose(), ANY)
}
