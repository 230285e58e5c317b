//! The user's guide, in twelve chapters. Their Rust code runs as documentation tests.
//!
//! 1. [`containers`]: vectors, matrices and sets.
//! 2. [`verbs`]: verbs, masks, accumulators, and the treatment of absent elements.
//! 3. [`semirings`]: how to write a semiring, and its laws.
//! 4. [`loops`]: `fixpoint`, its conditions, and the modifiers of products in loops.
//! 5. [`algorithm`]: from a paper's pseudo-code to an algorithm with its test.
//! 6. [`gpu`]: devices, copies and logs, and tests on a GPU machine.
//! 7. [`checking`]: certificates, laws, the reference backend and forced plans.
//! 8. [`files`]: readers, generators and writers.
//! 9. [`python`]: the Python package, and the backend of networkx.
//! 10. [`ranks`]: many processes, under `mpirun`.
//! 11. [`memory`]: graphs larger than memory, under a limit.
//! 12. [`run_time`]: operators and expressions made at run time.

#[doc = include_str!("../docs/guide/01-containers.md")]
pub mod containers {}

#[doc = include_str!("../docs/guide/02-verbs.md")]
pub mod verbs {}

#[doc = include_str!("../docs/guide/03-semirings.md")]
pub mod semirings {}

#[doc = include_str!("../docs/guide/04-loops.md")]
pub mod loops {}

#[doc = include_str!("../docs/guide/05-algorithm.md")]
pub mod algorithm {}

#[doc = include_str!("../docs/guide/06-gpu.md")]
pub mod gpu {}

#[doc = include_str!("../docs/guide/07-checking.md")]
pub mod checking {}

#[doc = include_str!("../docs/guide/08-files.md")]
pub mod files {}

#[doc = include_str!("../docs/guide/09-python.md")]
pub mod python {}

#[doc = include_str!("../docs/guide/10-ranks.md")]
pub mod ranks {}

#[doc = include_str!("../docs/guide/11-memory.md")]
pub mod memory {}

#[doc = include_str!("../docs/guide/12-run-time.md")]
pub mod run_time {}
