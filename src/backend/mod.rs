//! Where operators run: the [`view`] contract, the [`plan`] that chooses, the [`mod@reference`] that defines, and the [`cpu`].

pub mod cpu;
pub mod plan;
pub mod reference;
pub mod view;
