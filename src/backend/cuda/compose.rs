//! Composing a kernel: the types an expression emits, the operators they name, and the parameter's words.

use super::bins::{BIN_BLOCKS, BIN_THREADS, Binned};
use super::csr::Classes;
use super::recipe::{Kind, Name, Part, Quick, Recipe};
use super::run::{BLOCK_THREADS, STAGING_THREADS, THREADS};
use super::{DeviceCsr, DeviceTiles, DeviceVector, Gpu};
use crate::backend::plan;
use crate::error::{Error, Result};
use crate::formats::{Duplicates, Joining};
use std::any::Any;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use vxm_kernels::{Program, sources};
use vxm_semiring::{Element, KernelText, Monoid, Source};

pub use super::recipe::Piece;

/// A composed view: its C++ type, and whether every index holds an element.
#[derive(Debug, Clone, Copy)]
pub struct Node {
    /// The type; its members' words were pushed in order.
    pub ty: Piece,
    /// Whether it is known to be full.
    pub full: bool,
    /// The address of its presence bits, if they are stored; 0 where all are present.
    pub(super) bits: Option<u64>,
    /// How many elements it has, if that is known.
    pub(super) count: Option<usize>,
}

impl Node {
    /// A node of type `ty`.
    pub fn new(ty: impl Into<Piece>, full: bool) -> Self {
        Self { ty: ty.into(), full, bits: None, count: None }
    }
}

/// Programs by what tells them from others.
type Programs = HashMap<Vec<Part>, Arc<Program>, BuildHasherDefault<Quick>>;

/// What becomes of entries at one place, on a device.
#[derive(Debug, Clone, Copy)]
pub(super) enum Joined {
    /// They are an error.
    Refuse,
    /// The named functor joins an earlier and a later one.
    Call(Piece),
}

/// Blocks a multiprocessor for which a loop's kernel is compiled that remembers for whom short rows wait: with registers for four, what
/// eight entries in flight take is spilled (jp: delaunay 104 to 94 us, with the last rows held). Where it takes no more four run all the same:
/// three took grid:4096x4096 from 941 to 1013 us, road from 258 to 282. Where rows are longer three do if their entries lie all over, so that
/// more warps only crowd the cache (er 1085 to 1010), and not if they lie together (rgg 330 to 396).
const BRIEFLY: u32 = 3;

/// Blocks a multiprocessor of a loop that chooses its rows' entries, where those lie all over: what more of them look at in vain keeps the
/// second-level cache busy (er 996 to 946 us). Elsewhere four, whose registers suffice since entries are chosen by other words than the
/// state's.
const CHOOSING: u32 = 2;

/// What a kernel is composed in: definitions, the words of its parameter, and what must live until it is launched.
pub struct Composer {
    gpu: Gpu,
    recipe: Recipe,
    library: Vec<&'static str>,
    words: Vec<u64>,
    kept: Vec<Arc<dyn Any + Send + Sync>>,
    classes: Option<Arc<Classes>>,
    lead: Option<Lead>,
    binned: Option<Box<Binned>>,
    masked: bool,
    resident: bool,
    /// For how many blocks a multiprocessor a loop's kernel is compiled, if that isn't what it is for others.
    blocks: Option<u32>,
    /// Whether the entries of a loop's rows lie all over, where that is asked.
    scattered: bool,
    /// Whether the terminal shares out the rows of the product that leads.
    sharing: bool,
    /// How many products there are, and whether one of them is worth watching.
    products: usize,
    watched: Option<Lead>,
    /// Whether that one's entries are chosen by their ends.
    chooses: bool,
    /// Whether there are places where a body does without what it holds, and whether what is emitted is in a mask.
    conditional: bool,
    masking: bool,
    /// Whether what is emitted stands beside what the kernel is about.
    beside: bool,
    /// Why not all of it runs in one kernel, if it doesn't.
    apart: Option<&'static str>,
}

