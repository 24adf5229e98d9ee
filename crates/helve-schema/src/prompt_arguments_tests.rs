//! Tests of the arguments a prompt takes.

use helve_model::json::RawJson;
use helve_model::{Definition as _, PromptDefinition};
use serde_json::{Map, Value, json};

use super::*;

fn check(definition: Value, arguments: Value) -> Result<(), InvalidPromptArguments> {
    let view = PromptDefinition::from_raw(RawJson::assembled(definition.to_string())).unwrap().view();
    let Value::Object(arguments) = arguments else { unreachable!() };
    check_prompt_arguments("demo/review", &view, &arguments)
}

#[test]
fn arguments_of_prompts() {
    let definition = || {
        json!({"name": "review", "arguments": [
            {"name": "code", "description": "The code\nto review", "required": true},
            {"name": "language", "required": true},
            {"name": "style"},
        ]})
    };
    assert_eq!(check(definition(), json!({"code": "x", "language": "rust"})), Ok(()));
    assert_eq!(check(definition(), json!({"code": "", "language": "rust", "style": "terse"})), Ok(()));
    let wrong = json!({"lang": "rust", "style": 3, "colour": "red"});
    insta::assert_snapshot!(check(definition(), wrong).unwrap_err(), @"
    invalid arguments for prompt demo/review: 5 problems
      missing argument `code`: The code to review
      missing argument `language`
      argument `style` is a number; arguments of prompts are texts
      no argument `colour`
      no argument `lang`; did you mean `language`?
    usage: demo/review code=… language=… [style=…]
    ");
    let nothing = check(json!({"name": "plain"}), json!({"x": "1"})).unwrap_err();
    insta::assert_snapshot!(nothing, @"
    invalid arguments for prompt demo/review: 1 problem
      no argument `x`
    usage: demo/review (takes no arguments)
    ");
    assert_eq!(check(json!({"name": "plain"}), json!({})), Ok(()));
    let many: Map<String, Value> = (0..100).map(|index| (format!("stray{index}"), json!(""))).collect();
    assert_eq!(check(definition(), Value::Object(many)).unwrap_err().problems.len(), crate::MAX_VIOLATIONS);
}
