//! Dense products, compared with a loop over rows and columns. They have the same bits on the host. On a GPU they are only close, since
//! cuBLAS adds in its own order.

use crate::algebra::mix;
use crate::harness::{Outcome, dry_run, ok, on_device, on_threads, same, suite};
use proptest::prelude::*;
use proptest::sample::select;
use vxm::containers::dense::Real;
use vxm::prelude::*;

/// The kind of values in a factor.
#[derive(Debug, Clone, Copy)]
enum Values {
    /// Multiples of 1/8 up to 8: their sums are exact.
    Exact,
    /// Fractions: their sums are rounded.
    Inexact,
    /// Values with zeros of both signs, infinities and NaN among them.
    Wild,
}

fn value(values: Values, bits: u64) -> f64 {
    let eighths = (bits % 129) as f64 / 8.0 - 8.0;
    match values {
        Values::Exact => eighths,
        Values::Inexact => eighths / 3.0 + (bits >> 40) as f64 * 1e-9,
        Values::Wild => match bits >> 8 & 63 {
            0 => f64::INFINITY,
            1 => f64::NEG_INFINITY,
            2 => f64::NAN,
            3 => -0.0,
            4 => 0.0,
            _ => eighths,
        },
    }
}

trait Sampled: Real {
    const EPSILON: f64;
    fn of(x: f64) -> Self;
    fn wide(self) -> f64;
}

macro_rules! sampled {
    ($t:ident) => {
        impl Sampled for $t {
            const EPSILON: f64 = $t::EPSILON as f64;
            fn of(x: f64) -> Self {
                x as $t
            }
            fn wide(self) -> f64 {
                self as f64
            }
        }
    };
}
sampled!(f32);
sampled!(f64);

fn factor<T: Sampled>(nrows: usize, ncols: usize, values: Values, seed: u64) -> Vec<T> {
    (0..nrows * ncols).map(|i| T::of(value(values, mix(seed ^ (i as u64) << 20)))).collect()
}

/// The product by definition, added up in order, and for each place the sum of the products' magnitudes.
fn naive<T: Sampled>([m, k, n]: [usize; 3], a: &[T], b: &[T]) -> (Vec<T>, Vec<f64>) {
    let place = |i: usize, j: usize| {
        let products = (0..k).map(|p| (a[i * k + p], b[p * n + j]));
        let size: f64 = products.clone().map(|(x, y)| (x.wide() * y.wide()).abs()).sum();
        (products.fold(T::ZERO, |sum, (x, y)| sum + x * y), size)
    };
    (0..m * n).map(|at| place(at / n, at % n)).unzip()
}

/// Compares with the definition: bit for bit on the host, on a GPU within the error bound of sums in another order.
fn agree<T: Sampled>(sizes: [usize; 3], a: &[T], b: &[T], found: &Dense<T>) -> Outcome {
    let [m, _, n] = sizes;
    same("shape", (m, n), (found.nrows(), found.ncols()))?;
    let values = ok(found.values())?;
    same("values", m * n, values.len())?;
    let (expected, sizes_of) = naive(sizes, a, b);
    for (at, (&x, &y)) in expected.iter().zip(values).enumerate() {
        let equal = x.bits() == y.bits();
        let near = || (x.wide() - y.wide()).abs() <= 2.0 * sizes[1] as f64 * T::EPSILON * sizes_of[at];
        // on a GPU, zeros of different sign are equal
        let fits = if found.device() == Device::Cpu { equal } else { equal || x == y || near() };
        same(&format!("{x:?}, found {y:?} at {at}"), true, fits)?;
    }
    Ok(())
}

/// Whether a product ran. With a GPU but without cuBLAS it fails, and the error must say what to install.
fn runs<T>(result: &Result<T>) -> bool {
    match result {
        Err(error) if error.to_string().starts_with("cuBLAS ") => {
            assert!(error.to_string().contains("pip install 'nvidia-cublas"), "{error}");
            println!("skipped: {error}");
            false
        }
        _ => true,
    }
}

