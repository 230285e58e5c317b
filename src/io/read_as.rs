//! What a file is read as, where its content and its name don't tell.

use crate::error::{Error, Result};
use crate::io::FileFormat;
use core::str::FromStr;

/// What a file is read as: a format, and the columns of a table or an edge list. What isn't said is found by content and name.
///
/// ```
/// use vxm::io::{Columns, FileFormat, ReadAs};
/// let columns = Columns::new("from_id", "to_id");
/// let table = ReadAs::from(FileFormat::Parquet).columns(&columns);
/// assert_ne!(table, ReadAs::default().columns(&columns));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadAs<'c> {
    pub(super) format: Option<FileFormat>,
    pub(super) columns: Option<&'c Columns>,
}

impl<'c> ReadAs<'c> {
    /// The same, with these columns of a table, by their names, or of an edge list, by their numbers from 1.
    #[must_use]
    pub fn columns(self, columns: &'c Columns) -> Self {
        Self { columns: Some(columns), ..self }
    }
}

impl From<FileFormat> for ReadAs<'_> {
    fn from(format: FileFormat) -> Self {
        Some(format).into()
    }
}

impl From<Option<FileFormat>> for ReadAs<'_> {
    fn from(format: Option<FileFormat>) -> Self {
        Self { format, columns: None }
    }
}

/// The columns of a table or an edge list that hold edges: those of both ends, and perhaps that of weights. Of text such as `from,to` or
/// `from,to,weight`.
///
/// ```
/// use vxm::io::Columns;
/// assert_eq!("from,to,km".parse::<Columns>()?, Columns::new("from", "to").weighted("km"));
/// let one = "from".parse::<Columns>().unwrap_err().to_string();
/// assert_eq!(one, "expected the columns FROM,TO or FROM,TO,WEIGHT, found `from`");
/// # Ok::<(), vxm::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Columns {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) weight: Option<String>,
}

impl Columns {
    /// The columns of the vertices that edges go from, and of those that they go to.
    pub fn new(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self { from: from.into(), to: to.into(), weight: None }
    }

    /// The same, with the column of weights.
    #[must_use]
    pub fn weighted(self, weight: impl Into<String>) -> Self {
        Self { weight: Some(weight.into()), ..self }
    }

    /// Their names, in the order of [`FromStr`].
    pub fn names(&self) -> impl Iterator<Item = &str> {
        [&self.from, &self.to].into_iter().chain(&self.weight).map(String::as_str)
    }
}

impl FromStr for Columns {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        match text.split(',').collect::<Vec<_>>()[..] {
            [from, to] if !from.is_empty() && !to.is_empty() => Ok(Self::new(from, to)),
            [from, to, weight] if ![from, to, weight].contains(&"") => Ok(Self::new(from, to).weighted(weight)),
            _ => Err(Error::invalid(format!("expected the columns FROM,TO or FROM,TO,WEIGHT, found `{text}`"))),
        }
    }
}