/// The product whose rows a terminal shares out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lead {
    /// Its C++ type.
    pub ty: Piece,
    /// How many words stand before it in the view.
    pub at: usize,
    /// Whether its rows are tallied over tiles, rather than staged.
    pub tallied: bool,
}

impl Composer {
    /// An empty kernel for `gpu`.
    pub fn new(gpu: &Gpu) -> Self {
        let library = vec![sources::GROUP, sources::FOLD, sources::VIEW, sources::TERMINAL, sources::STAGED];
        Self {
            gpu: gpu.clone(),
            recipe: Recipe::new(),
            library,
            words: Vec::with_capacity(32),
            kept: Vec::with_capacity(8),
            classes: None,
            lead: None,
            binned: None,
            masked: false,
            resident: false,
            blocks: None,
            scattered: false,
            sharing: false,
            products: 0,
            watched: None,
            chooses: false,
            conditional: false,
            masking: false,
            beside: false,
            apart: None,
        }
    }

    /// An empty kernel for a loop that stays on the device: what is emitted is evaluated again in every round.
    pub fn resident(gpu: &Gpu) -> Self {
        Self { resident: true, ..Self::new(gpu) }
    }

    /// An empty kernel for a terminal that shares out the rows of the product that leads: a fresh vector, or a write.
    pub fn sharing(gpu: &Gpu) -> Self {
        Self { sharing: true, ..Self::new(gpu) }
    }

    /// Whether the terminal shares out the rows of the product that leads.
    pub fn shares_rows(&self) -> bool {
        self.sharing
    }

    /// Whether what is emitted is evaluated again in every round.
    pub fn is_resident(&self) -> bool {
        self.resident
    }

    /// The rows' mean length, where they have about one length.
    fn even_mean(&self) -> Option<usize> {
        self.classes.as_deref().filter(|classes| classes.alone.is_some()).map(|classes| classes.mean)
    }

    /// Whether a first round of its own pays in a loop: where rows have about one length, and aren't so short that all of one is read at once
    /// (mis: er 401 to 354 us; grid as it was, delaunay 62 to 67, rmat 522 to 705).
    pub fn starts(&self) -> bool {
        // a row whose entries were chosen without reading the state has no first round
        self.even_mean().is_some_and(|mean| mean > plan::FROM_MEAN) && !self.chooses()
    }

    /// Entries of a thread's in flight in a loop: many where rows are read whole and there is time for that; few where they are very short, or
    /// more would only fill a queue. Where entries were chosen few are left, but where they lie all over fewer warps hide what they take (er 915
    /// to 870 us; rgg 243 to 260).
    pub(super) fn flight(&self) -> usize {
        if self.chooses() {
            return if self.scattered { 8 } else { 4 };
        }
        let many = self.watched().is_some() && self.even_mean().is_none_or(|mean| plan::MANY.contains(&mean));
        if many { 8 } else { 4 }
    }

    /// The same as entries are chosen.
    pub(super) fn choosing(&self) -> usize {
        match self.even_mean() {
            None => 8,
            Some(_) if self.is_brief() => 8,
            Some(_) => 4,
        }
    }

    /// Whether rows have about one length, and are short, all of them, but not very: a lane reads most of one at once.
    fn is_brief(&self) -> bool {
        let longest = self.classes.as_deref().map_or(usize::MAX, |classes| classes.longest);
        self.even_mean().is_some_and(|mean| plan::MANY.contains(&mean)) && longest < 32
    }

    /// Whether a loop keeps which entries of a short row take part still: where they are chosen once, and where rows have so many that leaving
    /// out some saves a read.
    pub(super) fn sifts(&self) -> bool {
        self.chooses() || self.even_mean().is_none_or(|mean| mean > plan::FROM_MEAN)
    }

    /// Whether this is a loop that reads rows of very few entries, in which no more than the state is remembered: nothing but more warps hides
    /// what those wait for (a set of grid 505 to 441 us; of delaunay 51 to 63).
    fn reads_little(&self) -> bool {
        let little = self.even_mean().is_some_and(|mean| mean < plan::MANY.start);
        self.resident && little && self.watched().is_none()
    }

