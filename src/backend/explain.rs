//! EXPLAIN: the plan of what ran, as a tree. Each choice stands with its reason, the sizes that it was based on, and what was measured.

use crate::backend::profile::{LoopProfile, OperationProfile, Profile, collect};
use core::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// How something ran. It is shown as a tree of choices; a loop's choices stand within the loop, and choices of equal text are told once.
///
/// [`Verbs::explain`](crate::operations::verbs::Verbs::explain) and [`Stepped::explain`](crate::operations::loops::Stepped::explain) make one of an
/// expression or a loop, [`explain`] of any calls.
#[derive(Debug, Clone)]
pub struct Explanation {
    choices: Choices,
    profile: Profile,
    elapsed: Duration,
}

impl Explanation {
    /// What was counted meanwhile.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// How long it took, counting included.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.choices.tree(&self.profile))?;
        for OperationProfile { name, elements, counts, nanoseconds } in &self.profile.operations {
            let (edges, milliseconds) = (counts.edges, *nanoseconds as f64 / 1e6);
            writeln!(f, "measured: {name} of {elements} elements, {edges} entries read, {milliseconds:.3} ms")?;
        }
        writeln!(f, "{:.3} ms in all, counting included", self.elapsed.as_secs_f64() * 1e3)
    }
}

/// Runs `f`, and tells how the expressions, loops and products in it were planned, and what they read. Choices are those of this thread.
///
/// Meanwhile loops count what they do, and choices aren't logged. So it takes longer than `f` alone; answers are the same.
///
/// ```
/// use vxm::backend::explain::explain;
/// use vxm::prelude::*;
///
/// let a = Matrix::undirected(4, &[(0, 1), (1, 2), (2, 3)])?;
/// let (levels, plan) = explain(|| vxm::algorithms::bfs(&a, 0));
/// assert_eq!(levels?, Vector::from_dense(vec![0, 1, 2, 3]));
/// assert!(plan.to_string().contains("fixpoint at"));
/// assert_eq!(plan.profile().loops.len(), 1);
/// # Ok::<(), vxm::Error>(())
/// ```
pub fn explain<R>(f: impl FnOnce() -> R) -> (R, Explanation) {
    let start = Instant::now();
    let ((result, profile), choices) = choices(|| collect(f));
    (result, Explanation { choices, profile, elapsed: start.elapsed() })
}

/// Runs `f`, and keeps the choices that its plans make meanwhile. They aren't logged.
#[doc(hidden)]
pub fn choices<R>(f: impl FnOnce() -> R) -> (R, Choices) {
    let kept = Kept::default();
    let result = tracing::subscriber::with_default(kept.clone(), f);
    let choices = std::mem::take(&mut *kept.0.lock().unwrap_or_else(PoisonError::into_inner));
    (result, Choices(choices))
}

/// The choices of plans, in the order in which they were made.
#[doc(hidden)]
#[derive(Debug, Clone, Default)]
pub struct Choices(Vec<Choice>);

/// A choice: the fields of its log line, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Choice(Vec<(&'static str, String)>);

impl Choice {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(field, _)| *field == name).map(|(_, value)| value.as_str())
    }

    /// What was done, and where in the program.
    fn title(&self) -> String {
        let operation = self.get("operation").unwrap_or("plan");
        self.get("at").map_or(operation.to_owned(), |at| format!("{operation} at {at}"))
    }

    /// Whether a loop begins with it.
    fn begins_loop(&self) -> bool {
        let says_how = self.get("schedule").or(self.get("fused")).or(self.get("steps"));
        self.get("operation") == Some("fixpoint") && says_how.is_some()
    }

    /// The choices and sizes, without operation, place and reason.
    fn rest(&self) -> String {
        let told = self.0.iter().filter(|(name, _)| !["operation", "at", "why", "message"].contains(name));
        told.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
    }
}

impl Visit for Choice {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name(), value.to_owned()));
    }
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push((field.name(), format!("{value:?}")));
    }
}

/// Keeps the choices that this thread's plans log.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<Choice>>>);

impl Subscriber for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::TRACE && metadata.target().starts_with("vxm")
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut choice = Choice::default();
        event.record(&mut choice);
        if matches!(choice.get("message"), Some("plan" | "end")) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(choice);
        }
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// A node of the tree: a choice, how often it was made, and the choices within its loop.
struct Node {
    choice: Choice,
    times: usize,
    inner: Vec<Node>,
}

