//! What the `output` module promises, case by case.

use super::*;

const SCHEMA: &str = r#"{"type": "object", "properties": {"celsius": {"type": "number"}}, "required": ["celsius"]}"#;

fn check(schema: &str, content: Option<&str>, check: OutputCheck) -> OutputVerdict {
    check_output(&LazyValidator::new(schema), content, check)
}

#[test]
fn a_result_that_fits_is_accepted() {
    assert_eq!(check(SCHEMA, Some(r#"{"celsius": 21.5}"#), OutputCheck::Enforce), OutputVerdict::Accepted);
    // Results need not be objects.
    assert_eq!(check(r#"{"type": "array"}"#, Some("[1]"), OutputCheck::Enforce), OutputVerdict::Accepted);
}

#[test]
fn a_result_that_does_not_fit_is_a_warning_or_an_error_by_setting() {
    let wrong = Some(r#"{"celsius": "warm", "note": 1}"#);
    assert_eq!(check(SCHEMA, wrong, OutputCheck::Off), OutputVerdict::Accepted);
    let OutputVerdict::Warned(problem) = check(SCHEMA, wrong, OutputCheck::Warn) else { panic!("not warned") };
    insta::assert_snapshot!(problem, @r#"
    the structured result does not fit the tool's output schema
      /celsius: expected number, got "warm"
    "#);
    assert_eq!(check(SCHEMA, wrong, OutputCheck::Enforce), OutputVerdict::Rejected(problem));
}

#[test]
fn a_missing_result_is_a_problem_too() {
    let OutputVerdict::Rejected(problem) = check(SCHEMA, None, OutputCheck::Enforce) else { panic!("not rejected") };
    insta::assert_snapshot!(problem, @"the tool promises a structured result and gave none");
    assert_eq!(check(SCHEMA, None, OutputCheck::Warn), OutputVerdict::Warned(OutputProblem::Missing));
}

#[test]
fn what_cannot_be_checked_is_never_rejected() {
    let told = |schema: &str, content: &str| match check(schema, Some(content), OutputCheck::Enforce) {
        OutputVerdict::Warned(problem @ OutputProblem::Unchecked(_)) => problem.to_string(),
        other => format!("{other:?}"),
    };
    insta::assert_snapshot!(told(r#"{"type": 5}"#, "{}"), @"the structured result is not checked: its schema is not valid (/type cannot be 5)");
    insta::assert_snapshot!(told(r##"{"$ref": "#"}"##, "{}"), @"the structured result is not checked: a `$ref` of the schema leads back to itself");
    insta::assert_snapshot!(told(r#"{"$ref": "https://example.com/x"}"#, "{}"), @r#"the structured result is not checked: the tool's schema refers to "https://example.com/x", which is not part of it; schemas are never fetched, so nothing can be checked by it"#);
    insta::assert_snapshot!(told(SCHEMA, &"[".repeat(100)), @"the structured result is not checked: JSON nested deeper than 64 levels");
}