    /// Says whether this is a loop whose kernel remembers for whom short rows wait, and how: it is compiled for [`BRIEFLY`] blocks a
    /// multiprocessor, or [`CHOOSING`].
    pub(super) fn wait_briefly(&mut self, sifts: bool) {
        self.blocks = match (self.chooses(), self.scattered) {
            (true, true) => Some(CHOOSING),
            // delaunay 80 to 76 us; rgg, whose rows are longer, 240 to 290, grids 74 to 81
            (true, false) => self.is_brief().then_some(BRIEFLY),
            (false, scattered) => (scattered || !sifts).then_some(BRIEFLY),
        };
    }

    /// How many blocks a multiprocessor a loop runs on at most, if its kernel would leave room for more.
    pub(super) fn blocks_at_most(&self) -> Option<u32> {
        self.blocks.filter(|&blocks| blocks == CHOOSING)
    }

    /// Notes of a loop's product whether its entries lie all over: where rows have about one length, and aren't so short that it makes no
    /// difference.
    pub fn locate<A: Element>(&mut self, rows: &DeviceCsr<A>) -> Result<()> {
        if self.resident && !self.beside && rows.classes.alone.is_some() && rows.classes.mean > plan::FROM_MEAN {
            self.scattered = match rows.scattered() {
                // slower, which is no reason to fail
                Err(Error::Device(vxm_kernels::Error::DeviceMemory { .. })) => false,
                found => found?,
            };
        }
        Ok(())
    }

    /// Emits what a loop evaluates once beside its body: it is that one's product whose rows are shared out, watched and narrowed.
    pub fn beside(&mut self, emit: impl FnOnce(&mut Self) -> Result<Node>) -> Result<Node> {
        let before = (self.products, self.watched, self.chooses, self.conditional, self.lead, self.masked);
        self.beside = true;
        let node = emit(self);
        (self.products, self.watched, self.chooses, self.conditional, self.lead, self.masked) = before;
        self.beside = false;
        node
    }

    /// Whether what is emitted stands beside what the kernel is about.
    pub fn is_beside(&self) -> bool {
        self.beside
    }

    /// Counts a product.
    pub fn product(&mut self) {
        self.products += 1;
    }

    /// Makes a product of type `ty`, whose words began at `at`, one of which it is remembered for which entry a row waits: that is looked
    /// at alone before the row is read again; `chooses` if its entries are chosen by their ends. Only of an only product.
    pub fn watch(&mut self, ty: Piece, at: usize, chooses: bool) {
        self.watched = Some(Lead { ty, at, tallied: false });
        self.chooses = chooses;
    }

    /// Whether its rows' entries are chosen by their ends, before rows are visited: not where a visit may do without the product, since it
    /// waits for nobody then.
    pub(super) fn chooses(&self) -> bool {
        self.chooses && !self.conditional && self.watched().is_some()
    }

    /// Says that there are places where the body does without some of what it holds.
    pub fn condition(&mut self) {
        self.conditional = true;
    }

    /// Emits a mask. It may be asked twice a visit, so that nothing may be remembered of what it reads.
    pub fn masking(&mut self, emit: impl FnOnce(&mut Self) -> Result<Node>) -> Result<Node> {
        let before = std::mem::replace(&mut self.masking, true);
        let node = emit(self);
        self.masking = before;
        node
    }

    /// Whether what is emitted is in a mask.
    pub fn is_masking(&self) -> bool {
        self.masking
    }

    /// The product of which that is remembered.
    pub(super) fn watched(&self) -> Option<&Lead> {
        self.watched.as_ref().filter(|_| self.products == 1)
    }

    /// Says that an operand must be evaluated before the kernel, so that it can't stay on the device.
    pub fn refuse(&mut self, why: &'static str) {
        self.apart.get_or_insert(why);
    }

