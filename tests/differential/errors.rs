//! Errors: the terminal returns a shape mismatch with both shapes and the caller's line, and nothing panics.

use crate::algebra::{blend, blend3};
use crate::harness::on_device;
use vxm::backend::cuda::Gpu;
use vxm::prelude::*;
use vxm::semiring::{KernelText, Source};

/// The file and line of the call on the line above.
macro_rules! line_above {
    () => {
        format!("{}:{}:", file!(), line!() - 1)
    };
}

/// Asserts that `result` is an error that begins with `place` and ends with `what`.
#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T>, place: &str, what: &str) {
    let error = result.unwrap_err().to_string();
    assert!(error.starts_with(place), "{error}: expected it to begin with {place}");
    assert!(error.ends_with(&format!(": {what}")), "{error}: expected it to end with {what}");
}

fn three_by_four() -> Matrix<u32> {
    Matrix::from_triples(3, 4, [(0, 1, 5), (2, 3, 6)]).unwrap()
}

#[test]
fn products_name_vector_and_matrix() {
    let (a, u) = (three_by_four(), Vector::full(5, 1u32));
    let product = u.vxm(&a, PLUS_TIMES);
    let place = line_above!();
    refused(product.eval(), &place, "vxm: vector of 5 does not fit matrix of 3 x 4");
    refused(product.reduce(PLUS), &place, "vxm: vector of 5 does not fit matrix of 3 x 4");
    let product = a.mxv(&u, PLUS_TIMES);
    refused(product.eval(), &line_above!(), "mxv: matrix of 3 x 4 does not fit vector of 5");
    let v = Vector::full(3, 1u32);
    let stopping = v.vxm(&a, MAX_FIRST).until(LT);
    let place = line_above!();
    refused(stopping.eval(), &place, "until: matrix of 3 x 4 does not fit a square one");
    let judged = v.vxm(&a, MAX_FIRST).edge_status(LT);
    let place = line_above!();
    refused(judged.eval(), &place, "edge_status: matrix of 3 x 4 does not fit a square one");
    // an oriented matrix is square, and its key a full vector of its size
    let view = a.oriented(LT, &v);
    let chosen = v.vxm(&view, MAX_FIRST);
    let place = line_above!();
    refused(chosen.eval(), &place, "oriented: matrix of 3 x 4 does not fit a square one");
    let square = Matrix::undirected(3, &[(0, 1)]).unwrap();
    let view = square.oriented(LT, &u);
    let chosen = v.vxm(&view, MAX_FIRST);
    let place = line_above!();
    refused(chosen.eval(), &place, "oriented: matrix of 3 x 3 does not fit vector of 5");
    let some = Vector::from_pairs(3, [(1, 7u32)]).unwrap();
    let view = square.oriented(LT, &some);
    let chosen = view.mxv(&v, MAX_SECOND);
    let place = line_above!();
    refused(chosen.eval(), &place, "oriented: the key has 1 of 3 elements: expected all");
    // the outer terminal returns the error of a nested expression
    let v = Vector::full(4, 1u32);
    let nested = u.vxm(&a, PLUS_TIMES);
    refused(v.ewise_add(nested, PLUS).eval(), &line_above!(), "vxm: vector of 5 does not fit matrix of 3 x 4");
}

#[test]
fn elementwise_verbs_name_both_lengths() {
    let (x, y) = (Vector::full(3, 1u32), Vector::full(4, 1u32));
    let sum = x.ewise_add(&y, PLUS);
    refused(sum.eval(), &line_above!(), "ewise_add: vector of 3 does not fit vector of 4");
    let product = x.ewise_mult(&y, blend);
    refused(product.eval(), &line_above!(), "ewise_mult: vector of 3 does not fit vector of 4");
    let product = blend.map2(&x, &y);
    refused(product.eval(), &line_above!(), "ewise_mult: vector of 3 does not fit vector of 4");
    let three = blend3.map3(&x, &x, &y);
    refused(three.eval(), &line_above!(), "map3: vector of 3 does not fit vector of 4");
    let masked = x.mask(&y);
    refused(masked.eval(), &line_above!(), "mask: vector of 3 does not fit vector of 4");
    let masked = x.mask(!y.values());
    refused(masked.eval(), &line_above!(), "mask: vector of 3 does not fit vector of 4");
}

