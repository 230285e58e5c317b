//! Answers that ranks check together, without the whole graph on any.

use crate::command::answer::Verdict;
use crate::command::footprint::Algorithm;
use crate::command::found::Found;
use vxm::certify::vertex::Nearest;
use vxm::certify::{DisjointSets, Violation, Weight, vertex};
use vxm::containers::{Matrix, Vector};
use vxm::ranks::Grid;
use vxm::semiring::Element;
use vxm::{Error, Result};

/// Whether ranks check the answer of an algorithm together.
pub fn is_checked_together(algorithm: Algorithm) -> bool {
    use Algorithm::{BestOf, Bfs, Color, Components, Cover, Matching, Mis, Sssp};
    matches!(algorithm, Mis(..) | BestOf(..) | Color(..) | Cover(_) | Bfs | Components | Matching | Sssp)
}

impl Found {
    /// Checks an answer over ranks. `whole` is the same answer on rank 0. Returns what rank 0 tells, or `None` if a check takes the whole graph. All
    /// ranks call this.
    pub fn check_together<T: Element>(
        &self,
        whole: Option<&Self>,
        graph: &Matrix<T>,
        grid: &Grid,
    ) -> Result<Option<Verdict>> {
        let found = match self {
            Self::Set(set) | Self::BestSet { set, .. } => {
                graph.find_vertex(set, |v, own, around| vertex::set(v, own.is_some(), present(around)))?
            }
            Self::Colors(colors, _) => graph.find_vertex(colors, |v, own, around| {
                let around = around.iter().map(|&(other, _, color)| (other, color.unwrap_or(0)));
                vertex::color(v, own.unwrap_or(0), around)
            })?,
            Self::Cover(set, mate) => {
                let free = graph.find_vertex(set, |v, own, around| vertex::cover(v, own.is_some(), present(around)))?;
                // the edges that show how small a cover can be, once all are covered
                if grid.sum(&[free.is_some().into()])? == [0] { mated(graph, mate)? } else { free }
            }
            Self::Levels(source, levels) => {
                // what rank 0 tells, if ranks were asked for different ones
                let asked = grid.least((grid.rank() == 0).then_some([u64::from(*source)]))?;
                let source = asked.map_or(*source, |[source]| source as u32);
                graph.find_vertex(levels, |v, own, around| vertex::hops(v, source, own, elements(around)))?
            }
            Self::Mates(mate, _) => mated(graph, mate)?,
            Self::Components(_) => {
                let labels =
                    whole.and_then(|whole| if let Self::Components(labels) = whole { Some(labels) } else { None });
                return components(graph, labels, grid).map(Some);
            }
            _ => return Ok(None),
        };
        let words = found.map(|(v, violation)| words_of(v, violation));
        Ok(Some(match grid.least(words)? {
            Some(words) => Err(violation_of(words)?),
            None => Ok(()),
        }))
    }
}

/// A violation at a vertex, in words that ranks exchange. One that has none becomes words that all ranks refuse alike.
fn words_of(v: u32, violation: Violation) -> [u64; 4] {
    violation.words().unwrap_or([v.into(), u64::MAX, 0, 0])
}

fn violation_of(words: [u64; 4]) -> Result<Violation> {
    Violation::of_words(words).ok_or_else(|| Error::invalid("a violation that ranks can't tell each other"))
}

/// Words that ranks exchange of what isn't a violation.
const OPEN: u64 = u64::MAX - 1;
const TOO_FAR: u64 = u64::MAX - 2;

/// Checks the distances from a source over ranks. Weights must not be negative. Returns `None` if edges that add nothing leave it open. All ranks call this.
///
/// # Errors
/// If `too_far` is given: what it says of the least vertex without a distance that has an in-neighbour with one.
pub fn distances<W: Element + Weight>(
    graph: &Matrix<W>,
    source: u32,
    found: &Vector<W>,
    too_far: Option<&dyn Fn(u32) -> Error>,
    grid: &Grid,
) -> Result<Option<Verdict>> {
    let must_fit = too_far.is_some();
    let at = |v: u32, own: Option<W>, around: &[(u32, W, Option<W>)]| {
        if must_fit && own.is_none() && around.iter().any(|(.., its)| its.is_some()) {
            return Some([v.into(), TOO_FAR, 0, 0]);
        }
        Some(match vertex::distance(v, source, own, around.iter().copied())? {
            Nearest::Equal => [v.into(), OPEN, 0, 0],
            Nearest::Wrong(violation) => words_of(v, violation),
        })
    };
    let found = graph.transpose().find_vertex(found, at)?;
    match (grid.least(found.map(|(_, words)| words))?, too_far) {
        (None, _) => Ok(Some(Ok(()))),
        (Some([_, OPEN, ..]), _) => Ok(None),
        (Some([v, TOO_FAR, ..]), Some(too_far)) => Err(too_far(v as u32)),
        (Some(words), _) => Ok(Some(Err(violation_of(words)?))),
    }
}

/// Which neighbours are members of a set.
fn present<T: Copy>(around: &[(u32, T, Option<()>)]) -> impl Iterator<Item = (u32, bool)> {
    around.iter().map(|&(other, _, member)| (other, member.is_some()))
}

/// Neighbours with their elements, without what edges hold.
fn elements<T: Copy>(around: &[(u32, T, Option<u32>)]) -> impl Iterator<Item = (u32, Option<u32>)> {
    around.iter().map(|&(other, _, element)| (other, element))
}

fn mated<T: Element>(graph: &Matrix<T>, mate: &Vector<u32>) -> Result<Option<(u32, Violation)>> {
    graph.find_vertex(mate, |v, own, around| vertex::mate(v, own, elements(around)))
}

/// Checks labels of components, which rank 0 has. Each rank reduces its entries to the edges that join what weren't joined, fewer than there are vertices, and
/// ranks pass them on until rank 0 has joined all.
fn components<T: Element>(graph: &Matrix<T>, labels: Option<&Vector<u32>>, grid: &Grid) -> Result<Verdict> {
    let mut sets = DisjointSets::new(graph.nrows());
    let mut forest = Vec::new();
    let join = |sets: &mut DisjointSets, one: u32, other: u32, forest: &mut Vec<u8>| {
        // rank 0 sends none
        if sets.join(one, other) && grid.rank() > 0 {
            forest.extend([one, other].into_iter().flat_map(u32::to_le_bytes));
        }
    };
    graph.for_each_here(|one, other, _| join(&mut sets, one, other, &mut forest))?;
    let mut step = 1;
    while step < grid.size() {
        let mut out = vec![Vec::new(); grid.size()];
        if grid.rank() % (2 * step) == step {
            out[grid.rank() - step] = std::mem::take(&mut forest);
        }
        for parcel in grid.world().exchange(out)? {
            for edge in parcel.chunks_exact(8) {
                let end = |bytes: &[u8]| bytes.first_chunk().map_or(0, |end| u32::from_le_bytes(*end));
                join(&mut sets, end(edge), end(&edge[4..]), &mut forest);
            }
        }
        step *= 2;
    }
    let labels = labels.map_or(Vec::new(), |labels| labels.to_dense(0));
    let wrong = (0u32..).zip(labels).find(|&(v, label)| label != sets.least(v));
    Ok(match wrong {
        Some((v, label)) => {
            Err(Violation::Label { vertex: v as usize, label: label as usize, least: sets.least(v) as usize })
        }
        None => Ok(()),
    })
}
