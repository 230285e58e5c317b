//! What `#[op]` refuses, and how it says so.

#[test]
fn refusals_point_at_the_token() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