#[test]
fn terminals_name_their_own_line() {
    let (x, mut w) = (Vector::full(3, 1u32), Vector::full(4, 1u32));
    let result = x.map(PLUS.bind(1)).assign_to(&mut w);
    refused(result, &line_above!(), "assign_to: vector of 4 does not fit vector of 3");
    let result = x.accum(PLUS).assign_to(&mut w);
    refused(result, &line_above!(), "assign_to: vector of 4 does not fit vector of 3");
    let result = w.update(|_| x.map(PLUS.bind(1)));
    refused(result, &line_above!(), "update: vector of 4 does not fit vector of 3");
    assert_eq!(w, Vector::full(4, 1));
}

#[test]
fn indices_outside_and_repeated() {
    let x = Vector::full(3, 1u32);
    let picked = x.extract(&[0, 2, 3]);
    refused(picked.eval(), &line_above!(), "extract: 3 places does not fit index 3 at position 2");
    refused(x.extract(&[u32::MAX]).eval(), file!(), "extract: 3 places does not fit index 4294967295 at position 0");
    let far = Vector::from_dense(vec![0u32, 7]);
    refused(x.extract(&far).eval(), file!(), "extract: 3 places does not fit index 7 at position 1");
    let holes = Vector::from_pairs(2, [(0, 1u32)]).unwrap();
    refused(x.extract(&holes).eval(), file!(), "extract: vector of 2 indices does not fit 1 elements");
    refused(x.extract(&Set::all(4)).eval(), file!(), "extract: 3 places does not fit set of 4");
    let twice = Vector::from_dense(vec![1u32, 1, 0]);
    let told = x.scatter(&twice, 5).eval().unwrap_err().to_string();
    assert!(told.starts_with("scatter at ") && told.ends_with("index 1 occurs twice"), "{told}");
    let put = x.scatter(&[0, 1], 9);
    refused(put.eval(), &line_above!(), "scatter: vector of 3 does not fit 2 indices");
    let put = x.scatter(&[0, 1, 9], 9);
    refused(put.eval(), &line_above!(), "scatter: 9 places does not fit index 9 at position 2");
    let put = x.scatter(&[4, 1, 4], 9);
    let place = line_above!();
    let error = put.eval().unwrap_err().to_string();
    assert!(error.starts_with(&format!("scatter at {place}")), "{error}: {place}");
    assert!(error.ends_with(": index 4 occurs twice"), "{error}");
}

