//! The kernels over tiles, composed as the backend composes them, compile. No device is needed.

#[path = "common/nvrtc.rs"]
mod nvrtc;

use vxm_kernels::{compile, sources};
use vxm_semiring::{Element, KernelText};

const ARCHS: [&str; 3] = ["sm_80", "sm_90", "sm_100"];

/// Operators and monoids as the kernel builder writes them.
const OPERATORS: &str = "
struct first { template <class... X> static VXM_FN auto call(X... x) { return vxm::first(x...); } };
struct times { template <class... X> static VXM_FN auto call(X... x) { return vxm::mul(x...); } };
struct less { template <class... X> static VXM_FN auto call(X... x) { return vxm::lt(x...); } };
template <class T, bool is_exact> struct plus : vxm::StepByStep {
    static const bool exact = is_exact, commutative = true, stops = false;
    static VXM_FN T call(T a, T b) { return vxm::add(a, b); }
    static VXM_FN bool terminal(T) { return false; }
};
struct most : vxm::AtOnce<vxm::Maxes, unsigned int, 0> {
    static const bool exact = true, commutative = true, stops = true;
    static VXM_FN unsigned int call(unsigned int a, unsigned int b) { return vxm::max(a, b); }
    static VXM_FN bool terminal(unsigned int a) { return vxm::eq(a, 4294967295u); }
};
struct take_any : vxm::StepByStep {
    static const bool exact = true, commutative = false, stops = true;
    static VXM_FN vxm_unit call(vxm_unit a, vxm_unit) { return a; }
    static VXM_FN bool terminal(vxm_unit) { return true; }
};
";

const GROUPS: [&str; 4] = ["vxm::Thread()", "vxm::Lanes<4>()", "vxm::Warp()", "vxm::Block()"];

/// A program with one kernel of type `ty` for each of `runs`, the argument of its `run`.
fn program(ty: &str, runs: &[&str]) -> String {
    let mut text = KernelText::new();
    half::f16::declare(&mut text);
    let parts = [
        // what the engine makes of its tuning table
        "namespace vxm { struct Config { static const unsigned int staging_warps = 4; }; }\n",
        sources::GROUP,
        sources::REDUCE_ROW,
        sources::VIEW,
        sources::TERMINAL,
        sources::STAGED,
        sources::ROWS,
        sources::TILES,
        sources::TILING,
        sources::TENSOR,
        sources::BIT_TENSOR,
        OPERATORS,
    ];
    parts.iter().enumerate().for_each(|(k, part)| text.define(&k.to_string(), *part));
    let mut source = text.text();
    source.push_str(&format!("struct Parameter {{ {ty} kernel; }};\n"));
    for (k, run) in runs.iter().enumerate() {
        let threads = if *run == "vxm::Block()" { 1024 } else { 256 };
        source.push_str(&format!(
            "extern \"C\" __global__ void __launch_bounds__({threads}) k{k}(const __grid_constant__ Parameter p) {{\n    \
             p.kernel.run({run});\n}}\n"
        ));
    }
    source
}

fn compiles(ty: &str, runs: &[&str]) {
    if !nvrtc::is_there() {
        return;
    }
    for arch in ARCHS {
        let cubin = compile(&program(ty, runs), arch, &[]).unwrap_or_else(|error| panic!("{ty} for {arch}: {error}"));
        assert!(cubin.code().starts_with(b"\x7fELF"));
    }
}

#[test]
fn counting_compiles() {
    for counted in [
        "unsigned int, plus<unsigned int, true>",
        "unsigned long long, plus<unsigned long long, true>",
        "vxm_unit, take_any",
    ] {
        compiles(&format!("vxm::Eval<vxm::CountProduct<{counted}, false>>"), &GROUPS);
        let primary = format!("vxm::CountProduct<{counted}, true>");
        compiles(&format!("vxm::Eval<{primary}>"), &[&format!("vxm::TileRowCounting<{primary}>{{p.kernel.view}}")]);
        let primary = format!("vxm::BitTensorProduct<{counted}, true>");
        compiles(&format!("vxm::Eval<{primary}>"), &GROUPS);
        compiles(&format!("vxm::Eval<{primary}>"), &[&format!("vxm::TileRowMultiplying<{primary}>{{p.kernel.view}}")]);
    }
    compiles("vxm::Eval<vxm::KnownCounts<unsigned int, plus<unsigned int, true>>>", &GROUPS);
}

#[test]
fn folding_compiles() {
    let masked = "vxm::Masked<vxm::PullTiles<vxm::Stored<unsigned int>, vxm_unit, vxm::Semiring<unsigned int, first, most>, \
                  vxm::Until<less, unsigned int, vxm::AllEdges>>, vxm::MaskComplement<vxm::StructureMask<vxm::Stored<vxm_unit>>>>";
    compiles(&format!("vxm::Write<{masked}, vxm::Replace>"), &GROUPS);
    let weighted =
        "vxm::PullTiles<vxm::Stored<__half>, __half, vxm::Semiring<__half, times, plus<__half, false>>, vxm::AllEdges>";
    compiles(&format!("vxm::Eval<{weighted}>"), &GROUPS);
}

#[test]
fn making_compiles() {
    for weight in ["vxm_unit", "__half"] {
        compiles(&format!("vxm::MakeTiles<{weight}>"), &["vxm::Counting()", "vxm::Filling()"]);
    }
}

#[test]
fn tensor_cores_compile() {
    for ty in ["vxm::MultiplyTiles<vxm::ManyVectors>", "vxm::MultiplyTileRows<vxm::ManyResults>"] {
        compiles(ty, &[""]);
    }
    for ty in ["vxm::CountTiles<vxm::OneVector>", "vxm::CountTiles<vxm::ManyVectors>", "vxm::PackVectors"] {
        compiles(ty, &[""]);
    }
}
