//! Edge lists of which each rank of a grid reads a part.

use super::{Edges, FirstLine, check_first, weight_places};
use crate::error::Result;
use crate::io::loaded::Numbering;
use crate::io::names::{Names, Survey};
use crate::io::places::Places;
use crate::io::portions::{About, Portions, Repeated, WeightedWay};
use crate::io::source::Source;
use crate::io::target::Mirror;
use crate::io::value::Value;
use crate::io::{FileFormat, Unit, short_name};
use crate::ranks::Grid;
use core::ops::Range;
use core::sync::atomic::Ordering::Relaxed;
use rayon::prelude::*;

/// A rank's part of a mapped file, with the vertex numbers of all parts.
struct Surveyed<'p> {
    source: Source<'p>,
    /// The part, in groups of pieces.
    groups: Vec<Vec<Range<usize>>>,
    first: Option<FirstLine>,
    strict: bool,
    places: Places,
    names: Names,
    vertices: usize,
    numbering: Numbering,
    /// The number of values in all parts.
    weights: u64,
    /// Whether a weight in any part is no integer.
    fractions: bool,
}

impl<'p> Surveyed<'p> {
    /// Reads the vertex numbers, and looks at values of type `V`. All ranks call this.
    fn of<V: Value>(source: Source<'p>, asked: bool, places: Places, grid: &Grid) -> Result<Self> {
        let strict = !(asked || places.chosen);
        let groups = source.part(0, (grid.rank(), grid.size()));
        let file = source.name().to_owned();
        let first = grid.agree(FirstLine::of(&source))?;
        let lines = Edges::<u64, V>::after(first.as_ref(), strict, places);
        // numbers that are further apart than text of this length can tell are listed
        let seen = Survey::new(&file, first.as_ref().and_then(FirstLine::pair), 2 * source.file_bytes + 4096);
        let count = |group: &Vec<Range<usize>>| -> Result<u64> {
            let lists = source.parse_pieces(group, &lines)?;
            lists.par_iter().try_for_each(|edges| seen.take(edges))?;
            Ok(lists.iter().map(|edges| edges.len() as u64).sum())
        };
        let found: u64 = grid.agree(groups.iter().map(count).sum())?;
        let fractions = u64::from(lines.fractions.load(Relaxed));
        let sums = grid.sum(&[found, lines.blank.load(Relaxed), lines.count(found), fractions])?;
        let (names, reach) = seen.finish_together(grid)?;
        check_first(first.as_ref(), !strict, &file, (sums[0], sums[1]), reach)?;
        let vertices = names.few_enough(&file)? as usize;
        let numbering = names.numbering();
        let (weights, fractions) = (sums[2], sums[3] > 0);
        Ok(Self { source, groups, first, strict, places, names, vertices, numbering, weights, fractions })
    }

    /// The edges.
    fn portions<V: Value>(self) -> Portions<'p, V> {
        let Self { source, groups, first, strict, places, names, .. } = self;
        let (about, count) =
            (About::of_file(source.name(), FileFormat::Edges, self.numbering, self.weights), groups.len() as u64);
        source.progress.begin("share", Unit::Bytes, groups.iter().flatten().map(|piece| piece.len() as u64).sum());
        let edges = move |portion: u64| {
            let again = Edges::<u64, V>::after(first.as_ref(), strict, places);
            let lists = source.parse_pieces(&groups[portion as usize], &again)?;
            let numbered = |(from, to, value): (u64, u64, V)| (names.vertex(from), names.vertex(to), value);
            Ok(lists.into_par_iter().map(|list| list.into_iter().map(numbered).collect()).collect())
        };
        Portions {
            vertices: self.vertices,
            mirror: Mirror::None,
            repeated: Repeated::refused::<V>(),
            both_ways: false,
            count,
            edges: Box::new(edges),
            stated: Box::new(|_, _| Ok(())),
            about,
        }
    }
}

/// The edges of a mapped file, of which each rank of a grid reads a part. The file is read twice, as if it were built on disk. All ranks
/// call this.
pub(in crate::io) fn portions<'p>(source: Source<'p>, asked: bool, grid: &Grid) -> Result<Portions<'p>> {
    let places = grid.agree(Places::of(&source))?.bare();
    Ok(Surveyed::of::<()>(source, asked, places, grid)?.portions())
}

/// The same with the weights of a column if one is chosen, or if the file is called `.wel`.
pub(in crate::io) fn weighted_portions<'p>(source: Source<'p>, asked: bool, grid: &Grid) -> Result<WeightedWay<'p>> {
    let places = grid.agree(weight_places(&source))?;
    if places.weight.is_none() {
        return Ok(WeightedWay::Without(short_name(source.name())));
    }
    let surveyed = Surveyed::of::<f64>(source, asked, places, grid)?;
    Ok(match surveyed.fractions {
        true => WeightedWay::Real(surveyed.portions()),
        false => WeightedWay::Integer(surveyed.portions()),
    })
}
