//! Runs over a graph with other numbers for its vertices. Answers are told in the numbers of the file.

use crate::command::arguments::{Run, Task};
use crate::command::footprint::Graph;
use crate::command::found::{Found, Numbers};
use crate::command::phases::phase;
use crate::command::subject::Subject;
use vxm::containers::{Matrix, Vector};
use vxm::operations::renumbering::Renumbering;
use vxm::semiring::Element;
use vxm::{Error, Result, memory};

/// A graph as its file numbers it, and the numbers that it runs with.
pub struct Renumbered<T: Element> {
    /// The matrix in the numbers of the file.
    pub matrix: Matrix<T>,
    pub order: Renumbering,
}

impl<T: Element> Subject<T> {
    /// The subject with the numbers that the run asks for, if it asks for any.
    pub fn renumbered(self, run: &Run) -> Result<Self> {
        let Some(by) = run.reorder.0 else { return Ok(self) };
        let _phase = phase("prepare");
        let size = Graph { directed: !self.matrix.is_symmetric(), ..Graph::of(self.matrix.csr(), None) };
        memory::require(size.renumbering(), || format!("{}: --reorder {}", self.name, by.name()))?;
        let order = Renumbering::of(&self.matrix, by)?;
        let matrix = order.matrix(&self.matrix)?;
        Ok(Self { renumbered: Some(Renumbered { matrix: self.matrix, order }), matrix, ..self })
    }

    /// Whether the arrays of the graph lie in a mapped file.
    pub fn is_mapped(&self) -> bool {
        let file = self.renumbered.as_ref().map_or(&self.matrix, |renumbered| &renumbered.matrix);
        file.csr().is_mapped()
    }

    /// The number with which the run knows a vertex.
    pub fn place(&self, vertex: u32) -> u32 {
        let place = self.renumbered.as_ref().and_then(|renumbered| renumbered.order.new_numbers().get(vertex));
        place.unwrap_or(vertex)
    }
}

impl Found {
    /// The answer in the numbers of the file.
    pub fn undo(self, order: &Renumbering) -> Result<Self> {
        Ok(match self {
            Self::Set(set) => Self::Set(order.undo(&set)?),
            Self::BestSet { set, seed, smallest } => Self::BestSet { set: order.undo(&set)?, seed, smallest },
            Self::Colors(colors, count) => Self::Colors(order.undo(&colors)?, count),
            Self::Levels(source, levels) => Self::Levels(source, order.undo(&levels)?),
            Self::Distances(Numbers::Whole(found)) => Self::Distances(Numbers::Whole(order.undo(&found)?)),
            Self::Distances(Numbers::Single(found)) => Self::Distances(Numbers::Single(order.undo(&found)?)),
            Self::Distances(Numbers::Double(found)) => Self::Distances(Numbers::Double(order.undo(&found)?)),
            Self::Components(labels) => Self::Components(least_names(&order.undo(&labels)?)),
            Self::Cores(cores) => Self::Cores(order.undo(&cores)?),
            Self::Triangles(counts) => Self::Triangles(order.undo(&counts)?),
            Self::Clustering(found) => Self::Clustering(order.undo(&found)?),
            other => {
                return Err(Error::invalid(format!("--reorder: {} names vertices: expected none", other.algorithm())));
            }
        })
    }
}

/// Labels of components by other names: the least vertex of each.
fn least_names(labels: &Vector<u32>) -> Vector<u32> {
    let labels = labels.to_dense(0);
    let mut least = vec![u32::MAX; labels.len()];
    let named = (0u32..).zip(&labels).map(|(v, &label)| {
        let name = &mut least[label as usize];
        *name = (*name).min(v);
        *name
    });
    Vector::from_dense(named.collect())
}

/// Checks that an answer can be told in the numbers of the file, if the task asks for others: that it doesn't depend on numbers.
pub fn check(task: &Task) -> Result<()> {
    let Some(order) = task.run().and_then(|run| run.reorder.0) else { return Ok(()) };
    if depends_on_places_alone(task) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "--reorder {}: this answer depends on the numbers of vertices: expected none; orders are for mis and color at distance 1, \
         bfs and sssp without --parents, components, kcore, triangles and clustering",
        order.name()
    )))
}

/// Whether an answer is the same at other places if vertices have other numbers.
fn depends_on_places_alone(task: &Task) -> bool {
    match task {
        Task::Mis { distance, .. } => distance.distance == 1,
        Task::Color(options) => {
            let others = options.columns || options.rows || options.star || options.distance.distance == 2;
            !others && options.given.is_none() && options.most.is_none()
        }
        Task::Bfs { parents, .. } | Task::Sssp { parents, .. } => !parents,
        Task::Components { .. } | Task::Kcore { .. } | Task::Triangles { .. } | Task::Clustering { .. } => true,
        _ => false,
    }
}
