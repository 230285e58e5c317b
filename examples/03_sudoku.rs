//! Sudoku: a colouring of 81 cells with 9 colours, some given. Cells in a row, a column or a box exclude each other: 810 edges.
//!
//! A cell's state is the set of digits that it may hold, a bit each. A product over a semiring of such sets collects the digits of the
//! decided cells around each cell: it folds with "or", and multiplies with "the set if it has one digit, else none". Striking them out is
//! repeated until nothing changes; then the search guesses a cell with the fewest candidates.

use vxm::certify;
use vxm::prelude::*;

const ALL: u32 = 0x1ff;
/// Arto Inkala's puzzle of 2012, which was made to need guesses.
const PUZZLE: &str = "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..";

/// The digit of a cell that is decided, as a set.
#[op]
fn decided(candidates: u32, _edge: ()) -> u32 {
    if candidates.count_ones() == 1u32 { candidates } else { 0u32 }
}

/// The candidates that the decided cells around leave.
#[op]
fn strike(candidates: u32, taken: u32) -> u32 {
    candidates & !taken
}

/// Whether two cells exclude each other.
fn related(i: u32, j: u32) -> bool {
    let (row, column) = (i / 9 == j / 9, i % 9 == j % 9);
    let in_one_box = i / 27 == j / 27 && i % 9 / 3 == j % 9 / 3;
    i != j && (row || column || in_one_box)
}

/// A solution with these candidates, if there is one. Counts the nodes of the search.
fn solve(a: &Matrix, candidates: Vector<u32>, nodes: &mut u32) -> Result<Option<Vec<u32>>> {
    *nodes += 1;
    // x = x & ~(x or.decided A), until no cell changes. Not monotone: where two decided cells clash, either may be emptied first
    let settled = fixpoint(candidates)
        .while_changed()
        .step(|x| strike.map2(x, x.vxm(a, semiring(BOR, decided)).or_identity()))
        .eval()?
        .state;
    let cells = settled.to_dense(0);
    if cells.contains(&0) {
        return Ok(None);
    }
    let open = cells.iter().enumerate().filter(|(_, set)| set.count_ones() > 1);
    let Some((cell, &set)) = open.min_by_key(|(_, set)| set.count_ones()) else {
        return Ok(Some(cells));
    };
    for digit in (0..9).filter(|digit| set >> digit & 1 == 1) {
        let mut guess = settled.clone();
        guess.set(cell as u32, 1 << digit)?;
        if let Some(solution) = solve(a, guess, nodes)? {
            return Ok(Some(solution));
        }
    }
    Ok(None)
}

fn run() -> Result<()> {
    let pairs = (0..81).flat_map(|i| (0..i).map(move |j| (i, j)));
    let edges: Vec<(u32, u32)> = pairs.filter(|&(i, j)| related(i, j)).collect();
    assert_eq!(edges.len(), 810);
    let a = Matrix::undirected(81, &edges)?;

    let start = PUZZLE.chars().map(|given| given.to_digit(10).map_or(ALL, |digit| 1 << (digit - 1)));
    let mut nodes = 0;
    let solution = solve(&a, Vector::from_dense(start.collect()), &mut nodes)?;
    let digits: Vec<u32> = solution.expect("a proper puzzle").iter().map(|set| set.trailing_zeros() + 1).collect();
    for row in digits.chunks(9) {
        println!("{}", row.iter().map(u32::to_string).collect::<Vec<_>>().join(" "));
    }
    println!("{nodes} nodes of the search");

    // each row, column and box holds each digit; the given ones stand
    let whole = |cell: &dyn Fn(usize) -> usize| (0..9).fold(0, |set, k| set | 1 << (digits[cell(k)] - 1)) == ALL;
    for unit in 0..9 {
        assert!(whole(&|k| 9 * unit + k), "row {unit}");
        assert!(whole(&|k| 9 * k + unit), "column {unit}");
        assert!(whole(&|k| 27 * (unit / 3) + 3 * (unit % 3) + 9 * (k / 3) + k % 3), "box {unit}");
    }
    let stands = |(given, &digit): (char, &u32)| given == '.' || given.to_digit(10) == Some(digit);
    assert!(PUZZLE.chars().zip(&digits).all(stands));
    // the same as a colouring with 9 colours, by code that shares nothing with the engine
    assert_eq!(certify::coloring(a.csr().offsets(), a.csr().columns(), &digits), Ok(9));
    Ok(())
}

fn main() -> Result<()> {
    // on a GPU if there is one; the answer has the same bits
    Device::auto().scope(run)
}
