//! The exceptions of the package, which `vxm._errors` defines in Python.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use vxm::Error;
use vxm_kernels::Error as DeviceError;

/// An exception class of `vxm._errors`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Error,
    Input,
    Shape,
    File,
    Memory,
    Device,
    Convergence,
    WrongAnswer,
}

impl Class {
    /// The class itself, imported at the first use.
    fn get(self, py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
        static CLASSES: [PyOnceLock<Py<PyType>>; 8] = [const { PyOnceLock::new() }; 8];
        let name = match self {
            Self::Error => "Error",
            Self::Input => "InputError",
            Self::Shape => "ShapeError",
            Self::File => "FileError",
            Self::Memory => "OutOfMemoryError",
            Self::Device => "DeviceError",
            Self::Convergence => "ConvergenceError",
            Self::WrongAnswer => "WrongAnswer",
        };
        CLASSES[self as usize].import(py, "vxm._errors", name)
    }

    /// An exception of this class. If the class can't be imported, the exception says that.
    pub fn error(self, py: Python<'_>, text: impl ToString) -> PyErr {
        match self.get(py) {
            Ok(class) => PyErr::from_type(class.clone(), (text.to_string(),)),
            Err(error) => error,
        }
    }
}

/// A message without the line of Rust that it begins with, if any: the traceback shows the one of Python.
fn without_place(text: &str) -> &str {
    let is_place = |head: &str| {
        let mut parts = head.rsplitn(3, ':');
        let is_number = |part: Option<&str>| part.is_some_and(|part| part.parse::<u32>().is_ok());
        is_number(parts.next()) && is_number(parts.next()) && parts.next().is_some_and(|file| file.ends_with(".rs"))
    };
    text.split_once(": ").filter(|(head, _)| is_place(head)).map_or(text, |(_, rest)| rest)
}

/// The exception for an error of the engine.
pub fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let class = match error {
        Error::Parse { .. }
        | Error::Spec { .. }
        | Error::TooManyVertices { .. }
        | Error::Invalid { .. }
        | Error::Unknown { .. } => Class::Input,
        Error::Shape { .. } => Class::Shape,
        Error::Io { .. } => Class::File,
        Error::Memory { .. } | Error::Device(DeviceError::DeviceMemory { .. }) => Class::Memory,
        Error::Device(_) => Class::Device,
        Error::Stalled { .. } | Error::DidNotConverge { .. } => Class::Convergence,
        _ => Class::Error,
    };
    let text = error.to_string();
    // of a file's text, the place is in the file
    let told = if matches!(error, Error::Parse { .. }) { &text } else { without_place(&text) };
    let raised = class.error(py, told);
    if let Error::Io { source, .. } = error
        && let Err(failed) = raised.value(py).setattr("errno", source.raw_os_error())
    {
        return failed;
    }
    raised
}
