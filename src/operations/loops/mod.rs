//! Loops: a body, which is an expression of a state, is evaluated wherever the state may still change, until it may
//! change nowhere.

pub mod active;
pub mod changed;
pub mod core;
#[doc(hidden)]
pub mod dependencies;
mod peers;
#[doc(hidden)]
pub mod relaxed;
pub mod scatter_reduce;
pub mod steps;

pub use self::core::{Condition, Fixed, Stepped};

use crate::containers::Vector;
use crate::operations::loops::active::WhileActive;
use crate::operations::loops::changed::WhileChanged;
use vxm_semiring::{Element, UnaryOp};

/// Starts a loop over `state`, a vector that holds an element at every place. Choose a condition next:
/// [`Fixpoint::while_active`] or [`Fixpoint::while_changed`].
///
/// ```
/// use vxm::prelude::*;
///
/// const IN: u32 = u32::MAX;
/// const OUT: u32 = 0;
///
/// #[op]
/// fn decide(own: u32, best: u32) -> u32 {
///     if best == IN { OUT } else if own > best { IN } else { own }
/// }
/// #[op]
/// fn undecided(key: u32) -> bool {
///     key != IN && key != OUT
/// }
///
/// // a path, and a priority for each vertex: a vertex above all its neighbours joins, and the neighbours of one that
/// // joined leave
/// let a = Matrix::undirected(4, &[(0, 1), (1, 2), (2, 3)])?;
/// let key = Vector::from_dense(vec![5u32, 9, 7, 2]);
/// // key<undecided> = decide(key, key max.first A), until all are decided
/// let settled = fixpoint(key)
///     .while_active(undecided)
///     .monotone()
///     .step(|key| decide.map2(key, key.vxm(&a, MAX_FIRST).or_identity()))
///     .eval()?;
/// assert_eq!(settled.state, Vector::from_dense(vec![OUT, IN, OUT, IN]));
/// # Ok::<(), vxm::Error>(())
/// ```
pub fn fixpoint<T: Element>(state: Vector<T>) -> Fixpoint<T> {
    Fixpoint { state }
}

/// A loop without its condition; see [`fixpoint`].
#[derive(Debug)]
#[must_use = "a loop does nothing until it is evaluated"]
pub struct Fixpoint<T: Element> {
    state: Vector<T>,
}

impl<T: Element> Fixpoint<T> {
    /// Visits an element for as long as `active` holds of it. The loop ends once `active` holds of no element.
    pub fn while_active<F: UnaryOp<T, Out = bool>>(self, active: F) -> WhileActive<T, F> {
        WhileActive::new(self.state, active)
    }

    /// Applies the body to all elements again and again, until a round changes none.
    ///
    /// The first round visits all elements. A later round visits only elements that read something that changed.
    /// Readers of an element are found through the matrices of the body's products. All elements are visited if any may
    /// be read: where a product's operand is itself a product, or the body reads at places that it computes
    /// ([`extract`](crate::operations::verbs::Verbs::extract), [`gather`](crate::operations::verbs::Verbs::gather),
    /// [`pointer_jump`](crate::operations::verbs::Verbs::pointer_jump)). An element has changed if its bits have.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// // a path, and the least number that is connected to each vertex
    /// let a = Matrix::undirected(4, &[(0, 1), (1, 2)])?;
    /// // label = label min (label min.first A), until none changes
    /// let labels = fixpoint(Vector::from_dense(vec![0u32, 1, 2, 3]))
    ///     .while_changed()
    ///     .monotone()
    ///     .step(|label| label.ewise_add(label.vxm(&a, MIN_FIRST), MIN))
    ///     .eval()?;
    /// assert_eq!(labels.state, Vector::from_dense(vec![0, 0, 0, 3]));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    pub fn while_changed(self) -> WhileChanged<T> {
        WhileChanged::new(self.state)
    }
}
