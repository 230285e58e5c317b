//! Arrays that lie on a GPU: taken as vectors and matrices, checked there, and lent. What other libraries would hold are buffers of vectors here.

use crate::harness::{Outcome, agree, dry_run, ok, same, suite};
use crate::shapes::{graph, matrix};
use proptest::prelude::*;
use proptest::sample::select;
use std::io::Write;
use vxm::backend::cuda::foreign::{self, Foreign};
use vxm::containers::{DeviceArray, Symmetrize};
use vxm::formats::Csr;
use vxm::prelude::*;
use vxm::semiring::dynamic::Kind;

/// The GPU that `VXM_TEST_DEVICE` names; `None`, with a line on stderr, if it names none.
fn gpu() -> Option<Device> {
    let asked = std::env::var("VXM_TEST_DEVICE").ok().filter(|asked| asked.starts_with("cuda"));
    if asked.is_none() && dry_run().is_none() {
        let _ = writeln!(std::io::stderr(), "skipped: VXM_TEST_DEVICE=cuda asks for a GPU");
    }
    asked.map(|asked| asked.parse().unwrap())
}

/// `numbers` on the device, as another library would hold them.
fn lent<T: Element>(numbers: &Vector<T>, kind: Kind) -> DeviceArray {
    let address = numbers.device_address().unwrap().unwrap();
    DeviceArray { device: numbers.device(), address, len: numbers.len(), stride: size_of::<T>() as i64, kind }
}

fn taken<T: Element>(array: &DeviceArray) -> Result<Vector<T>> {
    // SAFETY: `lent` made it of a vector that the caller keeps
    unsafe { Vector::from_device_array(array) }
}

fn taken_matrix<T: Element>(
    shape: (usize, usize),
    arrays: (&DeviceArray, &DeviceArray),
    values: Option<&DeviceArray>,
) -> Result<Matrix<T>> {
    // SAFETY: as in `taken`
    unsafe { Matrix::from_device_arrays(shape, arrays.0, arrays.1, values) }
}

#[test]
fn every_kernel_compiles() {
    let Some(gpu) = dry_run() else { return };
    let of = |kind| Foreign { address: 256, len: 0, stride: 8, kind };
    for &kind in Kind::ALL.iter().filter(|kind| kind.size() > 0) {
        // SAFETY: nothing runs
        unsafe {
            match kind.size() {
                8 => foreign::vector::<u64>(gpu, &of(kind)).map(drop).unwrap(),
                _ => foreign::vector::<u32>(gpu, &of(kind)).map(drop).unwrap(),
            }
        }
    }
    let indices = [Kind::I8, Kind::U8, Kind::I16, Kind::U16, Kind::I32, Kind::U32, Kind::I64, Kind::U64];
    for (starts, columns) in indices.into_iter().zip(indices) {
        let starts = Foreign { len: 1, ..of(starts) };
        // SAFETY: nothing runs
        let rows = unsafe { foreign::csr::<f32>(gpu, (0, 5), (&starts, &of(columns)), Some(&of(Kind::F32))) };
        let rows = rows.unwrap().unwrap();
        foreign::are_equal(&rows, &rows).unwrap();
    }
}

/// Takes `numbers` as elements, and as words in steps of one, two, and backwards.
fn check_vector<T: Element, W: Element>(device: Device, numbers: &[T], kind: Kind, word: impl Fn(T) -> W) -> Outcome {
    let held = ok(Vector::from_dense(numbers.to_vec()).to(device))?;
    let array = lent(&held, kind);
    let words = |of: &mut dyn Iterator<Item = &T>| of.map(|&x| Some(word(x))).collect::<Vec<_>>();
    agree("in order", &words(&mut numbers.iter()), &ok(taken::<W>(&array))?)?;
    let (size, half) = (array.stride, numbers.len().div_ceil(2));
    let second = DeviceArray { stride: 2 * size, len: half, ..array };
    agree("every second", &words(&mut numbers.iter().step_by(2)), &ok(taken::<W>(&second))?)?;
    let last = array.address + size as u64 * (numbers.len().max(1) as u64 - 1);
    let back = DeviceArray { address: last, stride: -size, ..array };
    agree("backwards", &words(&mut numbers.iter().rev()), &ok(taken::<W>(&back))?)
}

