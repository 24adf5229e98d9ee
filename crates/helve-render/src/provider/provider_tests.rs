//! What the `provider` module promises, case by case.

use serde_json::Value;

use super::*;
use crate::schema::limits::ArgumentLimits;

const ALL: [Provider; 5] = [
    Provider::Anthropic,
    Provider::OpenAiChat,
    Provider::OpenAiResponses,
    Provider::Gemini,
    Provider::GeminiJsonSchema,
];

fn array(provider: Provider, entries: &[ToolText<'_>]) -> ToolArray {
    tool_array(provider, entries, Strictness::Off)
}

/// One tool's array, one element to a line.
fn offered(provider: Provider, schema: &str) -> String {
    array(provider, &[ToolText { description: Some("Does it."), ..ToolText::new("mcp__s__t", schema) }])
        .json()
        .to_owned()
}

fn told(array: &ToolArray) -> String {
    array.notices().iter().map(|notice| format!("{}: {}", notice.index, notice.kind)).collect::<Vec<_>>().join("\n")
}

const PLAIN: &str = r#"{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "required": ["q"],
    "properties": {"q": {"type": "string", "description": "Query"}, "n": {"type": "integer", "default": 10}}}"#;

/// The members of an object, one to a line.
fn by_line(object: &Value) -> String {
    let members = object.as_object().expect("an object");
    members.iter().map(|(key, value)| format!("{key}: {value}")).collect::<Vec<_>>().join("\n")
}

