//! The kernel builder: what an expression emits itself into.
//!
//! An expression adds C++ types to the program key, and words to the kernel's parameter. Files beside this one hold the builder's other
//! parts: `operands` (vectors and matrices), `products` (which product gets which treatment), `program` (compilation, and the parameter's
//! bytes).

use crate::backend::cuda::Gpu;
use crate::backend::cuda::codegen::monoid::{functor_type, monoid_type};
use crate::backend::cuda::codegen::program_key::{Kind, ProgramKey};
use crate::backend::cuda::layout::arrays::Bins;
use crate::backend::cuda::layout::row_classes::Classes;
use crate::backend::tuning;
use crate::formats::{Duplicates, Joining};
use std::any::Any;
use std::sync::Arc;
use crate::kernels::sources;
use vxm_semiring::{Element, KernelText, Monoid, Source};

pub use crate::backend::cuda::codegen::program_key::CppType;

/// An emitted view: its C++ type, and what is known about its elements.
#[derive(Debug, Clone, Copy)]
pub struct Node {
    /// The type. The words of its members were pushed in the order of the members.
    pub ty: CppType,
    /// Whether every index is known to hold an element.
    pub full: bool,
    /// The address of its presence bitmap, if that is stored; 0 if all elements are present.
    pub(crate) bits: Option<u64>,
    /// The number of elements, if known.
    pub(crate) count: Option<usize>,
}

impl Node {
    /// A node of type `ty`.
    pub fn new(ty: impl Into<CppType>, full: bool) -> Self {
        Self { ty: ty.into(), full, bits: None, count: None }
    }
}

/// How a device merges entries with the same row and column.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DuplicateMerge {
    /// Such entries are an error.
    Refuse,
    /// The functor of this type merges an earlier and a later value.
    Call(CppType),
}

/// A kernel under construction: its C++ types, the words of its parameter, and the storage that must live until the launch.
pub struct KernelBuilder {
    pub(super) gpu: Gpu,
    pub(super) program_key: ProgramKey,
    /// The source files that the program includes, in order.
    pub(super) library: Vec<&'static str>,
    /// The words of the view's members.
    pub(super) words: Vec<u64>,
    /// The storage that must live until the launch.
    pub(super) kept_alive: Vec<Arc<dyn Any + Send + Sync>>,
    /// The row classes of the first product.
    pub(super) classes: Option<Arc<Classes>>,
    pub(super) products: Products,
    pub(super) binned: Option<Box<Binned>>,
    /// The offsets of the last expression's first product: address, C++ type, and the number of entries.
    pub(super) row_offsets: Option<(u64, CppType, u64)>,
    /// Whether the kernel is a loop's, with several steps a round.
    pub(super) has_steps: bool,
    /// The presence bitmap that such a loop keeps: its C++ type and its words.
    pub(super) presence: Option<(CppType, Vec<u64>)>,
    /// The product of the last step that is counted for a warp's rows together: its C++ type, and the number of words before it.
    pub(super) counted: Option<(CppType, usize)>,
    /// Whether the kernel is a loop's, which evaluates the view in every round.
    pub(super) resident: bool,
    /// Whether the terminal launches one kernel for each row class.
    pub(super) launches_row_classes: bool,
    /// The number of blocks per multiprocessor that a loop's kernel is compiled for, if not the default.
    pub(super) blocks: Option<u32>,
    /// The threads of a block of a loop's kernel, if not the default.
    pub(super) block_threads: Option<u32>,
    /// Whether neighbouring entries of a loop's rows are known to read elements that lie far apart.
    pub(super) scattered: bool,
    /// Whether a mask is being emitted.
    pub(super) in_mask: bool,
    /// Whether the body of a loop's first round is being emitted.
    pub(super) in_auxiliary: bool,
    /// Why the expression can't be evaluated by one kernel, if it can't.
    pub(super) unfusable: Option<&'static str>,
    /// The address of the counters of rounds, if the kernel counts what it does.
    pub(super) series: Option<u64>,
}

