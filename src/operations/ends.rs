//! Values of entries, made of what vectors hold at both ends.

use crate::backend::cpu::prefetch::prefetch;
use crate::backend::cuda;
use crate::backend::cuda::entries::MANY_ENDS;
use crate::backend::tuning::tuning;
use crate::containers::{Matrix, Vector, VectorFormat};
use crate::error::{Error, Result};
use crate::formats::{row_blocks, split_rows};
use crate::operations::entry_filter::filtered;
use crate::operations::oriented::check_square_with;
use crate::operations::ranks;
use crate::parallel::{self, FEW};
use vxm_semiring::{BinaryOp, Element};

impl<A: Element> Matrix<A> {
    /// `op(u[i], u[j])` as the value of every entry `(i, j)`: the answer that [`oriented`](Self::oriented)
    /// filters by, stored at each edge. An entry is dropped if `u` holds no element at one of its ends.
    ///
    /// The result isn't marked symmetric, whatever `op` is. O(n + nnz) time; a GPU needs another `log n` per entry.
    /// There, if `u` is full, only the new values are stored.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::undirected(3, &[(0, 1), (1, 2)])?;
    /// let u = Vector::from_dense(vec![5u32, 9, 2]);
    /// // whether each neighbour is higher
    /// let higher = a.map_ends(LT, &u)?;
    /// let entries = [(0, 1, true), (1, 0, false), (1, 2, false), (2, 1, true)];
    /// assert_eq!(higher.iter().collect::<Vec<_>>(), entries);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// The matrix isn't square, or `u` isn't as long as its side. The device has too little memory, or is lost.
    #[track_caller]
    pub fn map_ends<T: Element, F: BinaryOp<T, T>>(&self, op: F, u: &Vector<T>) -> Result<Matrix<F::Out>> {
        check_square_with(self, "map_ends", u)?;
        if let Some(grid) = self.grid() {
            return ranks::matrices::by_ends(self, grid, u, |x, y, _| Some(op.call(x, y)));
        }
        if let Some(gpu) = self.place_with(u) {
            let (rows, u) = (self.on(&gpu)?, u.on(&gpu)?);
            let made = Matrix::on_device(cuda::entries::map_ends(&rows, op, &u)?, None);
            return Ok(made.set_mirrored(self.is_mirrored()));
        }
        let u = u.clone().with_format(VectorFormat::Bitmap);
        let ends = u.view();
        // an entry with an absent end is dropped
        let both_present = |_, j: u32, _| ends.get(j as usize).is_some();
        let dropped = (u.nvals() < u.len()).then(|| filtered(self.csr(), |i| ends.get(i), both_present));
        let csr = dropped.as_ref().unwrap_or_else(|| self.csr());
        let end = |i: usize| ends.get(i).unwrap_or(T::ZERO);
        let mut values = vec![F::Out::ZERO; csr.nnz()];
        let blocks = row_blocks(csr.offsets(), 4 * parallel::threads());
        let parts = split_rows(&mut values, csr.offsets(), &blocks);
        parallel::each(blocks.iter().zip(parts).collect(), &|(rows, part)| {
            let mut part = part.iter_mut();
            for i in rows.clone() {
                let own = end(i);
                csr.row(i).0.iter().zip(&mut part).for_each(|(&j, value)| *value = op.call(own, end(j as usize)));
            }
        });
        Ok(Matrix::from_csr(csr.with_values(values)).set_mirrored(self.is_mirrored()))
    }

