//! What the `signature` module promises, case by case.

use super::*;

fn shown(schema: &str, style: Style) -> String {
    signature(&ToolText::new("search", schema), style, 500)
}

fn all(schema: &str) -> String {
    [Style::Python, Style::TypeScript, Style::Line].map(|style| shown(schema, style)).join("\n")
}

#[test]
fn the_usual_tool() {
    let schema = r#"{"type": "object", "required": ["query"], "properties": {
        "count": {"type": "integer", "default": 10}, "query": {"type": "string"}, "exact": {"type": "boolean"}}}"#;
    insta::assert_snapshot!(all(schema), @r#"
    search(query: str, count: int = 10, exact: bool | None = None)
    search(args: { count?: number /* = 10 */; query: string; exact?: boolean }): Promise<unknown>
    search(count?: integer = 10, query: string, exact?: boolean)
    "#);
    insta::assert_snapshot!(all(r#"{"type": "object", "properties": {}}"#), @r#"
    search()
    search(): Promise<unknown>
    search()
    "#);
    insta::assert_snapshot!(all(r#"{"type": "object", "additionalProperties": true}"#), @r#"
    search(**kwargs)
    search(args?: { [key: string]: unknown }): Promise<unknown>
    search(…)
    "#);
    insta::assert_snapshot!(all("not a schema"), @r#"
    search(**kwargs)
    search(args?: { [key: string]: unknown }): Promise<unknown>
    search(…)
    "#);
}

#[test]
fn scalars_enums_and_constants() {
    let schema = r#"{"required": ["a", "b", "c", "d", "e", "f", "g", "h"], "properties": {
        "a": {"type": "number"}, "b": {"enum": ["x", "it's \"q\"", 3, true, null]}, "c": {"const": 5}, "d": {"type": "null"},
        "e": {"enum": []}, "f": {"const": {"k": [1, null]}}, "g": {"type": "string", "enum": ["p", 1]}, "h": false}}"#;
    insta::assert_snapshot!(all(schema), @r#"
    search(a: float, b: Literal["x", "it's \"q\"", 3, True, None], c: Literal[5], d: None, e: Never, f: Literal[{"k": [1, None]}], g: Literal["p"], h: Never)
    search(args: { a: number; b: "x" | "it's \"q\"" | 3 | true | null; c: 5; d: null; e: never; f: { "k": [1, null] }; g: "p"; h: never }): Promise<unknown>
    search(a: number, b: "x" | "it's \"q\"" | 3 | true | null, c: 5, d: null, e: never, f: {"k":[1,null]}, g: "p", h: never)
    "#);
}

#[test]
fn nullable_in_each_dialect() {
    let schema = r#"{"properties": {"a": {"type": ["string", "null"]}, "b": {"type": "string", "nullable": true},
        "c": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": null},
        "d": {"oneOf": [{"type": "null"}, {"const": "x"}]}}, "required": ["a"]}"#;
    insta::assert_snapshot!(all(schema), @r#"
    search(a: str | None, b: str | None = None, c: int | None = None, d: Literal["x"] | None = None)
    search(args: { a: string | null; b?: string | null; c?: number | null /* = null */; d?: "x" | null }): Promise<unknown>
    search(a: string | null, b?: string | null, c?: integer | null = null, d?: "x" | null)
    "#);
}

#[test]
fn lists_tuples_and_objects() {
    let schema = r#"{"required": ["a", "b", "c", "d", "e", "f", "g", "h", "i"], "properties": {
        "a": {"type": "array"}, "b": {"type": "array", "items": {"type": ["string", "integer"]}},
        "c": {"prefixItems": [{"type": "number"}, {"type": "number"}], "items": false},
        "d": {"type": "array", "items": [{"type": "string"}]}, "e": {"prefixItems": [{}], "items": {"type": "integer"}},
        "f": {"type": "object", "additionalProperties": {"type": "integer"}}, "g": {"type": "object"},
        "h": {"type": "object", "properties": {"x": {"type": "number"}, "y-z": {"type": "string"}}, "required": ["x"],
            "additionalProperties": {"type": "boolean"}},
        "i": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}}}}"#;
    insta::assert_snapshot!(all(schema), @r#"
    search(a: list, b: list[str | int], c: tuple[float, float], d: tuple[str, ...], e: tuple[Any, int, ...], f: dict[str, int], g: dict, h: {"x": float, "y-z": NotRequired[str], ...: bool}, i: list[{"n": NotRequired[int]}])
    search(args: { a: unknown[]; b: Array<string | number>; c: [number, number]; d: [string, ...unknown[]]; e: [unknown, ...number[]]; f: Record<string, number>; g: Record<string, unknown>; h: { x: number; "y-z"?: string } & { [key: string]: boolean }; i: Array<{ n?: number }> }): Promise<unknown>
    search(a: any[], b: (string | integer)[], c: [number, number], d: [string, …], e: [any, …], f: object, g: object, h: {x: number, y-z?: string, …}, i: {n?: integer}[])
    "#);
}

