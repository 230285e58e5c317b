//! Kernels that aren't counted: what counts in other kernels leaves nothing in them.

#[path = "common/nvrtc.rs"]
mod nvrtc;

use vxm_kernels::{compile, sources};

/// What a program gets beside the files of this crate: the language of operators, the numbers of the tuning table that these loops use, and
/// some operators.
const PRELUDE: &str = include_str!("../../semiring/src/prelude.cuh");
const CONFIG: &str = "namespace vxm { struct Config {
    static const unsigned short_rows_every = 8, idle_passes = 64, lane_row = 8, lane_rows = 4, eight_lane_row = 64, begin_rows = 4,
        begin_batches = 2, look_rows = 8, relaxed_row = 256, relaxed_pull = 15, relaxed_staged = 4096, staging_warps = 4;
}; }\n";
const OPERATORS: &str = "
struct First { template <class T, class A> static VXM_FN T call(T x, A) { return x; } };
struct Same { template <class T> static VXM_FN unsigned call(T x) { return x; } };
struct Zero { template <class T> static VXM_FN bool call(T x) { return x == 0; } };
struct Less { template <class T> static VXM_FN bool call(T x, T y) { return x < y; } };
struct Least : vxm::StepByStep {
    static const bool exact = true, commutative = true, stops = true;
    static VXM_FN unsigned call(unsigned a, unsigned b) { return a < b ? a : b; }
    static VXM_FN bool terminal(unsigned a) { return a == 0; }
};
struct Sum : vxm::StepByStep {
    static const bool exact = false, commutative = true, stops = false;
    static VXM_FN float call(float a, float b) { return a + b; }
    static VXM_FN bool terminal(float) { return false; }
};\n";

/// A product of the loop's state, a body that lowers each state to its row's least, and one that follows pointers first.
const PULL: &str = "vxm::Pull<vxm::State<unsigned>, vxm::MatrixTypes<unsigned, vxm_unit>, vxm::Semiring<unsigned, First, Least>, vxm::AllEdges, true>";
const BODY: &str = "vxm::ShortCircuitEWiseAdd<vxm::State<unsigned>, PULL, Least, Zero>";
const JUMPING: &str =
    "vxm::ShortCircuitEWiseAdd<vxm::PointerJump<vxm::State<unsigned>, Same, Less>, PULL, Least, Zero>";

/// Kernels of each kind: a name, the loop's files, its type, and the tag that it runs by.
fn kernels() -> Vec<(&'static str, Vec<&'static str>, String, &'static str)> {
    let active = [sources::STATE, sources::TERMINATION, sources::COPIES, sources::ACTIVE];
    let config = "vxm::ActiveConfig<vxm::VisitConfig<true, false>, vxm::RowConfig<true, false, false>, vxm::UnrollConfig<4, 0>, vxm::NoCopies>";
    let over = |files: &[&'static str], caching| [&[caching], files].concat();
    vec![
        (
            "changed",
            over(&[sources::STATE, sources::CHANGED], sources::CACHED),
            "vxm::ChangedLoop<BODY, vxm::NoScatter, vxm::ChangedConfig<true, true, true, false, 1>>".to_owned(),
            "",
        ),
        (
            "joining",
            over(&[sources::STATE, sources::CHANGED], sources::CACHED),
            "vxm::ChangedLoop<JUMPING, vxm::ScatterReduce<Same, vxm::Joins<Least, -1>, Least>, vxm::ChangedConfig<true, true, true, true, 0>>"
                .to_owned(),
            "",
        ),
        (
            "asynchronous",
            over(&active, sources::DIRECT),
            format!("vxm::ActiveLoop<BODY, vxm::Absent, Zero, vxm::Absent, {config}>"),
            "vxm::Asynchronous()",
        ),
        (
            "rounds",
            over(&active, sources::CACHED),
            format!("vxm::ActiveLoop<BODY, vxm::Absent, Zero, vxm::Absent, {config}>"),
            "vxm::Rounds()",
        ),
        (
            "steps",
            over(&[sources::STATE, sources::TERMINATION, sources::STEPS], sources::CACHED),
            "vxm::SteppedLoop<Zero, false, vxm::Steps<BODY, vxm::Steps<BODY, vxm::NoStep>>>".to_owned(),
            "",
        ),
        (
            "relaxed",
            over(&[sources::STATE, sources::RELAXED], sources::CACHED),
            "vxm::RelaxedLoop<vxm::RelaxedEdges<unsigned, vxm_unit, First, vxm::Joins<Least, -1>, unsigned, unsigned, true, false>, vxm::Uncounted>"
                .to_owned(),
            "vxm::Block()",
        ),
        (
            "sums",
            Vec::new(),
            "vxm::Eval<vxm::Pull<vxm::Stored<float, true>, vxm::MatrixTypes<unsigned, float>, vxm::Semiring<float, First, Sum>, vxm::AllEdges, true>>"
                .to_owned(),
            "vxm::Warp()",
        ),
    ]
}

/// The text of a kernel that isn't counted.
fn text(files: &[&str], ty: &str, tag: &str) -> String {
    let library =
        [PRELUDE, CONFIG, sources::GROUP, sources::REDUCE_ROW, sources::VIEW, sources::TERMINAL, sources::STAGED]
            .concat();
    let ty = ty.replace("BODY", BODY).replace("JUMPING", JUMPING).replace("PULL", PULL);
    format!(
        "{library}{}{OPERATORS}struct Parameter {{ {ty} kernel; }};\n\
         extern \"C\" __global__ void __launch_bounds__(256, 2) k(const __grid_constant__ Parameter p) {{ p.kernel.run({tag}); }}\n",
        files.concat()
    )
}

#[test]
fn counters_leave_nothing_in_kernels_that_are_not_counted() {
    if !nvrtc::is_there() {
        return;
    }
    for (name, files, ty, tag) in kernels() {
        let whole = text(&files, &ty, tag);
        // each use stands on a line of its own, so that the others stay as they are
        let is_counter = |line: &&str| {
            ["VXM_TALLY(", "VXM_TALLY_READ(", "VXM_END_ROUND("].iter().any(|name| line.trim_start().starts_with(name))
        };
        let without: String =
            whole.lines().map(|line| if is_counter(&line) { "\n".to_owned() } else { format!("{line}\n") }).collect();

        assert!(whole.lines().filter(is_counter).count() > 10, "{name}: these files count");
        let [with, without] = [whole, without].map(|text| compile(&text, "sm_90", &[]).unwrap());
        assert!(with.code() == without.code(), "{name}: counters change a kernel that isn't counted");
    }
}
