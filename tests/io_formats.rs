//! Compares Coo and Csr with ordered maps and with sprs.

use proptest::prelude::*;
use std::collections::BTreeMap;
use vxm::formats::{Coo, Csr, First, Last, Refuse};

type Triples = (usize, usize, Vec<(u32, u32, i64)>);

fn triples() -> impl Strategy<Value = Triples> {
    (0usize..12, 0usize..12).prop_flat_map(|(rows, columns)| {
        let most = if rows * columns == 0 { 1 } else { 60 };
        let triple = (0..rows.max(1) as u32, 0..columns.max(1) as u32, -9i64..10);
        prop::collection::vec(triple, 0..most)
            .prop_map(move |list| (rows, columns, if most == 1 { Vec::new() } else { list }))
    })
}

fn entries(matrix: &Csr<i64>) -> Vec<((u32, u32), i64)> {
    Coo::from(matrix).iter().map(|(i, j, x)| ((i, j), x)).collect()
}

proptest! {
    #[test]
    fn triples_become_what_a_map_holds((rows, columns, list) in triples()) {
        let coo = Coo::from_triples(rows, columns, list.iter().copied()).unwrap();
        let last: BTreeMap<_, _> = list.iter().map(|&(i, j, x)| ((i, j), x)).collect();
        let first: BTreeMap<_, _> = list.iter().rev().map(|&(i, j, x)| ((i, j), x)).collect();
        let csr = coo.to_csr(Last).unwrap();
        prop_assert_eq!(entries(&csr), last.into_iter().collect::<Vec<_>>());
        prop_assert_eq!(entries(&coo.to_csr(First).unwrap()), first.iter().map(|(&k, &x)| (k, x)).collect::<Vec<_>>());
        prop_assert_eq!(coo.to_csr(Refuse).is_ok(), first.len() == list.len());
        let parts = csr.clone().into_parts();
        prop_assert_eq!(Csr::try_new(parts.0, parts.1, parts.2, parts.3, parts.4).unwrap(), csr);
    }

    #[test]
    fn transposes_like_sprs((rows, columns, list) in triples()) {
        let csr = Coo::from_triples(rows, columns, list).unwrap().to_csr(Last).unwrap();
        let theirs = sprs::CsMat::from(&csr);
        prop_assert_eq!(&Csr::try_from(&theirs).unwrap(), &csr);
        let by_columns = theirs.clone().transpose_into();
        let transposed = csr.transpose();
        prop_assert_eq!(&Csr::try_from(&by_columns).unwrap(), &transposed);
        prop_assert_eq!(&transposed.transpose(), &csr);
        prop_assert_eq!(csr.is_symmetric(), csr == transposed);
        for i in 0..rows {
            for j in 0..columns {
                prop_assert_eq!(csr.get(i, j), theirs.get(i, j).copied());
            }
        }
    }
}

#[test]
fn broken_arrays_are_named() {
    let broken = |offsets: &[u64], columns: &[u32]| {
        let values = vec![(); columns.len()];
        Csr::try_new(2, 3, offsets.to_vec(), columns.to_vec(), values).unwrap_err().to_string()
    };
    for (offsets, columns, message) in [
        (&[0, 1][..], &[0][..], "Csr: found 2 offsets for 2 rows: expected 3"),
        (&[1, 1, 1], &[0], "Csr: row 0 starts at 1: expected 0"),
        (&[0, 2, 1], &[0], "Csr: row 1 starts at 2 but ends at 1"),
        (&[0, 1, 1], &[0, 1], "Csr: the rows end at 1 but there are 2 entries"),
        (&[0, 0, 2], &[1, 1], "Csr: row 1: column 1 follows column 1: columns of a row strictly ascend"),
        (&[0, 1, 2], &[0, 3], "Csr: row 1: column 3, of 3 columns"),
    ] {
        assert_eq!(broken(offsets, columns), message);
    }
    let short = Csr::try_new(1, 1, vec![0, 1], vec![0], Vec::<u8>::new());
    assert_eq!(short.unwrap_err().to_string(), "Csr: 1 columns but 0 values");
    let many = Csr::<()>::empty(1 << 32, 1).unwrap_err().to_string();
    assert_eq!(many, "Csr: expected at most 4294967295 vertices, found 4294967296");
}