#[test]
fn each_provider_has_its_own_shape() {
    for provider in ALL {
        match provider {
            Provider::Anthropic => {
                insta::assert_snapshot!(offered(provider, PLAIN), @r#"[{"name":"mcp__s__t","description":"Does it.","input_schema":{"type":"object","properties":{"q":{"type":"string","description":"Query"},"n":{"type":"integer","default":10}},"required":["q"]}}]"#)
            }
            Provider::OpenAiChat => {
                insta::assert_snapshot!(offered(provider, PLAIN), @r#"[{"type":"function","function":{"name":"mcp__s__t","description":"Does it.","parameters":{"type":"object","properties":{"q":{"type":"string","description":"Query"},"n":{"type":"integer","default":10}},"required":["q"]},"strict":false}}]"#)
            }
            Provider::OpenAiResponses => {
                insta::assert_snapshot!(offered(provider, PLAIN), @r#"[{"type":"function","name":"mcp__s__t","description":"Does it.","parameters":{"type":"object","properties":{"q":{"type":"string","description":"Query"},"n":{"type":"integer","default":10}},"required":["q"]},"strict":false}]"#)
            }
            Provider::Gemini => {
                insta::assert_snapshot!(offered(provider, PLAIN), @r#"[{"functionDeclarations":[{"name":"mcp__s__t","description":"Does it.","parameters":{"type":"object","required":["q"],"properties":{"q":{"type":"string","description":"Query"},"n":{"type":"integer","default":10}}}}]}]"#)
            }
            Provider::GeminiJsonSchema => {
                insta::assert_snapshot!(offered(provider, PLAIN), @r#"[{"functionDeclarations":[{"name":"mcp__s__t","description":"Does it.","parametersJsonSchema":{"type":"object","properties":{"q":{"type":"string","description":"Query"},"n":{"type":"integer","description":"Default: 10."}},"required":["q"]}}]}]"#)
            }
        }
    }
}

#[test]
fn a_tool_without_parameters() {
    for provider in ALL {
        let text = offered(provider, r#"{"type": "object"}"#);
        match provider {
            Provider::Anthropic => {
                insta::assert_snapshot!(text, @r#"[{"name":"mcp__s__t","description":"Does it.","input_schema":{"type":"object","properties":{}}}]"#)
            }
            Provider::OpenAiChat => {
                insta::assert_snapshot!(text, @r#"[{"type":"function","function":{"name":"mcp__s__t","description":"Does it.","parameters":{"type":"object","properties":{}},"strict":false}}]"#)
            }
            Provider::Gemini => {
                insta::assert_snapshot!(text, @r#"[{"functionDeclarations":[{"name":"mcp__s__t","description":"Does it."}]}]"#)
            }
            _ => assert!(serde_json::from_str::<Value>(&text).is_ok()),
        }
    }
    assert_eq!(array(Provider::Gemini, &[]).json(), "[]");
}

#[test]
fn the_order_depends_on_names_alone() {
    let tools = [ToolText::new("b", "{}"), ToolText::new("a", PLAIN), ToolText::new("c", "{}")];
    let turned = [tools[2], tools[0], tools[1]];
    for provider in ALL {
        let (one, other) = (array(provider, &tools), array(provider, &turned));
        assert_eq!(one.json(), other.json(), "{provider:?}");
        assert_eq!(one.names().collect::<Vec<_>>(), [("a", 1), ("b", 0), ("c", 2)]);
        assert_eq!(other.names().collect::<Vec<_>>(), [("a", 2), ("b", 1), ("c", 0)]);
    }
}

#[test]
fn names_are_made_legal_and_lead_back() {
    let long = "x".repeat(80);
    let names = ["ok_Name-1", "with space", "with.dot", "1digit", "", "é", long.as_str(), "with space"];
    let entries: Vec<ToolText<'_>> = names.iter().map(|name| ToolText::new(name, "{}")).collect();
    insta::assert_snapshot!(told(&array(Provider::Gemini, &entries)), @r#"
    1: offered as `with_space_7d4ef3c7`: its own name is not legal there
    2: offered as `with_dot_b27a0320`: its own name is not legal there
    3: offered as `_1digit_2dd73bc1`: its own name is not legal there
    4: offered as `__811c9dc5`: its own name is not legal there
    5: offered as `__1e9de8c1`: its own name is not legal there
    6: offered as `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_67b9`: its own name is not legal there
    7: offered as `with_space_7d4ef3c7`: its own name is not legal there
    7: left out: another tool has the same name
    "#);
    for provider in ALL {
        let array = array(provider, &entries);
        let offered: Vec<&str> = array.names().map(|(name, _)| name).collect();
        assert!(offered.windows(2).all(|pair| pair[0] < pair[1]), "{offered:?}");
        for (name, index) in array.names() {
            assert!((1..=64).contains(&name.len()), "{name}");
            assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')), "{name}");
            let call = match provider {
                Provider::OpenAiChat => format!(r#"{{"function": {{"name": "{name}"}}}}"#),
                _ => format!(r#"{{"name": "{name}"}}"#),
            };
            let resolved = array.resolve(&call, ArgumentLimits::default()).expect("offered");
            assert_eq!((resolved.index, resolved.arguments.as_str()), (index, "{}"));
        }
    }
}

#[test]
fn the_top_is_a_plain_object_everywhere() {
    let union = r##"{"oneOf": [{"$ref": "#/$defs/ById"}, {"properties": {"name": {"type": "string"}, "kind": {"const": "n"}}, "required": ["name", "kind"]}],
        "$defs": {"ById": {"type": "object", "properties": {"id": {"type": "integer"}, "kind": {"const": "i"}}, "required": ["id", "kind"]}}}"##;
    insta::assert_snapshot!(offered(Provider::Anthropic, union), @r#"[{"name":"mcp__s__t","description":"Does it. Give `id` or `name`.","input_schema":{"type":"object","properties":{"id":{"type":"integer"},"kind":{"anyOf":[{"const":"i"},{"const":"n"}]},"name":{"type":"string"}},"required":["kind"]}}]"#);
    let root_reference = r##"{"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}}}"##;
    insta::assert_snapshot!(offered(Provider::Anthropic, root_reference), @r#"[{"name":"mcp__s__t","description":"Does it.","input_schema":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}}]"#);
    let combined = r#"{"allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {}}, "required": ["b"]}],
        "not": {"required": ["c"]}, "anyOf": [{"required": ["d"]}, {"required": ["e"]}]}"#;
    insta::assert_snapshot!(offered(Provider::OpenAiChat, combined), @r#"[{"type":"function","function":{"name":"mcp__s__t","description":"Does it. not: {\"required\":[\"c\"]}. Give `d` or `e`.","parameters":{"type":"object","properties":{"a":{"type":"string"},"b":{}},"required":["a","b"]},"strict":false}}]"#);
    for provider in ALL {
        for schema in [
            union,
            root_reference,
            combined,
            "[]",
            "{",
            r#"{"type": ["object", "null"]}"#,
            r##"{"$ref": "#"}"##,
            r#"{"$ref": "http://example.com"}"#,
        ] {
            let text = offered(provider, schema);
            let top = top_of(provider, &text);
            let Some(top) = top else { continue };
            assert_eq!(top["type"], "object", "{text}");
            for banned in ["oneOf", "anyOf", "allOf", "$ref"] {
                assert!(top.get(banned).is_none(), "{banned}: {text}");
            }
        }
    }
}

fn top_of(provider: Provider, text: &str) -> Option<Value> {
    let json: Value = serde_json::from_str(text).expect("JSON");
    match provider {
        Provider::Anthropic => json.pointer("/0/input_schema").cloned(),
        Provider::OpenAiChat => json.pointer("/0/function/parameters").cloned(),
        Provider::OpenAiResponses => json.pointer("/0/parameters").cloned(),
        Provider::Gemini => json.pointer("/0/functionDeclarations/0/parameters").cloned(),
        Provider::GeminiJsonSchema => json.pointer("/0/functionDeclarations/0/parametersJsonSchema").cloned(),
    }
}

#[test]
fn broken_schemas_are_repaired_into_the_newest_draft() {
    let schema = r#"{"type": "object", "required": true, "properties": {
        "old": {"minimum": 1, "exclusiveMinimum": true, "maximum": 5, "exclusiveMaximum": false}, "tuple": {"type": "array", "items": [{"type": "string"}], "additionalItems": false},
        "maybe": {"type": "string", "nullable": true, "enum": ["a"]}, "upper": {"type": "String"}, "odd": {"type": "date"},
        "bad": {"minLength": -1, "enum": [], "description": 5, "required": "x"}, "no": 5, "many": {"type": ["string", "string", "x"]}}}"#;
    insta::assert_snapshot!(offered(Provider::Anthropic, schema), @r#"[{"name":"mcp__s__t","description":"Does it.","input_schema":{"type":"object","properties":{"old":{"maximum":5,"exclusiveMinimum":1},"tuple":{"type":"array","prefixItems":[{"type":"string"}],"items":false},"maybe":{"type":["string","null"],"enum":["a",null]},"upper":{"type":"string"},"odd":{"description":"Type: date."},"bad":{},"no":{},"many":{"type":["string"]}}}}]"#);
    let replaced = array(Provider::Anthropic, &[ToolText::new("t", "{")]);
    insta::assert_snapshot!(format!("{}\n{}", replaced.json(), told(&replaced)), @r#"
    [{"name":"t","input_schema":{"type":"object","properties":{}}}]
    0: offered as taking any object: not valid JSON: EOF while parsing an object at line 1 column 1
    "#);
}

#[test]
fn property_names_are_renamed_where_a_provider_refuses_them() {
    let schema = r#"{"type": "object", "required": ["filter[id]", "ok"], "properties": {"filter[id]": {"type": "string"}, "filter_id_": {},
        "$top": {"type": "integer", "description": "How many"}, "ok": {}, "a.b-c": {"type": "object", "properties": {"x y": {}}}}}"#;
    let entries = [ToolText::new("t", schema)];
    let anthropic = array(Provider::Anthropic, &entries);
    insta::assert_snapshot!(format!("{}\n{}", anthropic.json(), told(&anthropic)), @r#"
    [{"name":"t","input_schema":{"type":"object","properties":{"filter_id__321718fc":{"type":"string","description":"Called `filter[id]` by the server."},"filter_id_":{},"_top":{"type":"integer","description":"How many. Called `$top` by the server."},"ok":{},"a.b-c":{"type":"object","properties":{"x y":{}}}},"required":["filter_id__321718fc","ok"]}}]
    0: property `filter[id]` is offered as `filter_id__321718fc`
    0: property `$top` is offered as `_top`
    "#);
    let call = r#"{"type": "tool_use", "id": "toolu_1", "name": "t", "input": {"filter_id__321718fc": "7", "_top": 3, "ok": {"_top": 1}}}"#;
    let resolved = anthropic.resolve(call, ArgumentLimits::default()).expect("a call");
    assert_eq!(resolved.arguments, r#"{"filter[id]":"7","$top":3,"ok":{"_top":1}}"#);
    assert_eq!(resolved.call_id.as_deref(), Some("toolu_1"));
    // OpenAI takes any name; Gemini takes fewer.
    assert_eq!(array(Provider::OpenAiChat, &entries).notices(), []);
    assert!(array(Provider::Gemini, &entries).json().contains("\"a_b_c\""));
}

const RICH: &str = r##"{"type": "object", "required": ["when", "missing"], "additionalProperties": false, "properties": {
    "when": {"type": "string", "format": "date-time"}, "link": {"type": "string", "format": "uri", "description": "Where"},
    "level": {"enum": [1, 2]}, "state": {"enum": ["on", "off", ""]}, "only": {"const": "x"}, "flag": {"const": true},
    "maybe": {"type": ["string", "null"]}, "either": {"description": "Id or name", "anyOf": [{"type": "integer"}, {"type": "string", "description": "the name"}, {"type": "null"}]},
    "list": {"type": "array"}, "pair": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}]},
    "map": {"type": "object", "additionalProperties": {"type": "string"}}, "free": {"type": "object"}, "any": {"description": "Anything"},
    "tree": {"$ref": "#/$defs/Node", "description": "The tree"}, "all": {"allOf": [{"$ref": "#/$defs/Node"}, {"properties": {"extra": {"type": "boolean"}}, "required": ["extra", "gone"]}]},
    "much": {"type": "integer", "exclusiveMinimum": 0, "multipleOf": 5, "default": 5}, "mixed": {"type": ["string", "array"], "items": {"type": "string"}},
    "chosen": {"oneOf": [{"type": "string"}]}},
    "$defs": {"Node": {"type": "object", "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/Node"}}, "required": ["name"]}}}"##;

#[test]
fn gemini_gets_the_fields_it_has() {
    let text = offered(Provider::Gemini, RICH);
    let top = top_of(Provider::Gemini, &text).expect("parameters");
    insta::assert_snapshot!(by_line(&top["properties"]), @r#"
    all: {"properties":{"extra":{"type":"boolean"},"name":{"type":"string"},"next":{"description":"Here the same shape comes again.","type":"object"}},"required":["name","extra"],"type":"object"}
    any: {"anyOf":[{"description":"Anything","type":"string"},{"description":"Anything","type":"number"},{"description":"Anything","type":"boolean"}]}
    chosen: {"type":"string"}
    either: {"anyOf":[{"description":"Id or name","nullable":true,"type":"integer"},{"description":"Id or name (the name)","nullable":true,"type":"string"}]}
    flag: {"description":"Always true.","type":"boolean"}
    free: {"type":"object"}
    level: {"description":"One of 1,2.","type":"integer"}
    link: {"description":"Where. Format: uri.","type":"string"}
    list: {"items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"}]},"type":"array"}
    map: {"description":"additionalProperties: {\"type\":\"string\"}.","type":"object"}
    maybe: {"nullable":true,"type":"string"}
    mixed: {"anyOf":[{"type":"string"},{"items":{"type":"string"},"type":"array"}]}
    much: {"default":5,"description":"More than 0. A multiple of 5.","type":"integer"}
    only: {"enum":["x"],"type":"string"}
    pair: {"description":"A list that begins with 2 fixed items.","items":{"anyOf":[{"type":"number"},{"type":"string"}]},"type":"array"}
    state: {"description":"One of \"on\",\"off\",\"\".","type":"string"}
    tree: {"description":"The tree","properties":{"name":{"type":"string"},"next":{"description":"Here the same shape comes again.","type":"object"}},"required":["name"],"type":"object"}
    when: {"format":"date-time","type":"string"}
    "#);
    assert_eq!(top["required"], serde_json::json!(["when"]), "a property that is not there cannot be required");
    let allowed = [
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "enum",
        "items",
        "minItems",
        "maxItems",
        "properties",
        "required",
        "minProperties",
        "maxProperties",
        "minLength",
        "maxLength",
        "pattern",
        "anyOf",
        "default",
        "minimum",
        "maximum",
    ];
    check_fields(&top, &allowed);
}

/// Every schema has only the allowed keywords, a type or alternatives alone, and lists have items.
fn check_fields(schema: &Value, allowed: &[&str]) {
    let object = schema.as_object().unwrap_or_else(|| panic!("{schema} is not an object"));
    for keyword in object.keys() {
        assert!(allowed.contains(&keyword.as_str()), "{keyword} in {schema}");
    }
    match object.get("anyOf") {
        Some(choices) => {
            assert_eq!(object.len(), 1, "{schema}");
            choices.as_array().expect("a list").iter().for_each(|choice| check_fields(choice, allowed));
        }
        None => assert!(object["type"].is_string(), "{schema}"),
    }
    if object.get("type").is_some_and(|kind| kind == "array") {
        check_fields(&object["items"], allowed);
    }
    if let Some(properties) = object.get("properties") {
        properties.as_object().expect("an object").values().for_each(|property| check_fields(property, allowed));
    }
}

#[test]
fn gemini_gets_json_schema_cut_to_what_it_supports() {
    let text = offered(Provider::GeminiJsonSchema, RICH);
    let top = top_of(Provider::GeminiJsonSchema, &text).expect("parameters");
    insta::assert_snapshot!(by_line(&top["properties"]), @r##"
    all: {"properties":{"extra":{"type":"boolean"},"name":{"type":"string"},"next":{"$ref":"#/$defs/Node"}},"required":["name","extra","gone"],"type":"object"}
    any: {"description":"Anything"}
    chosen: {"anyOf":[{"type":"string"}]}
    either: {"anyOf":[{"type":"integer"},{"description":"the name","type":"string"},{"type":"null"}],"description":"Id or name"}
    flag: {"description":"Always true."}
    free: {"type":"object"}
    level: {"enum":[1,2]}
    link: {"description":"Where","format":"uri","type":"string"}
    list: {"type":"array"}
    map: {"additionalProperties":{"type":"string"},"type":"object"}
    maybe: {"type":["string","null"]}
    mixed: {"items":{"type":"string"},"type":["string","array"]}
    much: {"description":"More than 0. A multiple of 5. Default: 5.","type":"integer"}
    only: {"enum":["x"]}
    pair: {"prefixItems":[{"type":"number"},{"type":"string"}],"type":"array"}
    state: {"enum":["on","off",""]}
    tree: {"description":"The tree","properties":{"name":{"type":"string"},"next":{"$ref":"#/$defs/Node"}},"required":["name"],"type":"object"}
    when: {"format":"date-time","type":"string"}
    "##);
    assert_eq!(top["additionalProperties"], false);
    assert!(top["$defs"]["Node"]["properties"]["next"]["$ref"].is_string());
}

#[test]
fn openai_gets_items_for_every_list() {
    let top = top_of(Provider::OpenAiChat, &offered(Provider::OpenAiChat, RICH)).expect("parameters");
    assert_eq!(top["properties"]["list"]["items"], serde_json::json!({}));
    assert_eq!(top["properties"]["pair"]["items"], serde_json::json!({}));
    assert_eq!(top["properties"]["mixed"]["items"], serde_json::json!({"type": "string"}));
}

#[test]
fn openai_descriptions_are_cut_and_tools_counted() {
    let long = "word ".repeat(400);
    let entry = ToolText { description: Some(&long), ..ToolText::new("t", "{}") };
    let cut = array(Provider::OpenAiResponses, &[entry]);
    let description = serde_json::from_str::<Value>(cut.json()).expect("JSON")[0]["description"].clone();
    assert_eq!(description.as_str().expect("text").chars().count(), 1024);
    insta::assert_snapshot!(told(&cut), @"0: its description is cut to the provider's limit");
    let names: Vec<String> = (0..130).map(|number| format!("t{number:03}")).collect();
    let entries: Vec<ToolText<'_>> = names.iter().map(|name| ToolText::new(name, "{}")).collect();
    insta::assert_snapshot!(told(&array(Provider::OpenAiChat, &entries)), @"128: the provider takes 128 tools; this one and all after it are more");
    assert_eq!(array(Provider::Anthropic, &entries).notices(), []);
}

#[test]
fn strict_schemas_require_everything_and_null_is_taken_back() {
    let schema = r##"{"type": "object", "required": ["q"], "properties": {"q": {"type": "string", "minLength": 1},
        "n": {"type": "integer", "default": 10, "minimum": 1}, "mode": {"enum": ["a", "b"]}, "since": {"type": ["string", "null"], "format": "date"},
        "link": {"type": "string", "format": "uri"},
        "filter": {"type": "object", "properties": {"x": {"type": "number"}, "tags": {"type": "array", "items": {"type": "object", "properties": {"t": {"type": "string"}}}}}, "required": ["x"]},
        "point": {"$ref": "#/$defs/P", "description": "gone"}, "one": {"oneOf": [{"type": "string"}, {"type": "integer"}]}},
        "$defs": {"P": {"type": "object", "properties": {"x": {"type": "number"}}}}}"##;
    let entries = [ToolText::new("t", schema)];
    let strict = tool_array(Provider::OpenAiChat, &entries, Strictness::WherePossible);
    let json: Value = serde_json::from_str(strict.json()).expect("JSON");
    assert_eq!(json[0]["function"]["strict"], true);
    insta::assert_snapshot!(by_line(&json[0]["function"]["parameters"]["properties"]), @r##"
    filter: {"additionalProperties":false,"properties":{"tags":{"items":{"additionalProperties":false,"properties":{"t":{"type":["string","null"]}},"required":["t"],"type":"object"},"type":["array","null"]},"x":{"type":"number"}},"required":["x","tags"],"type":["object","null"]}
    link: {"description":"Format: uri.","type":["string","null"]}
    mode: {"anyOf":[{"enum":["a","b"]},{"type":"null"}]}
    n: {"description":"Default: 10.","minimum":1,"type":["integer","null"]}
    one: {"anyOf":[{"anyOf":[{"type":"string"},{"type":"integer"}]},{"type":"null"}]}
    point: {"anyOf":[{"$ref":"#/$defs/P"},{"type":"null"}],"description":"gone"}
    q: {"description":"minLength: 1.","type":"string"}
    since: {"format":"date","type":["string","null"]}
    "##);
    assert_eq!(json[0]["function"]["parameters"]["$defs"]["P"]["required"], serde_json::json!(["x"]));
    let arguments = r#"{\"q\": \"x\", \"n\": null, \"mode\": null, \"since\": null, \"link\": null, \"filter\": {\"x\": 1, \"tags\": [{\"t\": null}, {\"t\": \"y\"}]}, \"point\": {\"x\": null}, \"one\": null}"#;
    let call =
        format!(r#"{{"id": "call_1", "type": "function", "function": {{"name": "t", "arguments": "{arguments}"}}}}"#);
    let resolved = strict.resolve(&call, ArgumentLimits::default()).expect("a call");
    assert_eq!(resolved.arguments, r#"{"q":"x","since":null,"filter":{"x":1,"tags":[{},{"t":"y"}]},"point":{}}"#);
}

#[test]
fn what_cannot_be_strict_is_offered_as_it_is() {
    for (schema, reason) in [
        (r#"{"type": "object", "properties": {"m": {"type": "object"}}}"#, "it has objects with free keys"),
        (
            r#"{"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {"type": "string"}}}}"#,
            "it has objects with free keys",
        ),
        (r#"{"type": "object", "additionalProperties": true}"#, "it has objects with free keys"),
        (r#"{"type": "object", "properties": {"m": {}}}"#, "it has values of any type"),
        (r#"{"type": "object", "properties": {"m": {"type": "array"}}}"#, "it has lists of anything"),
        (
            r#"{"type": "object", "properties": {"m": {"type": "array", "prefixItems": [{"type": "string"}]}}}"#,
            "it has tuples",
        ),
        (r##"{"type": "object", "properties": {"m": {"$ref": "#/x"}}}"##, "it has values of any type"),
    ] {
        let array = tool_array(Provider::OpenAiResponses, &[ToolText::new("t", schema)], Strictness::WherePossible);
        assert_eq!(array.notices(), [ProviderNotice { index: 0, kind: NoticeKind::NotStrict(reason) }], "{schema}");
        let json: Value = serde_json::from_str(array.json()).expect("JSON");
        assert_eq!(json[0]["strict"], false);
    }
    let empty =
        tool_array(Provider::OpenAiChat, &[ToolText::new("t", r#"{"type": "object"}"#)], Strictness::WherePossible);
    assert_eq!(empty.notices(), []);
}

#[test]
fn calls_come_back_in_every_shape() {
    let entries = [ToolText::new("other", "{}"), ToolText::new("mcp__s__t", PLAIN)];
    for (provider, call, id) in [
        (
            Provider::Anthropic,
            r#"{"type": "tool_use", "id": "toolu_1", "name": "mcp__s__t", "input": {"q": "x", "n": 1}}"#,
            Some("toolu_1"),
        ),
        (
            Provider::OpenAiChat,
            r#"{"id": "call_1", "type": "function", "function": {"name": "mcp__s__t", "arguments": "{\"q\": \"x\", \"n\": 1}"}}"#,
            Some("call_1"),
        ),
        (
            Provider::OpenAiResponses,
            r#"{"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "mcp__s__t", "arguments": "{\"q\": \"x\", \"n\": 1}"}"#,
            Some("call_1"),
        ),
        (Provider::Gemini, r#"{"functionCall": {"name": "mcp__s__t", "args": {"q": "x", "n": 1}}}"#, None),
        (Provider::GeminiJsonSchema, r#"{"id": "g1", "name": "mcp__s__t", "args": {"q": "x", "n": 1}}"#, Some("g1")),
    ] {
        let resolved = array(provider, &entries).resolve(call, ArgumentLimits::default()).expect("a call");
        assert_eq!(resolved.index, 1, "{provider:?}");
        assert_eq!(resolved.call_id.as_deref(), id, "{provider:?}");
        let arguments: Value = serde_json::from_str(&resolved.arguments).expect("JSON");
        assert_eq!(arguments, serde_json::json!({"q": "x", "n": 1}), "{provider:?}");
    }
    let chat = array(Provider::OpenAiChat, &entries);
    let empty = chat.resolve(r#"{"function": {"name": "other", "arguments": ""}}"#, ArgumentLimits::default());
    assert_eq!(empty.map(|call| call.arguments).as_deref(), Ok("{}"));
}

#[test]
fn calls_that_make_no_sense_are_told_so() {
    let chat = array(Provider::OpenAiChat, &[ToolText::new("mcp__s__search", "{}")]);
    let told = |call: &str| match chat.resolve(call, ArgumentLimits::default()) {
        Ok(call) => format!("{call:?}"),
        Err(problem) => problem.to_string(),
    };
    insta::assert_snapshot!(told("{"), @"not a tool call of this provider: not valid JSON: EOF while parsing an object at line 1 column 1");
    insta::assert_snapshot!(told(r#"{"type": "text"}"#), @"not a tool call of this provider: it has no `name`");
    insta::assert_snapshot!(told(r#"{"function": {"name": "mcp__s__serach", "arguments": "{}"}}"#), @r#"no tool is called "mcp__s__serach"; did you mean `mcp__s__search`?"#);
    insta::assert_snapshot!(told(r#"{"function": {"name": "weather", "arguments": "{}"}}"#), @r#"no tool is called "weather""#);
    insta::assert_snapshot!(told(r#"{"function": {"name": "mcp__s__search", "arguments": "{\"q\": "}}"#), @"the arguments of the call cannot be read: not valid JSON: EOF while parsing a value at line 1 column 6");
    insta::assert_snapshot!(told(r#"{"function": {"name": "mcp__s__search", "arguments": "{\"q\": 1, \"q\": 2}"}}"#), @r#"the arguments of the call cannot be read: the key "q" appears twice in one object"#);
}
