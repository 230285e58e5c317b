//! Which columns of a table are the ends of edges, and their weights.

use crate::error::{Error, Result};
use crate::io::Columns;
use crate::io::vertex_names::shortened;
use arrow_schema::{DataType, Schema};

/// Names of the columns of an edge's ends, in small letters.
const PAIRS: [(&str, &str); 6] =
    [("source", "target"), ("src", "dst"), ("from", "to"), ("source", "destination"), ("src", "dest"), ("u", "v")];

/// The name of the column of weights.
const WEIGHT: &str = "weight";

/// What pandas calls the columns of an index.
const INDEX: &str = "__index_level_";

/// What vertices are called by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    Numbers,
    Names,
}

/// The columns that are read, by their places in the file.
#[derive(Debug)]
pub(super) struct Chosen {
    pub from: usize,
    pub to: usize,
    pub ends: Ends,
    /// The column of weights, and whether they are real numbers.
    pub weights: Option<(usize, bool)>,
    /// The names of the columns in the file.
    pub names: Vec<String>,
    /// The columns that are decoded, ascending and each once.
    pub decoded: Vec<usize>,
}

impl Chosen {
    /// Chooses the columns: those that are asked for, or else those with the names that the guide tells.
    pub fn of(schema: &Schema, file: &str, asked: Option<&Columns>) -> Result<Self> {
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let wrong = |expected: &str| {
            let kind = |kind: &DataType| match kind {
                DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text".to_owned(),
                kind => kind.to_string(),
            };
            let fields = schema.fields().iter();
            let mut found: Vec<_> =
                fields.map(|field| format!("{} ({})", shortened(field.name()), kind(field.data_type()))).collect();
            if found.len() > SHOWN {
                found.truncate(SHOWN);
                found.push("...".to_owned());
            }
            let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
            Error::invalid(format!("{file}: expected {expected}; found columns: {found}"))
        };
        let named = |name: &str| {
            let mut places = (0..names.len()).filter(|&place| names[place] == name);
            let place = places.next().filter(|_| places.next().is_none());
            place.ok_or_else(|| wrong(&format!("one column called {}", shortened(name))))
        };
        let (from, to) = match asked {
            Some(columns) if columns.names().any(|name| columns.names().filter(|other| *other == name).count() > 1) => {
                return Err(wrong("different columns, not one twice"));
            }
            Some(columns) => (named(&columns.from)?, named(&columns.to)?),
            None => ends(&names).ok_or_else(|| {
                let called = "called source and target, src and dst, from and to, or u and v";
                wrong(&format!("two columns of vertices, {called}, or --edge-columns FROM,TO"))
            })?,
        };
        let kind = |column: usize| ends_of(schema.field(column).data_type());
        let ends = match (kind(from), kind(to)) {
            (Some(one), Some(other)) if one == other => one,
            _ => {
                let (from, to) = (shortened(&names[from]), shortened(&names[to]));
                return Err(wrong(&format!("integers or text, the same in both of {from} and {to}")));
            }
        };
        let column = match asked {
            Some(columns) => columns.weight.as_deref().map(named).transpose()?,
            None => weight(&names, (from, to)).map_err(wrong)?,
        };
        let weights = column.map(|column| match schema.field(column).data_type() {
            DataType::Float32 | DataType::Float64 => Ok(Some((column, true))),
            kind if kind.is_integer() => Ok(Some((column, false))),
            // a column of another kind that happens to have the name
            _ if asked.is_none() => Ok(None),
            _ => Err(wrong(&format!("integers or real numbers in the column {}", shortened(&names[column])))),
        });
        let weights = weights.transpose()?.flatten();
        Ok(Self { from, to, ends, weights, names, decoded: Vec::new() })
    }

    /// Has the ends decoded, and the weights if `weighted`.
    pub fn decode(&mut self, weighted: bool) {
        let weights = self.weights.filter(|_| weighted).map(|(column, _)| column);
        self.decoded = [self.from, self.to].into_iter().chain(weights).collect();
        self.decoded.sort_unstable();
        self.decoded.dedup();
    }
}

/// Columns that an error lists.
const SHOWN: usize = 12;

/// The columns of an edge's ends: two with names of [`PAIRS`], or the only two that aren't weights.
fn ends(names: &[String]) -> Option<(usize, usize)> {
    let lower: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
    let only = |name: &str| {
        let mut places = (0..lower.len()).filter(|&place| lower[place] == name);
        places.next().filter(|_| places.next().is_none())
    };
    let mut named = PAIRS.iter().filter_map(|(from, to)| only(from).zip(only(to)));
    match (named.next(), named.next()) {
        (Some(pair), None) => Some(pair),
        (Some(_), Some(_)) => None,
        (None, _) => {
            let others = (0..lower.len()).filter(|&place| lower[place] != WEIGHT && !lower[place].starts_with(INDEX));
            match others.collect::<Vec<_>>()[..] {
                [from, to] => Some((from, to)),
                _ => None,
            }
        }
    }
}

/// What a column of this type calls vertices by; `None` if it can't hold any.
fn ends_of(kind: &DataType) -> Option<Ends> {
    match kind {
        DataType::Dictionary(_, values) => ends_of(values),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(Ends::Names),
        kind if kind.is_integer() => Some(Ends::Numbers),
        _ => None,
    }
}

/// The column of weights, by its name. The error is what was expected.
fn weight(names: &[String], (from, to): (usize, usize)) -> Result<Option<usize>, &'static str> {
    let is_weight = |&column: &usize| names[column].to_lowercase() == WEIGHT && column != from && column != to;
    let mut found = (0..names.len()).filter(is_weight);
    match (found.next(), found.next()) {
        (_, Some(_)) => Err("one column called weight"),
        (column, None) => Ok(column),
    }
}