#[test]
fn references_and_combinations() {
    let schema = r##"{"required": ["point", "tree"], "properties": {
        "point": {"$ref": "#/$defs/Point"}, "also": {"allOf": [{"$ref": "#/$defs/Point"}], "default": {"x": 0}},
        "tree": {"$ref": "#/$defs/Node"}, "self": {"$ref": "#"}, "gone": {"$ref": "#/nowhere"},
        "out": {"$ref": "http://example.com/x"},
        "both": {"allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {"type": "number"}}}]},
        "either": {"properties": {"id": {"type": "string"}, "name": {"type": "string"}}, "oneOf": [{"required": ["id"]}, {"required": ["name"]}]},
        "whole": {"allOf": [{"type": "number"}, {"type": "integer"}]}},
        "$defs": {"Point": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
            "Node": {"type": "object", "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}}}"##;
    insta::assert_snapshot!(all(schema), @r#"
    search(point: {"x": float}, tree: {"name": NotRequired[str], "children": NotRequired[list["Node"]]}, also: {"x": float} = {"x": 0}, self: "Self" | None = None, gone: Any = None, out: Any = None, both: {"a": str, "b": NotRequired[float]} | None = None, either: {"id": NotRequired[str], "name": NotRequired[str]} | None = None, whole: int | None = None)
    search(args: { point: { x: number }; also?: { x: number } /* = { "x": 0 } */; tree: { name?: string; children?: Array<unknown /* Node */> }; self?: unknown /* Self */; gone?: unknown; out?: unknown; both?: { a: string; b?: number }; either?: { id?: string; name?: string }; whole?: number }): Promise<unknown>
    search(point: {x: number}, also?: {x: number} = {"x":0}, tree: {name?: string, children?: Node[]}, self?: Self, gone?: any, out?: any, both?: {a: string, b?: number}, either?: {id?: string, name?: string}, whole?: integer)
    "#);
}

#[test]
fn alternatives_at_the_top_become_optional_parameters() {
    let schema = r#"{"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"],
        "anyOf": [{"properties": {"id": {"type": "integer"}}, "required": ["id"]},
            {"properties": {"name": {"type": "string"}}, "required": ["name"]}]}"#;
    insta::assert_snapshot!(all(schema), @r#"
    search(kind: str, id: int | None = None, name: str | None = None)
    search(args: { kind: string; id?: number; name?: string }): Promise<unknown>
    search(kind: string, id?: integer, name?: string)
    "#);
}

#[test]
fn names_that_are_no_names() {
    let schema = r#"{"required": ["from", "user-id"], "properties": {"from": {"type": "string"}, "user-id": {"type": "string"},
        "class": {"type": "integer"}, "filter[id]": {}, "kwargs": {"type": "string"}, "1st": {"type": "boolean"},
        "é": {"type": "string"}, "": {"type": "string"}, "a\"b\\c\nd": {"type": "string"}, "None": {}}}"#;
    insta::assert_snapshot!(all(schema), @r#"
    search(kwargs: str | None = None, **kwargs_: {"from": str, "user-id": str, "class": NotRequired[int], "filter[id]": NotRequired[Any], "1st": NotRequired[bool], "é": NotRequired[str], "": NotRequired[str], "a\"b\\c\nd": NotRequired[str], "None": NotRequired[Any]})
    search(args: { from: string; "user-id": string; class?: number; "filter[id]"?: unknown; kwargs?: string; "1st"?: boolean; "é"?: string; ""?: string; "a\"b\\c\nd"?: string; None?: unknown }): Promise<unknown>
    search(from: string, user-id: string, class?: integer, filter[id]?: any, kwargs?: string, 1st?: boolean, é?: string, ?: string, a"b\c d?: string, None?: any)
    "#);
    let named = |name: &str, style| signature(&ToolText::new(name, "{}"), style, 100);
    for (name, python, typescript) in [
        ("create-issue", "create_issue(**kwargs)", "create_issue(args?: { [key: string]: unknown }): Promise<unknown>"),
        ("class", "class_(**kwargs)", "class_(args?: { [key: string]: unknown }): Promise<unknown>"),
        ("delete", "delete(**kwargs)", "delete_(args?: { [key: string]: unknown }): Promise<unknown>"),
        ("2fa", "_2fa(**kwargs)", "_2fa(args?: { [key: string]: unknown }): Promise<unknown>"),
        ("", "_(**kwargs)", "_(args?: { [key: string]: unknown }): Promise<unknown>"),
        ("a.b/c:d é", "a_b_c_d__(**kwargs)", "a_b_c_d__(args?: { [key: string]: unknown }): Promise<unknown>"),
    ] {
        assert_eq!(named(name, Style::Python), python);
        assert_eq!(named(name, Style::TypeScript), typescript);
    }
}

#[test]
fn text_of_others_stays_inside_its_quotes() {
    let schema = "{\"properties\": {\"a\": {\"enum\": [\"*/ } ; drop\", \"\\\"\\\"\\\"\", \"line\\nbreak\\u2028\\u202e\\udb40\\udc41\", \"back\\\\slash\"], \"default\": \"*/\"}}}";
    insta::assert_snapshot!(all(schema), @r#"
    search(a: Literal["*/ } ; drop", "\"\"\"", "line\nbreak\u2028\u202e\U000e0041", "back\\slash"] = "*/")
    search(args?: { a?: "*/ } ; drop" | "\"\"\"" | "line\nbreak\u2028\u202e\udb40\udc41" | "back\\slash" /* = "* /" */ }): Promise<unknown>
    search(a?: "*/ } ; drop" | "\"\"\"" | "line\nbreak\u2028\u202e\udb40\udc41" | "back\\slash" = "*/")
    "#);
}

#[test]
fn results_are_shown_where_they_are_promised() {
    let entry = ToolText {
        output_schema: Some(
            r#"{"type": "object", "properties": {"items": {"type": "array", "items": {"type": "string"}}}, "required": ["items"]}"#,
        ),
        ..ToolText::new("list", "{\"type\": \"object\"}")
    };
    let shown = [Style::Python, Style::TypeScript, Style::Line].map(|style| signature(&entry, style, 100));
    insta::assert_snapshot!(shown.join("\n"), @r#"
    list() -> {"items": list[str]}
    list(): Promise<{ items: string[] }>
    list() -> {items: string[]}
    "#);
}

const LARGE: &str = r#"{"type": "object", "required": ["filter", "mode"], "properties": {
    "filter": {"type": "object", "description": "What to look for.\nAll of it.", "properties": {
        "text": {"type": "string"}, "range": {"type": "object", "properties": {"from": {"type": "string", "format": "date-time"}, "to": {"type": "string"}}},
        "labels": {"type": "array", "items": {"type": "string"}}}},
    "mode": {"type": "string", "enum": ["newest", "oldest", "most-commented", "least-commented", "recently-updated"], "description": "Order"},
    "limit": {"type": "integer", "default": 20, "minimum": 1, "maximum": 100},
    "cursor": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 64, "description": "Where to go on"}}}"#;

#[test]
fn a_smaller_budget_shows_less_from_the_inside_out() {
    let mut shown = Vec::new();
    for style in [Style::Python, Style::TypeScript, Style::Line] {
        let mut last = String::new();
        for tokens in [200, 70, 50, 35, 25, 5] {
            let text = signature(&ToolText::new("search", LARGE), style, tokens);
            assert!(text.chars().count().div_ceil(CHARACTERS_PER_TOKEN) <= tokens.max(12), "{tokens}: {text}");
            if text != last {
                shown.push(format!("{tokens}: {text}"));
            }
            last = text;
        }
    }
    insta::assert_snapshot!(shown.join("\n"), @r#"
    200: search(filter: {"text": NotRequired[str], "range": NotRequired[{"from": NotRequired[str], "to": NotRequired[str]}], "labels": NotRequired[list[str]]}, mode: Literal["newest", "oldest", "most-commented", "least-commented", "recently-updated"], limit: int = 20, cursor: str | None = None)
    70: search(filter: {"text": NotRequired[str], "range": NotRequired[dict], "labels": NotRequired[list[str]]}, mode: Literal["newest", "oldest", "most-commented", "least-commented", "recently-updated"], limit: int = 20, cursor: str | None = None)
    50: search(filter: dict, mode: str, limit: int = 20, cursor: str | None = None)
    5: search(**kwargs)
    200: search(args: { filter: { text?: string; range?: { from?: string; to?: string }; labels?: string[] }; mode: "newest" | "oldest" | "most-commented" | "least-commented" | "recently-updated"; limit?: number /* = 20 */; cursor?: string }): Promise<unknown>
    50: search(args: { filter: object; mode: string; limit?: number /* = 20 */; cursor?: string }): Promise<unknown>
    25: search(args: object): Promise<unknown>
    200: search(filter: {text?: string, range?: {from?: string, to?: string}, labels?: string[]}, mode: "newest" | "oldest" | "most-commented" | "least-commented" | "recently-updated", limit?: integer = 20, cursor?: string)
    50: search(filter: {text?: string, range?: object, labels?: string[]}, mode: "newest" | "oldest" | "most-commented" | "least-commented" | "recently-updated", limit?: integer = 20, cursor?: string)
    35: search(filter: object, mode: string, limit?: integer = 20, cursor?: string)
    5: search(…)
    "#);
}

#[test]
fn documented_signatures_are_whole_statements() {
    let entry = ToolText {
        description: Some("Search issues.\n\nUses \"fuzzy\" matching; \\ and */ are \u{202e}literal."),
        ..ToolText::new("search", LARGE)
    };
    for style in [Style::Python, Style::TypeScript, Style::Line] {
        let text = documented(&entry, style, 400);
        match style {
            Style::Python => insta::assert_snapshot!(text, @r#"
            def search(filter: {"text": NotRequired[str], "range": NotRequired[{"from": NotRequired[str], "to": NotRequired[str]}], "labels": NotRequired[list[str]]}, mode: Literal["newest", "oldest", "most-commented", "least-commented", "recently-updated"], limit: int = 20, cursor: str | None = None):
                """Search issues. Uses \"fuzzy\" matching; \\ and */ are <U+202E>literal.

                filter: What to look for. All of it.
                mode: Order
                limit: 1 to 100
                cursor: Where to go on (at most 64 characters, matching ^[a-z]+$)
                """
            "#),
            Style::TypeScript => insta::assert_snapshot!(text, @r#"
            /**
             * Search issues. Uses "fuzzy" matching; \ and * / are <U+202E>literal.
             * @param args.filter What to look for. All of it.
             * @param args.mode Order
             * @param args.limit 1 to 100
             * @param args.cursor Where to go on (at most 64 characters, matching ^[a-z]+$)
             */
            declare function search(args: { filter: { text?: string; range?: { from?: string; to?: string }; labels?: string[] }; mode: "newest" | "oldest" | "most-commented" | "least-commented" | "recently-updated"; limit?: number /* = 20 */; cursor?: string }): Promise<unknown>;
            "#),
            Style::Line => insta::assert_snapshot!(text, @r#"
            search(filter: {text?: string, range?: {from?: string, to?: string}, labels?: string[]}, mode: "newest" | "oldest" | "most-commented" | "least-commented" | "recently-updated", limit?: integer = 20, cursor?: string)
              Search issues. Uses "fuzzy" matching; \ and */ are <U+202E>literal.
              filter: What to look for. All of it.
              mode: Order
              limit: 1 to 100
              cursor: Where to go on (at most 64 characters, matching ^[a-z]+$)
            "#),
        }
    }
    insta::assert_snapshot!(documented(&entry, Style::Python, 60), @r#"
    def search(filter: dict, mode: str, limit: int = 20, cursor: str | None = None):
        """Search issues. Uses \"fuzzy\" matching; \\ and */ are <U+202E>literal."""
    "#);
    insta::assert_snapshot!(documented(&entry, Style::Python, 20), @"def search(filter, mode, limit=None, cursor=None): ...");
    insta::assert_snapshot!(documented(&ToolText::new("ping", r#"{"type": "object"}"#), Style::Python, 50), @"def ping(): ...");
}

#[test]
fn a_bomb_has_a_signature_too() {
    let definitions: Vec<String> = (0..30)
        .map(|level| {
            let next = level + 1;
            format!(r##""l{level}": {{"type": "object", "properties": {{"a": {{"$ref": "#/$defs/l{next}"}}, "b": {{"$ref": "#/$defs/l{next}"}}}}}}"##)
        })
        .collect();
    let schema = format!(
        r##"{{"properties": {{"x": {{"$ref": "#/$defs/l0"}}}}, "$defs": {{{}, "l30": {{}}}}}}"##,
        definitions.join(",")
    );
    for style in [Style::Python, Style::TypeScript, Style::Line] {
        assert!(shown(&schema, style).len() < 2_100);
    }
}
