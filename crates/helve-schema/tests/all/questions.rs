//! What servers ask: fields of forms held to a second opinion, and requests written to hurt, decided on a small stack in bounded
//! time.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use helve_model::PromptOutcome;
use helve_model::json::RawJson;
use helve_model::uri_template::{MAX_TEMPLATE_VARIABLES, MAX_URI_BYTES, TemplateValues, UriTemplate};
use helve_render::{Provider, provider_messages};
use helve_schema::{Elicitation, Form, MAX_FORM_CHOICES, MAX_FORM_FIELDS, SamplingRequest};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// What a worker of an async runtime has.
const STACK: usize = 2 * 1024 * 1024;
/// Only catches what has no bound at all.
const SMOKE: Duration = Duration::from_secs(5);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// A field takes the answers that the schema behind it takes, by the word of a validator that knows nothing of forms.
    #[test]
    fn fields_agree_with_their_schema(
        field in field(),
        required in any::<bool>(),
        answers in prop::collection::vec(answer(), 40),
    ) {
        let required: &[&str] = if required { &["it"] } else { &[] };
        let schema = json!({"type": "object", "properties": {"it": field}, "required": required});
        let plain = jsonschema::options().should_validate_formats(true).build(&schema).expect("a sound schema");
        let Ok(form) = Form::read(&schema.to_string()) else { return Ok(()) };
        prop_assert!(form.notices().iter().all(|notice| notice.to_string().contains("default")));

        let none = std::iter::once(Map::new());
        for given in none.chain(answers.into_iter().map(|answer| Map::from_iter([("it".to_owned(), answer)]))) {
            let taken = form.check(&given);
            let fits = plain.is_valid(&Value::Object(given.clone()));
            prop_assert_eq!(taken.is_ok(), fits, "{} {:?} {:?}", schema, given, taken);
        }
        if let Some(default) = &form.fields()[0].default {
            prop_assert!(plain.is_valid(&json!({"it": default})), "{}", schema);
        }
    }
}

fn field() -> impl Strategy<Value = Value> {
    let count = || prop::option::of(0_u8..4);
    let bound = || prop::option::of(prop_oneof![(-3..4_i32).prop_map(Value::from), (-3.0..4.0).prop_map(Value::from)]);
    let words = || prop::collection::vec("[ab]{1,2}", 1..4);
    let format = prop::option::of(prop::sample::select(vec!["email", "uri", "date", "date-time"]));
    let pattern = prop::option::of(prop::sample::select(vec!["^a", "b$", "^[ab]*$", "."]));
    prop_oneof![
        (format, pattern, count(), count()).prop_map(|(format, pattern, least, most)| members([
            ("type", Some(json!("string"))),
            ("format", format.map(Value::from)),
            ("pattern", pattern.map(Value::from)),
            ("minLength", least.map(Value::from)),
            ("maxLength", most.map(Value::from)),
        ])),
        (prop::sample::select(vec!["number", "integer"]), bound(), bound(), bound(), bound()).prop_map(
            |(kind, least, above, most, below)| members([
                ("type", Some(json!(kind))),
                ("minimum", least.clone()),
                ("exclusiveMinimum", above),
                ("maximum", most),
                ("exclusiveMaximum", below),
                ("default", least),
            ])
        ),
        any::<bool>().prop_map(|default| json!({"type": "boolean", "default": default})),
        (words(), "[ab]{1,2}")
            .prop_map(|(words, default)| json!({"type": "string", "enum": words, "default": default})),
        words().prop_map(|words| {
            let mut words = words;
            words.sort();
            words.dedup();
            let titled: Vec<Value> =
                words.iter().map(|word| json!({"const": word, "title": word.to_uppercase()})).collect();
            json!({"type": "string", "oneOf": titled})
        }),
        (words(), count(), count()).prop_map(|(words, least, most)| members([
            ("type", Some(json!("array"))),
            ("items", Some(json!({"type": "string", "enum": words}))),
            ("minItems", least.map(Value::from)),
            ("maxItems", most.map(Value::from)),
            ("default", Some(json!([words[0]]))),
        ])),
    ]
}

fn answer() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::from),
        (-4..5_i32).prop_map(Value::from),
        (-4.0..5.0).prop_map(Value::from),
        (-4..5_i32).prop_map(|whole| Value::from(f64::from(whole))),
        "[ab]{0,4}".prop_map(Value::from),
        prop::sample::select(vec![
            "a@b.example",
            "a:b",
            "https://b.example/a",
            "2024-02-29",
            "2025-02-29",
            "2025-01-31T12:00:00Z",
            "2025-01-31T12:00:00"
        ])
        .prop_map(Value::from),
        prop::collection::vec("[ab]{1,2}", 0..4).prop_map(Value::from),
        Just(json!([1, null, {}])),
        Just(json!({"a": 1})),
    ]
}

fn members<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    Value::Object(members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect())
}

