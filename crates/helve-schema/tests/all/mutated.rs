//! A hundred thousand schemas made from sound ones by chance: none may panic, and whatever comes out must hold together.

use helve_render::{Provider, Strictness, Style, ToolText, documented, signature, statement, tool_array};
use helve_schema::{ArgumentLimits, ArgumentVerdict, LazyValidator, coerce, with_defaults};
use serde_json::{Map, Value, json};

use crate::random::{check_python, check_typescript};

/// Schemas that are compiled and asked.
const VALIDATED: u64 = 100_000;
/// Schemas that are shown and offered, which is more work.
const SHOWN: u64 = 20_000;
/// Both are spread over this many tests, to run side by side.
const SHARES: u64 = 2;

#[test]
fn mutated_schemas_are_answered_one() {
    validate_share(0);
}

#[test]
fn mutated_schemas_are_answered_two() {
    validate_share(1);
}

#[test]
fn mutated_schemas_are_shown_one() {
    show_share(0);
}

#[test]
fn mutated_schemas_are_shown_two() {
    show_share(1);
}

fn validate_share(share: u64) {
    let mut chance = Chance::new(share + 1);
    let (mut decided, mut compared) = (0_u64, 0_u64);
    for _ in 0..VALIDATED / SHARES {
        let (schema, arguments) = (chance.schema(), chance.arguments());
        let validator = LazyValidator::new(schema);
        let verdict = validator.check("tool", &arguments, ArgumentLimits::default());
        // The same question has the same answer.
        assert_eq!(verdict, validator.check("tool", &arguments, ArgumentLimits::default()), "{}", validator.schema());
        decided += u64::from(validator.unvalidated().is_none());
        compared += u64::from(compare_with_plain(&validator, &arguments, &verdict));
    }
    // If chance broke every schema, nothing would have been tested.
    assert!(decided > VALIDATED / SHARES / 4, "only {decided} schemas could be used");
    assert!(compared > VALIDATED / SHARES / 10, "only {compared} answers could be compared");
}

/// Seen through the meter, a value is as valid as seen without it.
fn compare_with_plain(validator: &LazyValidator<String>, arguments: &str, verdict: &ArgumentVerdict) -> bool {
    let valid = match verdict {
        ArgumentVerdict::Valid => true,
        ArgumentVerdict::Invalid(_) => false,
        ArgumentVerdict::Unvalidated(_) | ArgumentVerdict::Refused(_) => return false,
    };
    let (Ok(schema), Ok(value)) =
        (serde_json::from_str::<Value>(validator.schema()), serde_json::from_str::<Value>(arguments))
    else {
        return false;
    };
    // A notice says that something is checked in another way.
    if !validator.notices().is_empty() || !value.is_object() {
        return false;
    }
    let Ok(plain) = jsonschema::options().should_validate_formats(false).build(&schema) else { return false };
    assert_eq!(plain.is_valid(&value), valid, "{} and {arguments}", validator.schema());
    true
}

fn show_share(share: u64) {
    let mut chance = Chance::new(share + 100);
    for round in 0..SHOWN / SHARES {
        let (schema, output) = (chance.schema(), chance.schema());
        let entry = ToolText {
            name: if round % 3 == 0 { "class" } else { "mcp__server__tool" },
            title: None,
            description: Some("What \"it\" does */ \\ \u{202e}."),
            input_schema: &schema,
            output_schema: (round % 2 == 0).then_some(output.as_str()),
        };
        let tokens = [10, 40, 300][round as usize % 3];
        check_python(&statement(Style::Python, &signature(&entry, Style::Python, tokens)), &schema);
        check_typescript(&statement(Style::TypeScript, &signature(&entry, Style::TypeScript, tokens)), &schema);
        assert!(!signature(&entry, Style::Line, tokens).contains('\n'), "{schema}");
        check_typescript(&documented(&entry, Style::TypeScript, tokens), &schema);
        for (provider, strictness) in [
            (Provider::Anthropic, Strictness::Off),
            (Provider::OpenAiChat, Strictness::WherePossible),
            (Provider::OpenAiResponses, Strictness::Off),
            (Provider::Gemini, Strictness::Off),
            (Provider::GeminiJsonSchema, Strictness::Off),
        ] {
            let array = tool_array(provider, &[entry], strictness);
            let json: Value = serde_json::from_str(array.json()).expect("an array is JSON");
            assert!(json.is_array(), "{schema}");
        }
        let arguments = chance.arguments();
        if let Ok(filled) = with_defaults(&schema, &arguments, ArgumentLimits::default()) {
            assert!(serde_json::from_str::<Value>(&filled).is_ok(), "{schema}");
        }
        if let Ok(coerced) = coerce(&schema, &["query=a", "filter.a=1", "n:=2", "list=x", "list=y"]) {
            assert!(serde_json::from_str::<Value>(&coerced.arguments).is_ok(), "{schema}");
        }
    }
}

