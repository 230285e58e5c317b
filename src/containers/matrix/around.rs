//! Vertices with their neighbours, one by one, of a graph on one process or over ranks.

use super::Matrix;
use crate::backend::tuning;
use crate::containers::Vector;
use crate::error::{Error, Result};
use crate::ranks::{Grid, OwnRows, fetch};
use rayon::prelude::*;
use vxm_semiring::Element;

/// An entry of a vertex' row: the neighbour, the entry's value, and the neighbour's element of a vector.
type Around<T, X> = (u32, T, Option<X>);

impl<T: Element> Matrix<T> {
    /// The least vertex where `find` finds something, and what it finds. It is given the vertex, the vertex' element of `x`, and the entries of
    /// the vertex' row by ascending column. Of an entry these are the neighbour, the entry's value, and the neighbour's element of `x`. In-neighbours
    /// are those of the [transpose](Self::transpose).
    ///
    /// Over ranks, each looks at the rows that it owns, and returns the least vertex of its own. It brings some rows at a time, and the
    /// elements that they read, so it needs little memory beside its share. All ranks call this. O(n + nnz log nnz) time in all.
    ///
    /// ```
    /// use vxm::prelude::*;
    /// let path = Matrix::undirected(3, &[(0, 1), (1, 2)])?;
    /// let height = Vector::from_dense(vec![1u32, 5, 5]);
    /// // a vertex that isn't lower than a neighbour
    /// let top = path.find_vertex(&height, |_, own, around| around.iter().all(|&(.., other)| other <= own).then_some(own))?;
    /// assert_eq!(top, Some((1, Some(5))));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`]: the matrix isn't square, `x` has another length, or lies on another grid. [`Error::Ranks`]: another rank has failed.
    pub fn find_vertex<X: Element, R: Send>(
        &self,
        x: &Vector<X>,
        find: impl Fn(u32, Option<X>, &[Around<T, X>]) -> Option<R> + Sync,
    ) -> Result<Option<(u32, R)>> {
        let (n, columns) = (self.nrows(), self.ncols());
        if n != columns {
            return Err(Error::invalid(format!("find_vertex: a {n} x {columns} matrix: expected a square one")));
        }
        if x.len() != n {
            return Err(Error::invalid(format!("find_vertex: a vector of {} elements: expected {n}", x.len())));
        }
        if let Some(grid) = self.grid() {
            return self.find_on_ranks(grid, x.piece_on(grid)?, tuning::RANKS_READ_ENTRIES, &find);
        }
        if x.grid().is_some() {
            let what =
                "find_vertex: the vector is spread over ranks, the matrix isn't: expected to_grid() of the matrix";
            return Err(Error::invalid(what));
        }
        let (rows, held) = (self.host_rows()?, x.piece_bitmap());
        let element = |v: u32| held.get(v as usize);
        let found = (0..n).into_par_iter().map_init(Vec::new, |around, row| {
            around.clear();
            let (columns, values) = rows.row(row);
            around.extend(columns.iter().zip(values).map(|(&v, &value)| (v, value, element(v))));
            find(row as u32, element(row as u32), around).map(|found| (row as u32, found))
        });
        Ok(found.find_map_first(|found| found))
    }

    /// Gives `see` the row, the column and the value of each entry that this rank holds. Of a matrix that isn't spread, those are all. Rows come in no
    /// particular order.
    ///
    /// ```
    /// use vxm::prelude::*;
    /// use vxm::ranks::{Grid, Threads};
    /// let path = Matrix::undirected(100, &[(0, 1), (1, 99)])?;
    /// let held = Threads::run(2, |world| {
    ///     let mut held = 0;
    ///     path.to_grid(&Grid::of(world, 2, 1)?)?.for_each_here(|_, _, ()| held += 1)?;
    ///     Ok::<_, vxm::Error>(held)
    /// });
    /// assert_eq!(held.into_iter().sum::<Result<u32, _>>()?, 4);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Device`]: the matrix lies on a GPU and can't be fetched.
    pub fn for_each_here(&self, mut see: impl FnMut(u32, u32, T)) -> Result<()> {
        if let Some(grid) = self.grid() {
            self.share(grid, false, "for_each_here")?
                .entries()
                .for_each(|(row, column, value)| see(row, column, value));
            return Ok(());
        }
        let rows = self.host_rows()?;
        for row in 0..rows.nrows() {
            let (columns, values) = rows.row(row);
            columns.iter().zip(values).for_each(|(&column, &value)| see(row as u32, column, value));
        }
        Ok(())
    }