    /// Why the kernel can't stay on the device, if it can't.
    pub(super) fn refused(&self) -> Option<&'static str> {
        self.apart
    }

    /// The state of a loop, as the body reads it. Not kept: the loop writes it, and owns it until its end.
    pub fn state<T: Element>(&mut self, vector: &DeviceVector<T>) -> Node {
        self.push(vector.values_address());
        let t = self.element::<T>();
        Node::new(self.ty("vxm::State", [t]), true)
    }

    /// Adds a file to the library that the kernel stands on, unless it is there.
    pub(super) fn include(&mut self, source: &'static str) {
        if !self.library.contains(&source) {
            self.library.push(source);
        }
    }

    /// With a file added to the library.
    pub(super) fn with(mut self, source: &'static str) -> Self {
        self.include(source);
        self
    }

    /// The device that it is for.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Adds a word to the parameter.
    pub fn push(&mut self, word: u64) {
        self.words.push(word);
    }

    /// Adds room for rows that become shorter as a loop visits them: for `entries` columns, and the lengths of `rows`, none of which is
    /// known yet.
    pub fn room(&mut self, entries: usize, rows: usize) -> Result<()> {
        let (kept, mut lengths) = (self.gpu.alloc(entries * 4)?, self.gpu.alloc(rows * 4)?);
        lengths.fill(u8::MAX)?;
        self.include(sources::NARROW);
        self.words.extend([kept.address(), lengths.address()]);
        self.keep([kept, lengths]);
        Ok(())
    }

    /// Whether rows of the product that is watched become shorter.
    pub(super) fn narrows(&self) -> bool {
        self.library.contains(&sources::NARROW)
    }

    /// Keeps storage until the kernel is launched; what is freed after that is freed in the stream's order.
    pub fn keep(&mut self, storage: impl Any + Send + Sync) {
        self.kept.push(Arc::new(storage));
    }

    /// A template's instance.
    pub fn ty<const N: usize>(&mut self, template: &'static str, arguments: [Piece; N]) -> Piece {
        self.recipe.template(Some(template), arguments)
    }

    /// Pieces as one.
    pub(super) fn joint<const N: usize>(&mut self, pieces: [Piece; N]) -> Piece {
        self.recipe.template(None, pieces)
    }

    /// The C++ name of an element type.
    pub fn element<T: Element>(&mut self) -> Piece {
        self.recipe.make::<T>(Kind::Element, |text| {
            T::declare(text);
            T::CUDA.to_owned()
        })
    }

    /// A type with a static `call`, for an operator.
    pub fn functor<O: Source>(&mut self, op: O) -> Piece {
        let source = self.recipe.operator(op);
        self.recipe.make::<O>(Kind::Functor, move |text| {
            let name = source(text);
            callable(text, &name)
        })
    }

    /// What becomes of entries at one place; none if only the host knows.
    pub(super) fn joined<T: Element>(&mut self, duplicates: &impl Duplicates<T>) -> Option<Joined> {
        self.element::<T>();
        let mut adds = KernelText::after(self.recipe.arguments().to_vec());
        Some(match duplicates.joining(&mut adds)? {
            Joining::Refuse => Joined::Refuse,
            Joining::Call(name) => {
                self.recipe.text(&name, &adds);
                Joined::Call(self.recipe.make::<T>(Kind::Functor, move |text| {
                    text.adopt(&adds);
                    callable(text, &name)
                }))
            }
        })
    }

    /// A type with a monoid's `call` and `terminal`, and what is known of it.
    pub fn monoid<T: Element, M: Monoid<T>>(&mut self, add: M) -> Piece {
        self.element::<T>();
        // integers' bits, and those of up to 32 bits in order, a warp joins by itself
        let at_once = self.gpu.arch() >= (8, 0) && M::EXACT;
        let source = self.recipe.operator(add);
        self.recipe.make::<T>(Kind::Monoid(at_once), move |text| {
            let name = source(text);
            joining::<T, M>(text, &name, at_once)
        })
    }

    /// A stored vector.
    pub fn stored<T: Element>(&mut self, vector: &DeviceVector<T>) -> Node {
        let full = vector.bits_address() == 0;
        let t = self.element::<T>();
        let ty = self.ty("vxm::Stored", [t, full.into()]);
        self.push(vector.values_address());
        self.push(vector.bits_address());
        self.keep(vector.clone());
        Node { ty, full, bits: Some(vector.bits_address()), count: vector.count.get().copied() }
    }

    /// Keeps what another kernel keeps.
    pub(super) fn adopt(&mut self, other: Self) {
        self.kept.extend(other.kept);
    }

    /// The rows of a product, where `crowded` with their columns renumbered: its words, and how the terminal shares out its indices
    /// (the first product's degrees say). Returns the C++ type of the offsets.
    pub fn rows<A: Element>(&mut self, rows: Arc<DeviceCsr<A>>, crowded: bool) -> Piece {
        let (offsets, ty) = match &rows.short_offsets {
            Some(short) => (short.address(), "vxm::u32"),
            None => (rows.offsets.address(), "vxm::u64"),
        };
        let renumbered = rows.crowded.get().and_then(Option::as_ref).filter(|_| crowded);
        let columns = renumbered.map_or(&*rows.columns, |crowded| &crowded.columns);
        self.words.extend([offsets, columns.address(), rows.values.address()]);
        self.classes.get_or_insert_with(|| rows.classes.clone());
        self.kept.push(rows);
        ty.into()
    }

    /// The tiles of a product, as [`rows`](Self::rows); weights are not among the words.
    pub fn tiles<A: Element>(&mut self, tiles: Arc<DeviceTiles<A>>) {
        self.include(sources::TILES);
        self.words.extend([tiles.offsets.address(), tiles.columns.address(), tiles.bits.address()]);
        self.classes.get_or_insert_with(|| tiles.classes.clone());
        self.kept.push(tiles);
    }

    /// A full vector's elements in the order in which `rows` has its columns renumbered, if it has.
    pub fn crowd<A: Element>(&mut self, node: &Node, rows: &Arc<DeviceCsr<A>>) -> Option<Node> {
        let crowded = rows.crowded.get()?.as_ref().filter(|_| node.full)?;
        self.push(crowded.order.address());
        self.keep(rows.clone());
        Some(Node::new(self.ty("vxm::Extract", [node.ty]), true))
    }

    /// Whether not all indices are wanted.
    pub fn is_masked(&self) -> bool {
        self.masked
    }

    /// How many words the view has so far.
    pub fn position(&self) -> usize {
        self.words.len()
    }

    /// Makes a product of type `ty`, whose words began at `at`, the one whose rows may be staged.
    pub fn lead(&mut self, ty: Piece, at: usize) {
        self.lead = Some(Lead { ty, at, tallied: false });
    }

    /// Has the product that leads go by bins, where its rows are shared out.
    pub fn bin(&mut self, binned: Binned) {
        self.binned = Some(Box::new(binned));
    }

    /// The product that leads, and what it needs to go by bins, if it does.
    pub(super) fn take_binned(&mut self) -> Option<(Lead, Binned)> {
        let lead = *self.leading()?;
        Some((lead, *self.binned.take()?))
    }

    /// Makes a product over tiles of type `ty`, whose words began at `at`, the one whose rows may be tallied.
    pub fn tally(&mut self, ty: Piece, at: usize) {
        self.lead = Some(Lead { ty, at, tallied: true });
    }

    /// Says that not all indices are wanted.
    pub fn mask(&mut self) {
        self.masked = true;
    }

    /// The product that leads, if all its rows are wanted.
    pub(super) fn leading(&self) -> Option<&Lead> {
        self.lead.as_ref().filter(|_| !self.masked)
    }

    /// The product whose short rows are staged, if any are; over tiles, all rows, where they have about as many each.
    pub(super) fn staged(&self) -> Option<&Lead> {
        let classes = self.classes.as_deref()?;
        self.leading().filter(|lead| if lead.tallied { classes.alone.is_some() } else { classes.pays_to_stage() })
    }

    /// How many entries the leading product's rows have at most, if those are so few that a thread need not ask whether there are more.
    pub(super) fn few(&self) -> Option<usize> {
        let longest = self.classes.as_deref().filter(|_| self.leading().is_some())?.longest;
        plan::FEW.into_iter().find(|&few| longest <= few)
    }

    /// Whether all rows that are staged are short, and of few entries.
    fn staged_are_few(&self) -> bool {
        self.even_mean().is_some_and(|mean| mean < plan::MANY.end)
    }

    /// Whether a first kernel goes through all indices.
    pub(super) fn covers(&self) -> bool {
        let binned = self.binned.is_some() && self.leading().is_some();
        !binned && self.goes_through_all()
    }

    fn goes_through_all(&self) -> bool {
        self.staged().is_some() || self.classes.as_deref().is_none_or(|classes| classes.alone.is_some())
    }

    /// Whether a product's rows are shared out already.
    pub fn is_led(&self) -> bool {
        self.classes.is_some()
    }

    pub(super) fn classes(&self) -> Option<Arc<Classes>> {
        self.classes.clone()
    }

    /// The program of kernels `entries` (name, and the group it runs as) over `ty`: known by what it is composed of, because making and
    /// comparing the text would take longer than most kernels.
    pub(super) fn program<G: Into<Piece> + Copy>(
        &mut self,
        ty: impl Into<Piece>,
        entries: &[(&'static str, G)],
    ) -> Result<Arc<Program>> {
        static KNOWN: LazyLock<Mutex<Programs>> = LazyLock::new(Mutex::default);
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let ty = ty.into();
        let little = u64::from(self.staged_are_few())
            | u64::from(self.reads_little()) << 1
            | u64::from(self.blocks.unwrap_or(0)) << 2;
        let beside = [Part::Number(self.gpu.ordinal() as u64), Part::Number(little), Part::Argument(ty)];
        let files = self.library.iter().map(|file| Part::Name(Name(file)));
        let entries = || entries.iter().map(|&(name, group)| (name, group.into()));
        let kernels = entries().flat_map(|(name, group)| [Part::Name(Name(name)), Part::Argument(group)]);
        let beside = beside.into_iter().chain(files).chain(kernels);
        let (program, key) = self.recipe.with(beside, |key| match known().get(key) {
            Some(program) => (Some(program.clone()), Vec::new()),
            None => (None, key.to_vec()),
        });
        if let Some(program) = program {
            return Ok(program);
        }
        let (text, made) = self.recipe.made();
        let entries: Vec<_> = entries().map(|(name, group)| (name, made.spell(group))).collect();
        let program = self.gpu.program(&self.source(&text, &made.spell(ty), &entries), &[])?;
        known().insert(key, program.clone());
        Ok(program)
    }

    /// The whole source of such a program.
    fn source(&self, text: &KernelText, ty: &str, entries: &[(&str, String)]) -> String {
        let arguments = text.arguments().len();
        let (mut member, mut load, mut library) = (String::new(), String::new(), self.library.clone());
        if arguments > 0 {
            // operators read them as vxm_args, which stands before them all
            library.push("extern __shared__ unsigned long long vxm_args[];\n");
            member = format!(" unsigned long long arguments[{arguments}];");
            load = format!(
                "    if (threadIdx.x < {arguments}) vxm_args[threadIdx.x] = p.arguments[threadIdx.x];\n    \
                 __syncthreads();\n"
            );
        }
        let mut source = text.text_over(&library);
        source.push_str(&format!("struct Parameter {{ {ty} kernel;{member} }};\n"));
        for (name, group) in entries {
            // registers for some loads in flight each, and yet many warps: measured over grid, er, rgg and delaunay
            let bounds = match group.as_str() {
                _ if self.reads_little() => (THREADS, 6),
                "vxm::Block()" => (BLOCK_THREADS, 1),
                "vxm::Pieces()" => (BIN_THREADS, BIN_BLOCKS),
                // few entries take few registers: grid 278 to 186 us, 207 with six blocks
                few if few.starts_with("vxm::Few") => (THREADS, 8),
                // where all rows are short and have few entries, more warps must see to it that enough are in flight: rgg 50 to 42 us
                _ if group.starts_with("vxm::Staging") && self.staged_are_few() => (STAGING_THREADS, 8),
                _ if group.starts_with("vxm::Staging") => (STAGING_THREADS, 6),
                _ if group.starts_with("vxm::Tallying") => (STAGING_THREADS, 8),
                // what is known of a row that is narrowed takes registers: jp on kron 12.1 to 11.1 ms
                _ if self.narrows() => (THREADS, 3),
                _ => (THREADS, self.blocks.unwrap_or(4)),
            };
            source.push_str(&format!(
                "extern \"C\" __global__ void __launch_bounds__({}, {}) {name}(const __grid_constant__ Parameter p) {{\n{load}    \
                 p.kernel.run({group});\n}}\n",
                bounds.0, bounds.1
            ));
        }
        source
    }

    /// Bytes of shared memory that the arguments take.
    pub(super) fn shared(&self) -> u32 {
        8 * self.recipe.arguments().len() as u32
    }

    /// The parameter's bytes: `head`, what was pushed, the arguments.
    pub(super) fn parameter(&self, head: &[u64]) -> Vec<u8> {
        let words = [head, &self.words, self.recipe.arguments()];
        let mut bytes = Vec::with_capacity(8 * words.iter().map(|words| words.len()).sum::<usize>());
        words.iter().for_each(|words| words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes())));
        bytes
    }
}

