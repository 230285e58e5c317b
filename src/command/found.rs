//! What algorithms find: how it is measured, checked, written and told.

use crate::command::counted;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Write;
use vxm::Result;
use vxm::certify::Weight;
use vxm::containers::{Set, Vector};
use vxm::io::{Label, Numbering};
use vxm::semiring::Element;

/// The result of an algorithm.
pub enum Found {
    Set(Set),
    /// The largest of several sets, the seed that it was found by, and the size of the smallest.
    BestSet {
        set: Set,
        seed: u64,
        smallest: usize,
    },
    Colors(Vector<u32>, u32),
    /// A set at distance 2.
    DistantSet(Set),
    /// A colouring by another rule, and its number of colours.
    ColorsBy(Rule, Vector<u32>, u32),
    /// The colours of an extension, the colours that were given, and the greatest one allowed.
    Extended(Vector<u32>, Vec<u32>, u32),
    /// The number of each vertex' aggregate, and the roots.
    Aggregates(Vector<u32>, Set),
    /// A vertex cover, and the mates of a matching, of which each edge needs a member of its own.
    Cover(Set, Vector<u32>),
    /// A maximal clique.
    Clique(Set),
    /// The source vertex, and the distance of each vertex from it in hops.
    Levels(u32, Vector<u32>),
    /// The source vertex, and the parent of each vertex in a search tree.
    Parents(u32, Vector<u32>),
    /// The distance of each vertex from a source.
    Distances(Numbers),
    /// The parent of each vertex in a tree of shortest paths.
    Tree(Vector<u32>),
    Components(Vector<u32>),
    /// The rank of each vertex.
    Ranks(Numbers),
    Cores(Vector<u32>),
    /// The betweenness of each vertex.
    Betweenness(Vector<f64>),
    /// The community of each vertex, and the modularity.
    Communities(Vector<u32>, f64),
    /// The most rounds of label propagation, and the label of each vertex.
    Labels(u32, Vector<u32>),
    /// The number of triangles at each vertex.
    Triangles(Vector<u64>),
    /// Which truss, and its edges as of a forest.
    Truss(u32, Vector<u64>),
    /// The clustering coefficient of each vertex.
    Clustering(Vector<f64>),
    /// The edges, each as the lesser end in the high 32 bits and the greater one in the low, ascending; and their weight.
    Forest(Vector<u64>, Option<f64>),
    Strong(Vector<u32>),
    /// The root of each vertex of a forest.
    Roots(Vector<u32>),
    /// The mate of each vertex, and the weight of the edges, if they have any.
    Mates(Vector<u32>, Option<f64>),
}

/// Which vertices have to differ in a colouring, if not neighbours alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Those within two edges.
    Distance2,
    /// Neighbours, and those with a common neighbour of a greater colour.
    Star,
    /// Columns with an entry in the same row; the vertices are the columns.
    Columns,
    /// Rows with an entry in the same column; the vertices are the rows.
    Rows,
}

/// Numbers of one of the types that answers have.
pub enum Numbers {
    Whole(Vector<u32>),
    Single(Vector<f32>),
    Double(Vector<f64>),
}

/// Evaluates an expression over the vector of [`Numbers`], whatever its type.
macro_rules! each {
    ($numbers:expr, $v:ident => $value:expr) => {
        match $numbers {
            Numbers::Whole($v) => $value,
            Numbers::Single($v) => $value,
            Numbers::Double($v) => $value,
        }
    };
}

impl Numbers {
    fn count(&self) -> usize {
        each!(self, v => v.nvals())
    }

    fn digest(&self) -> u64 {
        each!(self, v => v.digest())
    }

    pub fn floats(&self) -> Vec<(u32, f64)> {
        each!(self, v => v.iter().map(|(i, x)| (i, x.number())).collect())
    }

    /// The greatest number, and the least vertex that has it.
    fn greatest(&self) -> Option<(u32, f64)> {
        self.floats().into_iter().rev().max_by(|x, y| x.1.total_cmp(&y.1))
    }
}

/// The greatest number, and the least vertex that has it.
fn greatest(found: &Vector<f64>) -> Option<(u32, f64)> {
    found.iter().fold(None, |most, one| most.filter(|(_, number)| *number >= one.1).or(Some(one)))
}

