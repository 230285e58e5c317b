//! Why an answer is wrong.

/// Why an answer is wrong, at the least vertex where it is.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// The answer doesn't have one element for each vertex.
    #[error("the answer has {answer} elements, the graph {vertices} vertices")]
    Length {
        /// The elements of the answer.
        answer: usize,
        /// The vertices of the graph.
        vertices: usize,
    },
    /// Two neighbours are both in the set.
    #[error("the neighbours {vertex} and {neighbor} are both in the set")]
    NotIndependent {
        /// A member.
        vertex: usize,
        /// Its neighbour, also a member.
        neighbor: usize,
    },
    /// A vertex could still join the set.
    #[error("neither {vertex} nor a neighbour of it is in the set")]
    NotMaximal {
        /// The vertex.
        vertex: usize,
    },
    /// Two members of a clique are no neighbours.
    #[error("{vertex} and {other} are both in the clique, and are no neighbours")]
    NotJoined {
        /// A member.
        vertex: usize,
        /// The other member.
        other: usize,
    },
    /// A vertex could still join the clique.
    #[error("{vertex} isn't in the clique, and is a neighbour of all members")]
    CouldJoin {
        /// The vertex.
        vertex: usize,
    },
    /// An edge has no end in the cover.
    #[error("neither {vertex} nor its neighbour {neighbor} is in the cover")]
    NotCovered {
        /// An end.
        vertex: usize,
        /// The other end.
        neighbor: usize,
    },
    /// A vertex has no colour.
    #[error("{vertex} has no colour")]
    Uncolored {
        /// The vertex.
        vertex: usize,
    },
    /// Two neighbours have the same colour.
    #[error("the neighbours {vertex} and {neighbor} both have colour {color}")]
    SameColor {
        /// A vertex.
        vertex: usize,
        /// Its neighbour.
        neighbor: usize,
        /// Their colour.
        color: u32,
    },
    /// Two vertices of a set at distance 2 are neighbours, or have a common neighbour.
    #[error("{vertex} and {other} are both in the set, and at most two edges apart")]
    TooNear {
        /// A member.
        vertex: usize,
        /// The other member.
        other: usize,
    },
    /// Two vertices with a colour at distance 2 are neighbours, or have a common neighbour.
    #[error("{vertex} and {other} both have colour {color}, and are at most two edges apart")]
    SameColorNear {
        /// A vertex.
        vertex: usize,
        /// The other vertex.
        other: usize,
        /// Their colour.
        color: u32,
    },
    /// Two columns with an entry in the same row have the same colour.
    #[error("columns {column} and {other} both have colour {color}, and an entry in row {row}")]
    SameColorInRow {
        /// The row.
        row: usize,
        /// A column.
        column: usize,
        /// The other column.
        other: usize,
        /// Their colour.
        color: u32,
    },
    /// Two neighbours of a vertex have the same colour, and it is less than the vertex' own.
    #[error(
        "{vertex} and {other} both have colour {color}, and so their neighbour {middle} may not have a greater one"
    )]
    SameColorAround {
        /// A vertex.
        vertex: usize,
        /// The other vertex.
        other: usize,
        /// Their common neighbour.
        middle: usize,
        /// Their colour.
        color: u32,
    },
    /// A vertex hasn't the colour that it was given, or a colour that is too great.
    #[error("{vertex} has colour {color}: expected at most {most}{}", given_color(*.given))]
    Given {
        /// The vertex.
        vertex: usize,
        /// Its colour.
        color: u32,
        /// The colour that it was given; 0 if none.
        given: u32,
        /// The greatest colour.
        most: u32,
    },
    /// A vertex without a colour could take one.
    #[error("{vertex} has no colour, and no neighbour of it has colour {color}")]
    CouldTake {
        /// The vertex.
        vertex: usize,
        /// The colour.
        color: u32,
    },
    /// A vertex lies in a wrong aggregate: not in that of a neighbouring root, or not next to a member that is next to its root.
    #[error(
        "{vertex} lies in aggregate {answer}: expected that of a root next to it, or of a neighbour that is next to a root"
    )]
    Aggregate {
        /// The vertex.
        vertex: usize,
        /// Its aggregate.
        answer: u32,
    },
    /// The answer's number of hops to a vertex is wrong.
    #[error("{vertex} is {}, the answer says {}", hops_away(*.hops), hops_away(*.answer))]
    Level {
        /// The vertex.
        vertex: usize,
        /// The answer's hops; `None` if it says that no path leads there.
        answer: Option<u32>,
        /// The fewest hops from the source; `None` if no path leads there.
        hops: Option<u32>,
    },
    /// The answer's number of hops to a vertex contradicts those to its neighbours.
    #[error("the answer says that {vertex} is {}, and its nearest neighbour {}", hops_away(*.answer), hops_away(*.nearest))]
    Hops {
        /// The vertex.
        vertex: usize,
        /// The answer's hops; `None` if it says that no path leads there.
        answer: Option<u32>,
        /// The fewest hops to a neighbour; `None` if no neighbour is reached, or there is none.
        nearest: Option<u32>,
    },
    /// The answer's label of a vertex isn't the least vertex of its component.
    #[error("{vertex} is labelled {label}, the least vertex of its component is {least}")]
    Label {
        /// The vertex.
        vertex: usize,
        /// Its label.
        label: usize,
        /// The least vertex of its component.
        least: usize,
    },
    /// The answer's parent of a vertex in a search tree is wrong.
    #[error("the parent of {vertex} is {}, the answer says {}", or_none(*.parent), or_none(*.answer))]
    Parent {
        /// The vertex.
        vertex: usize,
        /// The answer's parent.
        answer: Option<usize>,
        /// The least in-neighbour that is one hop nearer; the source's own parent is the source.
        parent: Option<usize>,
    },
    /// The answer's distance of a vertex is wrong.
    #[error("{vertex} is at distance {distance}, the answer says {answer}")]
    Distance {
        /// The vertex.
        vertex: usize,
        /// The answer's distance; infinite if it says that no path leads there.
        answer: f64,
        /// The length of a shortest path; infinite if none leads there.
        distance: f64,
    },
    /// The answer's distance of a vertex contradicts those of its in-neighbours.
    #[error(
        "the answer says that {vertex} is at distance {answer}, and by its in-neighbours it is at distance {nearest}"
    )]
    Nearest {
        /// The vertex.
        vertex: usize,
        /// The answer's distance; infinite if it says that no path leads there.
        answer: f64,
        /// The least sum of an in-neighbour's distance and of the edge from there; infinite if no in-neighbour is reached.
        nearest: f64,
    },
    /// The ranks differ from those of a sequential program by more than rounding allows.
    #[error("the ranks differ by {difference:e} in all, most at {vertex}: expected at most {allowed:e}")]
    Ranks {
        /// The vertex where they differ most.
        vertex: usize,
        /// The sum of the absolute differences.
        difference: f64,
        /// What rounding allows.
        allowed: f64,
    },
    /// The answer's betweenness of a vertex is wrong by more than rounding allows.
    #[error("{vertex} has the betweenness {betweenness}, the answer says {answer}")]
    Betweenness {
        /// The vertex.
        vertex: usize,
        /// The answer's betweenness.
        answer: f64,
        /// The betweenness.
        betweenness: f64,
    },
    /// The answer's core number of a vertex is wrong.
    #[error("{vertex} has core number {core}, the answer says {answer}")]
    Core {
        /// The vertex.
        vertex: usize,
        /// The answer's core number.
        answer: u32,
        /// The core number.
        core: u32,
    },
    /// The answer's label of a vertex isn't that of label propagation.
    #[error("{vertex} takes the label {label}, the answer says {answer}")]
    Propagated {
        /// The vertex.
        vertex: usize,
        /// The answer's label.
        answer: usize,
        /// The label.
        label: usize,
    },
    /// The answer's label of a vertex isn't the least vertex of its community.
    #[error("{vertex} is labelled {label}, the least vertex of its community is {least}")]
    Community {
        /// The vertex.
        vertex: usize,
        /// Its label.
        label: usize,
        /// The least vertex with that label.
        least: usize,
    },
    /// The communities have another modularity.
    #[error("the communities have the modularity {modularity}, the answer says {answer}")]
    Modularity {
        /// The answer's modularity.
        answer: f64,
        /// The modularity.
        modularity: f64,
    },
    /// The answer's number of triangles at a vertex is wrong.
    #[error("{vertex} is a corner of {triangles} triangles, the answer says {answer}")]
    Triangles {
        /// The vertex.
        vertex: usize,
        /// The answer's number.
        answer: u64,
        /// The number of triangles.
        triangles: u64,
    },
    /// The answer's clustering coefficient of a vertex is wrong.
    #[error("{vertex} has the clustering coefficient {coefficient}, the answer says {answer}")]
    Clustering {
        /// The vertex.
        vertex: usize,
        /// The answer's coefficient.
        answer: f64,
        /// The coefficient.
        coefficient: f64,
    },
    /// An edge is missing in a truss, or doesn't belong to it.
    #[error(
        "the edge between {vertex} and {other} {} the {k}-truss, the answer says otherwise",
        if *.belongs { "belongs to" } else { "doesn't belong to" }
    )]
    Truss {
        /// An end.
        vertex: usize,
        /// The other end.
        other: usize,
        /// Which truss it is.
        k: u32,
        /// Whether the edge belongs to it.
        belongs: bool,
    },
    /// An edge of the answer isn't one of the graph.
    #[error("there is no edge between {vertex} and {other}")]
    NoEdge {
        /// A vertex.
        vertex: usize,
        /// The other one.
        other: usize,
    },
    /// An edge of a forest closes a cycle.
    #[error("the edge between {vertex} and {other} closes a cycle")]
    Cycle {
        /// An end.
        vertex: usize,
        /// The other end.
        other: usize,
    },
    /// Two vertices are connected in the graph, but not in the forest.
    #[error("{vertex} and {other} are neighbours, and no path of the forest joins them")]
    NotSpanning {
        /// A vertex.
        vertex: usize,
        /// A neighbour.
        other: usize,
    },
    /// A forest weighs more than a minimum spanning forest.
    #[error("the forest weighs {answer}, a minimum spanning forest {least}")]
    NotMinimum {
        /// The weight of the answer.
        answer: f64,
        /// The weight of a minimum spanning forest.
        least: f64,
    },
    /// The answer's label of a vertex isn't the least vertex of its strongly connected component.
    #[error("{vertex} is labelled {label}, the least vertex of its strongly connected component is {least}")]
    StrongLabel {
        /// The vertex.
        vertex: usize,
        /// Its label.
        label: usize,
        /// The least vertex of its component.
        least: usize,
    },
    /// The answer's root of a vertex is wrong.
    #[error("the root of {vertex} is {}, the answer says {answer}", or_none(*.root))]
    Root {
        /// The vertex.
        vertex: usize,
        /// The answer's root.
        answer: usize,
        /// Where the edges from the vertex lead; `None` if to a cycle.
        root: Option<usize>,
    },
    /// A vertex' mate has another mate.
    #[error("{vertex} is matched to {mate}, whose mate is {}", or_none(*.back))]
    NotMutual {
        /// The vertex.
        vertex: usize,
        /// Its mate.
        mate: usize,
        /// The mate's mate.
        back: Option<usize>,
    },
    /// Two neighbours are both unmatched.
    #[error("the neighbours {vertex} and {other} are both unmatched")]
    Unmatched {
        /// A vertex.
        vertex: usize,
        /// Its neighbour.
        other: usize,
    },
    /// An edge is heavier than the edges by which its ends are matched.
    #[error("the edge between {vertex} and {other} is heavier than the edges by which they are matched")]
    NotDominated {
        /// An end.
        vertex: usize,
        /// The other end.
        other: usize,
    },
}

