//! The launcher's variables: they tell a process that it is one of several ranks.

use std::env;

/// Variables that launchers set, and the variable that tells the number of ranks on this machine, if there is one.
pub const LAUNCHERS: [(&str, Option<&str>); 4] = [
    ("OMPI_COMM_WORLD_SIZE", Some("OMPI_COMM_WORLD_LOCAL_SIZE")),
    ("PMI_SIZE", Some("MPI_LOCALNRANKS")),
    ("PMI_RANK", None),
    ("PMIX_RANK", None),
];

/// A launcher, as far as its variables tell.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Launcher {
    /// The variable that gave it away.
    pub variable: &'static str,
    /// The number of ranks, if it is told.
    pub size: Option<usize>,
    /// The number of ranks on this machine, if it is told.
    pub local_size: Option<usize>,
}

impl Launcher {
    /// The launcher that started this process; `None` if none did.
    pub fn seen() -> Option<Self> {
        let number = |name: &str| env::var(name).ok().and_then(|value| value.parse().ok());
        LAUNCHERS.iter().find(|(variable, _)| env::var_os(variable).is_some()).map(|&(variable, local)| Self {
            variable,
            size: variable.ends_with("SIZE").then(|| number(variable)).flatten(),
            local_size: local.and_then(number),
        })
    }

    /// Whether the variable is Open MPI's.
    pub(crate) fn is_open_mpi(&self) -> bool {
        env::var_os("OMPI_COMM_WORLD_SIZE").is_some() || self.variable.starts_with("PMIX")
    }
}