#[test]
fn verbs_of_matrices() {
    let (a, b) = (three_by_four(), Matrix::from_triples(4, 3, [(0, 1, 5u32)]).unwrap());
    let result = a.ewise_add(&b, PLUS);
    refused(result, &line_above!(), "ewise_add: matrix of 3 x 4 does not fit matrix of 4 x 3");
    let result = a.ewise_mult(&b, PLUS);
    refused(result, &line_above!(), "ewise_mult: matrix of 3 x 4 does not fit matrix of 4 x 3");
    let key = Vector::full(3, 1u32);
    let result = a.oriented(LT, &key).into_matrix();
    refused(result, &line_above!(), "oriented: matrix of 3 x 4 does not fit vector of 3");
    let result = a.oriented(LT, &key).induced_by(&Set::all(3));
    refused(result, &line_above!(), "induced_by: matrix of 3 x 4 does not fit vector of 3");
    let square = Matrix::undirected(3, &[(0, 1)]).unwrap();
    let result = square.oriented(LT, &key).induced_by(&Set::all(4));
    refused(result, &line_above!(), "induced_by: matrix of 3 x 3 does not fit vector of 4");
    let some = Vector::from_pairs(3, [(1, 7u32)]).unwrap();
    let error = square.oriented(LT, &some).induced_by(&Set::all(3)).unwrap_err().to_string();
    assert!(error.contains("induced_by: 1 of the 3 members have a key: expected all"), "{error}");
    let result = a.map_ends(LT, &Vector::full(4, 1u32));
    refused(result, &line_above!(), "map_ends: matrix of 3 x 4 does not fit vector of 4");
    let result = a.map_ends_many(LT, &[Vector::full(4, 1u32)]);
    refused(result, &line_above!(), "map_ends_many: matrix of 3 x 4 does not fit vector of 4");
    let many = vec![Vector::full(4, 1u32); 33];
    let error = a.map_ends_many(LT, &many).unwrap_err().to_string();
    assert_eq!(error, "map_ends_many: 33 vectors: expected at most 32");
    let result = a.extract(&[0, 3], &[0]);
    refused(result, &line_above!(), "extract: matrix of 3 x 4 does not fit row 3");
    let result = a.extract(&[0], &[0, u32::MAX]);
    refused(result, &line_above!(), "extract: matrix of 3 x 4 does not fit column 4294967295");
    let outside = Matrix::from_triples(2, 2, [(0, 2, 1u32)]).unwrap_err().to_string();
    assert_eq!(outside, "Coo: the entry (0, 2, 1) lies outside a 2 x 2 matrix");
    let twice = Matrix::from_triples(2, 2, [(0, 1, 1u32), (0, 1, 1)]).unwrap_err().to_string();
    assert_eq!(twice, "Coo: two entries at row 0, column 1");
    let lopsided = Matrix::from_symmetric(a.csr().clone()).unwrap_err().to_string();
    assert_eq!(lopsided, "a 3 x 4 matrix that does not equal its transpose");
}

#[test]
fn vectors() {
    let error = |result: Result<Vector<u32>>| result.unwrap_err().to_string();
    assert_eq!(error(Vector::from_pairs(3, [(3, 1)])), "index 3 in a vector of 3 places");
    assert_eq!(error(Vector::from_pairs(0, [(0, 1)])), "index 0 in a vector of 0 places");
    assert_eq!(error(Vector::from_pairs(3, [(2, 1), (0, 1), (2, 1)])), "index 2 occurs twice");
    assert_eq!(Set::from_indices(3, [1, 7, 1]).unwrap_err().to_string(), "index 7 in a vector of 3 places");
    let mut v = Vector::full(3, 1u32);
    assert_eq!(v.set(3, 1).unwrap_err().to_string(), "index 3 in a vector of 3 places");
    assert_eq!(v.remove(u32::MAX).unwrap_err().to_string(), "index 4294967295 in a vector of 3 places");
    assert_eq!((v.get(3), v.get(u32::MAX), v.contains(9)), (None, None, false));
    let a = three_by_four();
    assert_eq!((a.get(3, 0), a.get(0, 4), a.get(u32::MAX, u32::MAX)), (None, None, None));
}

#[test]
fn a_placeholder_outside_its_call() {
    let mut v = Vector::full(3, 1u32);
    let mut kept = None;
    v.update(|w| *kept.insert(w)).unwrap();
    let leaked = kept.unwrap();
    let message = "a state reference used outside its loop or update body";
    assert_eq!(leaked.eval().unwrap_err().to_string(), message);
    assert_eq!(v.update(|_| leaked).unwrap_err().to_string(), message);
}