#[test]
fn every_hostile_question_is_decided() {
    let decided = std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(|| {
            let mut decided = String::new();
            for (name, decide) in CASES {
                let start = Instant::now();
                let words = decide();
                assert!(start.elapsed() < SMOKE, "{name}: {:?}", start.elapsed());
                writeln!(decided, "{name}: {words}").expect("memory");
            }
            decided
        })
        .expect("a thread")
        .join()
        .expect("no panic");
    insta::assert_snapshot!(decided, @r#"
    a form nested for ever: the question cannot be read: JSON nested deeper than 64 levels
    a form nested a little: the field `a` cannot be shown in a form: it is an object of its own
    a list of lists: the question cannot be read: JSON nested deeper than 64 levels
    large patterns in every field: 91 patterns not checked, 9 answers refused
    as many choices as there can be: 1000 chosen, or expected 0000, 0001, 0002, 0003, 0004, 0005, 0006, 0007, 0008, 0009, 0010, 0011 or 988 more, got "x"
    an answer of many strangers: 200 problems told
    a template that fits in too many ways: None
    a template that multiplies its value: the URI would have more than 65536 bytes
    a request of many calls: 2 messages, up to 4096 tokens
    a request nested for ever: message 1: it has no role
    a prompt of many messages: 540029 bytes
    "#);
}

type Decide = fn() -> String;

const CASES: &[(&str, Decide)] = &[
    ("a form nested for ever", || elicited(&nested(3_000))),
    ("a form nested a little", || elicited(&nested(20))),
    ("a list of lists", || elicited(&format!("{}{}", "[".repeat(60_000), "]".repeat(60_000)))),
    ("large patterns in every field", || {
        let form = form_of(&json!({"type": "string", "pattern": "^(a|b|[^c]){200}$"}), MAX_FORM_FIELDS);
        let long = "a".repeat(20_000);
        let words: Vec<(String, &str)> =
            form.fields().iter().map(|field| (field.name.clone(), long.as_str())).collect();
        let told = form.from_words(&words).err().map_or(0, |problems| problems.len());
        format!("{} patterns not checked, {told} answers refused", form.notices().len())
    }),
    ("as many choices as there can be", || {
        let choices: Vec<String> = (0..MAX_FORM_CHOICES).map(|index| format!("{index:04}")).collect();
        let form = form_of(&json!({"type": "array", "items": {"enum": choices}}), 1);
        let all = form.check_field("f0", &choices.join(",")).expect("each is known");
        let none = form.check_field("f0", &"x,".repeat(50_000)).expect_err("none is known");
        format!("{} chosen, or {none}", all.as_array().map_or(0, Vec::len))
    }),
    ("an answer of many strangers", || {
        let form = form_of(&json!({"type": "string"}), MAX_FORM_FIELDS);
        let strangers = (0..50_000).map(|index| (format!("g{index}"), Value::Null)).collect();
        format!("{} problems told", form.check(&strangers).expect_err("none is known").len())
    }),
    ("a template that fits in too many ways", || {
        let names: Vec<String> = (0..MAX_TEMPLATE_VARIABLES).map(|index| format!("{{+v{index}}}")).collect();
        let template = UriTemplate::parse(&format!("{}!", names.join("a"))).expect("a template");
        format!("{:?}", template.matches(&"a".repeat(8_000)))
    }),
    ("a template that multiplies its value", || {
        let template = UriTemplate::parse(&"{+v}".repeat(MAX_TEMPLATE_VARIABLES)).expect("a template");
        let values = TemplateValues::from([("v".to_owned(), "é".repeat(MAX_URI_BYTES).into())]);
        template.expand(&values).expect_err("too long").to_string()
    }),
    ("a request of many calls", || {
        let calls: Vec<Value> =
            (0..1_999).map(|id| json!({"type": "tool_use", "id": format!("{id}"), "name": "t"})).collect();
        let results: Vec<Value> = (0..1_999)
            .rev()
            .map(|id| json!({"type": "tool_result", "toolUseId": format!("{id}"), "content": []}))
            .collect();
        let params =
            json!({"messages": [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]});
        let request = SamplingRequest::read(&RawJson::assembled(params.to_string())).expect("it pairs");
        request.summary()
    }),
    ("a request nested for ever", || {
        let deep = format!(r#"{{"messages":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        SamplingRequest::read(&RawJson::assembled(deep)).expect_err("too deep").to_string()
    }),
    ("a prompt of many messages", || {
        let messages = vec![json!({"role": "user", "content": {"type": "text", "text": "x"}}); 20_000];
        let outcome = PromptOutcome::new(RawJson::assembled(json!({"messages": messages}).to_string()));
        let made = provider_messages(Provider::Anthropic, &outcome.messages());
        format!("{} bytes", made.json().len())
    }),
];

fn elicited(schema: &str) -> String {
    let params = format!(r#"{{"message":"x","requestedSchema":{schema}}}"#);
    Elicitation::read(&params).map_or_else(|problem| problem.to_string(), |asked| asked.message())
}

fn nested(levels: usize) -> String {
    format!("{}{{}}{}", r#"{"type":"object","properties":{"a":"#.repeat(levels), "}}".repeat(levels))
}

/// The same field many times.
fn form_of(field: &Value, count: usize) -> Form {
    let properties: Map<String, Value> = (0..count).map(|index| (format!("f{index}"), field.clone())).collect();
    Form::read(&json!({"type": "object", "properties": properties}).to_string()).expect("a form")
}