impl Node {
    /// Adds a choice to a list of nodes, and returns its number. A choice that was made before is counted there.
    fn add(nodes: &mut Vec<Node>, choice: Choice) -> usize {
        if let Some(k) = nodes.iter().position(|node| node.choice == choice) {
            nodes[k].times += 1;
            return k;
        }
        nodes.push(Node { choice, times: 1, inner: Vec::new() });
        nodes.len() - 1
    }

    /// The list of nodes that a path of numbers leads to.
    fn list<'n>(mut nodes: &'n mut Vec<Node>, path: &[usize]) -> &'n mut Vec<Node> {
        for &k in path {
            nodes = &mut nodes[k].inner;
        }
        nodes
    }

    /// Writes a node and what is within it. `before` stands before its lines.
    fn write(&self, text: &mut String, before: &str, is_last: bool, profile: &Profile) {
        let (branch, bar) = if is_last { ("└─", "   ") } else { ("├─", "│  ") };
        let times = if self.times > 1 { format!(", {} times", self.times) } else { String::new() };
        *text += &format!("{before}{branch} {}{times}\n", self.choice.title());
        let mut lines =
            vec![self.choice.rest(), self.choice.get("why").map_or(String::new(), |why| format!("because: {why}"))];
        if self.choice.begins_loop() {
            lines.push(measured(&self.choice, &profile.loops));
        }
        let before = format!("{before}{bar}");
        let edge = if self.inner.is_empty() { "  " } else { "│ " };
        lines.iter().filter(|line| !line.is_empty()).for_each(|line| *text += &format!("{before}{edge}{line}\n"));
        Self::write_all(&self.inner, text, &before, profile);
    }

    fn write_all(nodes: &[Node], text: &mut String, before: &str, profile: &Profile) {
        nodes.iter().enumerate().for_each(|(k, node)| node.write(text, before, k + 1 == nodes.len(), profile));
    }
}

impl Choices {
    /// The tree of the choices, beside what `profile` measured.
    #[doc(hidden)]
    pub fn tree(&self, profile: &Profile) -> String {
        let (mut nodes, mut path): (Vec<Node>, Vec<usize>) = (Vec::new(), Vec::new());
        // the choices of a GPU's loops don't say where in the program the loop is: their profiles do
        let mut on_gpu = profile.loops.iter().filter(|counted| counted.device_rounds.is_some());
        for choice in &self.0 {
            if choice.get("message") == Some("end") {
                path.pop();
                continue;
            }
            let (mut choice, begins_loop) = (choice.clone(), choice.begins_loop());
            if let (true, None) = (begins_loop, choice.get("at"))
                && let Some(counted) = on_gpu.next()
            {
                choice.0.push(("at", counted.at.clone()));
            }
            let k = Node::add(Node::list(&mut nodes, &path), choice);
            if begins_loop {
                path.push(k);
            }
        }
        let mut text = "Plan\n".to_owned();
        Node::write_all(&nodes, &mut text, "", profile);
        text
    }
}

/// What was measured of the loops from a choice's line.
fn measured(choice: &Choice, loops: &[LoopProfile]) -> String {
    let place = choice.get("at");
    let loops: Vec<&LoopProfile> = loops.iter().filter(|counted| Some(counted.at.as_str()) == place).collect();
    let sum = |of: fn(&LoopProfile) -> u64| loops.iter().map(|counted| of(counted)).sum::<u64>();
    match loops.first() {
        None => "measured: nothing".to_owned(),
        Some(first) => format!(
            "measured on {}: {} of {} elements, {} visits, {} entries read of {}, {:.3} ms",
            first.device,
            match sum(|counted| counted.device_rounds.map_or(counted.rounds.len() as u64, u64::from)) {
                1 => "1 round".to_owned(),
                rounds => format!("{rounds} rounds"),
            },
            sum(|counted| counted.elements as u64),
            sum(|counted| counted.total().visits),
            sum(|counted| counted.total().edges),
            sum(|counted| counted.entries),
            sum(|counted| counted.nanoseconds) as f64 / 1e6,
        ),
    }
}
