//! Buffers that other libraries may have read. They are freed once the device's work is done, by a thread that can wait for it: the thread that
//! drops one may hold a lock that this work needs, such as Python's.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::memory::Buffer;

/// How long the device's work gets before it is asked after again.
const PAUSE: Duration = Duration::from_millis(1);

/// The way to the thread, which the first buffer starts.
static FREEING: Mutex<Option<Sender<Buffer>>> = Mutex::new(None);

/// How many buffers aren't freed yet.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// Frees a buffer once all work on its device is done, also that of other libraries.
pub(crate) fn free_later(buffer: Buffer) {
    let mut freeing = FREEING.lock().unwrap_or_else(PoisonError::into_inner);
    if freeing.is_none() {
        let (sender, receiver) = channel();
        if thread::Builder::new().name("vxm-lent".to_owned()).spawn(move || free_each(&receiver)).is_err() {
            return free(buffer);
        }
        *freeing = Some(sender);
    }
    WAITING.fetch_add(1, Ordering::Relaxed);
    if let Some(Err(back)) = freeing.as_ref().map(|sender| sender.send(buffer)) {
        WAITING.fetch_sub(1, Ordering::Relaxed);
        free(back.0);
    }
}

fn free_each(buffers: &Receiver<Buffer>) {
    while let Ok(buffer) = buffers.recv() {
        free(buffer);
        WAITING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits for the device, and frees the buffer. A wait fails while another library records its work instead of running it. If the device is
/// lost, dropping the buffer does nothing.
fn free(buffer: Buffer) {
    while buffer.gpu().synchronize_all().is_err() && !buffer.gpu().is_lost() {
        thread::sleep(PAUSE);
    }
    drop(buffer);
}

/// Waits until the buffers are freed, but not longer than `limit`.
pub(crate) fn wait(limit: Duration) {
    let start = Instant::now();
    while WAITING.load(Ordering::Relaxed) > 0 && start.elapsed() < limit {
        thread::sleep(PAUSE);
    }
}