#[test]
fn vectors() {
    let Some(device) = gpu() else { return };
    let case = (prop_oneof![Just(0), 1..70usize, 1000..9000usize], 0..1u64 << 40);
    suite("arrays as vectors", 30, case, |(n, seed)| {
        let bits: Vec<u64> = (0..n as u64).map(|k| crate::algebra::mix(seed ^ k << 20)).collect();
        let bytes: Vec<u8> = bits.iter().map(|&bits| bits as u8 & 3).collect();
        check_vector(device, &bytes, Kind::U8, u32::from)?;
        check_vector(device, &bytes, Kind::Bool, |x| u32::from(x != 0))?;
        let signed: Vec<i16> = bits.iter().map(|&bits| bits as i16).collect();
        check_vector(device, &signed, Kind::I16, |x| u32::from(x as u16))?;
        let narrow: Vec<u32> = bits.iter().map(|&bits| bits as u32).collect();
        check_vector(device, &narrow, Kind::U32, |x| x)?;
        check_vector(device, &bits, Kind::I64, |x| x)?;
        // NaN of many bits, and infinity
        let floats: Vec<f32> = bits
            .iter()
            .map(|&b| f32::from_bits(if b & 1 == 0 { b as u32 } else { 0x7f80_0000 | b as u32 & 3 }))
            .collect();
        let one = |x: f32| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() };
        check_vector(device, &floats, Kind::F32, one)?;
        check_vector(device, &floats, Kind::F32, |x| f32::from_bits(one(x)))?;
        let doubles: Vec<f64> =
            bits.iter().map(|&b| f64::from_bits(if b & 1 == 0 { b } else { 0x7ff << 52 | b & 6 })).collect();
        check_vector(device, &doubles, Kind::F64, |x| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() })
    });
}

#[test]
fn what_is_no_array_of_the_type_is_refused() {
    let Some(device) = gpu() else { return };
    let held = Vector::from_dense(vec![1u32, 2, 3, 4]).to(device).unwrap();
    let array = lent(&held, Kind::U32);
    let refused = |array: DeviceArray| taken::<u64>(&array).unwrap_err().to_string();
    assert_eq!(refused(array), "an array of u32: expected numbers of 8 bytes");
    let odd = DeviceArray { address: array.address + 4, len: 1, kind: Kind::U64, ..array };
    assert_eq!(
        refused(odd),
        format!("an array of u64 at address {:#x}, 4 bytes apart: expected multiples of 8", odd.address)
    );
    let far = i64::MAX & !3;
    for (address, stride) in [(0, 4), (array.address, far), (array.address, -far)] {
        let nowhere = DeviceArray { address, stride, ..array };
        let told = taken::<u32>(&nowhere).unwrap_err().to_string();
        assert!(told.ends_with("expected addresses in memory of 4 numbers"), "{told}");
    }
    let here = DeviceArray { device: Device::Cpu, ..array };
    assert_eq!(refused(here), "an array on cpu: expected one on a GPU");
    let some = Vector::from_pairs(3, [(1, 7u32)]).unwrap().to(device).unwrap();
    assert_eq!(some.device_address().unwrap_err().to_string(), "2 of 3 places hold no element: expected all");
    assert_eq!(Vector::from_dense(vec![1u32]).device_address().unwrap(), None);
    assert_eq!(Device::of_address(array.address).unwrap(), Some(device));
    assert_eq!(Device::of_address(std::ptr::from_ref(&array).addr() as u64).unwrap(), None);
}

/// The arrays of CSR, with integers of 32 and of 64 bits.
struct Held {
    starts: (Vector<i32>, Vector<i64>),
    columns: (Vector<i32>, Vector<i64>),
}

