//! Sequential greedy answers in a given order: oracles for the parallel algorithms, and the baseline for their speed.

/// The greedy independent set of an order: a vertex is taken, in its turn, if none of its neighbours has been taken.
///
/// ```
/// use vxm::certify;
/// // the path 0 - 1 - 2
/// let (offsets, columns) = ([0, 1, 3, 4], [1, 0, 2, 1]);
/// assert_eq!(certify::greedy_set(&offsets, &columns, [0, 1, 2]), [true, false, true]);
/// assert_eq!(certify::greedy_set(&offsets, &columns, [1, 0, 2]), [false, true, false]);
/// assert_eq!(certify::greedy_coloring(&offsets, &columns, [0, 2, 1]), [1, 2, 1]);
/// ```
///
/// # Panics
/// If `order` holds a number that is no vertex of the graph.
pub fn greedy_set(offsets: &[u64], columns: &[u32], order: impl IntoIterator<Item = u32>) -> Vec<bool> {
    let mut member = vec![false; offsets.len() - 1];
    for vertex in order {
        let mut neighbors = super::neighbors(offsets, columns, vertex as usize).iter();
        member[vertex as usize] = neighbors.all(|&other| !member[other as usize]);
    }
    member
}

/// The greedy colouring of an order, from colour 1: a vertex gets, in its turn, the least colour that no neighbour has. Vertices that
/// aren't in `order` get 0.
///
/// # Panics
/// If `order` holds a number that is no vertex of the graph.
pub fn greedy_coloring(offsets: &[u64], columns: &[u32], order: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut colors = vec![0u32; offsets.len() - 1];
    // for each colour, 1 + the last vertex that had a neighbour of that colour; 0 if there was none
    let mut seen: Vec<u32> = vec![0];
    for vertex in order {
        let neighbors = super::neighbors(offsets, columns, vertex as usize);
        for &other in neighbors {
            seen[colors[other as usize] as usize] = vertex + 1;
        }
        colors[vertex as usize] = super::seen::least_free(&mut seen, vertex + 1);
    }
    colors
}

/// The vertices by descending degree, those of equal degree by ascending number.
pub fn largest_degree_first(offsets: &[u64]) -> Vec<u32> {
    let degree = |vertex: u32| offsets[vertex as usize + 1] - offsets[vertex as usize];
    let mut order: Vec<u32> = (0..offsets.len() as u32 - 1).collect();
    order.sort_by_key(|&vertex| core::cmp::Reverse(degree(vertex)));
    order
}

/// The vertices in smallest-degree-last order, and the graph's degeneracy.
///
/// In the subgraph of a vertex and those before it in the order, the vertex has the least degree. The greatest of these degrees is the
/// degeneracy. A greedy colouring in this order takes at most degeneracy + 1 colours.
pub fn smallest_degree_last(offsets: &[u64], columns: &[u32]) -> (Vec<u32>, usize) {
    let vertices = offsets.len() - 1;
    let mut degrees: Vec<usize> =
        (0..vertices).map(|vertex| super::neighbors(offsets, columns, vertex).len()).collect();
    // the vertices by remaining degree; entries of vertices that have moved to a lower bucket stay behind and are skipped
    let most = degrees.iter().copied().max().unwrap_or(0);
    let mut buckets: Vec<Vec<u32>> = vec![Vec::new(); most + 1];
    for (vertex, &degree) in degrees.iter().enumerate() {
        buckets[degree].push(vertex as u32);
    }
    const TAKEN: usize = usize::MAX;
    let (mut order, mut degeneracy, mut least) = (Vec::with_capacity(vertices), 0, 0);
    while least < buckets.len() {
        let Some(vertex) = buckets[least].pop() else {
            least += 1;
            continue;
        };
        if degrees[vertex as usize] != least {
            continue;
        }
        degrees[vertex as usize] = TAKEN;
        degeneracy = degeneracy.max(least);
        order.push(vertex);
        for &other in super::neighbors(offsets, columns, vertex as usize) {
            let degree = &mut degrees[other as usize];
            if *degree != TAKEN {
                *degree -= 1;
                buckets[*degree].push(other);
            }
        }
        least = least.saturating_sub(1);
    }
    order.reverse();
    (order, degeneracy)
}