/// What is known about the products of a kernel, except those of a loop's first-round body.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Products {
    /// The number of products so far.
    pub(super) count: usize,
    pub(super) primary: Option<PrimaryProduct>,
    pub(super) blocking: Option<BlockingProduct>,
    /// Whether a mask leaves out some indices of the result.
    pub(super) masked: bool,
    /// Whether a visit may skip a part of the view, and with it the product.
    pub(super) skippable: bool,
}

/// The primary product: a terminal may stage its rows, or count them over tiles.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PrimaryProduct {
    /// Its C++ type.
    pub ty: CppType,
    /// The number of words before it in the view.
    pub at: usize,
    /// The group that counts its rows over tiles, if it does. Otherwise they are staged.
    pub over_tiles: Option<&'static str>,
}

/// A product with blockers that a loop tracks: for each row the entries that block it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockingProduct {
    /// Its C++ type.
    pub ty: CppType,
    /// The number of words before it in the view.
    pub at: usize,
    /// Whether its entries are filtered by key.
    pub prefilters: bool,
}

/// What a product by propagation blocking needs: the bins, and the kernel that multiplies their entries with a full vector.
pub struct Binned {
    /// The entries in bins.
    pub bins: Arc<Bins>,
    /// The multiplying kernel, and its C++ type.
    pub multiply: (KernelBuilder, CppType),
    /// The sizes in bytes of the vector's elements and of the products.
    pub widths: [usize; 2],
}

impl KernelBuilder {
    /// An empty kernel for `gpu`.
    pub fn new(gpu: &Gpu) -> Self {
        let library = vec![
            tuning::kernel_config(),
            sources::GROUP,
            sources::REDUCE_ROW,
            sources::VIEW,
            sources::TERMINAL,
            sources::STAGED,
        ];
        Self {
            gpu: gpu.clone(),
            program_key: ProgramKey::new(),
            library,
            words: Vec::with_capacity(32),
            kept_alive: Vec::with_capacity(8),
            classes: None,
            products: Products::default(),
            binned: None,
            row_offsets: None,
            has_steps: false,
            presence: None,
            counted: None,
            resident: false,
            launches_row_classes: false,
            blocks: None,
            block_threads: None,
            scattered: false,
            in_mask: false,
            in_auxiliary: false,
            unfusable: None,
            series: None,
        }
    }

    /// Makes the kernel count what it does, in the counters of rounds at this address.
    pub(crate) fn count_in(&mut self, series: u64) {
        if self.series.replace(series).is_none() {
            self.library.insert(0, sources::TALLIES);
        }
    }

    /// An empty kernel for a loop that stays on the device: it evaluates the view in every round.
    pub fn resident(gpu: &Gpu) -> Self {
        Self { resident: true, ..Self::new(gpu) }
    }

    /// An empty kernel for a loop with several steps a round.
    pub fn for_steps(gpu: &Gpu) -> Self {
        Self { has_steps: true, ..Self::resident(gpu) }
    }

    /// An empty kernel for a terminal that launches one kernel for each row class of the primary product: a new vector, or a write.
    pub fn for_row_classes(gpu: &Gpu) -> Self {
        Self { launches_row_classes: true, ..Self::new(gpu) }
    }

    /// Whether the terminal launches one kernel for each row class of the primary product.
    pub fn launches_row_classes(&self) -> bool {
        self.launches_row_classes
    }

    /// Whether the kernel is a loop's, which evaluates the view in every round.
    pub fn is_resident(&self) -> bool {
        self.resident
    }

    /// The device that the kernel is for.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Notes that the expression can't be evaluated by one kernel. The first reason stays.
    pub fn note_unfusable(&mut self, why: &'static str) {
        self.unfusable.get_or_insert(why);
    }