    /// [`find_vertex`](Self::find_vertex) over ranks, in portions of about `most` entries for each rank.
    fn find_on_ranks<X: Element, R: Send>(
        &self,
        grid: &Grid,
        x: &Vector<X>,
        most: u64,
        find: &(impl Fn(u32, Option<X>, &[Around<T, X>]) -> Option<R> + Sync),
    ) -> Result<Option<(u32, R)>> {
        let (n, share, piece) = (self.nrows(), self.share(grid, false, "find_vertex")?, x.piece_bitmap());
        let owners = grid.owners(n);
        let entries = grid.told(&[share.csr.nnz() as u64])?.into_iter().flatten().max().unwrap_or(0);
        let portions = entries.div_ceil(most).max(1) as usize;
        let mut least: Option<(u32, R)> = None;
        for portion in 0..portions {
            let rows = OwnRows::new(grid, n, &share, portion, portions)?;
            let mut read = rows.columns().to_vec();
            read.par_sort_unstable();
            read.dedup();
            let held = fetch(grid, n, &piece, &read)?;
            let element = |v: u32| read.binary_search(&v).ok().and_then(|k| held[k]);
            let found = (0..rows.count()).into_par_iter().map_init(Vec::new, |around, row| {
                around.clear();
                let (columns, values) = rows.row(row);
                around.extend(columns.iter().zip(values).map(|(&v, &value)| (v, value, element(v))));
                let place = rows.first + row;
                let vertex = owners.vertex(grid.rank(), place as u32);
                find(vertex, piece.get(place), around).map(|found| (vertex, found))
            });
            let here = found.flatten().chain(least).min_by_key(|&(vertex, _)| vertex);
            least = here;
        }
        Ok(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranks::{Deal, Threads};

    #[test]
    fn portions_of_rows_have_all_neighbors() {
        // each vertex k of 200 beside k + 1 and k + 7, and a hub
        let edges = (0..193u32).flat_map(|k| [(k, k + 1), (k, k + 7), (k, 199)]).collect::<Vec<_>>();
        // values that tell the entries apart
        let value = |i: u32, j: u32| 1000 * i.min(j) + i.max(j);
        let both = edges.iter().flat_map(|&(i, j)| [(i, j, value(i, j)), (j, i, value(i, j))]);
        let distinct: std::collections::BTreeSet<_> = both.collect();
        let whole = Matrix::from_triples(200, 200, distinct).unwrap();
        let x = Vector::from_pairs(200, (0..200).filter(|v| v % 5 != 3).map(|v| (v, v * v))).unwrap();
        for ((rows, columns), deal) in [((1, 2), Deal::Cyclic), ((3, 1), Deal::Hashed), ((2, 3), Deal::Hashed)] {
            for most in [1, 64, 1 << 20] {
                let all = Threads::run(rows * columns, |world| {
                    let grid = Grid::of(world, rows, columns)?.with_deal(deal);
                    let (a, x) = (whole.to_grid(&grid)?, x.to_grid(&grid)?);
                    let seen = std::sync::Mutex::new(Vec::new());
                    let least = a.find_on_ranks(&grid, &x, most, &|v, own, around| {
                        seen.lock().unwrap().push((v, own, around.to_vec()));
                        (v > 20).then_some(own)
                    })?;
                    Ok((least, seen.into_inner().unwrap()))
                });
                let (mut least, mut seen): (Vec<_>, Vec<_>) =
                    all.into_iter().collect::<Result<Vec<_>>>().unwrap().into_iter().unzip();
                least.retain(Option::is_some);
                assert_eq!(least.into_iter().flatten().min(), Some((21, Some(441))));
                let mut seen = seen.drain(..).flatten().collect::<Vec<_>>();
                seen.sort();
                let expected: Vec<_> = (0..200u32)
                    .map(|v| {
                        let element = |v: u32| (v % 5 != 3).then_some(v * v);
                        let row = whole.csr().row(v as usize).0;
                        (v, element(v), row.iter().map(|&u| (u, value(u, v), element(u))).collect::<Vec<_>>())
                    })
                    .collect();
                assert_eq!(seen, expected, "{rows}x{columns}, {deal:?}, {most}");
            }
        }
    }
}
