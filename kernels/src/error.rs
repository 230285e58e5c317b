//! Everything that can go wrong, each a line that says what was tried and what to do.

use cudarc::driver::DriverError;

use crate::libraries::Library;

/// What every fallible function of the crate returns.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// What went wrong. Each displays as one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// One of NVIDIA's libraries, or the CUDA headers, is not installed or cannot be used.
    #[error("{what} {why}: {hint}")]
    Missing {
        /// What is missing: "the NVIDIA driver".
        what: &'static str,
        /// In which way: "was not found".
        why: String,
        /// What to install.
        hint: &'static str,
    },

    /// A device that isn't there.
    #[error("no CUDA device {asked}: {}", devices(*.count))]
    NoSuchDevice {
        /// The ordinal asked for, from 0.
        asked: usize,
        /// How many devices there are.
        count: usize,
    },

    /// The device has too little memory left.
    #[error(
        "out of device memory: {} asked for, {} free of {}; {} needed with the {} in use",
        size(*.asked), size(*.free), size(*.total), size(.asked.saturating_add(*.used)), size(*.used)
    )]
    DeviceMemory {
        /// Bytes asked for.
        asked: u64,
        /// Bytes that this process' buffers take, which are needed beside them.
        used: u64,
        /// Bytes free, those included that the pool holds for reuse.
        free: u64,
        /// Bytes the device has.
        total: u64,
    },

    /// A kernel's source does not compile.
    #[error("{0}")]
    Compile(Box<CompileError>),

    /// NVRTC failed for another reason than the source's text.
    #[error("NVRTC: {call}: {what}")]
    Nvrtc {
        /// The function that failed.
        call: &'static str,
        /// What NVRTC said.
        what: String,
    },

    /// The program has no kernel of that name.
    #[error("the compiled program has no kernel `{name}`: is it declared extern \"C\" __global__?")]
    NoKernel {
        /// The name asked for.
        name: String,
    },

    /// A kernel was launched with what it cannot run with.
    #[error("kernel `{kernel}`: {why}")]
    Launch {
        /// The kernel's name.
        kernel: String,
        /// What does not fit.
        why: String,
    },

    /// A copy that does not lie within its buffer.
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

    /// cuBLAS failed, or was asked for what it cannot do.
    #[error("cuBLAS: {call}: {what}")]
    Cublas {
        /// The function that failed.
        call: &'static str,
        /// What cuBLAS said.
        what: String,
    },

    /// A kernel failed on the device. Nothing works there any more until the process ends.
    #[error(
        "device {device} is lost to this process since {call} failed: {what}; the last kernel launched was {kernel} \
         (CUDA_LAUNCH_BLOCKING=1 makes that exact)"
    )]
    Lost {
        /// The device's ordinal.
        device: usize,
        /// The function that reported it first; the cause is a kernel launched before.
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
pub struct CompileError {
    /// The architecture compiled for: `sm_90`.
    pub arch: String,
    /// The first error.
    pub message: String,
    /// The line of the composed source it is reported at, from 1; none if it is in a header.
    pub line: Option<usize>,
    /// That line, trimmed; empty if there is none.
    pub text: String,
    /// The function that line is in: an operator's name, or a kernel's.
    pub function: Option<String>,
    /// All that NVRTC printed.
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
    pub(crate) fn missing(library: Library, why: impl Into<String>) -> Self {
        Self::Missing { what: library.name(), why: why.into(), hint: library.hint() }
    }

    pub(crate) fn launch(kernel: &str, why: impl Into<String>) -> Self {
        Self::Launch { kernel: kernel.to_owned(), why: why.into() }
    }
}

/// What the driver says of an error: its name and its sentence.
pub(crate) fn driver_text(error: DriverError) -> String {
    let said = error.error_string().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    format!("{:?} ({said})", error.0)
}

/// Turns a driver's answer into this crate's; for calls outside of any device's context.
pub(crate) fn check<T>(call: &'static str, answer: core::result::Result<T, DriverError>) -> Result<T> {
    answer.map_err(|error| Error::Driver { call, what: driver_text(error) })
}

/// Bytes as people read them.
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
        let memory = Error::DeviceMemory { asked: 5 << 30, used: 3 << 30, free: 3 << 29, total: 141 << 30 };
        assert_eq!(
            memory.to_string(),
            "out of device memory: 5.0 GiB asked for, 1.5 GiB free of 141.0 GiB; 8.0 GiB needed with the 3.0 GiB in use"
        );
        let mistaken = Error::DeviceMemory { asked: u64::MAX, used: 1, free: 0, total: 1 };
        assert!(mistaken.to_string().contains("16384.0 PiB needed"), "{mistaken}");
        let device = Error::NoSuchDevice { asked: 3, count: 2 };
        assert_eq!(device.to_string(), "no CUDA device 3: there are 2, numbered from 0");
        let missing = Error::missing(Library::Nvrtc, "was not found");
        assert!(missing.to_string().starts_with("NVRTC was not found: pip install"), "{missing}");
    }
}
