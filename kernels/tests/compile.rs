//! Compiling without a device, and the errors where NVRTC is not installed.

#[path = "common/children.rs"]
mod children;
#[path = "common/nvrtc.rs"]
mod nvrtc;

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::time::Instant;

use vxm_kernels::{Cubin, Error, Gpu, Library, Result, compile, compile_cached, doctor, headers, supported_archs};

const ARCHS: [&str; 3] = ["sm_80", "sm_90", "sm_100"];

const TRIVIAL: &str = r#"
struct Params { unsigned int* data; unsigned int count; };
extern "C" __global__ void twice(const __grid_constant__ Params p) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.count) p.data[i] *= 2;
}
"#;

const TENSOR: &str = r#"
#include <cuda_fp16.h>
#include <mma.h>
struct Params { const __half* a; const __half* b; float* c; };
extern "C" __global__ void product(const __grid_constant__ Params p) {
    using namespace nvcuda;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    wmma::load_matrix_sync(a, p.a, 16);
    wmma::load_matrix_sync(b, p.b, 16);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(p.c, c, 16, wmma::mem_row_major);
}
"#;

fn is_elf(cubin: &Cubin) -> bool {
    cubin.code().starts_with(b"\x7fELF")
}

fn contains(cubin: &Cubin, name: &str) -> bool {
    cubin.code().windows(name.len()).any(|window| window == name.as_bytes())
}

#[test]
fn kernels_compile_for_each_architecture() {
    if !nvrtc::is_there() {
        return;
    }
    for arch in ARCHS {
        for (source, name) in [(TRIVIAL, "twice"), (TENSOR, "product")] {
            let begin = Instant::now();
            let cubin = compile(source, arch, &[]).unwrap();
            println!("{name} for {arch}: {} bytes in {:?}", cubin.code().len(), begin.elapsed());
            assert!(is_elf(&cubin) && contains(&cubin, name) && !cubin.cached());
        }
    }
}

#[test]
fn options_reach_the_compiler() {
    if !nvrtc::is_there() {
        return;
    }
    let source = "extern \"C\" __global__ void NAME() {}";
    assert!(contains(&compile(source, "sm_90", &["--define-macro=NAME=given"]).unwrap(), "given"));
    let Err(Error::Nvrtc { what, .. }) = compile(source, "sm_90", &["--no-such-option"]) else { panic!() };
    assert!(what.contains("--no-such-option"), "{what}");
}

/// `#include <...>` never finds a file of the working directory, whatever its name.
#[test]
fn nothing_is_included_from_here() {
    if let Some(folder) = children::task() {
        std::env::set_current_dir(folder).unwrap();
        compile("#include <cuda_fp16.h>", "sm_90", &[]).unwrap();
        compile("#include <mma.h>", "sm_90", &[]).unwrap();
        assert!(compile("#include <only_here.h>", "sm_90", &[]).is_err());
    } else if nvrtc::is_there() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["cuda_fp16.h", "mma.h", "only_here.h"] {
            fs::write(folder.path().join(name), "static int from_here;\n").unwrap();
        }
        let mut command = children::child("nothing_is_included_from_here", folder.path().to_str().unwrap());
        children::wait(vec![command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()]);
    }
}

/// A multiplication and an addition stay two instructions.
#[test]
fn nothing_is_fused() {
    if !nvrtc::is_there() {
        return;
    }
    let source = "struct P { float *x, a, b; };\n\
                  extern \"C\" __global__ void f(const __grid_constant__ P p) { *p.x = *p.x * p.a + p.b; }";
    let contracted = compile(&source.replace("*p.x * p.a + p.b", "fmaf(*p.x, p.a, p.b)"), "sm_90", &[]).unwrap();
    let apart = compile(source, "sm_90", &[]).unwrap();
    assert_ne!(apart.code().len(), 0);
    assert_ne!(text_section(apart.code()), text_section(contracted.code()));
}

/// The machine code of `f`.
fn text_section(elf: &[u8]) -> &[u8] {
    let u64_at = |at: usize| u64::from_le_bytes(elf[at..at + 8].try_into().unwrap()) as usize;
    let u32_at = |at: usize| u32::from_le_bytes(elf[at..at + 4].try_into().unwrap()) as usize;
    let u16_at = |at: usize| u16::from_le_bytes(elf[at..at + 2].try_into().unwrap()) as usize;
    let (table, count, names) = (u64_at(0x28), u16_at(0x3c), u16_at(0x3e));
    let header = |index: usize| table + 64 * index;
    let strings = u64_at(header(names) + 0x18);
    let section = (0..count).map(header).find(|&at| elf[strings + u32_at(at)..].starts_with(b".text.f\0")).unwrap();
    &elf[u64_at(section + 0x18)..][..u64_at(section + 0x20)]
}

