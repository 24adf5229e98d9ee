//! Tests of forms: every field kind, every spelling, answers that fit and that do not, strangers' schemas.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

/// Every field kind of every revision, in every spelling.
const EVERYTHING: &str = r##"{
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Full name", "description": "As in your\n passport", "minLength": 2, "maxLength": 20},
        "email": {"type": "string", "format": "email"},
        "site": {"type": "string", "format": "uri", "default": "https://example.com"},
        "day": {"type": "string", "format": "date"},
        "moment": {"type": "string", "format": "date-time"},
        "code": {"type": "string", "pattern": "^[A-Z]{2}[0-9]+$"},
        "ratio": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.5},
        "age": {"type": "integer", "minimum": 18},
        "agree": {"type": "boolean", "default": false},
        "plain": {"type": "string", "enum": ["red", "green", "blue"], "default": "green"},
        "legacy": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"], "default": "r"},
        "titled": {"type": "string", "oneOf": [{"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "Green"}]},
        "many": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string", "enum": ["a", "b", "c"]}},
        "many_titled": {"type": "array", "items": {"anyOf": [{"const": "1", "title": "One"}, {"const": "2", "title": "Two"}]}, "default": ["1", "2"]}
    },
    "required": ["name", "age", "many"]
}"##;

fn form(schema: &str) -> Form {
    Form::read(schema).unwrap()
}

/// A form of one field.
fn field(property: &Value) -> Form {
    form(&json!({"type": "object", "properties": {"it": property}}).to_string())
}

fn problem(property: &Value) -> String {
    let schema = json!({"type": "object", "properties": {"it": property}}).to_string();
    Form::read(&schema).unwrap_err().to_string()
}

fn answers(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { unreachable!() };
    map
}

fn lines<T: ToString>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join("\n")
}