/// A sequence of choices that is the same in every run.
struct Chance {
    state: u64,
    seeds: Vec<Value>,
    arguments: Vec<Value>,
}

impl Chance {
    fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, seeds: seeds(), arguments: arguments() }
    }

    fn below(&mut self, end: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state >> 33).expect("31 bits") % end.max(1)
    }

    /// One of the sound schemas after a few changes; now and then the text itself is damaged.
    fn schema(&mut self) -> String {
        let start = self.below(self.seeds.len());
        let mut schema = self.seeds[start].clone();
        for _ in 0..=self.below(2) {
            let donor_start = self.below(self.seeds.len());
            let donor = self.seeds[donor_start].clone();
            let graft = self.pick(&donor).clone();
            self.change(&mut schema, graft);
        }
        self.damaged(schema.to_string())
    }

    fn arguments(&mut self) -> String {
        let start = self.below(self.arguments.len());
        let mut value = self.arguments[start].clone();
        if self.below(2) == 0 {
            let graft = self.scalar();
            self.change(&mut value, graft);
        }
        self.damaged(value.to_string())
    }

    fn damaged(&mut self, text: String) -> String {
        if self.below(20) != 0 {
            return text;
        }
        let mut characters: Vec<char> = text.chars().collect();
        for _ in 0..=self.below(3) {
            let place = self.below(characters.len());
            let spare = ['"', '{', '}', '[', ']', ',', ':', '\\', '0', 'e', '-', '\u{0}', 'é', '\u{202e}'];
            let with = spare[self.below(spare.len())];
            match characters.get_mut(place) {
                Some(character) => *character = with,
                None => characters.push(with),
            }
        }
        characters.into_iter().collect()
    }

    /// Some value inside another.
    fn pick<'v>(&mut self, value: &'v Value) -> &'v Value {
        let inner = match value {
            Value::Array(items) => items.get(self.below(items.len())),
            Value::Object(members) => {
                let place = self.below(members.len());
                members.values().nth(place)
            }
            _ => None,
        };
        match inner {
            Some(inner) if self.below(4) != 0 => self.pick(inner),
            _ => value,
        }
    }

    /// Changes some place of a value: replaced, removed, renamed, or given one more member.
    fn change(&mut self, value: &mut Value, graft: Value) {
        if self.below(5) != 0 {
            match value {
                Value::Array(items) if !items.is_empty() => {
                    let place = self.below(items.len());
                    return self.change(&mut items[place], graft);
                }
                Value::Object(members) if !members.is_empty() => {
                    let place = self.below(members.len());
                    if let Some(inner) = members.values_mut().nth(place) {
                        return self.change(inner, graft);
                    }
                }
                _ => {}
            }
        }
        match (self.below(4), value) {
            (0, Value::Object(members)) => {
                let keyword = KEYWORDS[self.below(KEYWORDS.len())].to_owned();
                members.insert(keyword, graft);
            }
            (1, Value::Object(members)) => {
                let place = self.below(members.len());
                if let Some(key) = members.keys().nth(place).cloned() {
                    let moved = members.remove(&key).unwrap_or(Value::Null);
                    members.insert(KEYWORDS[self.below(KEYWORDS.len())].to_owned(), moved);
                }
            }
            (2, value) => *value = self.scalar(),
            (_, value) => *value = graft,
        }
    }

    fn scalar(&mut self) -> Value {
        let scalars = [
            json!(null),
            json!(true),
            json!(false),
            json!(0),
            json!(-1),
            json!(1.5),
            json!(1e300),
            json!(u64::MAX),
            json!(""),
            json!("#"),
            json!("#/$defs/a"),
            json!("#/properties/query"),
            json!("string"),
            json!("object"),
            json!("^(a|b)*$"),
            json!("(?=x)"),
            json!("http://json-schema.org/draft-04/schema#"),
            json!([]),
            json!({}),
            json!(["a", "a"]),
        ];
        scalars[self.below(scalars.len())].clone()
    }
}

