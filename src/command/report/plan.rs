//! The plans of a run, as the engine told them.

use crate::command::recorder::{Entry, recorder};
use serde_json::Value;

/// A decision of the plan, and how often it was taken.
#[derive(Debug, PartialEq, Eq)]
pub struct Decision {
    pub operation: String,
    /// What was chosen, as names and values.
    pub chosen: Vec<(String, String)>,
    pub why: String,
    /// The line that asked.
    pub at: String,
    pub times: usize,
}

/// The decisions that were recorded, in their order; equal ones are one. Sizes differ from round to round, so they don't tell decisions
/// apart: the first are kept.
pub fn decisions() -> Vec<Decision> {
    let entries = recorder().map(|recorder| recorder.entries()).unwrap_or_default();
    collected(entries.into_iter().filter(|entry| entry.lasted.is_none() && entry.name == "plan"))
}

fn collected(entries: impl Iterator<Item = Entry>) -> Vec<Decision> {
    let mut found: Vec<Decision> = Vec::new();
    for entry in entries {
        let text = |name: &str| entry.fields.get(name).map(plain).unwrap_or_default();
        let (operation, why, at) = (text("operation"), text("why"), text("at"));
        let others = entry.fields.iter().filter(|(name, _)| !["operation", "why", "at"].contains(&name.as_str()));
        let chosen: Vec<(String, String)> = others.map(|(name, value)| (name.clone(), plain(value))).collect();
        let words = |chosen: &[(String, String)]| {
            chosen.iter().filter(|(_, value)| value.parse::<f64>().is_err()).cloned().collect::<Vec<_>>()
        };
        let equal = |known: &&mut Decision| {
            (&known.operation, &known.why, &known.at) == (&operation, &why, &at)
                && words(&known.chosen) == words(&chosen)
        };
        match found.iter_mut().find(equal) {
            Some(known) => known.times += 1,
            None => found.push(Decision { operation, chosen, why, at, times: 1 }),
        }
    }
    found
}

/// A value without quotes.
fn plain(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.trim_matches('"').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(fields: Value) -> Entry {
        let Value::Object(fields) = fields else { panic!("an object") };
        Entry { name: "plan".to_owned(), target: "vxm", begin: 0.0, lasted: None, thread: 1, fields }
    }

    #[test]
    fn equal_decisions_are_one() {
        let told = |why: &str, wanted: u64| {
            entry(json!({"operation": "vxm", "direction": "Pull", "why": why, "wanted": wanted, "at": "a.rs:1:2"}))
        };
        let found = collected([told("dense", 9), told("dense", 7), told("sparse", 7)].into_iter());
        assert_eq!(found.iter().map(|decision| decision.times).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(found[0].chosen[1], ("wanted".to_owned(), "9".to_owned()));
        assert_eq!((found[0].operation.as_str(), found[1].why.as_str()), ("vxm", "sparse"));
    }
}
