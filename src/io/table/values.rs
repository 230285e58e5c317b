//! The values of columns: vertices and weights.

use crate::error::{Error, Result};
use crate::io::met::Met;
use crate::io::table::columns::Chosen;
use crate::io::value::{Number, Value};
use crate::io::vertex_names::{is_name, shortened};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, RecordBatch, downcast_integer_array};
use arrow_schema::DataType;
use core::fmt::Display;
use num_traits::ToPrimitive;

/// Some rows: the columns that are read.
pub(super) struct Rows<'b> {
    file: &'b str,
    /// The number of rows before them.
    before: u64,
    from: Column<'b>,
    to: Column<'b>,
    weights: Option<Column<'b>>,
}

#[derive(Clone, Copy)]
struct Column<'b> {
    name: &'b str,
    values: &'b ArrayRef,
}

impl<'b> Rows<'b> {
    /// The rows of a batch, which has the columns that are [decoded](Chosen::decoded).
    pub fn of(file: &'b str, chosen: &'b Chosen, before: u64, batch: &'b RecordBatch) -> Result<Self> {
        let column = |column: usize| -> Result<Column<'b>> {
            let place = chosen.decoded.iter().position(|&other| other == column);
            let values = place.and_then(|place| batch.columns().get(place));
            let expected = || Error::invalid(format!("{file}: expected {} columns", chosen.decoded.len()));
            Ok(Column { name: &chosen.names[column], values: values.ok_or_else(expected)? })
        };
        let weights = chosen.weights.filter(|(place, _)| chosen.decoded.contains(place));
        let weights = weights.map(|(place, _)| column(place)).transpose()?;
        Ok(Self { file, before, from: column(chosen.from)?, to: column(chosen.to)?, weights })
    }

    /// The error for row `row` of these.
    fn wrong(&self, column: Column<'_>, row: usize, expected: &str, found: &dyn Display) -> Error {
        let (file, row, name) = (self.file, self.before + row as u64 + 1, shortened(column.name));
        Error::invalid(format!("{file}: row {row}, column {name}: expected {expected}, found {found}"))
    }

    /// Refuses a column with missing values.
    fn whole(&self, column: Column<'_>, expected: &str) -> Result<()> {
        let Some(nulls) = column.values.logical_nulls().filter(|nulls| nulls.null_count() > 0) else { return Ok(()) };
        let row = (0..nulls.len()).find(|&row| nulls.is_null(row)).unwrap_or(0);
        Err(self.wrong(column, row, expected, &"null"))
    }

    /// The numbers of both ends.
    pub fn numbers(&self) -> Result<(Vec<u64>, Vec<u64>)> {
        Ok((self.numbers_in(self.from)?, self.numbers_in(self.to)?))
    }

    fn numbers_in(&self, column: Column<'_>) -> Result<Vec<u64>> {
        const EXPECTED: &str = "a vertex number from 0 to 2^64 - 1";
        self.whole(column, EXPECTED)?;
        let array = column.values;
        let found = match array.as_any_dictionary_opt() {
            Some(_) if array.is_empty() => Ok(Vec::new()),
            Some(dictionary) => {
                let values = integers(dictionary.values());
                let key = |(row, key): (usize, usize)| values[key].ok_or(row);
                dictionary.normalized_keys().into_iter().enumerate().map(key).collect()
            }
            None => integers(array).into_iter().enumerate().map(|(row, number)| number.ok_or(row)).collect(),
        };
        found.map_err(|row| self.wrong(column, row, EXPECTED, &"a negative one"))
    }

    /// The numbers that stand for the names of both ends.
    pub fn names(&self, met: &Met) -> Result<(Vec<u32>, Vec<u32>)> {
        Ok((self.names_in(self.from, met)?, self.names_in(self.to, met)?))
    }

    fn names_in(&self, column: Column<'_>, met: &Met) -> Result<Vec<u32>> {
        self.whole(column, "a name")?;
        let array = column.values;
        let number = |row: usize, name: &str| {
            if !is_name(name) {
                let found = format!("`{}`", shortened(name));
                return Err(self.wrong(column, row, "a name that isn't empty and has no control characters", &found));
            }
            met.number(name).map_err(|expected| self.wrong(column, row, &expected, &"another"))
        };
        let Some(dictionary) = array.as_any_dictionary_opt() else {
            let name = names(array);
            return (0..array.len()).map(|row| number(row, name(row))).collect();
        };
        if array.is_empty() {
            return Ok(Vec::new());
        }
        // names that no row has are no vertices
        let name = names(dictionary.values());
        let mut numbers = vec![None; dictionary.values().len()];
        let keys = dictionary.normalized_keys().into_iter().enumerate();
        keys.map(|(row, key)| match numbers[key] {
            Some(number) => Ok(number),
            None => number(row, name(key)).inspect(|&number| numbers[key] = Some(number)),
        })
        .collect()
    }

    /// The entries between these ends, with their weights.
    pub fn entries<E, V: Value>(&self, (from, to): (Vec<E>, Vec<E>)) -> Result<Vec<(E, E, V)>> {
        let ends = from.into_iter().zip(to);
        Ok(ends.zip(self.weights()?).map(|((from, to), weight)| (from, to, weight)).collect())
    }

    /// The weights, or as many values of 1 if none are decoded.
    fn weights<V: Value>(&self) -> Result<Vec<V>> {
        let Some(column) = self.weights else {
            let one = V::from_number(Number::Integer(1));
            return Ok(one.map_or_else(Vec::new, |one| vec![one; self.from.values.len()]));
        };
        let integer = "a weight from 0 to 4294967295";
        let array = column.values;
        self.whole(column, "a weight")?;
        let found = match array.data_type() {
            DataType::Float32 => reals::<Float32Type, V>(array),
            DataType::Float64 => reals::<Float64Type, V>(array),
            _ => {
                let values = integers(array).into_iter().enumerate();
                let weight = |value: Option<u64>| V::from_number(Number::Integer(value?.into()));
                return values
                    .map(|(row, value)| {
                        let found = || value.map_or("a negative one".to_owned(), |value| value.to_string());
                        weight(value).ok_or_else(|| self.wrong(column, row, integer, &found()))
                    })
                    .collect();
            }
        };
        found.map_err(|(row, value)| self.wrong(column, row, integer, &value))
    }
}

/// Real numbers as weights; the first that is none, with its row.
fn reals<P: ArrowPrimitiveType<Native: Into<f64>>, V: Value>(array: &ArrayRef) -> Result<Vec<V>, (usize, f64)> {
    let values = array.as_primitive::<P>().values().iter().map(|&value| value.into()).enumerate();
    values.map(|(row, value): (usize, f64)| V::from_number(Number::Real(value)).ok_or((row, value))).collect()
}

/// Integers from 0 on; `None` for negative ones.
fn integers(array: &ArrayRef) -> Vec<Option<u64>> {
    downcast_integer_array! {
        array => array.values().iter().map(|&value| value.to_u64()).collect(),
        _ => Vec::new()
    }
}

/// The texts of a column.
fn names<'a>(array: &'a ArrayRef) -> Box<dyn Fn(usize) -> &'a str + 'a> {
    match array.data_type() {
        DataType::LargeUtf8 => Box::new(|row| array.as_string::<i64>().value(row)),
        DataType::Utf8View => Box::new(|row| array.as_string_view().value(row)),
        _ => Box::new(|row| array.as_string::<i32>().value(row)),
    }
}
