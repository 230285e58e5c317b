//! The crate's errors. Each displays as one line that says what was tried and what to do.

use cudarc::driver::DriverError;

/// The result of every fallible function of the crate.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// Why a call failed. Displays as one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// One of NVIDIA's libraries, or the CUDA headers, is not installed or cannot be used.
    #[error("{what} {why}: {hint}")]
    Missing {
        /// What is missing: "the NVIDIA driver".
        what: &'static str,
        /// What is wrong with it: "was not found".
        why: String,
        /// What to install.
        hint: &'static str,
    },

    /// There is no device with that number.
    #[error("no CUDA device {asked}: {}", devices(*.count))]
    NoSuchDevice {
        /// The number asked for, from 0.
        asked: usize,
        /// How many devices there are.
        count: usize,
    },

    /// The device has too little memory left.
    #[error(
        "out of device memory: {} asked for, {} free of {}{}; {} needed with the {} in use",
        size(*.asked), size(*.free), if *.budget { "a budget of " } else { "" }, size(*.total),
        size(.asked.saturating_add(*.used)), size(*.used)
    )]
    DeviceMemory {
        /// Bytes asked for.
        asked: u64,
        /// Bytes that this process' buffers take already.
        used: u64,
        /// Bytes free, including what is kept for reuse.
        free: u64,
        /// Bytes that the device has, or that the budget allows.
        total: u64,
        /// Whether a budget limits what buffers may take.
        budget: bool,
    },

    /// The host has too little memory that can be locked into place for a device to read.
    #[error("out of page-locked memory on the host: {} asked for, with {} in use", size(*.asked), size(*.used))]
    HostMemory {
        /// Bytes asked for.
        asked: u64,
        /// Bytes that this process' page-locked buffers take already.
        used: u64,
    },

    /// A kernel's source does not compile.
    #[error("{0}")]
    Compile(Box<CompileError>),

    /// NVRTC failed for a reason other than the source.
    #[error("NVRTC: {call}: {what}")]
    Nvrtc {
        /// The function that failed.
        call: &'static str,
        /// What NVRTC said.
        what: String,
    },

    /// NCCL failed.
    #[error("NCCL: {call}: {what}")]
    Nccl {
        /// The function that failed.
        call: &'static str,
        /// What NCCL said.
        what: String,
    },

    /// The program has no kernel of that name.
    #[error("the compiled program has no kernel `{name}`: is it declared extern \"C\" __global__?")]
    NoKernel {
        /// The name asked for.
        name: String,
    },

    /// A kernel cannot be launched this way.
    #[error("kernel `{kernel}`: {why}")]
    Launch {
        /// The kernel's name.
        kernel: String,
        /// Why not.
        why: String,
    },

    /// A range of bytes that is not within its buffer.
    #[error("bytes {first}..{end} are not all within a buffer of {len} bytes")]
    Range {
        /// The first byte.
        first: usize,
        /// The byte after the last.
        end: usize,
        /// The buffer's length in bytes.
        len: usize,
    },

    /// The CUDA driver refused a call.
    #[error("CUDA: {call}: {what}")]
    Driver {
        /// The function that failed.
        call: &'static str,
        /// What the driver said.
        what: String,
    },

    /// cuBLAS failed, or its operands do not fit.
    #[error("cuBLAS: {call}: {what}")]
    Cublas {
        /// The function that failed.
        call: &'static str,
        /// What cuBLAS said.
        what: String,
    },

    /// A kernel failed. Every later call on the device fails too, until the process ends.
    #[error(
        "device {device} is lost to this process since {call} failed: {what}; the last kernel launched was {kernel} \
         (CUDA_LAUNCH_BLOCKING=1 makes that exact)"
    )]
    Lost {
        /// The device's number.
        device: usize,
        /// The function that reported the failure first. The cause is a kernel launched before.
        call: &'static str,
        /// What the driver said.
        what: String,
        /// The name of the kernel launched last, in backquotes, or "none".
        kernel: String,
    },
}

/// Why a kernel's source does not compile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a kernel does not compile for {arch}: {message}{}{}", within(.function), quoted(.line, .text))]
#[non_exhaustive]
pub struct CompileError {
    /// The architecture compiled for: `sm_90`.
    pub arch: String,
    /// The first error.
    pub message: String,
    /// The line of the composed source that the error is reported at, from 1; `None` if it is in a header.
    pub line: Option<usize>,
    /// That line, trimmed; empty if there is none.
    pub text: String,
    /// The function that line is in: an operator's name, or a kernel's.
    pub function: Option<String>,
    /// Everything NVRTC printed.
    pub log: String,
}

fn within(function: &Option<String>) -> String {
    function.as_ref().map_or_else(String::new, |name| format!(", in `{name}`"))
}

fn quoted(line: &Option<usize>, text: &str) -> String {
    line.map_or_else(String::new, |line| format!(", at line {line} of the composed source: `{text}`"))
}

fn devices(count: usize) -> String {
    match count {
        0 => "there is none".to_owned(),
        1 => "there is 1, with number 0".to_owned(),
        _ => format!("there are {count}, numbered from 0"),
    }
}

impl Error {
    /// [`Error::Launch`] for the kernel of that name.
    pub(crate) fn launch(kernel: &str, why: impl Into<String>) -> Self {
        Self::Launch { kernel: kernel.to_owned(), why: why.into() }
    }
}

/// The driver's text for an error: its name and its description.
pub(crate) fn driver_text(error: DriverError) -> String {
    let said = error.error_string().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    format!("{:?} ({said})", error.0)
}

/// Turns the result of a driver call into this crate's. For calls that need no device's context.
pub(crate) fn check<T>(call: &'static str, answer: core::result::Result<T, DriverError>) -> Result<T> {
    answer.map_err(|error| Error::Driver { call, what: driver_text(error) })
}

/// A number of bytes as text with a unit: "1.5 GiB".
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = (bytes.max(1).ilog2() / 10).min(5);
    if unit == 0 {
        return format!("{bytes} bytes");
    }
    format!("{:.1} {}", bytes as f64 / 1024f64.powi(unit as i32), UNITS[unit as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_one_line() {
        let memory =
            Error::DeviceMemory { asked: 5 << 30, used: 3 << 30, free: 3 << 29, total: 141 << 30, budget: false };
        assert_eq!(
            memory.to_string(),
            "out of device memory: 5.0 GiB asked for, 1.5 GiB free of 141.0 GiB; 8.0 GiB needed with the 3.0 GiB in use"
        );
        let budget = Error::DeviceMemory { asked: 5 << 20, used: 3 << 20, free: 1 << 20, total: 4 << 20, budget: true };
        assert!(budget.to_string().contains("1.0 MiB free of a budget of 4.0 MiB; 8.0 MiB needed"), "{budget}");
        let mistaken = Error::DeviceMemory { asked: u64::MAX, used: 1, free: 0, total: 1, budget: false };
        assert!(mistaken.to_string().contains("16384.0 PiB needed"), "{mistaken}");
        let device = Error::NoSuchDevice { asked: 3, count: 2 };
        assert_eq!(device.to_string(), "no CUDA device 3: there are 2, numbered from 0");
    }
}
