//! Stands in for the generators where the feature `generators` is off: asking for a generated graph is an error.

use crate::error::{Error, Result};
use crate::io::Progress;
use crate::io::loaded::Loaded;
use crate::io::portions::Portions;

/// Whether `text` looks like a specification: a word followed by a colon, which is rare in names of files.
pub(super) fn looks_like_one(text: &str) -> bool {
    let family = text.split_once(':').map(|(family, _)| family);
    family.is_some_and(|family| !family.is_empty() && family.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// No family is drawn in portions; [`or_else`] says why.
pub(super) fn portions<'p>(
    _text: &str,
    _besides: &str,
    _part: (usize, usize),
    _progress: &'p dyn Progress,
) -> Result<Option<Portions<'p>>> {
    Ok(None)
}

/// # Errors
/// Always.
pub(super) fn or_else(text: &str, _besides: &str, _progress: &dyn Progress) -> Result<Loaded> {
    let found = "a generated graph: vxm was built without the feature generators".to_owned();
    Err(Error::Spec { spec: text.to_owned(), expected: "a file".to_owned(), found })
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_specification_is_refused_and_says_why() {
        let refused = crate::io::read("grid:3x4", &()).unwrap_err().to_string();
        assert_eq!(
            refused,
            "grid:3x4: expected a file, found a generated graph: vxm was built without the feature generators"
        );
    }
}
