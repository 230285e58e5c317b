//! Records the spans and events of this process, for traces and reports.

use core::fmt;
use serde_json::{Map, Value};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;
use vxm::kernels::trace::Work;

/// The target of spans that are phases of a command.
pub const PHASE: &str = "vxm::phase";

/// The number of the first device's thread.
const DEVICES: u64 = 1 << 20;

/// A span that has ended, or an event.
#[derive(Debug, Clone)]
pub struct Entry {
    pub name: String,
    pub target: &'static str,
    /// Microseconds from the recorder's start.
    pub begin: f64,
    /// Microseconds from begin to end; `None` of an event.
    pub lasted: Option<f64>,
    pub thread: u64,
    pub fields: Map<String, Value>,
}

/// What is recorded of this process.
pub struct Recorder {
    begin: Instant,
    entries: Mutex<Vec<Entry>>,
    /// The number and the name of each thread that recorded something.
    threads: Mutex<Vec<(u64, String)>>,
}

static RECORDER: OnceLock<Recorder> = OnceLock::new();

thread_local! {
    static THREAD: Cell<u64> = const { Cell::new(0) };
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the recorder; `begin` is its time 0.
pub fn start(begin: Instant) {
    RECORDER.get_or_init(|| Recorder { begin, entries: Mutex::default(), threads: Mutex::default() });
}

/// The recorder of this process, if it was started.
pub fn recorder() -> Option<&'static Recorder> {
    RECORDER.get()
}

impl Recorder {
    /// The entries until now, in the order of their ends.
    pub fn entries(&self) -> Vec<Entry> {
        lock(&self.entries).clone()
    }

    /// The numbers and names of threads that recorded something.
    pub fn threads(&self) -> Vec<(u64, String)> {
        lock(&self.threads).clone()
    }

    /// Microseconds from the start until `time`.
    pub fn micros(&self, time: Instant) -> f64 {
        time.saturating_duration_since(self.begin).as_nanos() as f64 / 1e3
    }

    /// Adds what devices did. Each device is a thread of its own.
    pub fn add_devices(&self, work: Vec<Work>) {
        for Work { name, device, begin, lasted } in work {
            let thread = DEVICES + device as u64;
            let mut threads = lock(&self.threads);
            if threads.iter().all(|(known, _)| *known != thread) {
                threads.push((thread, format!("cuda:{device}")));
            }
            drop(threads);
            let (begin, lasted) = (self.micros(begin), Some(lasted.as_nanos() as f64 / 1e3));
            self.push(Entry { name, target: "vxm::device", begin, lasted, thread, fields: Map::new() });
        }
    }

    fn push(&self, entry: Entry) {
        lock(&self.entries).push(entry);
    }

    /// The number of this thread, from 1 on.
    fn thread(&self) -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        THREAD.with(|own| {
            if own.get() == 0 {
                own.set(NEXT.fetch_add(1, Ordering::Relaxed));
                let name = std::thread::current().name().map_or_else(|| format!("worker {}", own.get()), str::to_owned);
                lock(&self.threads).push((own.get(), name));
            }
            own.get()
        })
    }
}

/// The layer that fills the recorder with what this program's crates tell, plans included.
pub fn layer<S: Subscriber + for<'a> LookupSpan<'a>>(recorder: &'static Recorder) -> impl Layer<S> {
    Recording(recorder).with_filter(Targets::new().with_target("vxm", LevelFilter::TRACE))
}

struct Recording(&'static Recorder);

/// What is kept of a span until it ends.
struct Open {
    fields: Fields,
    entered: Option<Instant>,
}

#[derive(Default)]
struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recording {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(Open { fields, entered: None });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<Open>() {
            values.record(&mut open.fields);
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<Open>() {
            open.entered = Some(Instant::now());
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let end = Instant::now();
        let Some(span) = context.span(id) else { return };
        let mut extensions = span.extensions_mut();
        let Some(open) = extensions.get_mut::<Open>() else { return };
        let Some(entered) = open.entered.take() else { return };
        let (begin, mut fields) = (self.0.micros(entered), open.fields.0.clone());
        // a span's name is a constant; `what` says more
        let name = match fields.remove("what") {
            Some(Value::String(what)) => what,
            _ => span.name().to_owned(),
        };
        let (target, lasted) = (span.metadata().target(), Some(self.0.micros(end) - begin));
        self.0.push(Entry { name, target, begin, lasted, thread: self.0.thread(), fields });
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let begin = self.0.micros(Instant::now());
        let mut fields = Fields::default();
        event.record(&mut fields);
        let name = match fields.0.remove("message") {
            Some(Value::String(message)) => message,
            _ => event.metadata().name().to_owned(),
        };
        let target = event.metadata().target();
        self.0.push(Entry { name, target, begin, lasted: None, thread: self.0.thread(), fields: fields.0 });
    }
}
