//! The CUDA C++ side of an operator: how its text reaches a kernel.

/// The device functions a kernel is composed of, each once, in an order in which callees stand before their callers.
#[derive(Debug, Default, Clone)]
pub struct KernelText {
    functions: Vec<(String, String)>,
}

impl KernelText {
    /// No functions yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the function `name` with its whole text, unless it is there already.
    pub fn define(&mut self, name: &str, text: impl Into<String>) {
        if !self.functions.iter().any(|(known, _)| known == name) {
            self.functions.push((name.to_owned(), text.into()));
        }
    }

    /// The text of all functions, callees first.
    pub fn text(&self) -> String {
        self.functions
            .iter()
            .map(|(_, text)| format!("{text}\n"))
            .collect()
    }
}

/// Something whose CUDA C++ text can be spliced into a kernel.
pub trait Source: Copy + Send + Sync + 'static {
    /// Adds the device function and all it calls to `text`; returns what to call, so that `{name}(a, b)` is an expression.
    fn source(self, text: &mut KernelText) -> String;
}