#[test]
fn an_error_says_where() {
    if !nvrtc::is_there() {
        return;
    }
    let source = "#include <cuda_fp16.h>\n\
                  VXM_FN unsigned closer_0123456789abcdef(unsigned a, unsigned b) {\n    return a < c ? a : b;\n}\n\
                  extern \"C\" __global__ void run(unsigned* p) { *p = closer_0123456789abcdef(*p, 1u); }\n";
    let source = source.replace("VXM_FN", "__device__");
    let Err(Error::Compile(error)) = compile(&source, "sm_90", &[]) else { panic!() };
    assert_eq!(error.message, "identifier \"c\" is undefined");
    assert_eq!((error.line, error.text.as_str()), (Some(3), "return a < c ? a : b;"));
    assert_eq!((error.function.as_deref(), error.arch.as_str()), (Some("closer"), "sm_90"));
    assert!(error.log.contains("1 error detected"), "{}", error.log);
    assert_eq!(Error::Compile(error).to_string().lines().count(), 1);
}

#[test]
fn bad_requests_are_errors() {
    if !nvrtc::is_there() {
        return;
    }
    for arch in ["sm_12345", "sm_", "90", "compute_90", "", "sm_90\0"] {
        let error = compile(TRIVIAL, arch, &[]).unwrap_err().to_string();
        assert!(error.contains("sm_90"), "{error}");
    }
    assert!(compile("\0", "sm_90", &[]).unwrap_err().to_string().contains("zero byte"));
    assert!(compile(TRIVIAL, "sm_90", &["-DA\0"]).unwrap_err().to_string().contains("zero byte"));
    assert!(matches!(compile("#include <no_such.h>", "sm_90", &[]), Err(Error::Compile(_))));
    assert!(matches!(compile("}{", "sm_90", &[]), Err(Error::Compile(_))));
    assert!(is_elf(&compile("", "sm_90", &[]).unwrap()));
    assert!(supported_archs().unwrap().contains(&90));
}

