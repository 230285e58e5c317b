//! The definition.