fn or_none(vertex: Option<usize>) -> String {
    vertex.map_or("none".to_owned(), |vertex| vertex.to_string())
}

fn given_color(given: u32) -> String {
    if given == 0 { String::new() } else { format!(", and {given}, which was given") }
}

fn hops_away(hops: Option<u32>) -> String {
    match hops {
        None => "out of reach".to_owned(),
        Some(1) => "1 hop away".to_owned(),
        Some(hops) => format!("{hops} hops away"),
    }
}

/// What stands for no number in [`Violation::words`].
const NONE: u64 = u64::MAX;

impl Violation {
    /// A violation that [`vertex`](super::vertex) finds, as words that ranks exchange: the vertex first. `None` for others.
    #[doc(hidden)]
    #[must_use]
    pub fn words(self) -> Option<[u64; 4]> {
        let word = |number: Option<u64>| number.unwrap_or(NONE);
        Some(match self {
            Self::NotIndependent { vertex, neighbor } => [vertex as u64, 0, neighbor as u64, 0],
            Self::NotMaximal { vertex } => [vertex as u64, 1, 0, 0],
            Self::Uncolored { vertex } => [vertex as u64, 2, 0, 0],
            Self::SameColor { vertex, neighbor, color } => [vertex as u64, 3, neighbor as u64, color.into()],
            Self::NotCovered { vertex, neighbor } => [vertex as u64, 4, neighbor as u64, 0],
            Self::Unmatched { vertex, other } => [vertex as u64, 5, other as u64, 0],
            Self::NoEdge { vertex, other } => [vertex as u64, 6, other as u64, 0],
            Self::NotMutual { vertex, mate, back } => [vertex as u64, 7, mate as u64, word(back.map(|v| v as u64))],
            Self::Hops { vertex, answer, nearest } => {
                [vertex as u64, 8, word(answer.map(u64::from)), word(nearest.map(u64::from))]
            }
            Self::Nearest { vertex, answer, nearest } => [vertex as u64, 9, answer.to_bits(), nearest.to_bits()],
            _ => return None,
        })
    }

