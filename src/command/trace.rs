//! `--trace FILE`: a trace in the format of Chrome, which Perfetto opens.

use crate::command::recorder::{Entry, Recorder};
use serde_json::{Value, json};
use std::io::{BufWriter, Write};
use vxm::Result;
use vxm::io::WholeFile;

/// The number of this process in the trace.
const PROCESS: u64 = 1;

/// Writes what was recorded: a complete event (`X`) for each span, an instant event (`i`) for each event.
pub fn write(file: WholeFile, recorder: &Recorder) -> Result<()> {
    let names = recorder.threads().into_iter().map(|(thread, name)| named("thread_name", thread, &name));
    let mut events: Vec<Value> = std::iter::once(named("process_name", 0, "vxm")).chain(names).collect();
    let mut entries = recorder.entries();
    entries.sort_by(|one, other| one.begin.total_cmp(&other.begin));
    events.extend(entries.into_iter().map(event));
    let trace = json!({
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {"version": env!("CARGO_PKG_VERSION")},
    });
    file.write(|file| {
        let mut text = BufWriter::new(file);
        serde_json::to_writer(&mut text, &trace)?;
        text.flush()
    })
}

/// A metadata event: the name of the process or of a thread.
fn named(what: &str, thread: u64, name: &str) -> Value {
    json!({"name": what, "ph": "M", "pid": PROCESS, "tid": thread, "args": {"name": name}})
}

fn event(entry: Entry) -> Value {
    let Entry { name, target, begin, lasted, thread, fields } = entry;
    let category = target.trim_start_matches("vxm::");
    let mut event = json!({
        "name": name, "cat": category, "ts": begin, "pid": PROCESS, "tid": thread, "args": fields,
    });
    match lasted {
        Some(lasted) => {
            event["ph"] = "X".into();
            event["dur"] = lasted.into();
        }
        None => {
            event["ph"] = "i".into();
            // the scope of an instant event: its thread
            event["s"] = "t".into();
        }
    }
    event
}
