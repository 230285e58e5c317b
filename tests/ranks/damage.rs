//! Damaged files: ranks read or refuse each as one process does.

use crate::on_ranks;
use crate::weights::{Graph, alone, on_rank, spread, told};
use proptest::prelude::*;
use proptest::sample::Index;
use std::fmt::Debug;
use std::path::Path;
use vxm::Result;
use vxm::formats::{Coo, First};
use vxm::io::{Numbering, ReadAs, WholeFile, read, read_digraph, write_native};
use vxm::ranks::Deal;

/// Files of all formats that ranks read by parts, with their names.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let little = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>();
    let rows = little(&[4, 6, 0, 2, 4, 5, 6, 1, 2, 0, 2, 0, 1]);
    let weights = little(&[5, 6, 5, 7, 6, 7]);
    let folder = tempfile::tempdir().unwrap();
    let native = folder.path().join("f.vxm");
    let triples = [(0, 1, 5u32), (1, 0, 5), (1, 2, 7), (2, 2, 1), (3, 0, 9)];
    let matrix = Coo::from_triples(4, 4, triples).unwrap().to_csr(First).unwrap();
    write_native(WholeFile::prepare(&native).unwrap(), &matrix, &Numbering::From(1)).unwrap();
    // GAP's graph of two edges, and the reversed ones
    let mut gap = vec![1u8];
    [2u64, 3, 0, 1, 2, 2].iter().for_each(|number| gap.extend(number.to_le_bytes()));
    gap.extend(little(&[1, 5, 2, 6]));
    [0u64, 0, 1, 2].iter().for_each(|number| gap.extend(number.to_le_bytes()));
    gap.extend(little(&[0, 5, 1, 6]));
    vec![
        ("f.txt", b"# edges\n0 1\n1 2\n\n2 3\n3 0\n7 5\n".to_vec()),
        ("f.wel", b"0 1 5\n1 2 7\n2 3 9\n3 0 11\n10 20 30\n".to_vec()),
        ("f.mtx", b"%%MatrixMarket matrix coordinate pattern general\n% c\n5 5 5\n1 2\n2 3\n3 1\n5 4\n4 4\n".to_vec()),
        ("f.mtx", b"%%MatrixMarket matrix coordinate integer symmetric\n5 5 4\n2 1 3\n3 1 4\n5 4 5\n4 4 6\n".to_vec()),
        ("f.mtx", b"%%MatrixMarket matrix coordinate real skew-symmetric\n5 5 3\n2 1 .5\n3 1 -4\n5 4 1e3\n".to_vec()),
        ("f.gr", b"c roads\np sp 5 5\na 1 2 3\na 2 1 4\na 2 1 2\na 5 4 7\na 3 3 1\n".to_vec()),
        ("f.graph", b"% c\n4 3\n2 3\n1 3\n1 2\n\n".to_vec()),
        ("f.graph", b"4 3 11\n7 2 5 3 6\n8 1 5 3 7\n9 1 6 2 7\n1\n".to_vec()),
        ("f.egr", rows.clone()),
        ("f.egr", [rows, weights].concat()),
        ("f.wsg", gap),
        ("f.vxm", std::fs::read(native).unwrap()),
    ]
}

/// What may be put into a file: parts of numbers and of lines, and bytes that are neither.
const BYTES: &[u8] = b"0123456789 \t\n\r.-+e%#acp\0\xff";

