//! Random points in the unit square, and random geometric graphs, which join points near each other.

use crate::formats::Csr;
use crate::io::Progress;
use crate::io::generate::from_rows;
use crate::io::generate::random::Random;
use rayon::prelude::*;

/// Points sorted by the cells of a `side` x `side` grid, so that near points have near numbers.
pub(super) struct Points {
    pub places: Vec<[f64; 2]>,
    side: usize,
    /// The index of each cell's first point, and the number of points last.
    starts: Vec<u32>,
}

impl Points {
    /// Draws `count` points and sorts them into cells.
    pub fn new(count: usize, side: usize, seed: u64) -> Self {
        let random = Random::new(seed);
        let place = |point: u64| [random.unit(2 * point), random.unit(2 * point + 1)];
        let mut keys: Vec<(u32, u32)> =
            (0..count as u64).into_par_iter().map(|point| (cell(place(point), side) as u32, point as u32)).collect();
        keys.par_sort_unstable();
        let mut starts = vec![0; side * side + 1];
        for &(cell, _) in &keys {
            starts[cell as usize + 1] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let places = keys.par_iter().map(|key| place(u64::from(key.1))).collect();
        Self { places, side, starts }
    }

    /// The points in the cell of `place` and in the cells around it, ascending.
    fn around(&self, place: [f64; 2]) -> impl Iterator<Item = u32> + '_ {
        let cell = cell(place, self.side);
        let (row, column) = (cell / self.side, cell % self.side);
        let reach = |at: usize| at.saturating_sub(1)..=(at + 1).min(self.side - 1);
        reach(row).flat_map(move |row| {
            let columns = reach(column);
            let first = row * self.side + columns.start();
            let last = row * self.side + columns.end();
            self.starts[first]..self.starts[last + 1]
        })
    }
}

/// The number of the cell that contains a point.
fn cell([x, y]: [f64; 2], side: usize) -> usize {
    let along = |at: f64| ((at * side as f64) as usize).min(side - 1);
    along(y) * side + along(x)
}

/// The side of a grid with about four of `count` points in each cell.
pub(super) fn side_for(count: usize) -> usize {
    ((count as f64 / 4.0).sqrt() as usize).max(1)
}

/// Joins pairs of `count` random points that are closer than .55 sqrt(ln n / n).
pub(super) fn near(count: usize, seed: u64, progress: &dyn Progress) -> Csr {
    let radius = 0.55 * ((count as f64).ln() / count as f64).sqrt();
    // a cell is at least as wide as the radius, so a point's neighbours lie in its own or an adjacent cell
    let side = ((1.0 / radius) as usize).clamp(1, side_for(count));
    let points = Points::new(count, side, seed);
    from_rows(count, |vertex, neighbours| {
        if vertex % 4096 == 0 {
            progress.advance(4096);
        }
        let [x, y] = points.places[vertex as usize];
        neighbours.extend(points.around([x, y]).filter(|&other| {
            let place = points.places[other as usize];
            let (dx, dy) = (place[0] - x, place[1] - y);
            other != vertex && dx * dx + dy * dy < radius * radius
        }));
    })
}