impl Held {
    fn of(device: Device, starts: &[i64], columns: &[i64]) -> Result<Self> {
        let narrow = |of: &[i64]| Vector::from_dense(of.iter().map(|&x| x as i32).collect()).to(device);
        let wide = |of: &[i64]| Vector::from_dense(of.to_vec()).to(device);
        Ok(Self { starts: (narrow(starts)?, wide(starts)?), columns: (narrow(columns)?, wide(columns)?) })
    }

    fn arrays(&self) -> [(DeviceArray, DeviceArray); 3] {
        let starts = (lent(&self.starts.0, Kind::I32), lent(&self.starts.1, Kind::I64));
        let columns = (lent(&self.columns.0, Kind::I32), lent(&self.columns.1, Kind::I64));
        [(starts.0, columns.0), (starts.1, columns.1), (starts.1, columns.0)]
    }
}

#[test]
fn matrices() {
    let Some(device) = gpu() else { return };
    suite("arrays as matrices", 60, (graph(), 0..1u64 << 16), |(graph, seed)| {
        let a = matrix(&graph.grid::<f64>(), graph.symmetric);
        let csr = a.csr();
        let starts: Vec<i64> = csr.offsets().iter().map(|&x| x as i64).collect();
        let columns: Vec<i64> = csr.columns().iter().map(|&x| i64::from(x)).collect();
        let values = ok(Vector::from_dense(csr.values().to_vec()).to(device))?;
        let shape = (a.nrows(), a.ncols());
        let held = ok(Held::of(device, &starts, &columns))?;
        for (starts, columns) in held.arrays() {
            let found = ok(taken_matrix::<f64>(shape, (&starts, &columns), Some(&lent(&values, Kind::F64))))?;
            same("device", device, found.device())?;
            // NaN of all bits become one
            let tidy = |x: f64| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() };
            let entries = |a: &Matrix<f64>| a.iter().map(|(i, j, x)| (i, j, tidy(x))).collect::<Vec<_>>();
            same("entries", entries(&a), entries(&found))?;
            let parts = ok(found.to_vectors())?;
            same("offsets", csr.offsets(), &parts.0.to_dense(0))?;
            same("columns", csr.columns(), &parts.1.to_dense(0))?;
            same("parts", device, parts.2.device())?;
            // values of one byte, in bytes and in words
            let bytes: Vec<u8> = csr.values().iter().map(|x| x.to_bits() as u8).collect();
            let there = ok(Vector::from_dense(bytes.clone()).to(device))?;
            let small = ok(taken_matrix::<u8>(shape, (&starts, &columns), Some(&lent(&there, Kind::U8))))?;
            same("bytes", &bytes[..], small.csr().values())?;
            let wide = ok(taken_matrix::<u32>(shape, (&starts, &columns), Some(&lent(&there, Kind::U8))))?;
            same("words", bytes.iter().map(|&x| u32::from(x)).collect::<Vec<_>>(), wide.csr().values().to_vec())?;
            let again = ok(taken_matrix::<u8>(shape, (&starts, &columns), Some(&lent(&there, Kind::U8))))?;
            same("transpose of bytes", small.csr().is_symmetric(), ok(again.equals_transpose())?)?;
            let pattern = ok(taken_matrix::<()>(shape, (&starts, &columns), None))?;
            same("pattern", true, pattern == a.pattern())?;
            same("transpose", csr.is_symmetric(), ok(ok(a.to(device))?.equals_transpose())?)?;
            same(
                "transpose, there alone",
                pattern.csr().is_symmetric(),
                ok(ok(taken_matrix::<()>(shape, (&starts, &columns), None))?.equals_transpose())?,
            )?;
        }
        // one number is changed
        let (mut starts, mut columns) = (starts, columns);
        let place = seed as usize;
        let wrong = [-1, 0, 1, 2, shape.1 as i64 - 1, shape.1 as i64, i64::from(u32::MAX)][place % 7];
        match place.is_multiple_of(2) && !columns.is_empty() {
            true => {
                let at = place / 2 % columns.len();
                columns[at] = wrong;
            }
            false => {
                let at = place / 2 % starts.len();
                starts[at] = wrong;
            }
        }
        let expected = Csr::from_arrays(shape.0, shape.1, &starts, &columns, vec![(); columns.len()]);
        let held = ok(Held::of(device, &starts, &columns))?;
        let (starts, columns) = held.arrays()[1];
        let found = taken_matrix::<()>(shape, (&starts, &columns), None);
        let told = |error: vxm::Error| error.to_string();
        same("changed", expected.map_err(told), found.map(|found| found.csr().clone()).map_err(told))
    });
}

