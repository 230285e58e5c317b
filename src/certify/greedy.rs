//! Sequential greedy answers in a given order: oracles for the parallel algorithms, and the yardstick of their speed.

/// The independent set that takes each vertex of `order` none of whose neighbours was taken before.
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
/// Where `order` holds more than the graph's vertices.
pub fn greedy_set(offsets: &[u64], columns: &[u32], order: impl IntoIterator<Item = u32>) -> Vec<bool> {
    let mut member = vec![false; offsets.len() - 1];
    for vertex in order {
        let mut neighbors = super::neighbors(offsets, columns, vertex as usize).iter();
        member[vertex as usize] = neighbors.all(|&other| !member[other as usize]);
    }
    member
}

/// The colours, from 1, that give each vertex of `order` the least colour that no neighbour has; 0 outside `order`.
///
/// # Panics
/// Where `order` holds more than the graph's vertices.
pub fn greedy_coloring(offsets: &[u64], columns: &[u32], order: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut colors = vec![0u32; offsets.len() - 1];
    // which vertex last saw each colour at a neighbour; the vertex itself plus one, so that nobody is zero
    let mut seen: Vec<u32> = vec![0];
    for vertex in order {
        let neighbors = super::neighbors(offsets, columns, vertex as usize);
        for &other in neighbors {
            seen[colors[other as usize] as usize] = vertex + 1;
        }
        let free = (1..seen.len()).find(|&color| seen[color] != vertex + 1);
        let color = free.unwrap_or(seen.len());
        if color == seen.len() {
            seen.push(0);
        }
        colors[vertex as usize] = color as u32;
    }
    colors
}

/// The vertices by falling degree, those of equal degree by number.
pub fn largest_degree_first(offsets: &[u64]) -> Vec<u32> {
    let degree = |vertex: u32| offsets[vertex as usize + 1] - offsets[vertex as usize];
    let mut order: Vec<u32> = (0..offsets.len() as u32 - 1).collect();
    order.sort_by_key(|&vertex| core::cmp::Reverse(degree(vertex)));
    order
}

/// The vertices in an order in which each has the least degree among those up to it (smallest-degree-last), and the largest such
/// degree: the graph's degeneracy. A greedy colouring in this order takes at most one colour more.
pub fn smallest_degree_last(offsets: &[u64], columns: &[u32]) -> (Vec<u32>, usize) {
    let vertices = offsets.len() - 1;
    let mut degrees: Vec<usize> =
        (0..vertices).map(|vertex| super::neighbors(offsets, columns, vertex).len()).collect();
    // vertices by what is left of their degree; a vertex stays behind in the buckets it has left
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