impl Numbers {
    /// The whole numbers on rank 0; `None` on others.
    fn to_root(&self) -> Result<Option<Self>> {
        Ok(match self {
            Self::Whole(v) => v.to_root()?.map(Self::Whole),
            Self::Single(v) => v.to_root()?.map(Self::Single),
            Self::Double(v) => v.to_root()?.map(Self::Double),
        })
    }
}

impl Found {
    /// The whole answer on rank 0; `None` on others. All ranks call this.
    pub fn to_root(&self) -> Result<Option<Self>> {
        Ok(match self {
            Self::Set(set) => set.to_root()?.map(Self::Set),
            Self::BestSet { set, seed, smallest } => {
                set.to_root()?.map(|set| Self::BestSet { set, seed: *seed, smallest: *smallest })
            }
            Self::Colors(colors, count) => colors.to_root()?.map(|colors| Self::Colors(colors, *count)),
            Self::DistantSet(set) => set.to_root()?.map(Self::DistantSet),
            Self::ColorsBy(rule, colors, count) => {
                colors.to_root()?.map(|colors| Self::ColorsBy(*rule, colors, *count))
            }
            Self::Extended(colors, given, most) => {
                colors.to_root()?.map(|colors| Self::Extended(colors, given.clone(), *most))
            }
            Self::Aggregates(numbers, roots) => {
                let (numbers, roots) = (numbers.to_root()?, roots.to_root()?);
                numbers.zip(roots).map(|(numbers, roots)| Self::Aggregates(numbers, roots))
            }
            Self::Cover(set, mate) => set.to_root()?.zip(mate.to_root()?).map(|(set, mate)| Self::Cover(set, mate)),
            Self::Clique(set) => set.to_root()?.map(Self::Clique),
            Self::Levels(source, levels) => levels.to_root()?.map(|levels| Self::Levels(*source, levels)),
            Self::Parents(source, parents) => parents.to_root()?.map(|parents| Self::Parents(*source, parents)),
            Self::Distances(distances) => distances.to_root()?.map(Self::Distances),
            Self::Tree(parents) => parents.to_root()?.map(Self::Tree),
            Self::Components(labels) => labels.to_root()?.map(Self::Components),
            Self::Ranks(ranks) => ranks.to_root()?.map(Self::Ranks),
            Self::Cores(cores) => cores.to_root()?.map(Self::Cores),
            Self::Betweenness(found) => found.to_root()?.map(Self::Betweenness),
            Self::Communities(labels, modularity) => {
                labels.to_root()?.map(|labels| Self::Communities(labels, *modularity))
            }
            Self::Labels(rounds, labels) => labels.to_root()?.map(|labels| Self::Labels(*rounds, labels)),
            Self::Triangles(counts) => counts.to_root()?.map(Self::Triangles),
            Self::Truss(k, edges) => edges.to_root()?.map(|edges| Self::Truss(*k, edges)),
            Self::Clustering(found) => found.to_root()?.map(Self::Clustering),
            Self::Forest(edges, weight) => edges.to_root()?.map(|edges| Self::Forest(edges, *weight)),
            Self::Strong(labels) => labels.to_root()?.map(Self::Strong),
            Self::Roots(roots) => roots.to_root()?.map(Self::Roots),
            Self::Mates(mates, weight) => mates.to_root()?.map(|mates| Self::Mates(mates, *weight)),
        })
    }