fn check<T: Sampled>(sizes: [usize; 3], values: [Values; 2], seed: u64) -> Outcome {
    let [m, k, n] = sizes;
    let (a, b) = (factor::<T>(m, k, values[0], seed), factor::<T>(k, n, values[1], mix(seed)));
    let dense = |nrows, ncols, values: &[T]| ok(Dense::new(nrows, ncols, values.to_vec()));
    let (left, right) = (dense(m, k, &a)?, dense(k, n, &b)?);
    for threads in [1, 2, 8] {
        let product = on_threads(threads, || left.mxm(&right));
        if runs(&product) {
            agree(sizes, &a, &b, &ok(product)?)?;
        }
    }
    Ok(())
}

#[test]
fn products() {
    let side = || prop_oneof![1 => Just(0), 3 => 1..5usize, 4 => 1..70usize];
    let small = (side(), side(), side()).prop_map(|(m, k, n)| [m, k, n]);
    // larger than the blocks of the host's loop; tall and narrow; flat
    let large = prop_oneof![
        (60..70usize, 250..600usize, 250..600usize).prop_map(|(m, k, n)| [m, k, n]),
        (3000..9000usize, 1..20usize, 1..5usize).prop_map(|(m, k, n)| [m, k, n]),
        (1..4usize, 2000..5000usize, 1..9usize).prop_map(|(m, k, n)| [m, k, n]),
    ];
    let sizes = prop_oneof![20 => small, 1 => large];
    let values = || select(vec![Values::Exact, Values::Inexact, Values::Wild]);
    let cases = (sizes, values(), values(), any::<bool>(), 0..1u64 << 16);
    suite("dense products", 300, cases, |(sizes, a, b, single, seed)| match single {
        true => check::<f32>(sizes, [a, b], seed),
        false => check::<f64>(sizes, [a, b], seed),
    });
}

/// Products of a sparse and a dense matrix have the same bits on every device.
#[test]
fn products_of_sparse_matrices() {
    let side = || prop_oneof![1 => Just(0), 3 => 1..5usize, 4 => 1..90usize];
    let values = || select(vec![Values::Exact, Values::Inexact, Values::Wild]);
    let width = prop_oneof![1 => Just(0), 8 => 1..9usize, 2 => 10..70usize];
    let cases = (side(), side(), width, 0..1000u64, (values(), values()), 0..1u64 << 16);
    suite("sparse times dense", 200, cases, |(m, k, n, per_mille, (left, right), seed)| {
        let there = |at: usize| mix(mix(seed ^ 9) ^ at as u64) % 1000 < per_mille;
        let held: Vec<f32> = factor(m, k, left, seed);
        let triple = |at: usize| ((at / k) as u32, (at % k) as u32, held[at]);
        let a = ok(Matrix::from_triples(m, k, (0..m * k).filter(|&at| there(at)).map(triple)))?;
        let b: Vec<f32> = factor(k, n, right, mix(seed));
        let x = ok(Dense::new(k, n, b.clone()))?;
        for threads in [1, 2, 8] {
            let product = ok(on_threads(threads, || a.mxm_dense(&x)))?;
            same("shape", (m, n), (product.nrows(), product.ncols()))?;
            for i in 0..m {
                for j in 0..n {
                    let products = (0..k).filter(|p| there(i * k + p)).map(|p| held[i * k + p] * b[p * n + j]);
                    let expected = products.fold(0.0, |sum, product| sum + product);
                    let found = ok(product.get(i, j))?.map(Element::bits);
                    same(&format!("place {i}, {j}"), Some(expected.bits()), found)?;
                }
            }
        }
        Ok(())
    });
}