const KEYWORDS: [&str; 44] = [
    "$ref",
    "$defs",
    "$id",
    "$anchor",
    "$dynamicRef",
    "$dynamicAnchor",
    "$schema",
    "$recursiveRef",
    "id",
    "definitions",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
    "dependentRequired",
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "type",
    "enum",
    "const",
    "required",
    "default",
    "pattern",
    "format",
    "minimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "uniqueItems",
    "nullable",
    "description",
];

fn seeds() -> Vec<Value> {
    vec![
        json!({"type": "object", "required": ["query"], "additionalProperties": false, "properties": {
            "query": {"type": "string", "minLength": 1, "pattern": "^[a-z ]+$"}, "n": {"type": "integer", "default": 10, "minimum": 1},
            "mode": {"enum": ["a", "b", 3, null]}, "list": {"type": "array", "items": {"type": "string"}, "uniqueItems": true}}}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}, "b": {"$ref": "#/$defs/b"}}},
            "b": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}}}),
        json!({"properties": {"filter": {"oneOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]}, {"properties": {"b": {"type": "number"}}}]},
            "list": {"prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false}}, "unevaluatedProperties": false}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"list": {"items": [{"type": "string"}], "additionalItems": false},
            "n": {"if": {"minimum": 5}, "then": {"multipleOf": 2}, "else": {"maximum": 3}}}, "dependencies": {"n": ["list"], "query": {"required": ["n"]}}}),
        json!({"$id": "https://example.com/s", "properties": {"query": {"$ref": "q"}, "a": {"$ref": "#here"}},
            "$defs": {"x": {"$id": "q", "type": "string"}, "y": {"$anchor": "here", "type": "object", "propertyNames": {"maxLength": 3}}}}),
        json!({"allOf": [{"properties": {"query": {"type": "string"}}}, {"properties": {"n": {"type": "integer"}}, "required": ["n"]}],
            "patternProperties": {"^x-": {"type": "string"}, "(?!y)": {}}, "minProperties": 1}),
        json!({"properties": {"tree": {"$dynamicRef": "#node"}}, "$defs": {"t": {"$dynamicAnchor": "node", "properties": {"children": {"items": {"$dynamicRef": "#node"}}},
            "unevaluatedProperties": false}}}),
        json!({"type": "object", "properties": {"from": {"type": "string"}, "user-id": {"type": ["string", "null"]}, "a\"b": {"nullable": true, "type": "integer"},
            "filter": {"type": "object", "additionalProperties": {"type": "array", "contains": {"type": "integer"}, "minContains": 2}}}}),
    ]
}

fn arguments() -> Vec<Value> {
    vec![
        json!({}),
        json!({"query": "rust", "n": 3, "mode": "a", "list": ["x", "y"]}),
        json!({"a": {"a": {"a": {}, "b": null}, "b": {"a": {}}}, "b": 1}),
        json!({"filter": {"a": 1, "b": 2}, "list": ["x", 1, 2], "extra": true}),
        json!({"tree": {"children": [{"children": []}, {"x": 1}]}, "x-y": "z"}),
        json!({"from": "a", "user-id": null, "a\"b": 5, "filter": {"k": [1, 2, "3"]}}),
        Value::Object((0..30).map(|number| (format!("k{number}"), json!(number))).collect::<Map<_, _>>()),
        json!([1, 2]),
    ]
}