    pub fn algorithm(&self) -> &'static str {
        match self {
            Self::Set(_) | Self::BestSet { .. } | Self::DistantSet(_) => "mis",
            Self::Colors(..) | Self::ColorsBy(..) | Self::Extended(..) => "color",
            Self::Aggregates(..) => "aggregates",
            Self::Cover(..) => "cover",
            Self::Clique(_) => "clique",
            Self::Levels(..) | Self::Parents(..) => "bfs",
            Self::Distances(_) | Self::Tree(_) => "sssp",
            Self::Components(_) => "components",
            Self::Ranks(_) => "pagerank",
            Self::Cores(_) => "kcore",
            Self::Betweenness(_) => "betweenness",
            Self::Communities(..) => "communities",
            Self::Labels(..) => "labels",
            Self::Triangles(_) => "triangles",
            Self::Truss(..) => "ktruss",
            Self::Clustering(_) => "clustering",
            Self::Forest(..) => "msf",
            Self::Strong(_) => "scc",
            Self::Roots(_) => "roots",
            Self::Mates(..) => "matching",
        }
    }

    /// The name of the size of this result, and the size.
    pub fn measure(&self) -> (&'static str, usize) {
        let named = |labels: &Vector<u32>| labels.iter().filter(|(v, label)| v == label).count();
        match self {
            Self::Set(set)
            | Self::BestSet { set, .. }
            | Self::DistantSet(set)
            | Self::Cover(set, _)
            | Self::Clique(set) => ("size", set.nvals()),
            Self::Colors(_, count) | Self::ColorsBy(_, _, count) => ("colors", *count as usize),
            Self::Extended(colors, ..) => ("colored", colors.iter().filter(|&(_, color)| color > 0).count()),
            Self::Aggregates(_, roots) => ("aggregates", roots.nvals()),
            Self::Levels(_, found) | Self::Parents(_, found) | Self::Tree(found) => ("reached", found.nvals()),
            Self::Distances(found) => ("reached", found.count()),
            Self::Components(labels) | Self::Strong(labels) => ("components", named(labels)),
            Self::Roots(roots) => ("trees", named(roots)),
            Self::Ranks(ranks) => ("ranked", ranks.count()),
            Self::Cores(cores) => ("degeneracy", cores.iter().map(|(_, core)| core as usize).max().unwrap_or(0)),
            Self::Betweenness(found) => ("between", found.iter().filter(|&(_, share)| share > 0.0).count()),
            Self::Communities(labels, _) | Self::Labels(_, labels) => ("communities", sizes(labels).len()),
            Self::Triangles(counts) => ("triangles", (counts.iter().map(|(_, count)| count).sum::<u64>() / 3) as usize),
            Self::Clustering(found) => ("clustered", found.iter().filter(|&(_, share)| share > 0.0).count()),
            Self::Forest(edges, _) | Self::Truss(_, edges) => ("size", edges.nvals()),
            Self::Mates(mate, _) => ("size", mate.nvals() / 2),
        }
    }

    /// The rows and columns of the matrix that it is an answer of, if it isn't one of a graph. What is coloured are the rows of the `nrows` x
    /// `ncols` matrix of the run.
    pub fn shape(&self, nrows: usize, ncols: usize) -> Option<(usize, usize)> {
        match self {
            Self::ColorsBy(Rule::Columns, ..) => Some((ncols, nrows)),
            Self::ColorsBy(Rule::Rows, ..) => Some((nrows, ncols)),
            _ => None,
        }
    }

    /// What else is told to programs.
    pub fn more(&self, numbering: &Numbering) -> Vec<(&'static str, Value)> {
        match self {
            Self::BestSet { seed, smallest, .. } => vec![("best_seed", json!(seed)), ("smallest", json!(smallest))],
            Self::Cover(_, mate) => vec![("least", (mate.nvals() / 2).into())],
            Self::Distances(found) => {
                vec![("farthest", found.greatest().map_or(Value::Null, |(_, distance)| number(found, distance)))]
            }
            Self::Ranks(ranks) => match ranks.greatest() {
                Some((v, rank)) => vec![("top", as_value(numbering.label(v))), ("greatest", rank.into())],
                None => Vec::new(),
            },
            Self::Betweenness(found) => match greatest(found) {
                Some((v, share)) => vec![("top", as_value(numbering.label(v))), ("greatest", json!(share))],
                None => Vec::new(),
            },
            Self::Communities(labels, modularity) => {
                vec![("largest", sizes(labels).into_values().max().into()), ("modularity", json!(modularity))]
            }
            Self::Labels(_, labels) | Self::Roots(labels) => {
                vec![("largest", sizes(labels).into_values().max().into())]
            }
            Self::Triangles(counts) => match most(counts.iter()) {
                Some((v, count)) => vec![("top", as_value(numbering.label(v))), ("greatest", count.into())],
                None => Vec::new(),
            },
            Self::Clustering(found) => vec![("mean", json!(mean(found)))],
            Self::Extended(colors, ..) => {
                let without = colors.iter().filter(|&(_, color)| color == 0).count();
                vec![("colors", distinct(colors).into()), ("without", without.into())]
            }
            Self::Forest(_, Some(weight)) | Self::Mates(_, Some(weight)) => vec![("weight", json!(weight))],
            _ => Vec::new(),
        }
    }

    /// What is told to people of a graph of `n` vertices.
    pub fn told(&self, n: usize, numbering: &Numbering) -> String {
        let (_, measure) = self.measure();
        let vertices = || format!("{} ({:.2} %)", counted(measure, "vertex"), 100.0 * measure as f64 / n.max(1) as f64);
        let of_weight = |weight: &Option<f64>| weight.map_or(String::new(), |weight| format!(" of weight {weight}"));
        match self {
            Self::Set(_) => format!("independent set of {}", vertices()),
            Self::BestSet { seed, smallest, .. } => {
                format!("independent set of {}, by seed {seed}; the smallest has {smallest}", vertices())
            }
            Self::DistantSet(_) => format!("independent set at distance 2 of {}", vertices()),
            Self::Colors(..) => counted(measure, "colour"),
            Self::ColorsBy(rule, ..) => of_rule(*rule, &counted(measure, "colour")),
            Self::Extended(colors, ..) => format!("{} for {}", counted(distinct(colors), "colour"), vertices()),
            Self::Aggregates(..) => counted(measure, "aggregate"),
            Self::Cover(_, mate) => format!("vertex cover of {}; none has fewer than {}", vertices(), mate.nvals() / 2),
            Self::Clique(_) => format!("clique of {}", counted(measure, "vertex")),
            Self::Levels(_, levels) => {
                let hops = levels.iter().map(|(_, level)| level).max().unwrap_or(0);
                format!("{} within {}", vertices(), counted(hops as usize, "hop"))
            }
            Self::Parents(..) | Self::Tree(_) => format!("a tree of {}", vertices()),
            Self::Distances(found) => {
                format!("{} within distance {}", vertices(), found.greatest().map_or(0.0, |(_, distance)| distance))
            }
            Self::Components(_) => counted(measure, "component"),
            Self::Ranks(ranks) => match ranks.greatest() {
                Some((v, rank)) => format!("greatest rank {rank:.9} at {}", numbering.label(v)),
                None => "no ranks".to_owned(),
            },
            Self::Cores(_) => format!("degeneracy {measure}"),
            Self::Betweenness(found) => match greatest(found) {
                Some((v, share)) => format!("greatest betweenness {share:.3} at {}", numbering.label(v)),
                None => "no betweenness".to_owned(),
            },
            Self::Communities(_, modularity) => {
                format!("{} of modularity {modularity:.6}", counted(measure, "community"))
            }
            Self::Labels(_, labels) => {
                let largest = sizes(labels).into_values().max().unwrap_or(0);
                format!("{}, the largest of {}", counted(measure, "community"), counted(largest, "vertex"))
            }
            Self::Triangles(_) => counted(measure, "triangle"),
            Self::Truss(k, _) => format!("{k}-truss of {}", counted(measure, "edge")),
            Self::Clustering(found) => format!("mean clustering coefficient {:.9}", mean(found)),
            Self::Forest(_, weight) => format!("forest of {}{}", counted(measure, "edge"), of_weight(weight)),
            Self::Strong(_) => counted(measure, "strongly connected component"),
            Self::Roots(roots) => {
                let largest = sizes(roots).into_values().max().unwrap_or(0);
                format!("{}, the largest of {}", counted(measure, "tree"), counted(largest, "vertex"))
            }
            Self::Mates(_, weight) => format!("matching of {}{}", counted(measure, "edge"), of_weight(weight)),
        }
    }

    pub fn digest(&self) -> u64 {
        match self {
            Self::Set(set)
            | Self::BestSet { set, .. }
            | Self::DistantSet(set)
            | Self::Cover(set, _)
            | Self::Clique(set) => set.digest(),
            Self::Distances(found) | Self::Ranks(found) => found.digest(),
            Self::Forest(edges, _) | Self::Truss(_, edges) | Self::Triangles(edges) => edges.digest(),
            Self::Clustering(found) | Self::Betweenness(found) => found.digest(),
            Self::Colors(found, _)
            | Self::ColorsBy(_, found, _)
            | Self::Extended(found, ..)
            | Self::Aggregates(found, _)
            | Self::Levels(_, found)
            | Self::Parents(_, found)
            | Self::Tree(found)
            | Self::Components(found)
            | Self::Cores(found)
            | Self::Labels(_, found)
            | Self::Communities(found, _)
            | Self::Strong(found)
            | Self::Roots(found)
            | Self::Mates(found, _) => found.digest(),
        }
    }

    /// Writes the answer, a vertex or an edge a line.
    pub fn write(&self, text: &mut impl Write, numbering: &Numbering) -> std::io::Result<()> {
        match self {
            Self::Set(set)
            | Self::BestSet { set, .. }
            | Self::DistantSet(set)
            | Self::Cover(set, _)
            | Self::Clique(set) => set.indices().try_for_each(|v| writeln!(text, "{}", numbering.label(v))),
            Self::Colors(found, _)
            | Self::ColorsBy(_, found, _)
            | Self::Extended(found, ..)
            | Self::Aggregates(found, _)
            | Self::Levels(_, found)
            | Self::Cores(found) => lines(text, numbering, found.iter()),
            Self::Triangles(found) => lines(text, numbering, found.iter()),
            Self::Clustering(found) | Self::Betweenness(found) => lines(text, numbering, found.iter()),
            Self::Distances(found) | Self::Ranks(found) => each!(found, v => lines(text, numbering, v.iter())),
            Self::Components(found)
            | Self::Strong(found)
            | Self::Roots(found)
            | Self::Parents(_, found)
            | Self::Tree(found)
            | Self::Labels(_, found)
            | Self::Communities(found, _)
            | Self::Mates(found, _) => {
                lines(text, numbering, found.iter().map(|(v, other)| (v, numbering.label(other))))
            }
            Self::Forest(edges, _) | Self::Truss(_, edges) => {
                lines(text, numbering, ends(edges).map(|(one, other)| (one, numbering.label(other))))
            }
        }
    }
}