/// 16 processes start with an empty cache, then with a filled one, then with one that has a damaged entry.
#[test]
fn sixteen_processes_compile_one_program() {
    if children::task().is_some() {
        let begin = Instant::now();
        let cubin = compile_cached(TRIVIAL, "sm_90", &[]).unwrap();
        assert!(is_elf(&cubin) && contains(&cubin, "twice"));
        println!("cached: {}, {:?}", cubin.cached(), begin.elapsed());
        return;
    }
    if !nvrtc::is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = children::child("sixteen_processes_compile_one_program", "compile");
    command.env("VXM_CACHE_DIR", folder.path().join("cache")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut run = |count| children::wait((0..count).map(|_| command.spawn().unwrap()).collect());
    run(16);
    assert!(run(16).iter().all(|text| text.contains("cached: true")));
    let entries: Vec<_> =
        fs::read_dir(folder.path().join("cache")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(entries.len(), 1);
    let mut damaged = fs::read(&entries[0]).unwrap();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    fs::write(&entries[0], damaged).unwrap();
    assert!(run(1)[0].contains("cached: false"));
    let text = run(1).remove(0);
    assert!(text.contains("cached: true"));
    println!("{text}");
}

/// What is found depends on the environment that a process starts with, so each case is a process of its own.
#[test]
fn what_is_missing_is_said() {
    match children::task().as_deref() {
        Some("nothing") => nothing_installed(),
        Some("no headers") => no_headers(),
        Some("broken") => {
            // an NVRTC in one of the usual places is found instead
            if let Err(error) = compile(TRIVIAL, "sm_90", &[]) {
                assert!(error.to_string().starts_with("NVRTC was not found: pip install"), "{error}");
            }
        }
        Some("no cache") => {
            for _ in 0..2 {
                let cubin = compile_cached(TRIVIAL, "sm_90", &[]).unwrap();
                assert!(is_elf(&cubin) && !cubin.cached());
            }
        }
        Some(_) => unreachable!(),
        None => {
            let empty = tempfile::tempdir().unwrap();
            let bare = |what: &str| {
                let mut command = children::child("what_is_missing_is_said", what);
                let names =
                    ["VIRTUAL_ENV", "CONDA_PREFIX", "VXM_CUDA_PATH", "CUDA_PATH", "CUDA_HOME", "LD_LIBRARY_PATH"];
                names.iter().for_each(|name| _ = command.env_remove(name));
                command.env("HOME", empty.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
                command
            };
            let mut children = vec![bare("nothing").spawn().unwrap()];
            if nvrtc::is_there() {
                let library = Library::Nvrtc.path().unwrap();
                let root = |name: &str| empty.path().join(name);
                fs::create_dir(root("real")).unwrap();
                symlink(library.parent().unwrap(), root("real/lib")).unwrap();
                fs::create_dir_all(root("false/lib")).unwrap();
                fs::write(root("false/lib/libnvrtc.so.13"), "no library").unwrap();
                let with = |what, name| bare(what).env("VXM_CUDA_PATH", root(name)).spawn().unwrap();
                children.extend([with("no headers", "real"), with("broken", "false")]);
                fs::write(root("file"), "no folder").unwrap();
                for place in ["/proc/none".into(), root("file"), root("file/below")] {
                    let mut command = bare("no cache");
                    children.push(command.envs(std::env::vars_os()).env("VXM_CACHE_DIR", place).spawn().unwrap());
                }
            }
            children::wait(children).iter().for_each(|text| println!("{text}"));
        }
    }
}

/// NVRTC alone compiles a source that needs no headers.
fn no_headers() {
    assert!(Library::Nvrtc.path().is_some_and(|path| path.is_file()));
    assert!(is_elf(&compile(TRIVIAL, "sm_90", &[]).unwrap()));
    if headers().is_none() {
        let error = compile(TENSOR, "sm_90", &[]).unwrap_err().to_string();
        assert!(error.starts_with("the CUDA headers were not found (could not open source file"), "{error}");
    }
}

/// Every missing library is an error with a hint. A library that the machine has in a usual place is skipped.
fn nothing_installed() {
    let hint = |result: Result<()>, words: &str| match result {
        Ok(()) => println!("found, so not tested: {words}"),
        Err(Error::Missing { hint, .. }) => assert!(hint.contains(words), "{hint}"),
        Err(error) => panic!("{error}"),
    };
    hint(Gpu::count().map(drop), "driver");
    hint(Gpu::open(0).map(drop), "driver");
    hint(compile(TRIVIAL, "sm_90", &[]).map(drop), "nvidia-cuda-nvrtc");
    hint(compile_cached(TRIVIAL, "sm_90", &[]).map(drop), "nvidia-cuda-nvrtc");
    hint(Gpu::dry_run(&["sm_90"]).map(drop), "nvidia-cuda-nvrtc");
    if let Ok(gpu) = Gpu::open(0) {
        hint(gpu.program(TRIVIAL, &[]).map(drop), "nvidia-cuda-nvrtc");
        let four = gpu.zeroed(4).unwrap();
        hint(gpu.multiply::<f32>([1, 1, 1], &four, &four).map(drop), "nvidia-cublas");
    }
    hint(Library::Cublas.require(), "nvidia-cublas");
    hint(Library::Nccl.require(), "libnccl.so");
    println!("{}", doctor());
}

#[test]
fn the_doctor_never_fails() {
    if let Some(folder) = children::task() {
        let report = doctor();
        println!("{report}");
        assert_eq!(report.libraries.len(), 4);
        assert_eq!(report.is_ready(), report.devices.is_ok_and(|devices| !devices.is_empty()) && nvrtc::is_there());
        assert_eq!(report.cache.unwrap().folder.to_str(), Some(folder.as_str()));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for place in [folder.path().join("cache"), "/proc/none".into()] {
        let mut command = children::child("the_doctor_never_fails", place.to_str().unwrap());
        command.env("VXM_CACHE_DIR", &place).stdout(Stdio::piped()).stderr(Stdio::piped());
        let text = children::wait(vec![command.spawn().unwrap()]).remove(0);
        println!("{text}");
        for name in ["NVIDIA driver: ", "NVRTC: ", "cuBLAS: ", "NCCL: ", "CUDA headers: ", "kernel cache: "] {
            assert!(text.contains(name), "{text}");
        }
        assert_eq!(text.contains("not writable"), place.starts_with("/proc"), "{text}");
    }
}
