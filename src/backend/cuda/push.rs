//! Push on a device: elements are sent along their rows, and products are folded atomically into the result.

use crate::backend::cuda::build::RUN_PLACES;
use crate::backend::cuda::codegen::builder::{CppType, KernelBuilder, Node};
use crate::backend::cuda::compact::{launch_over_by, list};
use crate::backend::cuda::entries::listed_lengths;
use crate::backend::cuda::terminals::{self, rows_builder};
use crate::backend::cuda::{DeviceCsr, DeviceVector, Gpu};
use crate::error::Result;
use crate::formats::bitmap::words;
use std::sync::Arc;
use crate::kernels::{Buffer, sources};
use vxm_semiring::laws::Law;
use vxm_semiring::{Element, Monoid, Semiring};

/// Whether products of this monoid may be folded in any order on a device.
///
/// Results of 8 bytes start as the identity. So `min` and `max` of `f64` are out: their identity isn't one for NaN. Of 16 bytes none are
/// pushed: a result and its presence would have to change at once.
pub fn can_push<T: Element, M: Monoid<T>>(add: M) -> bool {
    // a type without values has one element, so every fold gives the same
    if size_of::<T>() == 0 {
        return true;
    }
    let width = size_of::<T>();
    M::EXACT && add.is_commutative() && (width < 8 || width == 8 && !add.exceptions().contains(&Law::Identity))
}

/// Pushes an emitted view of length `n` along the rows of `matrix`. Returns the result, of length `length`, as a leaf of `kernel`.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn push<X, A, S>(
    kernel: &mut KernelBuilder,
    (operand, view): (KernelBuilder, Node),
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
    // a view is read once to list its elements and once for each entry, so one that isn't stored is evaluated first
    let (mut operand, view) = match view.bits {
        Some(_) => (operand, view),
        None => {
            let held = terminals::eval::<X>(operand, &view, n)?;
            let mut stored = KernelBuilder::new(gpu);
            let node = stored.stored(&held);
            (stored, node)
        }
    };
    let bits = view.bits.unwrap_or(0);
    let (sources, count) =
        if bits == 0 { (None, n) } else { list(gpu, bits, n, view.count).map(|(l, c)| (Some(l), c))? };
    let listed = sources.as_ref().map_or(0, Buffer::address);
    // a full operand has one product for each entry of the matrix
    let sums = match sources {
        None => matrix.offsets.clone(),
        Some(_) => Arc::new(listed_lengths(gpu, listed, count, matrix.offsets.address(), 1)?),
    };
    operand.include(sources::ROWS);
    operand.include(sources::RUNS);
    operand.include(sources::PUSH);
    let (t, a) = (operand.element::<S::Out>(), operand.element::<A>());
    let sum = ring.add();
    let (add, mul) = (operand.monoid::<S::Out, S::Add>(sum), operand.functor(ring.mul()));
    let target = PushTarget::<S::Out>::new(gpu, sum, length)?;
    let target_ty = target.ty(&mut operand);
    let ring = operand.ty("vxm::Semiring", [t, mul, add]);
    let ty = operand.ty("vxm::Push", [view.ty, a, ring, target_ty]);
    let rows = [matrix.offsets.address(), matrix.columns.address(), matrix.values.address()];
    let head = [&[listed, count as u64, sums.address()][..], &rows, &target.members()].concat();
    // the grid's size is an estimate from the mean row length: the kernel's loop covers any number of products
    let mean = matrix.nnz().div_ceil(n.max(1));
    launch_over_by(&mut operand, ty, &head, count.saturating_mul(mean), RUN_PLACES)?;
    Ok(target.leaf(kernel))
}

/// The result of a push, into which products are folded atomically.
///
/// Elements of up to 4 bytes are words that hold the element and, in the highest bit, its presence. Elements of 8 bytes are a vector that
/// starts as the identity, with a presence bitmap. A type without values needs the bitmap only.
struct PushTarget<T> {
    words: Option<Arc<Buffer>>,
    vector: Option<DeviceVector<T>>,
}

impl<T: Element> PushTarget<T> {
    /// An empty result of `length` elements.
    #[inline(never)]
    fn new(gpu: &Gpu, add: impl Monoid<T>, length: usize) -> Result<Self> {
        let bytes = match size_of::<T>() {
            0 => return Ok(Self { words: None, vector: Some(DeviceVector::fresh(gpu, length, true)?) }),
            1 | 2 => 4,
            4 => 8,
            _ => {
                let mut filling = rows_builder(gpu);
                filling.push_element(add.identity());
                let t = filling.element::<T>();
                let node = Node::new(filling.ty("vxm::Fill", [t]), true);
                let vector =
                    terminals::eval::<T>(filling, &node, length)?.with_presence(gpu.zeroed(words(length) * 8)?);
                return Ok(Self { words: None, vector: Some(vector) });
            }
        };
        Ok(Self { words: Some(Arc::new(gpu.zeroed(length * bytes)?)), vector: None })
    }

    /// The C++ type.
    fn ty(&self, kernel: &mut KernelBuilder) -> CppType {
        let t = kernel.element::<T>();
        match size_of::<T>() {
            0 => "vxm::PushTargetPattern".into(),
            1 | 2 => kernel.ty("vxm::PushTarget", [t, "vxm::u32".into()]),
            4 => kernel.ty("vxm::PushTarget", [t, "vxm::u64".into()]),
            _ => kernel.ty("vxm::PushTargetWide", [t]),
        }
    }

    /// The words of the C++ type's members.
    fn members(&self) -> Vec<u64> {
        let words = self.words.as_ref().map(|words| words.address());
        let vector = self.vector.as_ref().map_or([0; 2], |vector| [vector.values_address(), vector.bits_address()]);
        match words {
            Some(words) => vec![words],
            None if size_of::<T>() == 0 => vec![vector[1]],
            None => vector.to_vec(),
        }
    }

    /// The result as a leaf of `kernel`.
    #[inline(never)]
    fn leaf(self, kernel: &mut KernelBuilder) -> Node {
        if let Some(vector) = &self.vector {
            return kernel.stored(vector);
        }
        kernel.include(sources::ROWS);
        kernel.include(sources::RUNS);
        kernel.include(sources::PUSH);
        let ty = self.ty(kernel);
        if let Some(words) = self.words {
            kernel.push(words.address());
            kernel.keep_alive(words);
        }
        Node::new(ty, false)
    }
}
