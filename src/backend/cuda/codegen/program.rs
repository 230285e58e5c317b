//! The program of a kernel builder: looked up by its key or compiled, its launch bounds, and the bytes of its parameter.

use crate::backend::cuda::codegen::builder::{CppType, KernelBuilder};
use crate::backend::cuda::codegen::program_key::{Name, Part, WordHasher};
use crate::backend::tuning::{self, KernelKind};
use crate::error::Result;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use crate::kernels::Program;
use vxm_semiring::KernelText;

/// Programs by their keys.
type Programs = HashMap<Vec<Part>, Arc<Program>, BuildHasherDefault<WordHasher>>;

impl KernelBuilder {
    /// The program of kernels over the view `ty`. Each of `entries` is a kernel's name and the group of threads that it runs as.
    ///
    /// Compiled programs are found by their key, because generating and comparing text takes longer than most kernels run.
    ///
    /// # Errors
    /// The program doesn't compile, or the device is lost.
    #[inline(never)]
    pub(crate) fn program<G: Into<CppType> + Copy>(
        &mut self,
        ty: impl Into<CppType>,
        entries: &[(&'static str, G)],
    ) -> Result<Arc<Program>> {
        static PROGRAMS: LazyLock<Mutex<Programs>> = LazyLock::new(Mutex::default);
        let programs = || PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
        let ty = ty.into();
        let bounds = u64::from(self.staged_are_few())
            | u64::from(self.is_tiny_loop()) << 1
            | u64::from(self.blocks.unwrap_or(0)) << 2
            | u64::from(self.block_threads.unwrap_or(0)) << 32;
        let device = [Part::Number(self.gpu.ordinal() as u64), Part::Number(bounds), Part::Argument(ty)];
        let files = self.library.iter().map(|file| Part::Name(Name(file)));
        let entries = || entries.iter().map(|&(name, group)| (name, group.into()));
        let kernels = entries().flat_map(|(name, group)| [Part::Name(Name(name)), Part::Argument(group)]);
        let extra = device.into_iter().chain(files).chain(kernels);
        let (program, key) = self.program_key.with(extra, |key| match programs().get(key) {
            Some(program) => (Some(program.clone()), Vec::new()),
            None => (None, key.to_vec()),
        });
        if let Some(program) = program {
            return Ok(program);
        }
        let (text, spellings) = self.program_key.generate();
        let entries: Vec<_> = entries().map(|(name, group)| (name, spellings.spell(group))).collect();
        let program = self.gpu.program(&self.source(&text, &spellings.spell(ty), &entries), &[])?;
        programs().insert(key, program.clone());
        Ok(program)
    }

    /// The source of such a program.
    fn source(&self, text: &KernelText, ty: &str, entries: &[(&str, String)]) -> String {
        let arguments = text.arguments().len();
        let (mut member, mut load, mut library) = (String::new(), String::new(), self.library.clone());
        if arguments > 0 {
            // operators read their constants as vxm_args, so it is declared before all operators
            library.push("extern __shared__ unsigned long long vxm_args[];\n");
            member = format!(" unsigned long long arguments[{arguments}];");
            load = format!(
                "    if (threadIdx.x < {arguments}) vxm_args[threadIdx.x] = p.arguments[threadIdx.x];\n    \
                 __syncthreads();\n"
            );
        }
        let mut end = "";
        if self.series.is_some() {
            member = format!(" vxm::Series* series;{member}");
            load.push_str("    vxm::begin_tallies(p.series);\n");
            end = "    vxm::end_round(0);\n";
        }
        let mut source = text.text_over(&library);
        source.push_str(&format!("struct Parameter {{ {ty} kernel;{member} }};\n"));
        for (name, group) in entries {
            let bounds = tuning::launch_bounds(self.kernel_kind(group));
            let bounds = self.block_threads.map_or(bounds, |threads| bounds.in_blocks_of(threads));
            source.push_str(&format!(
                "extern \"C\" __global__ void __launch_bounds__({}, {}) {name}(const __grid_constant__ Parameter p) {{\n{load}    \
                 p.kernel.run({group});\n{end}}}\n",
                bounds.threads, bounds.blocks
            ));
        }
        source
    }

    /// What limits the number of resident blocks of a kernel that runs as `group`.
    fn kernel_kind(&self, group: &str) -> KernelKind {
        match group {
            _ if self.is_tiny_loop() => KernelKind::TinyRowsLoop,
            "vxm::Block()" => KernelKind::Block,
            "vxm::Chunks()" => KernelKind::Bins,
            _ if group.starts_with("vxm::BoundedRowThread") => KernelKind::FewEntries,
            _ if group.starts_with("vxm::Staging") => KernelKind::Staged(self.staged_are_few()),
            _ if group.starts_with("vxm::TileRow") => KernelKind::Counted,
            _ if self.compacts_rows() => KernelKind::CompactingLoop,
            _ => KernelKind::Other(self.blocks),
        }
    }

    /// Whether this is a loop over rows of very few entries that keeps nothing but the state.
    fn is_tiny_loop(&self) -> bool {
        self.resident
            && tuning::is_tiny(&self.row_stats(), self.gpu().multiprocessors())
            && self.blocking_product().is_none()
    }

    /// The size in bytes of the shared memory for operators' constants.
    pub(crate) fn shared(&self) -> u32 {
        8 * self.program_key.arguments().len() as u32
    }

    /// The bytes of the parameter: the words of `head`, those of the view, and operators' constants.
    pub(crate) fn parameter(&self, head: &[u64]) -> Vec<u8> {
        let words = [head, &self.words, self.series.as_slice(), self.program_key.arguments()];
        let mut bytes = Vec::with_capacity(8 * words.iter().map(|words| words.len()).sum::<usize>());
        words.iter().for_each(|words| words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes())));
        bytes
    }
}