    /// Why the expression can't be evaluated by one kernel, if it can't.
    pub(crate) fn unfusable(&self) -> Option<&'static str> {
        self.unfusable
    }

    /// Adds a source file to the program, unless it is there.
    pub(crate) fn include(&mut self, source: &'static str) {
        if !self.library.contains(&source) {
            self.library.push(source);
        }
    }

    /// Returns the kernel with a source file added.
    pub(crate) fn with(mut self, source: &'static str) -> Self {
        self.include(source);
        self
    }

    /// Adds a word to the parameter.
    pub fn push(&mut self, word: u64) {
        self.words.push(word);
    }

    /// Adds the bits of an element to the parameter.
    pub fn push_element<T: Element>(&mut self, value: T) {
        self.words.extend(value.words());
    }

    /// The number of words so far.
    pub fn position(&self) -> usize {
        self.words.len()
    }

    /// Keeps storage alive until the kernel is launched. A device frees memory in stream order, so storage may be dropped after the launch.
    pub fn keep_alive(&mut self, storage: impl Any + Send + Sync) {
        self.kept_alive.push(Arc::new(storage));
    }

    /// Keeps alive the storage of another kernel.
    pub(crate) fn keep_storage_of(&mut self, other: Self) {
        self.kept_alive.extend(other.kept_alive);
    }

    /// The C++ type `template<arguments>`.
    pub fn ty<const N: usize>(&mut self, template: &'static str, arguments: [CppType; N]) -> CppType {
        self.program_key.template(Some(template), arguments)
    }

    /// The concatenation of C++ texts.
    pub(crate) fn concat<const N: usize>(&mut self, texts: [CppType; N]) -> CppType {
        self.program_key.template(None, texts)
    }

    /// The C++ name of an element type.
    pub fn element<T: Element>(&mut self) -> CppType {
        self.program_key.make::<T>(Kind::Element, |text| {
            T::declare(text);
            T::CUDA.to_owned()
        })
    }

    /// A C++ type with a static `call`, for an operator.
    pub fn functor<O: Source>(&mut self, op: O) -> CppType {
        let source = self.program_key.operator(op);
        self.program_key.make::<O>(Kind::Functor, move |text| {
            let name = source(text);
            functor_type(text, &name)
        })
    }

    /// How the kernel merges entries with the same row and column; none if only the host can apply the rule.
    pub(crate) fn duplicate_merge<T: Element>(&mut self, duplicates: &impl Duplicates<T>) -> Option<DuplicateMerge> {
        self.element::<T>();
        let mut adds = KernelText::after(self.program_key.arguments().to_vec());
        Some(match duplicates.joining(&mut adds)? {
            Joining::Refuse => DuplicateMerge::Refuse,
            Joining::Call(name) => {
                self.program_key.text(&name, &adds);
                DuplicateMerge::Call(self.program_key.make::<T>(Kind::Functor, move |text| {
                    text.adopt(&adds);
                    functor_type(text, &name)
                }))
            }
        })
    }

    /// A C++ type with a monoid's `call`, `terminal` and properties.
    pub fn monoid<T: Element, M: Monoid<T>>(&mut self, add: M) -> CppType {
        self.element::<T>();
        // devices of compute capability 8.0 and above fold the integers of a warp by one instruction
        let at_once = self.gpu.arch() >= (8, 0) && M::EXACT;
        let source = self.program_key.operator(add);
        // a type doesn't determine these, if the monoid was made at run time
        let properties = u64::from(add.is_commutative()) << 1 | u64::from(add.terminal().is_some());
        self.program_key.number(properties);
        for number in add.identity().words().chain(add.terminal().unwrap_or(T::ZERO).words()) {
            self.program_key.number(number);
        }
        self.program_key.make::<T>(Kind::Monoid(at_once), move |text| {
            let name = source(text);
            monoid_type(text, add, &name, at_once)
        })
    }
}
