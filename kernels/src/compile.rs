//! Compiles CUDA C++ to machine code with NVRTC. No device is needed.

use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::OnceLock;
use std::time::Instant;

use cudarc::nvrtc::result as nvrtc;
use cudarc::nvrtc::sys::{self, nvrtcResult};

use crate::cache::{Cache, Key};
use crate::error::{CompileError, Error, Result};
use crate::libraries::{HEADERS_HINT, Library, headers, headers_version};

/// The file name of the source in NVRTC's messages.
const FILE: &CStr = c"vxm.cu";

/// The options of every kernel. Contraction to fused multiply-add is off, because it changes the bits of results.
const OPTIONS: [&str; 3] = ["--fmad=false", "--std=c++17", "--device-as-default-execution-space"];

/// A compiled program: machine code for one architecture.
#[derive(Debug, Clone)]
pub struct Cubin {
    code: Vec<u8>,
    log: String,
    cached: bool,
}

impl Cubin {
    /// The machine code, an ELF file.
    pub fn code(&self) -> &[u8] {
        &self.code
    }

    /// NVRTC's warnings. Empty if the code comes from the cache.
    pub fn log(&self) -> &str {
        &self.log
    }

    /// Whether the code comes from the cache on disk.
    pub fn cached(&self) -> bool {
        self.cached
    }
}

/// The version of NVRTC, as (major, minor).
///
/// # Errors
///
/// [`Error::Missing`] if there is no NVRTC.
pub fn nvrtc_version() -> Result<(u32, u32)> {
    Library::Nvrtc.require()?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both are valid for writing
    check("nvrtcVersion", unsafe { sys::nvrtcVersion(&mut major, &mut minor) })?;
    Ok((major.unsigned_abs(), minor.unsigned_abs()))
}

/// The architectures that NVRTC compiles for, ascending: 90 is `sm_90`.
///
/// # Errors
///
/// [`Error::Missing`] if there is no NVRTC.
pub fn supported_archs() -> Result<&'static [u32]> {
    static KNOWN: OnceLock<Result<Vec<u32>>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        Library::Nvrtc.require()?;
        let mut count: c_int = 0;
        // SAFETY: valid for writing
        check("nvrtcGetNumSupportedArchs", unsafe { sys::nvrtcGetNumSupportedArchs(&mut count) })?;
        let mut archs: Vec<c_int> = vec![0; count.unsigned_abs() as usize];
        // SAFETY: has room for `count` numbers
        check("nvrtcGetSupportedArchs", unsafe { sys::nvrtcGetSupportedArchs(archs.as_mut_ptr()) })?;
        archs.sort_unstable();
        Ok(archs.into_iter().map(c_int::unsigned_abs).collect())
    });
    known.as_deref().map_err(Clone::clone)
}

/// The architecture to compile for, given a device's compute capability (`major`, `minor`): its own, or the newest older one of the same
/// major version that NVRTC knows.
pub(crate) fn arch_for((major, minor): (u32, u32)) -> Result<String> {
    let archs = supported_archs()?;
    let wanted = major * 10 + minor;
    let best = archs.iter().rfind(|&&arch| arch / 10 == major && arch <= wanted);
    best.map(|arch| format!("sm_{arch}")).ok_or_else(|| unknown_arch(&format!("sm_{wanted}"), archs))
}

/// Compiles `source` for `arch` (`sm_90`), with `options` beside those that every kernel has.
///
/// Every kernel has `--fmad=false` and `--std=c++17`. Functions without an execution space are `__device__`. CUDA's headers are found by
/// `#include <name>`. No other headers should be included, because a cached program is not compiled again when they change.
///
/// # Errors
///
/// [`Error::Compile`] if the source does not compile, [`Error::Missing`] if there is no NVRTC or the source includes CUDA headers
/// that are not installed, [`Error::Nvrtc`] for an unknown architecture or option.
pub fn compile(source: &str, arch: &str, options: &[&str]) -> Result<Cubin> {
    check_arch(arch)?;
    let begin = Instant::now();
    let program = Program::new(source)?;
    let compiled = program.compile(&all_options(source, arch, options))?;
    let log = program.log()?;
    match compiled {
        nvrtcResult::NVRTC_SUCCESS => {}
        nvrtcResult::NVRTC_ERROR_COMPILATION => return Err(compile_error(source, arch, log)),
        other => {
            return Err(Error::Nvrtc { call: "nvrtcCompileProgram", what: format!("{}: {}", text(other), log.trim()) });
        }
    }
    let code = program.code()?;
    tracing::debug!(arch, bytes = code.len(), seconds = begin.elapsed().as_secs_f64(), log, "compiled");
    Ok(Cubin { code, log, cached: false })
}

