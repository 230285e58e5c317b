//! Push on a device: elements sent along their rows, products folded where they land.

use super::build::RUN_PLACES;
use super::compact::{list, step_by};
use super::compose::{Composer, Node, Piece};
use super::entries::listed_lengths;
use super::run::{self, rows_composer};
use super::{DeviceCsr, DeviceVector, Gpu};
use crate::error::Result;
use crate::formats::bitmap::words;
use std::sync::Arc;
use vxm_kernels::{Buffer, sources};
use vxm_semiring::laws::Law;
use vxm_semiring::{Element, Monoid, Semiring};

/// Whether products of this monoid may land in any order, and on a device at that: those of 8 bytes begin with the identity, which
/// for `min` and `max` of floats is none to NaN.
pub fn can_push<T: Element, M: Monoid<T>>() -> bool {
    // of a pattern's elements there is one
    if size_of::<T>() == 0 {
        return true;
    }
    M::EXACT && M::COMMUTATIVE && (size_of::<T>() < 8 || !M::EXCEPTIONS.contains(&Law::Identity))
}

/// Sends the elements of an emitted view along the rows of `matrix`, and adds what landed, of `length` places, to `kernel` as a
/// leaf.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn push<X, A, S>(
    kernel: &mut Composer,
    (operand, view): (Composer, Node),
    n: usize,
    matrix: &DeviceCsr<A>,
    length: usize,
    ring: S,
) -> Result<Node>
where
    X: Element,
    A: Element,
    S: Semiring<X, A>,
{
    let gpu = &kernel.gpu().clone();
    // what is read once for its presence and once for each entry is evaluated first
    let (mut operand, view) = match view.bits {
        Some(_) => (operand, view),
        None => {
            let held = run::eval::<X>(operand, &view, n)?;
            let mut stored = Composer::new(gpu);
            let node = stored.stored(&held);
            (stored, node)
        }
    };
    let bits = view.bits.unwrap_or(0);
    let (sources, count) =
        if bits == 0 { (None, n) } else { list(gpu, bits, n, view.count).map(|(l, c)| (Some(l), c))? };
    let listed = sources.as_ref().map_or(0, Buffer::address);
    // all rows' products are the entries
    let sums = match sources {
        None => matrix.offsets.clone(),
        Some(_) => Arc::new(listed_lengths(gpu, listed, count, matrix.offsets.address(), 1)?),
    };
    operand.include(sources::ROWS);
    operand.include(sources::RUNS);
    operand.include(sources::PUSH);
    let (t, a) = (operand.element::<S::Out>(), operand.element::<A>());
    let (add, mul) = (operand.monoid::<S::Out, S::Add>(ring.add()), operand.functor(ring.mul()));
    let landing = Landing::<S::Out>::new::<S::Add>(gpu, length)?;
    let landed = landing.ty(&mut operand);
    let ty = operand.ty("vxm::Push", [view.ty, a, t, mul, add, landed]);
    let rows = [matrix.offsets.address(), matrix.columns.address(), matrix.values.address()];
    let head = [&[listed, count as u64, sums.address()][..], &rows, &landing.members()].concat();
    // about as many products as rows of the mean length have: more are gone through all the same
    let mean = matrix.nnz().div_ceil(n.max(1));
    step_by(&mut operand, ty, &head, count.saturating_mul(mean), RUN_PLACES)?;
    Ok(landing.leaf(kernel))
}

/// Where products land.
struct Landing<T> {
    words: Option<Arc<Buffer>>,
    vector: Option<DeviceVector<T>>,
}

impl<T: Element> Landing<T> {
    /// Of `length` places, nothing at any.
    fn new<M: Monoid<T>>(gpu: &Gpu, length: usize) -> Result<Self> {
        let bytes = match size_of::<T>() {
            0 => return Ok(Self { words: None, vector: Some(DeviceVector::fresh(gpu, length, true)?) }),
            1 | 2 => 4,
            4 => 8,
            _ => {
                let mut filling = rows_composer(gpu);
                filling.push(M::IDENTITY.bits());
                let t = filling.element::<T>();
                let node = Node::new(filling.ty("vxm::Fill", [t]), true);
                let vector = run::eval::<T>(filling, &node, length)?.emptied(gpu.zeroed(words(length) * 8)?);
                return Ok(Self { words: None, vector: Some(vector) });
            }
        };
        Ok(Self { words: Some(Arc::new(gpu.zeroed(length * bytes)?)), vector: None })
    }

    /// Its C++ type.
    fn ty(&self, kernel: &mut Composer) -> Piece {
        let t = kernel.element::<T>();
        match size_of::<T>() {
            0 => "vxm::LandedBits".into(),
            1 | 2 => kernel.ty("vxm::Landed", [t, "vxm::u32".into()]),
            4 => kernel.ty("vxm::Landed", [t, "vxm::u64".into()]),
            _ => kernel.ty("vxm::LandedWide", [t]),
        }
    }

    /// Its members' words.
    fn members(&self) -> Vec<u64> {
        let words = self.words.as_ref().map(|words| words.address());
        let vector = self.vector.as_ref().map_or([0; 2], |vector| [vector.values_address(), vector.bits_address()]);
        match words {
            Some(words) => vec![words],
            None if size_of::<T>() == 0 => vec![vector[1]],
            None => vector.to_vec(),
        }
    }

    /// A leaf of what landed.
    fn leaf(self, kernel: &mut Composer) -> Node {
        if let Some(vector) = &self.vector {
            return kernel.stored(vector);
        }
        kernel.include(sources::ROWS);
        kernel.include(sources::RUNS);
        kernel.include(sources::PUSH);
        let ty = self.ty(kernel);
        if let Some(words) = self.words {
            kernel.push(words.address());
            kernel.keep(words);
        }
        Node::new(ty, false)
    }
}
