//! Stopping work from another thread.

use crate::error::{Error, Result};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    /// The innermost scope that this thread is in.
    static CURRENT: RefCell<Option<Stop>> = const { RefCell::new(None) };
}

/// Stops work from another thread. Work in its [`scope`](Self::scope) then ends with [`Error::Stopped`]. Clones stop the same work.
///
/// Work ends where an operation begins, or between two rounds of a loop on the CPU. It also ends between the blocks of a product of two matrices,
/// and between the pieces of a file. What a GPU has begun runs to its end, also a whole loop. Nothing is left half made: containers have the
/// elements that they had before.
///
/// ```
/// use vxm::algorithms::components;
/// use vxm::prelude::*;
/// use vxm::{Error, Stop};
///
/// let a = Matrix::undirected(3, &[(0, 1)])?;
/// let stop = Stop::new();
/// assert_eq!(stop.scope(|| components(&a))?, Vector::from_dense(vec![0, 0, 2]));
/// // as a handler of Ctrl-C would do, on its own thread
/// std::thread::scope(|threads| _ = threads.spawn(|| stop.stop()).join());
/// assert!(matches!(stop.scope(|| components(&a)), Err(Error::Stopped)));
/// # Ok::<(), vxm::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// One that hasn't stopped anything yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the work in all of its scopes, also in those that are entered later.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`stop`](Self::stop) was called.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Runs `f`, whose operations can be stopped meanwhile. Of scopes in one another only the inner one counts. Threads that `f` starts
    /// aren't in the scope. A program on several ranks must end if it is stopped: the other ranks wait for it, and then fail.
    ///
    /// # Errors
    /// [`Error::Stopped`], and what `f` returns.
    pub fn scope<R>(&self, f: impl FnOnce() -> Result<R>) -> Result<R> {
        /// Restores the scope around, after a panic too.
        struct Restore(Option<Stop>);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        let _restore = Restore(CURRENT.replace(Some(self.clone())));
        check()?;
        f()
    }
}

/// What can stop this thread's work, for threads that do a part of it.
pub(crate) fn current() -> Option<Stop> {
    CURRENT.with_borrow(Clone::clone)
}

/// Whether the work is to end.
pub(crate) fn is_asked(current: &Option<Stop>) -> bool {
    current.as_ref().is_some_and(Stop::is_stopped)
}

/// Fails if this thread's work is to end.
pub(crate) fn check() -> Result<()> {
    if CURRENT.with_borrow(is_asked) { Err(Error::Stopped) } else { Ok(()) }
}
