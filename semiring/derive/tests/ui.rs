//! Tests of the compile errors of `#[op]`.

#[test]
fn refusals_point_at_the_token() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
