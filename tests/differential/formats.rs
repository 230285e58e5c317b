//! Storage formats of vectors and matrices: invariants, conversions, and that results don't depend on the format.

use crate::algebra::Sample;
use crate::harness::{agree, same, suite};
use crate::shapes::{Filled, filled};
use proptest::prelude::*;
use vxm::containers::VectorFormat;
use vxm::formats::{Bitmap, Coo, Csr, Sparse, Store};
use vxm::prelude::*;

const FORMATS: [VectorFormat; 3] = [VectorFormat::Dense, VectorFormat::Bitmap, VectorFormat::Sparse];

fn check<T: Sample>(name: &str) {
    let strategy = (0..400usize, filled());
    suite(&format!("formats of vectors of {name}"), 400, strategy, |(n, filled): (usize, Filled)| {
        let dense = filled.dense::<T>(n);
        let plain = Vector::from_options(&dense);
        for format in FORMATS {
            let v = plain.clone().with_format(format);
            agree(format, &dense, &v)?;
            let sparse = v.format() == VectorFormat::Sparse;
            same("is stored as asked", format == VectorFormat::Sparse, sparse)?;
            let full = dense.iter().all(Option::is_some);
            same("is dense where all are there", !sparse && full, v.format() == VectorFormat::Dense)?;
            same("to_dense", n, v.to_dense(T::ZERO).len())?;
            same("contains", v.indices().count(), (0..n as u32).filter(|&i| v.contains(i)).count())?;
            let pairs = v.iter().collect::<Vec<_>>();
            agree("from pairs in any order", &dense, &Vector::from_pairs(n, pairs.into_iter().rev()).unwrap())?;
        }
        Ok(())
    });
}

#[test]
fn vectors() {
    check::<u32>("u32");
    check::<()>("nothing");
    check::<f32>("f32");
}

#[test]
fn writes_one_by_one() {
    let strategy = (1..300usize, filled(), proptest::collection::vec((any::<u32>(), any::<Option<u32>>()), 0..200));
    suite("vectors written one by one", 500, strategy, |(n, filled, writes)| {
        let mut dense = filled.dense::<u32>(n);
        let mut held = FORMATS.map(|format| Vector::from_options(&dense).with_format(format));
        for (i, value) in writes {
            let i = i % n as u32;
            dense[i as usize] = value;
            for v in &mut held {
                match value {
                    Some(value) => v.set(i, value).unwrap(),
                    None => v.remove(i).unwrap(),
                }
            }
        }
        held.iter().try_for_each(|v| agree("written", &dense, v))
    });
}

#[test]
fn stores_convert() {
    let bitmap = Bitmap::new(vec![5u32, 6, 7], vec![0b101]);
    assert_eq!((bitmap.nvals(), bitmap.get(0), bitmap.get(1), bitmap.get(2)), (2, Some(5), None, Some(7)));
    let sparse = Store::Bitmap(bitmap).into_sparse();
    assert_eq!((sparse.indices(), sparse.values(), sparse.len()), (&[0, 2][..], &[5, 7][..], 3));
    let mut bitmap = Store::Sparse(sparse.clone()).into_bitmap();
    assert_eq!((bitmap.bits(), bitmap.values()), (Some(&[0b101][..]), &[5, 0, 7][..]));
    // a full bitmap becomes dense; removing an element makes it a bitmap again
    assert_eq!(Bitmap::new(vec![1u32, 2], vec![0b11]).bits(), None);
    bitmap.put(1, Some(9));
    assert_eq!((bitmap.nvals(), bitmap.get(1)), (3, Some(9)));
    let mut dense = Bitmap::dense(vec![1u32; 70]);
    dense.put(69, None);
    assert_eq!((dense.nvals(), dense.get(69), dense.bits()), (69, None, Some(&[u64::MAX, 0b1_1111][..])));
    dense.put(69, None);
    assert_eq!(dense.nvals(), 69);
    let mut list = Sparse::new(9, vec![1, 4, 7], vec![10u32, 40, 70]);
    list.patch(&[0, 4, 5, 7, 8], &[Some(0), None, None, Some(71), Some(80)]);
    assert_eq!((list.indices(), list.values()), (&[0, 1, 7, 8][..], &[0, 10, 71, 80][..]));
}

#[test]
#[cfg(debug_assertions)]
#[should_panic]
fn a_list_out_of_order_is_caught_in_debug_builds() {
    let _ = Sparse::new(9, vec![4, 1], vec![1u32, 2]);
}

#[test]
fn equal_is_by_bits() {
    let of = |x: f32| Vector::from_dense(vec![x]);
    assert_eq!(of(f32::NAN), of(-f32::NAN));
    assert_eq!(of(f32::NAN).digest(), of(-f32::NAN).digest());
    assert_ne!(of(0.0), of(-0.0));
    assert_ne!(of(0.0).digest(), of(-0.0).digest());
    // equality depends on the length, not only on the elements
    let none = Vector::<u32>::new;
    assert_ne!(none(3), none(4));
    assert_ne!(none(3).digest(), none(4).digest());
    assert_ne!(Vector::from_pairs(3, [(0, 1u32)]).unwrap(), Vector::from_pairs(3, [(1, 1u32)]).unwrap());
}

#[test]
fn broken_rows_are_refused() {
    let error = |offsets: Vec<u64>, columns: Vec<u32>| {
        let values = vec![1u32; columns.len()];
        Csr::try_new(2, 3, offsets, columns, values).unwrap_err().to_string()
    };
    assert_eq!(error(vec![0, 1], vec![0]), "Csr: found 2 offsets for 2 rows: expected 3");
    assert_eq!(error(vec![1, 1, 1], vec![0]), "Csr: row 0 starts at 1: expected 0");
    assert_eq!(error(vec![0, 2, 1], vec![0]), "Csr: row 1 starts at 2 but ends at 1");
    assert_eq!(error(vec![0, 1, 3], vec![0]), "Csr: the rows end at 3 but there are 1 entries");
    assert_eq!(error(vec![0, 1, 2], vec![0, 3]), "Csr: row 1: column 3, of 3 columns");
    let repeated = "Csr: row 0: column 1 follows column 1: columns of a row strictly ascend";
    assert_eq!(error(vec![0, 2, 2], vec![1, 1]), repeated);
    let wide = Coo::<()>::new(1 << 32, 1).unwrap_err().to_string();
    assert_eq!(wide, "Coo: expected at most 4294967295 vertices, found 4294967296");
}