/// A type with a static `call`, for a function.
fn callable(text: &mut KernelText, name: &str) -> String {
    text.define_keyed("call", name, |this| {
        format!("struct {this} {{ template <class... X> static VXM_FN auto call(X... x) {{ return {name}(x...); }} }};")
    })
}

/// A type with the `call` and `terminal` of a monoid whose function is `name`; `at_once` if a warp may join its elements at once.
fn joining<T: Element, M: Monoid<T>>(text: &mut KernelText, name: &str, at_once: bool) -> String {
    let t = T::CUDA;
    let always = M::TERMINAL.is_none() && M::is_terminal(M::IDENTITY);
    let terminal = match M::TERMINAL {
        Some(terminal) if size_of::<T>() > 0 => format!("vxm::eq(a, {})", terminal.literal()),
        _ => always.to_string(),
    };
    let (exact, commutative, stops) = (M::EXACT, M::COMMUTATIVE, always || M::TERMINAL.is_some());
    let at_once = match (name, t) {
        _ if !at_once || !matches!(t, "bool" | "int" | "unsigned int" | "long long" | "unsigned long long") => None,
        ("vxm::bitor_", _) => Some("Ors"),
        ("vxm::bitand_", _) => Some("Ands"),
        ("vxm::bitxor_", _) => Some("Xors"),
        ("vxm::min", _) if size_of::<T>() <= 4 => Some("Mins"),
        ("vxm::max", _) if size_of::<T>() <= 4 => Some("Maxes"),
        _ => None,
    };
    let at_once = at_once.map_or("vxm::StepByStep".to_owned(), |how| {
        format!("vxm::AtOnce<vxm::{how}, {t}, {:#x}ULL>", M::IDENTITY.bits())
    });
    let key = format!("{t} {name} {terminal} {exact} {commutative} {stops} {at_once}");
    text.define_keyed("monoid", &key, |this| {
        format!(
            "struct {this} : {at_once} {{ static const bool exact = {exact}, commutative = {commutative}, stops = {stops};\n    \
             static VXM_FN {t} call({t} a, {t} b) {{ return {name}(a, b); }}\n    \
             static VXM_FN bool terminal({t} a) {{ return {terminal}; }} }};"
        )
    })
}