#[test]
fn nothing_at_all() {
    let (none, a) = (Vector::<u32>::new(0), Matrix::<u32>::from_triples(0, 0, []).unwrap());
    assert_eq!(none.vxm(&a, PLUS_TIMES).eval().unwrap(), none);
    assert_eq!(a.mxv(&none, PLUS_TIMES).mask(!&none).eval().unwrap(), none);
    assert_eq!(none.reduce(MAX).unwrap(), 0);
    assert_eq!(none.reduce(MIN).unwrap(), u32::MAX);
    assert_eq!(none.extract(&[]).eval().unwrap(), none);
    assert_eq!(none.scatter(&[], 3).eval().unwrap(), Vector::new(3));
    assert_eq!(fill(1u32, 0).eval().unwrap(), none);
    assert_eq!(
        (a.transpose(), a.select(TRIL).unwrap(), a.extract(&[], &[]).unwrap()),
        (a.clone(), a.clone(), a.clone())
    );
    assert_eq!((a.reduce(PLUS).unwrap(), a.degrees().unwrap(), a.tiles().tiles()), (0, Vector::new(0), 0));
    assert_eq!(none.rank().unwrap(), none);
    let mut w = Vector::new(0);
    w.update(|w| w.map(PLUS.bind(1u32)).mask(&none)).unwrap();
    assert_eq!(w, none);
    // the greatest length that indices allow, and a greater one
    let far = 1usize << 32;
    let many = |place: &str| format!("{place}: expected at most 4294967295 vertices, found 4294967296");
    assert_eq!(Vector::from_pairs(far, [(0, 1u32)]).unwrap_err().to_string(), many("Vector"));
    assert_eq!(fill(1u32, far).eval().unwrap_err().to_string(), many("fill"));
    assert_eq!(none.scatter(&[], far).eval().unwrap_err().to_string(), many("scatter"));
    assert!(std::panic::catch_unwind(|| Vector::<u32>::new(far)).is_err());
    let long = Vector::from_pairs(u32::MAX as usize, [(u32::MAX - 1, 7u32)]).unwrap();
    assert_eq!(long.ewise_add(&long, PLUS).eval().unwrap().iter().collect::<Vec<_>>(), [(u32::MAX - 1, 14)]);
    assert_eq!(long.mask(&long).reduce(PLUS).unwrap(), 7);
}

/// An operator written by hand with CUDA text that does not compile.
#[derive(Debug, Clone, Copy)]
struct Broken;

impl Source for Broken {
    fn source(self, text: &mut KernelText) -> String {
        text.define_hashed("broken", |name| format!("VXM_FN unsigned {name}(unsigned a) {{ return a + nowhere; }}"))
    }
}

impl UnaryOp<u32> for Broken {
    type Out = u32;
    fn call(self, a: u32) -> u32 {
        a + 1
    }
}

#[test]
fn an_operator_that_does_not_compile_is_named() {
    let x = Vector::from_dense(vec![1u32, 2]);
    // on the CPU no CUDA text is compiled, so the operator works
    assert_eq!(Device::Cpu.scope(|| x.map(Broken).eval()).unwrap(), Vector::from_dense(vec![2, 3]));
    let fails = || {
        let results = [x.map(Broken).eval().map(drop), x.map(Broken).reduce(PLUS).map(drop)];
        for error in results.map(|result| result.unwrap_err().to_string()) {
            assert!(error.starts_with("a kernel does not compile for sm_"), "{error}");
            assert!(error.contains("identifier \"nowhere\" is undefined, in `broken`, at line "), "{error}");
            assert_eq!(error.lines().count(), 1);
        }
        // the next kernel compiles
        assert_eq!(x.map(PLUS.bind(1)).eval().unwrap().len(), 2);
    };
    match std::env::var("VXM_TEST_DEVICE") {
        Ok(device) if device != "cpu" => on_device(fails),
        _ => match Gpu::dry_run(&["sm_90"]) {
            Ok(gpu) => Device::dry_run(&gpu, fails),
            Err(error) => println!("skipped: {error}"),
        },
    }
}

/// Auxiliary layouts that make a product faster need memory. A product must run without them on a device that is almost full.
#[test]
fn a_full_device_renumbers_no_columns() {
    let gpu = match Gpu::dry_run(&["sm_90"]) {
        Ok(gpu) => gpu,
        Err(error) => return println!("skipped: {error}"),
    };
    // a long row among short ones, and more columns than a cache holds
    let n = 1 << 18;
    let a = Matrix::from_triples(300, n, (0..300).map(|j| (0, j * 800, 1.5f32))).unwrap();
    let u = Vector::from_dense(vec![1f32; n]);
    Device::dry_run(&gpu, || {
        a.mxv(&u, PLUS_TIMES).eval().unwrap();
        let _held = gpu.alloc(gpu.memory().unwrap().0 as usize - (1 << 16)).unwrap();
        for _ in 0..20 {
            assert_eq!(a.mxv(&u, PLUS_TIMES).eval().unwrap().len(), 300);
        }
    });
}
