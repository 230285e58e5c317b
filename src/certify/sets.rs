//! Union-find.

/// Sets of vertices that share none: union-find, with path halving. O(log n) time for each call, averaged over many.
///
/// ```
/// let mut sets = vxm::certify::DisjointSets::new(4);
/// assert!(sets.join(3, 1));
/// assert!(sets.join(1, 2));
/// assert!(!sets.join(2, 3)); // they are in one set already
/// assert_eq!((sets.least(3), sets.least(0)), (1, 0));
/// ```
#[derive(Debug, Clone)]
pub struct DisjointSets(Vec<u32>);

impl DisjointSets {
    /// `n` vertices, each in a set of its own. 4 bytes for each.
    pub fn new(n: usize) -> Self {
        Self((0..n as u32).collect())
    }

    /// The least vertex of a vertex' set.
    ///
    /// # Panics
    /// There is no such vertex.
    pub fn least(&mut self, vertex: u32) -> u32 {
        let mut vertex = vertex as usize;
        while self.0[vertex] as usize != vertex {
            self.0[vertex] = self.0[self.0[vertex] as usize];
            vertex = self.0[vertex] as usize;
        }
        vertex as u32
    }

    /// Joins the sets of two vertices; `false` if they are one already.
    ///
    /// # Panics
    /// There is no such vertex.
    pub fn join(&mut self, one: u32, other: u32) -> bool {
        let (x, y) = (self.least(one), self.least(other));
        self.0[x.max(y) as usize] = x.min(y);
        x != y
    }
}