/// Like [`compile`], but takes the code from the user's [`Cache`] if it is there, and puts it there otherwise.
///
/// # Errors
///
/// As for [`compile`]. A cache that cannot be used only causes a warning in the log.
pub fn compile_cached(source: &str, arch: &str, options: &[&str]) -> Result<Cubin> {
    let Some(cache) = Cache::user() else { return compile(source, arch, options) };
    let key = key(source, arch, options)?;
    if let Some(code) = cache.get(&key) {
        return Ok(Cubin { code, log: String::new(), cached: true });
    }
    let cubin = compile(source, arch, options)?;
    cache.put(&key, cubin.code());
    Ok(cubin)
}

/// The key of everything that the machine code depends on.
fn key(source: &str, arch: &str, options: &[&str]) -> Result<Key> {
    let (major, minor) = nvrtc_version()?;
    let versions = format!("NVRTC {major}.{minor}, headers {}", included_version(source));
    let parts = [source, arch, &versions].into_iter().chain(OPTIONS).chain(options.iter().copied());
    Ok(Key::of(parts.map(str::as_bytes)))
}

/// The version of the headers that the source includes, 0 if it includes none.
fn included_version(source: &str) -> u32 {
    static VERSION: OnceLock<u32> = OnceLock::new();
    let find = || headers().and_then(headers_version).unwrap_or(0);
    if source.contains("#include") { *VERSION.get_or_init(find) } else { 0 }
}

/// The complete list of NVRTC's options: the caller's, then this crate's.
fn all_options(source: &str, arch: &str, options: &[&str]) -> Vec<String> {
    let folders = headers().filter(|_| source.contains("#include")).into_iter();
    let folders = folders.flat_map(|folder| [folder.to_owned(), folder.join("cccl")]);
    let own = OPTIONS.into_iter().map(str::to_owned).chain([format!("--gpu-architecture={arch}")]);
    let includes = folders.map(|folder| format!("--include-path={}", folder.display()));
    options.iter().copied().map(str::to_owned).chain(own).chain(includes).collect()
}

/// Refuses an architecture that NVRTC does not know; the error lists those it knows. Suffixes (`sm_90a`) are left to NVRTC.
pub(crate) fn check_arch(arch: &str) -> Result<()> {
    let archs = supported_archs()?;
    let number = arch.strip_prefix("sm_").and_then(|number| number.trim_end_matches(['a', 'f']).parse().ok());
    match number {
        Some(number) if archs.contains(&number) => Ok(()),
        _ => Err(unknown_arch(arch, archs)),
    }
}

fn unknown_arch(arch: &str, known: &[u32]) -> Error {
    let known: Vec<_> = known.iter().map(|arch| format!("sm_{arch}")).collect();
    Error::Nvrtc {
        call: "nvrtcCompileProgram",
        what: format!("it does not know {arch}, it knows {}", known.join(", ")),
    }
}

/// An NVRTC program, destroyed on drop. NVRTC copies the source.
struct Program(sys::nvrtcProgram);

impl Program {
    fn new(source: &str) -> Result<Self> {
        let call = "nvrtcCreateProgram";
        let source =
            CString::new(source).map_err(|_| Error::Nvrtc { call, what: "the source has a zero byte".into() })?;
        nvrtc::create_program(&source, Some(FILE)).map(Self).map_err(|error| failed(call, error.0))
    }

    /// Compiles, and returns NVRTC's result; the reason of a failure is in the log.
    fn compile(&self, options: &[String]) -> Result<nvrtcResult> {
        let what = || "an option has a zero byte".to_owned();
        let options: Vec<CString> = options
            .iter()
            .map(|option| CString::new(option.as_str()))
            .collect::<Result<_, _>>()
            .map_err(|_| Error::Nvrtc { call: "nvrtcCompileProgram", what: what() })?;
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: the program is alive, and so are the options, of which there are as many as stated
        Ok(unsafe { sys::nvrtcCompileProgram(self.0, pointers.len() as c_int, pointers.as_ptr()) })
    }