/// A product with a batch of vectors is the same as with each vector alone.
#[test]
fn a_batch_of_vectors() {
    let n = 500;
    let a = Dense::new(n, n, factor::<f32>(n, n, Values::Exact, 5)).unwrap();
    let vector = |seed: u32| {
        let held = (0..n as u32).filter(move |i| mix(u64::from(i ^ seed << 16)).is_multiple_of(3));
        Vector::from_pairs(n, held.map(|i| (i, (i % 7) as f32 - seed as f32))).unwrap()
    };
    let vectors: Vec<Vector<f32>> = (0..6).map(vector).collect();
    let batch = Dense::from_columns(&vectors).unwrap();
    assert_eq!((batch.nrows(), batch.ncols(), batch.column(6).unwrap()), (n, 6, None));
    let product = on_device(|| a.mxm(&batch));
    if !runs(&product) || dry_run().is_some() {
        return;
    }
    let product = product.unwrap();
    for (j, vector) in vectors.iter().enumerate() {
        assert_eq!(batch.column(j).unwrap().unwrap().to_dense(0.0), vector.to_dense(0.0));
        let alone = on_device(|| a.mxm(&Dense::from_columns(std::slice::from_ref(vector))?)).unwrap();
        // all sums are exact, in any order
        assert_eq!(alone.column(0).unwrap(), product.column(j).unwrap());
    }
    let there = on_device(|| product.mxm(&Dense::full(6, 1, 1.0)?)).unwrap();
    let back = there.to(Device::Cpu).unwrap();
    assert_eq!((back.device(), back.values().unwrap()), (Device::Cpu, there.values().unwrap()));
    assert_eq!(back.get(0, 0).unwrap(), Some(product.values().unwrap()[..6].iter().sum()));
}

#[test]
fn what_does_not_fit() {
    let of = |nrows, ncols| Dense::full(nrows, ncols, 1.0f64).unwrap();
    let (a, b) = (of(2, 3), of(2, 3));
    let place = |line: u32| format!("{}:{line}:", file!());
    let error = on_device(|| a.mxm(&b)).unwrap_err().to_string();
    assert!(error.starts_with(&place(line!() - 1)), "{error}");
    assert!(error.ends_with(": mxm: dense matrix of 2 x 3 does not fit dense matrix of 2 x 3"), "{error}");
    let sparse = Matrix::from_triples(3, 4, [(0, 1, 1.0f64)]).unwrap();
    let error = on_device(|| sparse.mxm_dense(&a)).unwrap_err().to_string();
    assert!(error.starts_with(&place(line!() - 1)), "{error}");
    assert!(error.ends_with(": mxm_dense: matrix of 3 x 4 does not fit dense matrix of 2 x 3"), "{error}");
    let error = Dense::from_columns(&[Vector::full(2, 1.0f64), Vector::new(3)]).unwrap_err().to_string();
    assert!(error.starts_with(&place(line!() - 1)), "{error}");
    assert!(error.ends_with(": from_columns: vector of 2 does not fit vector of 3"), "{error}");
    for (nrows, ncols) in [(2, 2), (3, 1), (usize::MAX, 2), (usize::MAX, usize::MAX)] {
        let error = Dense::new(nrows, ncols, vec![1.0f32, 2.0]).unwrap_err().to_string();
        assert_eq!(error, format!("Dense: 2 values in a matrix of {nrows} x {ncols}"));
    }
    let error = Dense::full(usize::MAX, usize::MAX, 0.0f32).unwrap_err().to_string();
    assert!(error.starts_with("Dense: a matrix of ") && error.contains("needs "), "{error}");
    // matrices without values may have any height; their product may be too large
    let (tall, flat) =
        (Dense::new(1 << 31, 0, vec![0.0f64; 0]).unwrap(), Dense::new(0, 1 << 31, vec![0.0; 0]).unwrap());
    let product = on_device(|| tall.mxm(&flat)).unwrap_err().to_string();
    assert!(product.contains("needs ") || product.contains(" needed "), "{product}");
    let nothing = on_device(|| flat.mxm(&tall)).unwrap();
    assert_eq!((nothing.nrows(), nothing.ncols(), nothing.values().unwrap()), (0, 0, &[][..]));
    let zeros = on_device(|| of(3, 0).mxm(&of(0, 2))).unwrap();
    assert_eq!((zeros.nrows(), zeros.ncols(), zeros.values().unwrap()), (3, 2, &[0.0; 6][..]));
    assert_eq!((zeros.get(3, 0).unwrap(), zeros.get(0, 2).unwrap(), zeros.column(2).unwrap()), (None, None, None));
    assert_eq!(Dense::<f32>::from_columns(&[]).unwrap().values().unwrap(), [0.0; 0]);
}