    /// The violation with these [`words`](Self::words).
    #[doc(hidden)]
    #[must_use]
    pub fn of_words([vertex, kind, x, y]: [u64; 4]) -> Option<Self> {
        let (vertex, other) = (vertex as usize, x as usize);
        let hops = |word: u64| u32::try_from(word).ok();
        Some(match kind {
            0 => Self::NotIndependent { vertex, neighbor: other },
            1 => Self::NotMaximal { vertex },
            2 => Self::Uncolored { vertex },
            3 => Self::SameColor { vertex, neighbor: other, color: y as u32 },
            4 => Self::NotCovered { vertex, neighbor: other },
            5 => Self::Unmatched { vertex, other },
            6 => Self::NoEdge { vertex, other },
            7 => Self::NotMutual { vertex, mate: other, back: (y != NONE).then_some(y as usize) },
            8 => Self::Hops { vertex, answer: hops(x), nearest: hops(y) },
            9 => Self::Nearest { vertex, answer: f64::from_bits(x), nearest: f64::from_bits(y) },
            _ => return None,
        })
    }

    /// The same violation, with each vertex replaced by its number in the file.
    pub fn renumbered(self, number: impl Fn(usize) -> u64) -> Self {
        let named = |vertex: usize| number(vertex) as usize;
        let mut same = self;
        match &mut same {
            Self::Length { .. } | Self::NotMinimum { .. } | Self::Modularity { .. } => {}
            Self::NotMaximal { vertex }
            | Self::CouldJoin { vertex }
            | Self::Uncolored { vertex }
            | Self::Given { vertex, .. }
            | Self::CouldTake { vertex, .. }
            | Self::Aggregate { vertex, .. }
            | Self::Level { vertex, .. }
            | Self::Hops { vertex, .. }
            | Self::Distance { vertex, .. }
            | Self::Nearest { vertex, .. }
            | Self::Ranks { vertex, .. }
            | Self::Core { vertex, .. }
            | Self::Triangles { vertex, .. }
            | Self::Betweenness { vertex, .. }
            | Self::Clustering { vertex, .. } => *vertex = named(*vertex),
            Self::NotIndependent { vertex, neighbor: other }
            | Self::SameColor { vertex, neighbor: other, .. }
            | Self::TooNear { vertex, other }
            | Self::SameColorNear { vertex, other, .. }
            | Self::NoEdge { vertex, other }
            | Self::Truss { vertex, other, .. }
            | Self::Cycle { vertex, other }
            | Self::NotSpanning { vertex, other }
            | Self::Unmatched { vertex, other }
            | Self::NotJoined { vertex, other }
            | Self::NotCovered { vertex, neighbor: other }
            | Self::NotDominated { vertex, other } => (*vertex, *other) = (named(*vertex), named(*other)),
            Self::Label { vertex, label, least }
            | Self::StrongLabel { vertex, label, least }
            | Self::Community { vertex, label, least } => {
                (*vertex, *label, *least) = (named(*vertex), named(*label), named(*least));
            }
            Self::Propagated { vertex, answer, label } => {
                (*vertex, *answer, *label) = (named(*vertex), named(*answer), named(*label));
            }
            Self::SameColorInRow { row: middle, column: vertex, other, .. }
            | Self::SameColorAround { vertex, other, middle, .. } => {
                (*vertex, *other, *middle) = (named(*vertex), named(*other), named(*middle));
            }
            Self::Parent { vertex, answer, parent } => {
                (*vertex, *answer, *parent) = (named(*vertex), answer.map(named), parent.map(named));
            }
            Self::Root { vertex, answer, root } => {
                (*vertex, *answer, *root) = (named(*vertex), named(*answer), root.map(named));
            }
            Self::NotMutual { vertex, mate, back } => {
                (*vertex, *mate, *back) = (named(*vertex), named(*mate), back.map(named));
            }
        }
        same
    }
}
