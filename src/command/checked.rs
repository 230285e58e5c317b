//! How answers are checked, and what a valid certificate says.

use crate::command::found::{Found, Rule, ends, options};
use vxm::certify::{self, Violation, Weight};
use vxm::containers::{Set, Vector};
use vxm::formats::Csr;
use vxm::semiring::Element;

impl Found {
    /// What a valid certificate says, in words.
    pub fn certified(&self) -> &'static str {
        match self {
            Self::Set(_) | Self::BestSet { .. } => {
                "no two members are neighbours, and every other vertex is next to a member."
            }
            Self::Colors(..) => "every vertex has a colour, and no two neighbours have the same.",
            Self::DistantSet(_) => {
                "no two members are within two hops, and every other vertex is within two hops of a member."
            }
            Self::ColorsBy(Rule::Distance2, ..) => {
                "every vertex has a colour, and no two vertices within two hops have the same."
            }
            Self::ColorsBy(Rule::Star, ..) => {
                "every vertex has a colour, neighbours differ, and two neighbours of a vertex have the same only if it is greater than the \
                 vertex' own."
            }
            Self::ColorsBy(..) => "each has a colour, and no two that share a column or row have the same.",
            Self::Extended(..) => {
                "given colours are kept, neighbours differ, and the neighbours of a vertex without a colour have all of them."
            }
            Self::Aggregates(..) => {
                "an aggregate has one root and all its neighbours; every other member is next to one of those."
            }
            Self::Cover(..) => {
                "each edge has an end in the cover; the edges of a matching, without common ends, bound every cover."
            }
            Self::Clique(_) => "all members are neighbours, and no other vertex is a neighbour of all.",
            Self::Levels(..) => "each number of hops is the least one, and what isn't reached can't be.",
            Self::Parents(..) => {
                "each parent is a neighbour one hop nearer to the source, and what isn't reached can't be."
            }
            Self::Distances(_) => "each distance is the least one, and what isn't reached can't be.",
            Self::Tree(_) => "each parent ends a shortest path with the fewest edges, and what isn't reached can't be.",
            Self::Components(_) => {
                "vertices have the same label if and only if a path joins them, and it is the lowest of them."
            }
            Self::Ranks(_) => "the ranks are those of a sequential program, up to rounding.",
            Self::Cores(_) => "each number is that of a sequential program that removes vertices of least degree.",
            Self::Betweenness(_) => "each number is that of a sequential program, up to rounding.",
            Self::Communities(..) => "the modularity is that of the labels, counted anew.",
            Self::Labels(..) => "each label is that of a sequential program.",
            Self::Triangles(_) => "each count is that of a sequential program.",
            Self::Truss(..) => "the edges are those of a sequential program that removes edges in too few triangles.",
            Self::Clustering(_) => "each coefficient is that of a sequential program.",
            Self::Forest(..) => {
                "the forest spans every component, and has the least weight: a sequential program's forest weighs as much."
            }
            Self::Strong(_) => "the labels are those of Tarjan's algorithm.",
            Self::Roots(_) => "each root is where a sequential program comes to by following edges.",
            Self::Mates(..) => {
                "no two edges share an end, and no edge can be added; of weights, a heavier neighbour forbids each edge left out."
            }
        }
    }

    /// Checks an answer that doesn't depend on weights.
    pub fn check<T: Element>(&self, graph: &Csr<T>) -> Result<(), Violation> {
        let (offsets, columns) = (graph.offsets(), graph.columns());
        match self {
            Self::Set(set) | Self::BestSet { set, .. } => certify::independent_set(offsets, columns, &members(set)),
            Self::DistantSet(set) => certify::independent_set_at_distance_2(offsets, columns, &members(set)),
            Self::ColorsBy(rule, colors, _) => {
                let colors = colors.to_dense(0);
                match rule {
                    Rule::Distance2 => certify::coloring_at_distance_2(offsets, columns, &colors),
                    Rule::Star => certify::star_coloring(offsets, columns, &colors),
                    // what is coloured are the rows of the subject
                    Rule::Columns | Rule::Rows => {
                        let turned = graph.transpose();
                        certify::column_coloring(turned.offsets(), turned.columns(), &colors)
                    }
                }
                .map(drop)
            }
            Self::Extended(colors, given, most) => {
                certify::extension(offsets, columns, given, *most, &colors.to_dense(0)).map(drop)
            }
            Self::Aggregates(numbers, roots) => {
                let roots: Vec<u32> = roots.indices().collect();
                certify::aggregates(offsets, columns, &roots, &numbers.to_dense(u32::MAX))
            }
            Self::Cover(set, mate) => certify::vertex_cover(offsets, columns, &members(set), &options(mate)).map(drop),
            Self::Clique(set) => certify::maximal_clique(offsets, columns, &members(set)).map(drop),
            Self::Colors(colors, _) => certify::coloring(offsets, columns, &colors.to_dense(0)).map(drop),
            Self::Levels(source, levels) => {
                certify::levels(offsets, columns, *source as usize, &options(levels)).map(drop)
            }
            Self::Parents(source, parents) => {
                certify::parents(offsets, columns, *source as usize, &options(parents)).map(drop)
            }
            Self::Components(labels) => certify::components(offsets, columns, &labels.to_dense(0)).map(drop),
            Self::Cores(cores) => certify::cores(offsets, columns, &cores.to_dense(0)).map(drop),
            Self::Communities(labels, told) => {
                certify::communities(offsets, columns, &labels.to_dense(0), *told, 1e-9).map(drop)
            }
            Self::Labels(rounds, labels) => certify::labels(offsets, columns, *rounds, &labels.to_dense(0)).map(drop),
            Self::Triangles(counts) => certify::triangles(offsets, columns, &counts.to_dense(0)).map(drop),
            Self::Truss(k, edges) => certify::truss(offsets, columns, *k, &ends(edges).collect::<Vec<_>>()).map(drop),
            Self::Clustering(found) => certify::clustering(offsets, columns, &found.to_dense(0.0)).map(drop),
            Self::Strong(labels) => certify::strong_components(offsets, columns, &labels.to_dense(0)).map(drop),
            Self::Roots(roots) => certify::roots(offsets, columns, &roots.to_dense(0)).map(drop),
            Self::Mates(mate, _) => certify::maximal_matching(offsets, columns, &options(mate)).map(drop),
            // these are checked with what they depend on
            Self::Distances(_) | Self::Tree(_) | Self::Ranks(_) | Self::Betweenness(_) | Self::Forest(..) => Ok(()),
        }
    }

    /// Checks a forest or a matching of a graph with these weights, and keeps its weight.
    pub fn check_weighted<W: Element + Weight>(&mut self, graph: &Csr<W>) -> Result<(), Violation> {
        let (offsets, columns, weights) = (graph.offsets(), graph.columns(), graph.values());
        match self {
            Self::Forest(edges, weight) => {
                let ends: Vec<(u32, u32)> = ends(edges).collect();
                *weight = Some(certify::spanning_forest(offsets, columns, weights, &ends)?);
            }
            Self::Mates(mate, weight) => {
                *weight = Some(certify::dominant_matching(offsets, columns, weights, &options(mate))?);
            }
            _ => return self.check(graph),
        }
        Ok(())
    }
}

/// Whether each vertex is a member of a set.
fn members(set: &Set) -> Vec<bool> {
    let mut member = vec![false; Vector::len(set)];
    set.indices().for_each(|v| member[v as usize] = true);
    member
}