/// The ends of edges.
pub fn ends(edges: &Vector<u64>) -> impl Iterator<Item = (u32, u32)> {
    edges.iter().map(|(_, ends)| ((ends >> 32) as u32, ends as u32))
}

/// How many colours above 0 there are.
fn distinct(colors: &Vector<u32>) -> usize {
    sizes(colors).into_keys().filter(|&color| color > 0).count()
}

/// How many vertices have each label.
fn sizes(labels: &Vector<u32>) -> BTreeMap<u32, usize> {
    let mut sizes = BTreeMap::new();
    labels.iter().for_each(|(_, label)| *sizes.entry(label).or_insert(0) += 1);
    sizes
}

/// The greatest count, and the least vertex that has it.
fn most(counts: impl Iterator<Item = (u32, u64)>) -> Option<(u32, u64)> {
    counts.max_by_key(|&(v, count)| (count, core::cmp::Reverse(v)))
}

/// The mean of all elements; 0 if there are none.
fn mean(found: &Vector<f64>) -> f64 {
    found.iter().map(|(_, share)| share).sum::<f64>() / found.nvals().max(1) as f64
}

/// A vertex as JSON.
fn as_value(label: Label<'_>) -> Value {
    match label {
        Label::Number(number) => number.into(),
        Label::Name(name) => name.into(),
    }
}