#[derive(Debug, Clone)]
enum Damage {
    Replaced(Index, u8),
    Inserted(Index, u8),
    Removed(Index, usize),
    Repeated(Index, usize),
    Cut(Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let byte = || prop_oneof![4 => prop::sample::select(BYTES), 1 => any::<u8>()];
    prop_oneof![
        4 => (any::<Index>(), byte()).prop_map(|(at, byte)| Damage::Replaced(at, byte)),
        2 => (any::<Index>(), byte()).prop_map(|(at, byte)| Damage::Inserted(at, byte)),
        2 => (any::<Index>(), 1..9usize).prop_map(|(at, length)| Damage::Removed(at, length)),
        2 => (any::<Index>(), 1..17usize).prop_map(|(at, length)| Damage::Repeated(at, length)),
        1 => any::<Index>().prop_map(Damage::Cut),
    ]
}

fn damaged(mut file: Vec<u8>, damages: &[Damage]) -> Vec<u8> {
    for damage in damages {
        let end = |at: usize, length: usize| file.len().min(at + length);
        match *damage {
            _ if file.is_empty() => {}
            Damage::Replaced(at, byte) => *at.get_mut(&mut file) = byte,
            Damage::Inserted(at, byte) => file.insert(at.index(file.len()), byte),
            Damage::Removed(at, length) => {
                let at = at.index(file.len());
                file.drain(at..end(at, length));
            }
            Damage::Repeated(at, length) => {
                let at = at.index(file.len());
                let again = file[at..end(at, length)].to_vec();
                file.splice(at..at, again);
            }
            Damage::Cut(at) => file.truncate(at.index(file.len())),
        }
    }
    file
}

/// Compares what one process and ranks found.
fn compare<G: PartialEq + Debug>(
    what: &str,
    one: Result<G>,
    ranks: Result<G>,
) -> core::result::Result<(), TestCaseError> {
    match (one, ranks) {
        (Ok(one), Ok(ranks)) => prop_assert_eq!(ranks, one, "{}", what),
        // of several faults each may see another first
        (Err(_), Err(_)) => {}
        (one, ranks) => prop_assert!(false, "{what}: ranks {:?}, expected {:?}", ranks, one),
    }
    Ok(())
}

/// Vertices that a damaged header may state, for a test that takes seconds.
const MANY: usize = 1 << 16;

fn reads_the_same(path: &Path, ranks: usize, deal: Option<Deal>) -> core::result::Result<(), TestCaseError> {
    let shape = (ranks, 1);
    let undirected = read(path, &());
    if undirected.as_ref().is_ok_and(|loaded| loaded.graph.nrows() > MANY) {
        return Ok(());
    }
    let found = on_ranks(shape, deal, |grid| match grid.try_read_graph(path, ReadAs::default(), &())? {
        Ok(graph) => spread(graph),
        Err(loaded) => Ok(Some(told(loaded))),
    });
    compare("undirected", undirected.map(|loaded| Some(told(loaded))), found)?;
    let found = on_ranks(shape, deal, |grid| match grid.try_read_digraph(path, ReadAs::default(), &())? {
        Ok(graph) => spread(graph),
        Err(loaded) => Ok(Some(told(loaded))),
    });
    compare("directed", read_digraph(path, &()).map(|loaded| Some(told(loaded))), found)?;
    let found = on_ranks(shape, deal, |grid| Ok(on_rank(path, ReadAs::default(), grid)?.0));
    // that a file has no weights is seen before its lines are read
    if matches!(found, Ok(Some(Graph::None(_)))) {
        return Ok(());
    }
    compare("weighted", alone(path, ReadAs::default()).map(Some), found)
}

proptest! {
    #![proptest_config(ProptestConfig { source_file: None, ..ProptestConfig::with_cases(if crate::few() { 8 } else { 600 }) })]
    #[test]
    fn damaged_files_are_read_or_refused_as_by_one_process(
        file in prop::sample::select(files()),
        damages in prop::collection::vec(damage(), 0..4),
        ranks in 2..5usize,
        hashed: bool,
    ) {
        let (name, bytes) = file;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let bytes = damaged(bytes, &damages);
        std::fs::write(&path, &bytes).unwrap();
        let read = reads_the_same(&path, ranks, hashed.then_some(Deal::Hashed));
        prop_assert!(read.is_ok(), "{} of {:?} on {ranks}: {}", name, String::from_utf8_lossy(&bytes), read.unwrap_err());
    }
}