/// The questions a terminal would ask.
fn questions(form: &Form) -> String {
    let question = |field: &Field| {
        let mut line = format!("{}{}", field.label(), if field.required { " *" } else { "" });
        let choices: Vec<String> = field.choices().iter().map(Choice::label).collect();
        if !choices.is_empty() {
            line.push_str(&format!(" ({})", choices.join("/")));
        }
        if let Some(default) = field.default_shown() {
            line.push_str(&format!(" [{default}]"));
        }
        if let Some(help) = field.help() {
            line.push_str(&format!(" -- {help}"));
        }
        line
    };
    form.fields().iter().map(question).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_field_kind_becomes_a_question_in_the_order_written() {
    insta::assert_snapshot!(questions(&form(EVERYTHING)), @"
    Full name * -- As in your passport
    email
    site [https://example.com]
    day
    moment
    code
    ratio [0.5]
    age *
    agree [no]
    plain (red/green/blue) [green]
    legacy (Red/Green) [Red]
    titled (Red/Green)
    many * (a/b/c)
    many_titled (One/Two) [One, Two]
    ");
    assert!(form(EVERYTHING).notices().is_empty());
}

#[test]
fn typed_answers_are_read_by_their_field() {
    let form = form(EVERYTHING);
    for (name, text, expected) in [
        ("name", " Ada ", json!(" Ada ")),
        ("email", " ada@example.com ", json!("ada@example.com")),
        ("site", "urn:isbn:0451450523", json!("urn:isbn:0451450523")),
        ("day", "2024-02-29", json!("2024-02-29")),
        ("moment", "2025-01-31T12:00:00+01:00", json!("2025-01-31T12:00:00+01:00")),
        ("code", "AB12", json!("AB12")),
        ("ratio", "1", json!(1)),
        ("ratio", ".25", json!(0.25)),
        ("ratio", "1e-1", json!(0.1)),
        ("age", "+18", json!(18)),
        ("age", "18446744073709551615", json!(u64::MAX)),
        ("agree", "Yes", json!(true)),
        ("agree", "off", json!(false)),
        ("plain", "RED", json!("red")),
        ("legacy", "g", json!("g")),
        ("legacy", "Green", json!("g")),
        ("titled", "green", json!("#0f0")),
        ("titled", "#f00", json!("#f00")),
        ("many", "a, c", json!(["a", "c"])),
        ("many", "b,b", json!(["b"])),
        ("many", r#"["c","a"]"#, json!(["c", "a"])),
        ("many_titled", "", json!([])),
        ("many_titled", "two", json!(["2"])),
    ] {
        assert_eq!(form.check_field(name, text), Ok(expected), "{name}={text}");
    }
}

#[test]
fn answers_that_do_not_fit_are_explained() {
    let form = form(EVERYTHING);
    let said: Vec<String> = [
        ("name", "A"),
        ("name", "Ada Augusta King, Countess of Lovelace"),
        ("email", "ada at example"),
        ("email", ""),
        ("site", "example.com"),
        ("day", "2025-02-29"),
        ("day", "31.1.2025"),
        ("moment", "2025-01-31 12:00"),
        ("code", "ab"),
        ("ratio", "half"),
        ("ratio", "0,5"),
        ("ratio", "NaN"),
        ("ratio", "inf"),
        ("ratio", "1e999"),
        ("ratio", "1.5"),
        ("age", "17"),
        ("age", "18.5"),
        ("age", "99999999999999999999"),
        ("agree", "maybe"),
        ("plain", "gren"),
        ("plain", ""),
        ("titled", "violet"),
        ("many", ""),
        ("many", "a,b,c"),
        ("many", "a,d"),
        ("nmae", "x"),
        ("colour", "x"),
    ]
    .into_iter()
    .map(|(name, text)| format!("{name}: {}", form.check_field(name, text).unwrap_err()))
    .collect();
    insta::assert_snapshot!(lines(&said), @r#"
    name: expected at least 2 characters, got 1
    name: expected at most 20 characters, got 38
    email: expected an email address like name@example.com, got "ada at example"
    email: expected an email address like name@example.com, got nothing
    site: expected a URI like https://example.com, got "example.com"
    day: expected a date like 2025-01-31, got "2025-02-29"
    day: expected a date like 2025-01-31, got "31.1.2025"
    moment: expected a date and time like 2025-01-31T12:00:00Z, got "2025-01-31 12:00"
    code: expected a text that matches ^[A-Z]{2}[0-9]+$, got "ab"
    ratio: expected a number, got "half"
    ratio: expected a number, got "0,5"; write the decimals after a point
    ratio: expected a number, got "NaN"
    ratio: expected a number, got "inf"
    ratio: expected a number, got "1e999"
    ratio: expected a number from 0 to 1, got 1.5
    age: expected a whole number of at least 18, got 17
    age: expected a whole number, got "18.5"
    age: expected a whole number that fits 64 bits, got 99999999999999999999
    agree: expected yes or no, got "maybe"
    plain: expected red, green or blue, got "gren"; did you mean green?
    plain: expected red, green or blue, got nothing
    titled: expected Red or Green, got "violet"
    many: expected 1 to 2 choices, got none
    many: expected 1 to 2 choices, got 3
    many: expected a, b or c, got "d"
    nmae: the form has no such field; did you mean `name`?
    colour: the form has no such field; there is `name`, `email`, `site`, `day`, `moment`, `code`, `ratio`, `age`, `agree`, `plain`, `legacy`, `titled` or 2 more
    "#);
}

#[test]
fn answers_as_a_whole() {
    let form = form(EVERYTHING);
    let given = answers(json!({"many": ["b"], "age": 36.0, "name": "Ada", "email": null, "ratio": 1}));
    assert_eq!(form.check(&given).unwrap().as_str(), r#"{"name":"Ada","ratio":1,"age":36.0,"many":["b"]}"#);

    let mut filled = given;
    form.fill_defaults(&mut filled);
    assert_eq!(
        form.check(&filled).unwrap().as_str(),
        r##"{"name":"Ada","site":"https://example.com","ratio":1,"age":36.0,"agree":false,"plain":"green","legacy":"r","many":["b"],"many_titled":["1","2"]}"##
    );

    let wrong = answers(json!({
        "name": 7, "email": "x", "ratio": "1", "age": 1.5, "agree": "yes", "plain": "grey", "legacy": ["r"],
        "titled": {}, "many": "a", "many_titled": ["3"], "nam": 1, "zzz": 2
    }));
    insta::assert_snapshot!(lines(&form.check(&wrong).unwrap_err()), @r#"
    `name`: expected a text, got 7
    `email`: expected an email address like name@example.com, got "x"
    `ratio`: expected a number from 0 to 1, got "1"
    `age`: expected a whole number of at least 18, got 1.5
    `agree`: expected true or false, got "yes"
    `plain`: expected red, green or blue, got "grey"
    `legacy`: expected Red or Green, got a list
    `titled`: expected Red or Green, got an object
    `many`: expected a list of a, b or c, got "a"
    `many_titled`: expected One or Two, got "3"
    `nam`: the form has no such field; did you mean `name`?
    `zzz`: the form has no such field; there is `name`, `email`, `site`, `day`, `moment`, `code`, `ratio`, `age`, `agree`, `plain`, `legacy`, `titled` or 2 more
    "#);
    insta::assert_snapshot!(lines(&form.check(&Map::new()).unwrap_err()), @"
    `name`: an answer is required: a text
    `age`: an answer is required: a whole number of at least 18
    `many`: an answer is required: a list of a, b or c
    ");
    let kinds: Vec<FieldProblemKind> = form.check(&wrong).unwrap_err().iter().map(|problem| problem.kind).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == FieldProblemKind::Unknown).count(), 2);
    assert_eq!(kinds.last(), Some(&FieldProblemKind::Unknown));
}

#[test]
fn answers_as_words() {
    let form = form(EVERYTHING);
    let read =
        form.from_words(&[("age", "40"), ("many", "a"), ("many", "c"), ("agree", "y"), ("name", "Ada")]).unwrap();
    assert_eq!(Value::Object(read), json!({"age": 40, "many": ["a", "c"], "agree": true, "name": "Ada"}));
    let words =
        [("age", "4"), ("many", "a"), ("many", "b"), ("many", "c"), ("agree", "y"), ("agree", "n"), ("plane", "red")];
    insta::assert_snapshot!(lines(&form.from_words(&words).unwrap_err()), @"
    `agree`: it is answered twice
    `plane`: the form has no such field; there is `name`, `email`, `site`, `day`, `moment`, `code`, `ratio`, `age`, `agree`, `plain`, `legacy`, `titled` or 2 more
    `age`: expected a whole number of at least 18, got 4
    `many`: expected 1 to 2 choices, got 3
    ");
    assert_eq!(form.from_words::<&str, &str>(&[]), Ok(Map::new()));
}

#[test]
fn what_an_empty_answer_means() {
    let form = form(EVERYTHING);
    let empty = |name: &str| form.field(name).unwrap().left_empty();
    assert_eq!(empty("name"), LeftEmpty::NeedsAnswer);
    assert_eq!(empty("email"), LeftEmpty::Omitted);
    assert_eq!(empty("plain"), LeftEmpty::Default(&json!("green")));
}

#[test]
fn a_form_without_fields_asks_for_a_yes() {
    for schema in [r#"{"type":"object","properties":{}}"#, r#"{"type":"object"}"#, r#"{"properties":{}}"#] {
        let form = form(schema);
        assert!(form.fields().is_empty());
        assert_eq!(form.check(&Map::new()).unwrap().as_str(), "{}");
    }
    insta::assert_snapshot!(form(r#"{"type":"object"}"#).check_field("x", "").unwrap_err(), @"the form has no such field; it has none");
}

#[test]
fn spellings_of_common_libraries() {
    // Optional fields of pydantic, in both of its spellings.
    let optional =
        field(&json!({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "title": "It", "default": null}));
    assert_eq!(optional.fields()[0].title.as_deref(), Some("It"));
    assert_eq!(optional.fields()[0].default, None);
    assert!(optional.check_field("it", "0").is_err());
    assert_eq!(field(&json!({"type": ["boolean", "null"]})).fields()[0].kind, FieldKind::Boolean);
    // A literal, a number among choices, `null` among choices, a union of constants.
    assert_eq!(field(&json!({"const": "only"})).check_field("it", "only"), Ok(json!("only")));
    assert_eq!(field(&json!({"type": "integer", "enum": [1, 2, 2, "3"]})).check_field("it", "2"), Ok(json!(2)));
    assert_eq!(field(&json!({"type": "integer", "enum": [1, 2, 2, "3"]})).fields()[0].choices().len(), 2);
    assert_eq!(field(&json!({"enum": ["a", null]})).fields()[0].choices().len(), 1);
    assert!(field(&json!({"anyOf": [{"const": "a"}, {"const": "b", "title": "B"}]})).check_field("it", "B").is_ok());
    // Exclusive ends; of two the narrower holds.
    let positive =
        field(&json!({"type": "number", "exclusiveMinimum": 0, "minimum": 0, "maximum": 9, "exclusiveMaximum": 10}));
    insta::assert_snapshot!(positive.check_field("it", "0").unwrap_err(), @"expected a number greater than 0 and of at most 9, got 0");
    assert!(positive.check_field("it", "9").is_ok());
}

#[test]
fn large_whole_numbers_are_compared_exactly() {
    let form = field(&json!({"type": "integer", "maximum": 9_007_199_254_740_992_i64}));
    assert!(form.check_field("it", "9007199254740992").is_ok());
    assert!(form.check_field("it", "9007199254740993").is_err());
    let form = field(&json!({"type": "integer", "minimum": 1e3}));
    assert!(form.check_field("it", "999").is_err());
    assert!(form.check_field("it", "1000").is_ok());
}

#[test]
fn choices_with_one_title_are_told_apart_by_value() {
    let twins =
        field(&json!({"oneOf": [{"const": "a1", "title": "A"}, {"const": "a2", "title": "A"}, {"const": "A"}]}));
    assert_eq!(twins.check_field("it", "A"), Ok(json!("A")));
    insta::assert_snapshot!(twins.check_field("it", "a").unwrap_err(), @r#""a" names several choices; write "a1", "a2" or "A""#);
    let commas = field(&json!({"type": "array", "items": {"enum": ["a,b", "a", "[x]"]}}));
    assert_eq!(commas.check_field("it", "a,b"), Ok(json!(["a,b"])));
    assert_eq!(commas.check_field("it", "[x]"), Ok(json!(["[x]"])));
    assert_eq!(commas.check_field("it", r#"["a,b", "a"]"#), Ok(json!(["a,b", "a"])));
}

#[test]
fn schemas_that_are_no_forms() {
    let schemas = [
        "nonsense".to_owned(),
        "[]".to_owned(),
        "null".to_owned(),
        "{}".to_owned(),
        r#"{"type":"array"}"#.to_owned(),
        r#"{"type":"object","properties":[]}"#.to_owned(),
        r##"{"type":"object","properties":{},"$ref":"#/x"}"##.to_owned(),
        r#"{"type":"object","properties":{},"required":["ghost"]}"#.to_owned(),
        format!(r#"{{"type":"object","description":"{}"}}"#, "x".repeat(MAX_FORM_BYTES)),
        format!(
            r#"{{"type":"object","properties":{{{}}}}}"#,
            (0..=MAX_FORM_FIELDS).map(|i| format!(r#""f{i}":{{"type":"string"}}"#)).collect::<Vec<_>>().join(",")
        ),
    ];
    let said: Vec<String> = schemas.iter().map(|schema| Form::read(schema).unwrap_err().to_string()).collect();
    insta::assert_snapshot!(lines(&said), @"
    the form cannot be read: not valid JSON: expected ident at line 1 column 2
    the form cannot be read: its schema is not that of an object
    the form cannot be read: its schema is not that of an object
    the form cannot be read: its schema is not that of an object
    the form cannot be read: its schema is not that of an object
    the form cannot be read: its schema is not that of an object
    the form cannot be shown: its schema has `$ref`
    the form requires `ghost`, which is not one of its fields
    the form cannot be read: 65570 bytes of JSON, the limit is 65536
    the form has 101 fields, the limit is 100
    ");
}

#[test]
fn fields_that_no_form_has() {
    let choices: Vec<String> = (0..=MAX_FORM_CHOICES).map(|i| i.to_string()).collect();
    let said: Vec<String> = [
        json!(true),
        json!({}),
        json!({"type": "object", "properties": {"street": {"type": "string"}}}),
        json!({"type": "object"}),
        json!({"type": "null"}),
        json!({"type": "date\u{1b}[2J"}),
        json!({"type": ["string", "integer"]}),
        json!({"$ref": "#/$defs/x"}),
        json!({"$ref": "https://example.com/schema"}),
        json!({"allOf": [{"type": "string"}]}),
        json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        json!({"type": "array"}),
        json!({"type": "array", "items": {"type": "string"}}),
        json!({"type": "array", "items": {"$ref": "#/$defs/x"}}),
        json!({"type": "array", "items": {"type": "object", "properties": {}}}),
        json!({"enum": [["a"], {"b": 1}]}),
        json!({"enum": "a"}),
        json!({"enum": []}),
        json!({"type": "string", "enum": [1]}),
        json!({"oneOf": []}),
        json!({"enum": choices}),
        json!({"type": "array", "minItems": 3, "items": {"enum": ["a", "b"]}}),
        json!({"type": "array", "minItems": 2, "maxItems": 1, "items": {"enum": ["a", "b"]}}),
        json!({"type": "string", "minLength": 2, "maxLength": 1}),
        json!({"type": "number", "minimum": 2, "maximum": 1}),
        json!({"type": "number", "minimum": 1, "exclusiveMaximum": 1}),
    ]
    .iter()
    .map(problem)
    .collect();
    insta::assert_snapshot!(lines(&said), @"
    the field `it` cannot be shown in a form: its schema is not an object
    the field `it` cannot be shown in a form: it has no type
    the field `it` cannot be shown in a form: it is an object of its own
    the field `it` cannot be shown in a form: it is an object of its own
    the field `it` cannot be shown in a form: it is of the type `null`
    the field `it` cannot be shown in a form: it is of the type `date<U+001B>[2J`
    the field `it` cannot be shown in a form: it takes several types
    the field `it` cannot be shown in a form: it has `$ref`
    the field `it` cannot be shown in a form: it has `$ref`
    the field `it` cannot be shown in a form: it has `allOf`
    the field `it` cannot be shown in a form: it has alternatives
    the field `it` cannot be shown in a form: it is a list without choices
    the field `it` cannot be shown in a form: it is a list without choices
    the field `it` cannot be shown in a form: its items have `$ref`
    the field `it` cannot be shown in a form: its items have `properties`
    the field `it` cannot be shown in a form: one of its choices is a list or an object
    the field `it` cannot be shown in a form: its `enum` is not a list
    no answer can fit the field `it`: there is nothing to choose from
    no answer can fit the field `it`: there is nothing to choose from
    no answer can fit the field `it`: there is nothing to choose from
    the field `it` has 1001 choices, the limit is 1000
    no answer can fit the field `it`: it wants 3 of 2 choices
    no answer can fit the field `it`: `minItems` is more than `maxItems`
    no answer can fit the field `it`: `minLength` is more than `maxLength`
    no answer can fit the field `it`: the smallest number is larger than the largest
    no answer can fit the field `it`: the smallest number is larger than the largest
    ");
}

#[test]
fn what_is_odd_but_usable_is_told() {
    let form = form(
        r#"{"type":"object","properties":{
            "a":{"type":"string","pattern":"(?=x)y"},
            "b":{"type":"string","pattern":"(a{1000}){1000}"},
            "c":{"type":"integer","maximum":10,"default":11},
            "d":{"type":"string","minLength":-1,"maxLength":"many","format":"uuid","default":"anything"},
            "e":{"type":"number","minimum":"0"},
            "f":{"type":"array","items":{"enum":["x"]},"minItems":0.0,"default":["y"]}
        }}"#,
    );
    insta::assert_snapshot!(lines(form.notices()), @r#"
    `a`: the pattern "(?=x)y" is not checked
    `b`: the pattern "(a{1000}){1000}" is not checked
    `c`: the default is left out: expected a whole number of at most 10, got 11
    `d`: `minLength` is not written as it should be and is not checked
    `d`: `maxLength` is not written as it should be and is not checked
    `e`: `minimum` is not written as it should be and is not checked
    `f`: the default is left out: expected x, got "y"
    "#);
    assert_eq!(form.check_field("a", "anything"), Ok(json!("anything")));
    assert_eq!(form.field("d").unwrap().default, Some(json!("anything")));
}

#[test]
fn nothing_hidden_is_shown() {
    let form = form(
        &json!({"type": "object", "properties": {"x": {
            "type": "string", "title": "\u{1b}[2JYour\u{202e} name", "description": "a\u{200b}b\r\nc",
            "oneOf": [{"const": "\u{7}", "title": ""}], "default": "\u{7}",
        }}})
        .to_string(),
    );
    insta::assert_snapshot!(questions(&form), @"<U+001B>[2JYour<U+202E> name (<U+0007>) [<U+0007>] -- a<U+200B>b c");
    insta::assert_snapshot!(form.check_field("x", "\u{1b}").unwrap_err(), @r#"expected <U+0007>, got "\u001b""#);
    assert_eq!(form.check_field("x", "\u{7}"), Ok(json!("\u{7}")), "what is sent is what the server wrote");
}

#[test]
fn secrets_are_noticed() {
    let secret = |name: &str, property: Value| {
        let form = form(&json!({"type": "object", "properties": {name: property}}).to_string());
        form.fields()[0].looks_like_secret()
    };
    let text = || json!({"type": "string"});
    for (name, expected) in [
        ("password", Some("password")),
        ("userPassword", Some("password")),
        ("DB_PASSWORD", Some("password")),
        ("apiKey", Some("API key")),
        ("OPENAI_API_KEY", Some("API key")),
        ("apikey", Some("API key")),
        ("github_token", Some("token")),
        ("token", Some("token")),
        ("pin", Some("PIN")),
        ("key", Some("key")),
        ("license-key", Some("key")),
        ("client_secret", Some("secret")),
        ("cardNumber", Some("card number")),
        ("username", None),
        ("email", None),
        ("primary_key", None),
        ("api_key_name", None),
        ("tokenLimit", None),
        ("max_tokens", None),
        ("secret_id", None),
        ("passenger", None),
        ("keyboard", None),
        ("spinner", None),
    ] {
        assert_eq!(secret(name, text()), expected, "{name}");
    }
    let described = |description: &str| secret("value", json!({"type": "string", "description": description}));
    assert_eq!(described("Paste your API key here"), Some("API key"));
    assert_eq!(described("Your personal access token"), Some("token"));
    assert_eq!(described("A token of our appreciation"), None);
    assert_eq!(secret("value", json!({"type": "string", "title": "Your passphrase"})), Some("passphrase"));
    assert_eq!(secret("value", json!({"type": "string", "format": "password"})), Some("password"));
    assert_eq!(secret("pin", json!({"type": "integer"})), Some("PIN"));
    assert_eq!(secret("password", json!({"type": "boolean"})), None, "a yes is not a password");
    assert_eq!(secret("token", json!({"enum": ["a", "b"]})), None);
    assert_eq!(secret("token_issued", json!({"type": "string", "format": "date"})), None);
}

#[test]
fn both_modes_of_elicitation() {
    let read = |params: Value| Elicitation::read(&params.to_string());
    let schema = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}});
    for mode in [json!(null), json!("form")] {
        let asked =
            read(json!({"mode": mode, "message": "Sure?\r\n\u{1b}[31mreally", "requestedSchema": schema})).unwrap();
        insta::allow_duplicates! {
            insta::assert_snapshot!(asked.message(), @"
            Sure?
            <U+001B>[31mreally
            ");
        }
        let Elicitation::Form(request) = asked else { panic!("not a form") };
        assert_eq!(request.form().fields().len(), 1);
    }
    let Ok(Elicitation::Form(silent)) = read(json!({"requestedSchema": schema})) else { panic!("not a form") };
    assert_eq!(silent.message(), "");
    let asked = read(json!({"mode": "url", "message": "Sign in", "url": "https://example.com/", "elicitationId": "7"}));
    let Ok(Elicitation::Url(request)) = asked else { panic!("not a URL") };
    assert_eq!((request.elicitation_id(), request.message().as_str()), (Some("7"), "Sign in"));
    let said: Vec<String> = [
        json!({"mode": "hologram"}),
        json!({"mode": 7}),
        json!({"message": "no schema"}),
        json!({"mode": "url"}),
        json!([]),
        json!({"message": "x".repeat(MAX_ELICITATION_BYTES)}),
    ]
    .into_iter()
    .map(|params| read(params).unwrap_err().to_string())
    .collect();
    insta::assert_snapshot!(lines(&said), @r#"
    a question of the unknown mode "hologram"
    a question of the unknown mode "7"
    the form cannot be read: its schema is not that of an object
    the request has no `url`
    the form cannot be read: its schema is not that of an object
    the question cannot be read: 131086 bytes of JSON, the limit is 131072
    "#);
}

/// JSON that looks a little like a field.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z\u{1b}\u{202e}$#/]{0,6}".prop_map(Value::from),
        prop::sample::select(vec!["string", "number", "integer", "boolean", "array", "object", "null"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let keyword = prop::sample::select(vec![
            "type",
            "title",
            "description",
            "enum",
            "enumNames",
            "oneOf",
            "anyOf",
            "const",
            "items",
            "default",
            "format",
            "pattern",
            "minLength",
            "maxLength",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "minItems",
            "maxItems",
            "properties",
            "required",
            "$ref",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((keyword, inner), 0..6).prop_map(|members| {
                Value::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_text_is_a_form_or_a_problem(text in "\\PC{0,200}") {
        if let Err(problem) = Elicitation::read(&text) {
            prop_assert!(!problem.to_string().is_empty());
        }
    }

    /// Whatever a server writes: no panic, and what a form takes and proposes is consistent.
    #[test]
    fn forms_hold_together(properties in prop::collection::vec(anything(), 1..4), typed in "\\PC{0,12}") {
        let properties: Map<String, Value> =
            properties.into_iter().enumerate().map(|(index, value)| (format!("f{index}"), value)).collect();
        let schema = json!({"type": "object", "properties": properties}).to_string();
        match Form::read(&schema) {
            Err(problem) => prop_assert!(problem.to_string().chars().all(helve_model::text::is_visible)),
            Ok(form) => {
                prop_assert_eq!(form.fields().len(), properties.len());
                let mut defaults = Map::new();
                form.fill_defaults(&mut defaults);
                prop_assert!(form.check(&defaults).is_ok(), "defaults fit");
                prop_assert!(questions(&form).chars().all(|character| character == '\n' || helve_model::text::is_visible(character)));
                for field in form.fields() {
                    for choice in field.choices() {
                        let read = form.check_field(&field.name, &choice.value_text());
                        let read_one = |read: &Value| *read == choice.value || read.as_array().is_some_and(|list| list.contains(&choice.value));
                        if let Ok(read) = read {
                            prop_assert!(read_one(&read) || choice.value_text().trim() != choice.value_text());
                        }
                    }
                    if let Ok(value) = form.check_field(&field.name, &typed) {
                        let given = Map::from_iter([(field.name.clone(), value)]);
                        prop_assert!(form.check(&given).is_ok(), "a typed answer that is taken stays taken");
                    }
                }
            }
        }
    }

    /// An answer out of any JSON is taken or explained.
    #[test]
    fn any_answer_is_taken_or_explained(answer in anything()) {
        let form = form(EVERYTHING);
        for field in form.fields() {
            let given = Map::from_iter([(field.name.clone(), answer.clone())]);
            if let Err(problems) = form.check(&given) {
                prop_assert!(problems.iter().all(|problem| !problem.message.is_empty()));
            }
        }
    }
}

/// S26: a question does not push itself, or what asks it, out of sight.
#[test]
fn s26_a_message_keeps_few_line_breaks() {
    let params =
        serde_json::json!({"message": "a\n".repeat(3_000), "requestedSchema": {"type": "object", "properties": {}}});
    let crate::Elicitation::Form(form) = crate::Elicitation::read(&params.to_string()).unwrap() else {
        panic!("no form")
    };
    assert_eq!(form.message().matches('\n').count(), 30);
}