/// Writes a line for each vertex and what belongs to it. Names may hold blanks, so tabs separate them.
fn lines<T: Display>(
    text: &mut impl Write,
    numbering: &Numbering,
    mut found: impl Iterator<Item = (u32, T)>,
) -> std::io::Result<()> {
    found.try_for_each(|(v, value)| match numbering.label(v) {
        Label::Number(number) => writeln!(text, "{number} {value}"),
        Label::Name(name) => writeln!(text, "{name}\t{value}"),
    })
}

/// A number as JSON: an integer if the numbers are.
fn number(numbers: &Numbers, value: f64) -> Value {
    if matches!(numbers, Numbers::Whole(_)) { json!(value as u64) } else { json!(value) }
}

/// The elements of a vector, `None` where it holds none.
pub fn options<T: Element>(v: &Vector<T>) -> Vec<Option<T>> {
    let mut found = vec![None; v.len()];
    v.iter().for_each(|(i, x)| found[i as usize] = Some(x));
    found
}

/// So many colours, under a rule.
fn of_rule(rule: Rule, colors: &str) -> String {
    match rule {
        Rule::Distance2 => format!("{colors} at distance 2"),
        Rule::Star => format!("star colouring of {colors}"),
        Rule::Columns => format!("{colors} for the columns"),
        Rule::Rows => format!("{colors} for the rows"),
    }
}
