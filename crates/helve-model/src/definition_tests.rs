//! What a lenient view takes, what it warns about, and what it never loses.

use super::*;

fn tool(json: &str) -> Result<ToolDefinition, BrokenDefinition> {
    ToolDefinition::from_raw(RawJson::checked(json).unwrap())
}

#[test]
fn a_tool_with_everything() {
    let json = r#"{"name":"search","title":"Search","description":"Finds","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"destructiveHint":false,"title":"S"},"icons":[{"src":"x"}],"_meta":{"z":1,"a":2},"vendor":{"kept":true}}"#;
    let tool = tool(json).unwrap();
    assert_eq!(tool.raw().as_str(), json);
    insta::assert_debug_snapshot!(tool.view(), @r#"
    ToolView {
        title: Some(
            "Search",
        ),
        description: Some(
            "Finds",
        ),
        input_schema: Some(
            {"type":"object"},
        ),
        output_schema: Some(
            {"type":"object"},
        ),
        annotations: ToolAnnotations {
            title: Some(
                "S",
            ),
            read_only: Some(
                true,
            ),
            destructive: Some(
                false,
            ),
            idempotent: None,
            open_world: None,
        },
        icons: [
            {"src":"x"},
        ],
        meta: Some(
            {"z":1,"a":2},
        ),
        warnings: [],
    }
    "#);
}

#[test]
fn wrong_types_are_warnings() {
    let view = tool(r#"{"name":"x","title":7,"inputSchema":true,"annotations":{"readOnlyHint":"yes"},"icons":{}}"#)
        .unwrap()
        .view();
    insta::assert_snapshot!(view.warnings.join("\n"), @r#"
    title: invalid type: integer `7`, expected a string at line 1 column 1
    inputSchema: not an object
    icons: not an array
    annotations: readOnlyHint: invalid type: string "yes", expected a boolean at line 1 column 5
    "#);
    assert_eq!(view.annotations, ToolAnnotations::default());
}

#[test]
fn a_tool_without_identity_is_broken() {
    let problem = |json: &str| tool(json).unwrap_err().to_string();
    insta::assert_snapshot!(problem("[]"), @"not an object");
    insta::assert_snapshot!(problem("{}"), @"no `name`");
    insta::assert_snapshot!(problem(r#"{"name":5}"#), @"`name` is not a string: invalid type: integer `5`, expected a string at line 1 column 1");
}

#[test]
fn prompts_and_resources() {
    let prompt = PromptDefinition::from_raw(
        RawJson::checked(r#"{"name":"p","arguments":[{"name":"a","required":true},{"title":"no name"}]}"#).unwrap(),
    )
    .unwrap();
    let view = prompt.view();
    assert_eq!(view.arguments, [PromptArgument { name: "a".into(), required: true, ..PromptArgument::default() }]);
    assert_eq!(view.warnings, ["arguments: an argument without a name"]);

    let resource =
        ResourceDefinition::from_raw(RawJson::checked(r#"{"uri":"a://b","name":"b","size":3}"#).unwrap()).unwrap();
    assert_eq!((resource.uri(), resource.view().size), ("a://b", Some(3)));
    let template =
        ResourceTemplateDefinition::from_raw(RawJson::checked(r#"{"uriTemplate":"a://{b}","name":"b"}"#).unwrap())
            .unwrap();
    assert_eq!((template.uri_template(), template.view().name.as_deref()), ("a://{b}", Some("b")));
}