#[test]
fn graphs_are_checked_where_they_lie() {
    let Some(device) = gpu() else { return };
    let hows = vec![Symmetrize::Check, Symmetrize::Union];
    suite("graphs of arrays", 60, (graph(), select(hows)), |(graph, how)| {
        let a = matrix(&graph.grid::<()>(), graph.symmetric);
        let (starts, columns, _) = ok(ok(a.to(device))?.to_vectors())?;
        let arrays = (lent(&starts, Kind::U64), lent(&columns, Kind::U32));
        let there = ok(taken_matrix::<()>((a.nrows(), a.ncols()), (&arrays.0, &arrays.1), None))?;
        let digraph = there.to_graph().map(|graph| graph.nnz()).map_err(|error| error.to_string());
        same("to_graph", a.to_graph().map(|graph| graph.nnz()).map_err(|error| error.to_string()), digraph)?;
        let (expected, found) = (Matrix::graph_from(a.csr().clone(), how), there.symmetrized(how));
        let found = found.inspect(|found| assert_eq!((found.device(), found.is_symmetric()), (device, true)));
        let told = |made: Result<Matrix>| made.map(|made| made.csr().clone()).map_err(|error| error.to_string());
        same("graph", told(expected), told(found))
    });
}

#[test]
fn arrays_that_do_not_fit_together_are_refused() {
    let Some(device) = gpu() else { return };
    let held = Held::of(device, &[0, 1, 1], &[1]).unwrap();
    let [(starts, columns), ..] = held.arrays();
    let refused = |shape, arrays: (&DeviceArray, &DeviceArray), values: Option<&DeviceArray>| match values {
        None => taken_matrix::<()>(shape, arrays, None).unwrap_err().to_string(),
        some => taken_matrix::<u32>(shape, arrays, some).unwrap_err().to_string(),
    };
    assert_eq!(refused((3, 2), (&starts, &columns), None), "Csr: found 3 offsets for 3 rows: expected 4");
    let values = lent(&held.columns.1, Kind::I64);
    assert_eq!(refused((2, 2), (&starts, &columns), Some(&values)), "an array of i64: expected numbers of 4 bytes");
    let many = DeviceArray { len: 1 << 60, stride: 0, ..columns };
    assert_eq!(refused((2, 2), (&starts, &many), None), format!("Csr: {} columns: expected at most 2 x 2", 1u64 << 60));
    // an array of no numbers lies nowhere
    let none = Held::of(device, &[0, 0, 0], &[]).unwrap();
    let [(starts_of_none, columns_of_none), ..] = none.arrays();
    let elsewhere = DeviceArray { device: Device::Cuda(7), ..columns_of_none };
    assert_eq!(taken_matrix::<()>((2, 2), (&starts_of_none, &elsewhere), None).unwrap().nnz(), 0);
    let two = DeviceArray { len: 2, stride: 0, kind: Kind::U32, ..values };
    assert_eq!(refused((2, 2), (&starts, &columns), Some(&two)), "Csr: 1 columns but 2 values");
    let floats = DeviceArray { kind: Kind::F32, ..columns };
    assert_eq!(refused((2, 2), (&starts, &floats), None), "columns: expected integers, found f32");
    let other = DeviceArray { device: Device::Cuda(7), ..columns };
    assert_eq!(
        refused((2, 2), (&starts, &other), None),
        format!("arrays on {device} and on cuda:7: expected one device")
    );
    assert_eq!(refused((2, 1), (&starts, &columns), None), "Csr: row 0: column 1, of 1 columns");
}
