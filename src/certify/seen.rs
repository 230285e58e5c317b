//! Tables of colours, for checks and greedy programs.

/// The vertices that were seen last in each colour.
pub(super) struct Seen {
    /// The colours in use, ascending: the table is no longer than the answer, however great its numbers are.
    used: Vec<u32>,
    /// For each colour, the last middle with a vertex of it, and that vertex.
    last: Vec<(usize, usize)>,
}

impl Seen {
    pub(super) fn new(colors: &[u32]) -> Self {
        let mut used = colors.to_vec();
        used.sort_unstable();
        used.dedup();
        let last = vec![(usize::MAX, 0); used.len()];
        Self { used, last }
    }

    /// How many colours are in use.
    pub(super) fn colors(&self) -> u32 {
        self.used.len() as u32
    }

    /// The vertex of this colour that was seen before around the same middle. This one takes its place.
    pub(super) fn before(&mut self, middle: usize, vertex: usize, color: u32) -> Option<usize> {
        let place = self.used.binary_search(&color).unwrap_or_default();
        let (around, before) = std::mem::replace(&mut self.last[place], (middle, vertex));
        (around == middle).then_some(before)
    }
}

/// The least colour from 1 that isn't marked; a new one is added to the table.
pub(super) fn least_free(seen: &mut Vec<u32>, mark: u32) -> u32 {
    let color = (1..seen.len()).find(|&color| seen[color] != mark).unwrap_or(seen.len());
    if color == seen.len() {
        seen.push(0);
    }
    color as u32
}
