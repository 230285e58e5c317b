//! The status of an edge in a product, and the operators that give one.

use crate::Element;

/// What an edge is to the row that it belongs to, as an operator of (own element, other element) sees it.
///
/// A product's `edge_status` takes such an operator. The own element stands at the row's own index; the other element is the one
/// that the edge multiplies. [`Irrelevant`](Self::Irrelevant) decides the answer. The other three differ only in cost, in a loop.
///
/// ```
/// use vxm_semiring::{BinaryOp, Edge, op};
///
/// /// Vertices are numbers while they wait, and 0 once they are done. Only greater numbers, and what is done, matter.
/// #[op]
/// fn status(own: u32, other: u32) -> Edge {
///     if other == 0u32 {
///         Edge::Final
///     } else if other > own {
///         Edge::Blocking
///     } else {
///         Edge::Irrelevant
///     }
/// }
/// assert_eq!(status.call(3, 7), Edge::Blocking);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Edge {
    /// The edge takes no part in the row's fold.
    #[default]
    Irrelevant = 0,
    /// The edge takes part.
    Relevant = 1,
    /// The edge takes part. Until its status changes, visits of the row may be skipped.
    Blocking = 2,
    /// The edge takes part now. After this visit the row's own element holds all that the edge has to say.
    Final = 3,
}

impl Element for Edge {
    type Bits = u64;
    const CUDA: &'static str = "vxm::Edge";
    const NAME: &'static str = "Edge";
    const ZERO: Self = Edge::Irrelevant;
    fn bits(self) -> u64 {
        self as u64
    }
    fn from_bits(bits: u64) -> Self {
        match bits & 3 {
            0 => Edge::Irrelevant,
            1 => Edge::Relevant,
            2 => Edge::Blocking,
            _ => Edge::Final,
        }
    }
    fn literal(self) -> String {
        format!("vxm::Edge::{self:?}")
    }
}

/// The result of an operator that judges edges: an [`Edge`], or a `bool` that says whether the edge takes part.
pub trait EdgeStatus: Element<Bits = u64> {
    /// Whether the operator may say of an edge that it is blocking or final, beside whether it takes part.
    const TELLS_MORE: bool;
    /// Whether the edge takes part.
    fn takes_part(self) -> bool;
    /// Whether the edge is blocking.
    fn is_blocking(self) -> bool;
}

impl EdgeStatus for bool {
    const TELLS_MORE: bool = false;
    fn takes_part(self) -> bool {
        self
    }
    fn is_blocking(self) -> bool {
        false
    }
}

impl EdgeStatus for Edge {
    const TELLS_MORE: bool = true;
    #[inline(always)]
    fn takes_part(self) -> bool {
        self != Edge::Irrelevant
    }
    #[inline(always)]
    fn is_blocking(self) -> bool {
        self == Edge::Blocking
    }
}
