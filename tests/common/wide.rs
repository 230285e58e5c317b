//! Elements of 16 bytes and their operators, for the tests that use them.

use vxm::prelude::*;

/// A complex number.
#[scalar]
pub struct Complex {
    pub re: f64,
    pub im: f64,
}
/// The sum, which isn't exact.
#[op]
pub fn sum(a: Complex, b: Complex) -> Complex {
    Complex { re: a.re + b.re, im: a.im + b.im }
}
impl Monoid<Complex> for sum {
    const IDENTITY: Complex = Complex { re: -0.0, im: -0.0 };
    const EXACT: bool = false;
    const COMMUTATIVE: bool = true;
}
#[op]
pub fn product(a: Complex, b: Complex) -> Complex {
    Complex { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re }
}

/// A route: its cost, the vertex before its end, and its edges.
#[scalar]
pub struct Route {
    pub cost: u64,
    pub parent: u32,
    pub hops: u32,
}
pub const NOWHERE: Route = Route { cost: u64::MAX, parent: u32::MAX, hops: u32::MAX };

/// The cheaper route; of equal ones that of fewer hops, and of these that of the lesser parent.
#[op]
pub fn cheaper(a: Route, b: Route) -> Route {
    if a.cost != b.cost {
        if a.cost < b.cost { a } else { b }
    } else if a.hops != b.hops {
        if a.hops < b.hops { a } else { b }
    } else {
        if a.parent <= b.parent { a } else { b }
    }
}
impl Monoid<Route> for cheaper {
    const IDENTITY: Route = NOWHERE;
    const COMMUTATIVE: bool = true;
}
/// A route, longer by an edge.
#[op]
pub fn along(route: Route, edge: Route) -> Route {
    if route.cost == u64::MAX {
        NOWHERE
    } else {
        Route { cost: route.cost + edge.cost, parent: edge.parent, hops: route.hops + 1 }
    }
}

/// The least vertex of a component, and what is told of it.
#[scalar]
pub struct Label {
    pub root: u32,
    pub weight: u32,
    pub told: u64,
}
#[op]
pub fn root_of(label: Label) -> u32 {
    label.root
}
#[op]
pub fn lesser(a: Label, b: Label) -> Label {
    if a.root <= b.root { a } else { b }
}
impl Monoid<Label> for lesser {
    const IDENTITY: Label = Label { root: u32::MAX, weight: u32::MAX, told: u64::MAX };
    const COMMUTATIVE: bool = true;
}
#[op]
pub fn kept(label: Label, _edge: ()) -> Label {
    label
}