    fn log(&self) -> Result<String> {
        // SAFETY: the program is alive
        let log = unsafe { nvrtc::get_program_log(self.0) }.map_err(|error| failed("nvrtcGetProgramLog", error.0))?;
        let bytes: Vec<u8> = log.into_iter().map(|c| c as u8).take_while(|&c| c != 0).collect();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn code(&self) -> Result<Vec<u8>> {
        let mut size = 0;
        // SAFETY: the program is alive, and the size valid for writing
        check("nvrtcGetCUBINSize", unsafe { sys::nvrtcGetCUBINSize(self.0, &mut size) })?;
        let mut code = vec![0u8; size];
        // SAFETY: the program is alive, and the buffer has the size that NVRTC states
        check("nvrtcGetCUBIN", unsafe { sys::nvrtcGetCUBIN(self.0, code.as_mut_ptr().cast()) })?;
        Ok(code)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program is alive, and not used afterwards
        if let Err(error) = unsafe { nvrtc::destroy_program(self.0) } {
            tracing::warn!("nvrtcDestroyProgram: {}", text(error.0));
        }
    }
}

fn check(call: &'static str, result: nvrtcResult) -> Result<()> {
    result.result().map_err(|error| failed(call, error.0))
}

fn failed(call: &'static str, result: nvrtcResult) -> Error {
    Error::Nvrtc { call, what: text(result) }
}

/// NVRTC's name of a result.
fn text(result: nvrtcResult) -> String {
    // SAFETY: returns a string with static lifetime for every result
    unsafe { CStr::from_ptr(sys::nvrtcGetErrorString(result)) }.to_string_lossy().into_owned()
}

/// The error for a failed compilation: missing CUDA headers, or a mistake in the source.
fn compile_error(source: &str, arch: &str, log: String) -> Error {
    let first = log.lines().find(|line| line.contains("error:")).unwrap_or(log.trim());
    let message = first.split_once("error:").map_or(first, |(_, message)| message).trim().to_owned();
    if headers().is_none() && message.contains("open source file") {
        return Error::Missing {
            what: "the CUDA headers",
            why: format!("were not found ({message})"),
            hint: HEADERS_HINT,
        };
    }
    let line = error_line(&log);
    let text = line.and_then(|line| source.lines().nth(line - 1)).unwrap_or_default().trim().to_owned();
    let function = line.and_then(|line| function_at(source, line));
    Error::Compile(Box::new(CompileError { arch: arch.to_owned(), message, line, text, function, log }))
}

/// The line of the first error, from 1; `None` if it is in a header.
fn error_line(log: &str) -> Option<usize> {
    let first = log.lines().find(|line| line.contains("error:"))?;
    let (number, _) = first.strip_prefix(FILE.to_str().ok()?)?.strip_prefix('(')?.split_once(')')?;
    number.parse().ok().filter(|&number: &usize| number > 0)
}

/// The name of the function that contains `line`: the last definition at or above it.
fn function_at(source: &str, line: usize) -> Option<String> {
    let marks = ["VXM_FN ", "__device__ ", "__global__ "];
    let lines: Vec<_> = source.lines().take(line).collect();
    lines.iter().rev().find_map(|line| {
        let at = marks.iter().find_map(|mark| Some(line.find(mark)? + mark.len()))?;
        let head = &line[at..];
        let name =
            head[..head.find('(')?].split(|c: char| !(c.is_alphanumeric() || c == '_')).rfind(|word| !word.is_empty());
        name.map(without_hash)
    })
}

/// An operator's name as the user wrote it, without the hash that makes it unique in a kernel.
fn without_hash(name: &str) -> String {
    match name.rsplit_once('_') {
        Some((stem, hash)) if hash.len() == 16 && hash.bytes().all(|c| c.is_ascii_hexdigit()) => stem.to_owned(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_operator() {
        let source = "VXM_FN int ok(int a) { return a; }\n\
                      VXM_FN unsigned int closer_0123456789abcdef(unsigned int a) {\n    return b;\n}\n\
                      extern \"C\" __global__ void run() {}";
        let log = "vxm.cu(3): error: identifier \"b\" is undefined\n      return b;\n1 error detected\n";
        let Error::Compile(error) = compile_error(source, "sm_90", log.to_owned()) else { panic!() };
        assert_eq!(
            (error.line, error.text.as_str(), error.function.as_deref()),
            (Some(3), "return b;", Some("closer"))
        );
        assert_eq!(
            error.to_string(),
            "a kernel does not compile for sm_90: identifier \"b\" is undefined, in `closer`, at line 3 of the composed source: \
             `return b;`"
        );
    }

    #[test]
    fn an_error_in_a_header_has_no_line() {
        assert_eq!(error_line("cuda_fp16.h(7): error: no\n"), None);
        assert_eq!(error_line("vxm.cu(7): warning: no\nvxm.cu(9): error: no\n"), Some(9));
    }
}
