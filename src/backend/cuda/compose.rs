//! Composing a kernel: the types an expression emits, the operators they name, and the parameter's words.

use super::csr::Classes;
use super::{DeviceCsr, DeviceTiles, DeviceVector, Gpu};
use std::any::Any;
use std::sync::Arc;
use vxm_kernels::sources;
use vxm_semiring::{Element, KernelText, Monoid, Source};

/// A composed view: its C++ type, and whether every index holds an element.
#[derive(Debug, Clone)]
pub struct Node {
    /// The type; its members' words were pushed in order.
    pub ty: String,
    /// Whether it is known to be full.
    pub full: bool,
    /// The address of its presence bits, if they are stored; 0 where all are present.
    pub(super) bits: Option<u64>,
}

impl Node {
    /// A node of type `ty`.
    pub fn new(ty: impl Into<String>, full: bool) -> Self {
        Self { ty: ty.into(), full, bits: None }
    }
}

/// What a kernel is composed in: definitions, the words of its parameter, and what must live until it is launched.
pub struct Composer {
    gpu: Gpu,
    text: KernelText,
    words: Vec<u64>,
    kept: Vec<Arc<dyn Any + Send + Sync>>,
    classes: Option<Arc<Classes>>,
}

impl Composer {
    /// An empty kernel for `gpu`.
    pub fn new(gpu: &Gpu) -> Self {
        let mut text = KernelText::with_arguments();
        text.prelude();
        for (name, source) in [
            ("vxm_group", sources::GROUP),
            ("vxm_fold", sources::FOLD),
            ("vxm_view", sources::VIEW),
            ("vxm_terminal", sources::TERMINAL),
        ] {
            text.define(name, source);
        }
        Self { gpu: gpu.clone(), text, words: Vec::new(), kept: Vec::new(), classes: None }
    }

    /// Adds a definition, once.
    pub(super) fn define(&mut self, name: &str, source: &str) {
        self.text.define(name, source);
    }

    /// The device that it is for.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Adds a word to the parameter.
    pub fn push(&mut self, word: u64) {
        self.words.push(word);
    }

    /// Keeps storage until the kernel is launched; what is freed after that is freed in the stream's order.
    pub fn keep(&mut self, storage: impl Any + Send + Sync) {
        self.kept.push(Arc::new(storage));
    }

    /// The C++ name of an element type.
    pub fn element<T: Element>(&mut self) -> &'static str {
        T::declare(&mut self.text);
        T::CUDA
    }

    /// A type with a static `call`, for an operator.
    pub fn functor(&mut self, op: impl Source) -> String {
        let name = op.source(&mut self.text);
        self.text.define_hashed("call", |this| {
            format!(
                "struct {this} {{ template <class... X> static VXM_FN auto call(X... x) {{ return {name}(x...); }} }};"
            )
        })
    }

    /// A type with a monoid's `call` and `terminal`, and what is known of it.
    pub fn monoid<T: Element, M: Monoid<T>>(&mut self, add: M) -> String {
        let (t, name) = (self.element::<T>(), add.source(&mut self.text));
        let always = M::TERMINAL.is_none() && M::is_terminal(M::IDENTITY);
        let terminal = match M::TERMINAL {
            Some(terminal) if size_of::<T>() > 0 => format!("vxm::eq(a, {})", terminal.literal()),
            _ => always.to_string(),
        };
        let (exact, commutative, stops) = (M::EXACT, M::COMMUTATIVE, always || M::TERMINAL.is_some());
        self.text.define_hashed("monoid", |this| {
            format!(
                "struct {this} {{ static const bool exact = {exact}, commutative = {commutative}, stops = {stops};\n    \
                 static VXM_FN {t} call({t} a, {t} b) {{ return {name}(a, b); }}\n    \
                 static VXM_FN bool terminal({t} a) {{ return {terminal}; }} }};"
            )
        })
    }

    /// A stored vector.
    pub fn stored<T: Element>(&mut self, vector: &DeviceVector<T>) -> Node {
        let ty = format!("vxm::Stored<{}>", self.element::<T>());
        self.push(vector.values_address());
        self.push(vector.bits_address());
        self.keep(vector.clone());
        Node { ty, full: vector.bits_address() == 0, bits: Some(vector.bits_address()) }
    }

    /// Keeps what another kernel keeps.
    pub(super) fn adopt(&mut self, other: Self) {
        self.kept.extend(other.kept);
    }

    /// The rows of a product: its words, and how the terminal shares out its indices (the first product's degrees say).
    pub fn rows<A: Element>(&mut self, rows: Arc<DeviceCsr<A>>) {
        self.words.extend([rows.offsets.address(), rows.columns.address(), rows.values.address()]);
        self.classes.get_or_insert_with(|| rows.classes.clone());
        self.kept.push(rows);
    }

    /// The tiles of a product, as [`rows`](Self::rows); weights are not among the words.
    pub fn tiles<A: Element>(&mut self, tiles: Arc<DeviceTiles<A>>) {
        self.define("vxm_tiles", sources::TILES);
        self.words.extend([tiles.offsets.address(), tiles.columns.address(), tiles.bits.address()]);
        self.classes.get_or_insert_with(|| tiles.classes.clone());
        self.kept.push(tiles);
    }

    pub(super) fn take_classes(&mut self) -> Option<Arc<Classes>> {
        self.classes.take()
    }

    /// The whole source of kernels `entries` (name, and the group it runs as) of `ty`, and the bytes of its parameter behind `head`.
    pub(super) fn finish(&self, ty: &str, entries: &[(&str, &str)]) -> String {
        let arguments = self.text.arguments().len();
        let mut source = String::new();
        let (member, load) = if arguments == 0 {
            (String::new(), String::new())
        } else {
            // operators read them as vxm_args, which stands before them all
            source.push_str("extern __shared__ unsigned long long vxm_args[];\n");
            let load = format!(
                "    if (threadIdx.x < {arguments}) vxm_args[threadIdx.x] = p.arguments[threadIdx.x];\n    \
                 __syncthreads();\n"
            );
            (format!(" unsigned long long arguments[{arguments}];"), load)
        };
        let text = self.text.text();
        // headers stay first
        let split = text.find("// The operations").unwrap_or(0);
        source = format!("{}{source}{}", &text[..split], &text[split..]);
        source.push_str(&format!("struct Parameter {{ {ty} kernel;{member} }};\n"));
        for (name, group) in entries {
            source.push_str(&format!(
                "extern \"C\" __global__ void __launch_bounds__(256) {name}(const __grid_constant__ Parameter p) {{\n{load}    \
                 p.kernel.run({group});\n}}\n"
            ));
        }
        source
    }

    /// Bytes of shared memory that the arguments take.
    pub(super) fn shared(&self) -> u32 {
        8 * self.text.arguments().len() as u32
    }

    /// The parameter's bytes: `head`, what was pushed, the arguments.
    pub(super) fn parameter(&self, head: &[u64]) -> Vec<u8> {
        [head, &self.words, self.text.arguments()].concat().iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}