    /// The answers to `op(u[i], u[j])` for up to 32 vectors `u`, as bits of one value for every entry `(i, j)`: bit `k` is that of vector `k`. It
    /// is unset if that vector holds no element at one of the ends. The columns are read once for all vectors.
    ///
    /// The result isn't marked symmetric, whatever `op` is. O(k (n + nnz)) time for `k` vectors; elements are copied, so that those of an index lie
    /// side by side.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::undirected(3, &[(0, 1), (1, 2)])?;
    /// let (u, v) = (Vector::from_dense(vec![5u32, 9, 2]), Vector::from_dense(vec![1, 2, 3]));
    /// // whether each neighbour is higher: by u in bit 0, by v in bit 1
    /// let higher = a.map_ends_many(LT, &[u, v])?;
    /// let entries = [(0, 1, 0b11), (1, 0, 0), (1, 2, 0b10), (2, 1, 0b01)];
    /// assert_eq!(higher.iter().collect::<Vec<_>>(), entries);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// The matrix isn't square, or a vector isn't as long as its side. There are more than 32 vectors. The device has too little memory, or is
    /// lost.
    #[track_caller]
    pub fn map_ends_many<T, F>(&self, op: F, us: &[Vector<T>]) -> Result<Matrix<u32>>
    where
        T: Element,
        F: BinaryOp<T, T, Out = bool>,
    {
        if us.len() > MANY_ENDS {
            return Err(Error::invalid(format!("map_ends_many: {} vectors: expected at most {MANY_ENDS}", us.len())));
        }
        for u in us {
            check_square_with(self, "map_ends_many", u)?;
        }
        if let Some(grid) = self.grid() {
            return ranks::matrices::by_many_ends(self, grid, us, op);
        }
        if let Some(gpu) = us.iter().find_map(|u| self.place_with(u)) {
            let us = us.iter().map(|u| u.on(&gpu)).collect::<Result<Vec<_>>>()?;
            return Ok(Matrix::on_device(cuda::entries::map_ends_many(&*self.on(&gpu)?, op, &us)?, None));
        }
        let (csr, ends) = (self.csr(), Ends::of(us, self.nrows()));
        let mut values = vec![0u32; csr.nnz()];
        let blocks = row_blocks(csr.offsets(), 4 * parallel::threads());
        let parts = split_rows(&mut values, csr.offsets(), &blocks);
        parallel::each(blocks.iter().zip(parts).collect(), &|(rows, part)| {
            let mut rest = part;
            for i in rows.clone() {
                let columns = csr.row(i).0;
                let (values, behind) = rest.split_at_mut(columns.len());
                ends.answer(op, i, columns, values);
                rest = behind;
            }
        });
        Ok(Matrix::from_csr(csr.with_values(values)))
    }
}

/// Elements of an index that a processor reads and compares together.
const PACK: usize = 8;

/// Elements that don't straddle cache lines, for elements of up to four bytes.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Pack<T>([T; PACK]);

/// The elements of several vectors, those of an index side by side.
struct Ends<T> {
    /// The packs of an index.
    packs: usize,
    packed: Vec<Pack<T>>,
    /// Bit k: whether vector k holds an element at the index.
    held: Vec<u32>,
}

impl<T: Element> Ends<T> {
    fn of(us: &[Vector<T>], n: usize) -> Self {
        let views: Vec<_> = us.iter().map(Vector::view).collect();
        let packs = us.len().div_ceil(PACK);
        let (mut packed, mut held) = (vec![Pack([T::ZERO; PACK]); n * packs], vec![0; n]);
        let rows = packed.chunks_mut(FEW * packs.max(1)).zip(held.chunks_mut(FEW)).enumerate().collect();
        parallel::each(rows, &|(block, (packed, held))| {
            for (k, (packed, held)) in packed.chunks_mut(packs.max(1)).zip(held).enumerate() {
                let places = packed.iter_mut().flat_map(|pack| &mut pack.0);
                for (run, (place, view)) in places.zip(&views).enumerate() {
                    if let Some(x) = view.get(block * FEW + k) {
                        (*place, *held) = (x, *held | 1 << run);
                    }
                }
            }
        });
        Self { packs, packed, held }
    }

    /// The elements of an index.
    #[inline(always)]
    fn end(&self, i: usize) -> &[Pack<T>] {
        &self.packed[i * self.packs..(i + 1) * self.packs]
    }

    /// The answers of the vectors at the entries of a row.
    fn answer<F: BinaryOp<T, T, Out = bool>>(&self, op: F, i: usize, columns: &[u32], values: &mut [u32]) {
        let ahead = tuning().prefetch_rows;
        for (k, (&j, value)) in columns.iter().zip(values).enumerate() {
            if let Some(&later) = columns.get(k + ahead) {
                let later = later as usize * self.packs;
                prefetch(&self.packed, later);
                prefetch(&self.packed, later + self.packs.saturating_sub(1));
            }
            let mut word = 0;
            for (p, (own, other)) in self.end(i).iter().zip(self.end(j as usize)).enumerate() {
                // bits are set without a branch, so that they are compared together
                let answers = own.0.iter().zip(&other.0).enumerate();
                word |=
                    answers.fold(0, |word, (l, (&x, &y))| word | if op.call(x, y) { 1 << l } else { 0 }) << (p * PACK);
            }
            *value = word & self.held[i] & self.held[j as usize];
        }
    }
}
