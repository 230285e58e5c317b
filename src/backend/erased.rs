//! Views without their types.

use super::view::{At, Depends, fixed_as_it_is};
use vxm_semiring::Element;

/// What loops ask of a body, whatever its type.
trait Visited<T>: Sync {
    fn at(&self, i: usize) -> Option<T>;
    fn selects(&self, i: usize) -> bool;
    fn depends(&self, i: usize) -> Depends;
    fn rank(&self, i: usize) -> Option<u64>;
    fn ask(&self, i: usize);
    fn work(&self) -> Option<&[u64]>;
}

impl<V: At> Visited<V::T> for V {
    fn at(&self, i: usize) -> Option<V::T> {
        At::at(self, i)
    }
    fn selects(&self, i: usize) -> bool {
        At::selects(self, i)
    }
    fn depends(&self, i: usize) -> Depends {
        At::depends(self, i)
    }
    fn rank(&self, i: usize) -> Option<u64> {
        At::rank(self, i)
    }
    fn ask(&self, i: usize) {
        At::ask(self, i);
    }
    fn work(&self) -> Option<&[u64]> {
        At::work(self)
    }
}

/// A view without its type: a loop over one that isn't [`fixed`](At::fixed) is compiled once for all of them.
#[derive(Clone)]
pub struct Erased<'v, T>(&'v dyn Visited<T>);

impl<'v, T: Element> Erased<'v, T> {
    /// What is read of `view`.
    pub fn of<V: At<T = T>>(view: &'v V) -> Self {
        Self(view)
    }
}

impl<T: Element> At for Erased<'_, T> {
    type T = T;
    fixed_as_it_is!();
    fn at(&self, i: usize) -> Option<T> {
        self.0.at(i)
    }
    fn selects(&self, i: usize) -> bool {
        self.0.selects(i)
    }
    fn depends(&self, i: usize) -> Depends {
        self.0.depends(i)
    }
    fn rank(&self, i: usize) -> Option<u64> {
        self.0.rank(i)
    }
    fn ask(&self, i: usize) {
        self.0.ask(i);
    }
    fn work(&self) -> Option<&[u64]> {
        self.0.work()
    }
}
