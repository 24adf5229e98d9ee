//! Tests of URI templates: the RFC's own examples, the way back, and hostile templates.

use proptest::prelude::*;

use super::*;

/// The variables of section 3.2 of the RFC. `undef` and `empty_keys` have no value.
fn values() -> TemplateValues {
    let list = |items: &[&str]| TemplateValue::List(items.iter().map(|item| (*item).to_owned()).collect());
    let map = |members: &[(&str, &str)]| {
        TemplateValue::Map(members.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
    };
    let text = TemplateValue::from;
    TemplateValues::from_iter(
        [
            ("count", list(&["one", "two", "three"])),
            ("dom", list(&["example", "com"])),
            ("dub", text("me/too")),
            ("hello", text("Hello World!")),
            ("half", text("50%")),
            ("var", text("value")),
            ("who", text("fred")),
            ("base", text("http://example.com/home/")),
            ("path", text("/foo/bar")),
            ("list", list(&["red", "green", "blue"])),
            ("keys", map(&[("semi", ";"), ("dot", "."), ("comma", ",")])),
            ("v", text("6")),
            ("x", text("1024")),
            ("y", text("768")),
            ("empty", text("")),
            ("empty_keys", map(&[])),
            ("empty_list", list(&[])),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    )
}

/// The tables of sections 1.2 and 3.2.1 to 3.2.9, as (template, URI).
const RFC: &[(&str, &str)] = &[
    // 1.2, levels 1 to 4; 2.4.1 and 2.4.2
    ("{var}", "value"),
    ("{hello}", "Hello%20World%21"),
    ("{+var}", "value"),
    ("{+hello}", "Hello%20World!"),
    ("{+path}/here", "/foo/bar/here"),
    ("here?ref={+path}", "here?ref=/foo/bar"),
    ("X{#var}", "X#value"),
    ("X{#hello}", "X#Hello%20World!"),
    ("map?{x,y}", "map?1024,768"),
    ("{x,hello,y}", "1024,Hello%20World%21,768"),
    ("{+x,hello,y}", "1024,Hello%20World!,768"),
    ("{+path,x}/here", "/foo/bar,1024/here"),
    ("{#x,hello,y}", "#1024,Hello%20World!,768"),
    ("{#path,x}/here", "#/foo/bar,1024/here"),
    ("X{.var}", "X.value"),
    ("X{.x,y}", "X.1024.768"),
    ("{/var}", "/value"),
    ("{/var,x}/here", "/value/1024/here"),
    ("{;x,y}", ";x=1024;y=768"),
    ("{;x,y,empty}", ";x=1024;y=768;empty"),
    ("{?x,y}", "?x=1024&y=768"),
    ("{?x,y,empty}", "?x=1024&y=768&empty="),
    ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
    ("{&x,y,empty}", "&x=1024&y=768&empty="),
    ("{var:3}", "val"),
    ("{var:30}", "value"),
    ("{list}", "red,green,blue"),
    ("{list*}", "red,green,blue"),
    ("{keys}", "semi,%3B,dot,.,comma,%2C"),
    ("{keys*}", "semi=%3B,dot=.,comma=%2C"),
    ("{+path:6}/here", "/foo/b/here"),
    ("{+list}", "red,green,blue"),
    ("{+list*}", "red,green,blue"),
    ("{+keys}", "semi,;,dot,.,comma,,"),
    ("{+keys*}", "semi=;,dot=.,comma=,"),
    ("{#path:6}/here", "#/foo/b/here"),
    ("{#list}", "#red,green,blue"),
    ("{#list*}", "#red,green,blue"),
    ("{#keys}", "#semi,;,dot,.,comma,,"),
    ("{#keys*}", "#semi=;,dot=.,comma=,"),
    ("X{.var:3}", "X.val"),
    ("X{.list}", "X.red,green,blue"),
    ("X{.list*}", "X.red.green.blue"),
    ("X{.keys}", "X.semi,%3B,dot,.,comma,%2C"),
    ("X{.keys*}", "X.semi=%3B.dot=..comma=%2C"),
    ("{/var:1,var}", "/v/value"),
    ("{/list}", "/red,green,blue"),
    ("{/list*}", "/red/green/blue"),
    ("{/list*,path:4}", "/red/green/blue/%2Ffoo"),
    ("{/keys}", "/semi,%3B,dot,.,comma,%2C"),
    ("{/keys*}", "/semi=%3B/dot=./comma=%2C"),
    ("{;hello:5}", ";hello=Hello"),
    ("{;list}", ";list=red,green,blue"),
    ("{;list*}", ";list=red;list=green;list=blue"),
    ("{;keys}", ";keys=semi,%3B,dot,.,comma,%2C"),
    ("{;keys*}", ";semi=%3B;dot=.;comma=%2C"),
    ("{?var:3}", "?var=val"),
    ("{?list}", "?list=red,green,blue"),
    ("{?list*}", "?list=red&list=green&list=blue"),
    ("{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"),
    ("{?keys*}", "?semi=%3B&dot=.&comma=%2C"),
    ("{&var:3}", "&var=val"),
    ("{&list}", "&list=red,green,blue"),
    ("{&list*}", "&list=red&list=green&list=blue"),
    ("{&keys}", "&keys=semi,%3B,dot,.,comma,%2C"),
    ("{&keys*}", "&semi=%3B&dot=.&comma=%2C"),
    // 3.2.1
    ("{count}", "one,two,three"),
    ("{count*}", "one,two,three"),
    ("{/count}", "/one,two,three"),
    ("{/count*}", "/one/two/three"),
    ("{;count}", ";count=one,two,three"),
    ("{;count*}", ";count=one;count=two;count=three"),
    ("{?count}", "?count=one,two,three"),
    ("{?count*}", "?count=one&count=two&count=three"),
    ("{&count*}", "&count=one&count=two&count=three"),
    // 3.2.2
    ("{half}", "50%25"),
    ("O{empty}X", "OX"),
    ("O{undef}X", "OX"),
    ("{x,y}", "1024,768"),
    ("?{x,empty}", "?1024,"),
    ("?{x,undef}", "?1024"),
    ("?{undef,y}", "?768"),
    // 3.2.3
    ("{+half}", "50%25"),
    ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
    ("{+base}index", "http://example.com/home/index"),
    ("O{+empty}X", "OX"),
    ("O{+undef}X", "OX"),
    ("up{+path}{var}/here", "up/foo/barvalue/here"),
    // 3.2.4
    ("{#half}", "#50%25"),
    ("foo{#empty}", "foo#"),
    ("foo{#undef}", "foo"),
    // 3.2.5
    ("{.who}", ".fred"),
    ("{.who,who}", ".fred.fred"),
    ("{.half,who}", ".50%25.fred"),
    ("www{.dom*}", "www.example.com"),
    ("X{.empty}", "X."),
    ("X{.undef}", "X"),
    ("X{.empty_keys}", "X"),
    ("X{.empty_keys*}", "X"),
    ("X{.empty_list}", "X"),
    // 3.2.6
    ("{/who}", "/fred"),
    ("{/who,who}", "/fred/fred"),
    ("{/half,who}", "/50%25/fred"),
    ("{/who,dub}", "/fred/me%2Ftoo"),
    ("{/var,empty}", "/value/"),
    ("{/var,undef}", "/value"),
    // 3.2.7
    ("{;who}", ";who=fred"),
    ("{;half}", ";half=50%25"),
    ("{;empty}", ";empty"),
    ("{;v,empty,who}", ";v=6;empty;who=fred"),
    ("{;v,bar,who}", ";v=6;who=fred"),
    ("{;x,y,undef}", ";x=1024;y=768"),
    // 3.2.8
    ("{?who}", "?who=fred"),
    ("{?half}", "?half=50%25"),
    ("{?x,y,undef}", "?x=1024&y=768"),
    // 3.2.9
    ("{&who}", "&who=fred"),
    ("{&half}", "&half=50%25"),
    ("{&x,y,undef}", "&x=1024&y=768"),
];

#[test]
fn the_examples_of_the_rfc() {
    for (template, uri) in RFC {
        let parsed = UriTemplate::parse(template).unwrap();
        assert_eq!(parsed.expand(&values()).as_deref(), Ok(*uri), "{template}");
        assert_eq!(parsed.to_string(), *template);
    }
}

#[test]
fn a_uri_that_is_matched_is_made_again() {
    let mut matched = 0;
    for (template, uri) in RFC {
        let parsed = UriTemplate::parse(template).unwrap();
        if let Some(found) = parsed.matches(uri) {
            let again = parsed.expand(&found).unwrap();
            // The signs of a map are taken for a part of its texts, and encoded with them.
            if template.contains("keys*") {
                assert_eq!(parsed.matches(&again), Some(found), "{template}");
            } else {
                assert_eq!(again, *uri, "{template} {found:?}");
            }
            matched += 1;
        }
    }
    assert!(matched > 50, "only {matched} of the examples are taken back");
}

#[test]
fn values_are_found_in_uris() {
    let found = |template: &str, uri: &str| {
        let values = UriTemplate::parse(template).unwrap().matches(uri)?;
        let shown = |value: TemplateValue| match value {
            TemplateValue::Text(text) => text,
            other => format!("{other:?}"),
        };
        Some(values.into_iter().map(|(name, value)| format!("{name}={}", shown(value))).collect::<Vec<_>>().join(" "))
    };
    for (template, uri, expected) in [
        ("file:///{name}", "file:///notes.txt", Some("name=notes.txt")),
        ("file:///{name}", "file:///a/b", None),
        ("file:///{+path}", "file:///a/b", Some("path=a/b")),
        ("file://{/path*}", "file:///a/b%20c", Some(r#"path=List(["a", "b c"])"#)),
        ("db://{table}/rows/{id}", "db://people/rows/7", Some("id=7 table=people")),
        ("db://{table}/rows/{id}", "db://people/rows/", None),
        ("db://{table}/rows/{id}", "DB://people/rows/7", None),
        ("x://{a}-{b}", "x://1-2-3", Some("a=1-2 b=3")),
        ("x://{a}/{a}", "x://1/1", Some("a=1")),
        ("x://{a}/{a}", "x://1/2", None),
        ("x://{+a}/end", "x://1/end/end", Some("a=1/end")),
        ("x://{user-id}", "x://ada", Some("user-id=ada")),
        ("x://{a}", "x://caf%C3%A9", Some("a=café")),
        ("x://{a}", "x://café", Some("a=café")),
        ("x://{a}", "x://%C3", None),
        ("x://{a}", "x://%zz", None),
        ("s://q{?text,page}", "s://q?text=a%26b&page=2", Some("page=2 text=a&b")),
        ("s://q{?text,page}", "s://q?page=2", Some("page=2")),
        ("s://q{?text,page}", "s://q", Some("")),
        ("s://q{?text,page}", "s://q?", None),
        ("s://q{?text,page}", "s://q?page=2&text=x", None),
        ("s://q?a=1{&b}", "s://q?a=1&b=", Some("b=")),
        ("s://q{;a,b}", "s://q;a;b=2", Some("a= b=2")),
        ("s://q{#f}", "s://q#a/b", Some("f=a/b")),
        ("s://q{#f}", "s://q", Some("")),
        ("{a,b,c}", "1,2", Some("a=1 b=2")),
        ("{a:3}", "abc", None),
        ("{?a*}", "?x=1", None),
        ("plain", "plain", Some("")),
        ("plain", "plain2", None),
        ("", "", Some("")),
        ("{a}", "a b", None),
        ("{+a}", "a\nb", None),
    ] {
        assert_eq!(found(template, uri).as_deref(), expected, "{template} {uri}");
    }
}

#[test]
fn the_variables_in_order() {
    let template = UriTemplate::parse("x://{b}/{a,b}{?q,a}{&z*}{#f:3}").unwrap();
    assert_eq!(template.variables(), ["b", "a", "q", "z", "f"]);
    assert_eq!(template.required_variables(), ["b", "a", "f"]);
}

#[test]
fn a_person_fills_a_template() {
    let template = UriTemplate::parse("repo://{owner}/{name}{?branch}").unwrap();
    let fill = |pairs: &[(&str, &str)]| {
        let values = pairs.iter().map(|(name, value)| ((*name).to_owned(), TemplateValue::from(*value))).collect();
        template.fill(&values).unwrap_or_else(|problem| problem.to_string())
    };
    insta::assert_snapshot!(fill(&[("owner", "ada"), ("name", "a b")]), @"repo://ada/a%20b");
    insta::assert_snapshot!(fill(&[("owner", "ada"), ("name", "x"), ("branch", "f/1")]), @"repo://ada/x?branch=f%2F1");
    insta::assert_snapshot!(fill(&[("owner", "ada")]), @"the URI template needs a value for the variable `name`");
    insta::assert_snapshot!(fill(&[]), @"the URI template needs a value for the variables `owner`, `name`");
    insta::assert_snapshot!(fill(&[("ownr", "x"), ("colour", "y")]), @"the URI template has no variables `colour`, `ownr` (did you mean `owner`?)");
    let prefix = UriTemplate::parse("{list:3}").unwrap();
    insta::assert_snapshot!(prefix.expand(&values()).unwrap_err(), @"the URI template takes the first characters of `list`, which must be one text");
    let long =
        TemplateValues::from([("owner".to_owned(), "x".repeat(MAX_URI_BYTES).into()), ("name".to_owned(), "y".into())]);
    insta::assert_snapshot!(template.fill(&long).unwrap_err(), @"the URI would have more than 65536 bytes");
}

#[test]
fn texts_that_are_no_templates() {
    let many = "{a}".repeat(MAX_TEMPLATE_VARIABLES + 1);
    let long = "x".repeat(MAX_TEMPLATE_BYTES + 1);
    let texts = [
        "{",
        "}",
        "a{b",
        "a}b",
        "{a{b}}",
        "{}",
        "{+}",
        "{=a}",
        "{,a}",
        "{!a}",
        "{@a}",
        "{|a}",
        "{++a}",
        "{a,}",
        "{a b}",
        "{a*b}",
        "{a:}",
        "{a:0}",
        "{a:01}",
        "{a:10000}",
        "{a:-1}",
        "{a:3*}",
        "{a..b}",
        "{.}",
        "{..a}",
        "{%zz}",
        "{é}",
        "x\u{7}",
        "\u{1b}[2J{a}",
        &many,
        &long,
    ];
    let said: Vec<String> = texts.iter().map(|text| UriTemplate::parse(text).unwrap_err().to_string()).collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    the brace at byte 0 of the URI template has no other half
    the brace at byte 0 of the URI template has no other half
    the brace at byte 1 of the URI template has no other half
    the brace at byte 1 of the URI template has no other half
    the brace at byte 0 of the URI template has no other half
    "" is not a variable of a URI template
    "" is not a variable of a URI template
    the operator '=' of the URI template is kept for the future
    the operator ',' of the URI template is kept for the future
    the operator '!' of the URI template is kept for the future
    the operator '@' of the URI template is kept for the future
    the operator '|' of the URI template is kept for the future
    "+a" is not a variable of a URI template
    "" is not a variable of a URI template
    "a b" is not a variable of a URI template
    "a*b" is not a variable of a URI template
    "a:" is not a variable of a URI template
    "a:0" is not a variable of a URI template
    "a:01" is not a variable of a URI template
    "a:10000" is not a variable of a URI template
    "a:-1" is not a variable of a URI template
    "a:3*" is not a variable of a URI template
    "a..b" is not a variable of a URI template
    "" is not a variable of a URI template
    ".a" is not a variable of a URI template
    "%zz" is not a variable of a URI template
    "é" is not a variable of a URI template
    a control character at byte 1 of the URI template
    a control character at byte 0 of the URI template
    a URI template of more than 100 variables
    a URI template of 8193 bytes, the limit is 8192
    "#);
}

#[test]
fn literals_are_made_fit_for_a_uri() {
    let expand = |text: &str| UriTemplate::parse(text).unwrap().expand(&values()).unwrap();
    assert_eq!(expand("a b/é/%20/%/{var}\"<>"), "a%20b/%C3%A9/%20/%25/value%22%3C%3E");
}

#[test]
fn prefixes_count_characters() {
    let template = UriTemplate::parse("{s:2}").unwrap();
    let values = TemplateValues::from([("s".to_owned(), "é€x".into())]);
    assert_eq!(template.expand(&values).as_deref(), Ok("%C3%A9%E2%82%AC"));
}

#[test]
fn hostile_templates_are_matched_in_bounded_steps() {
    // Every `{+x}` takes anything: tried naively, the ways to share the text are too many to count.
    let names: Vec<String> = (0..MAX_TEMPLATE_VARIABLES).map(|index| format!("{{+v{index}}}")).collect();
    let template = UriTemplate::parse(&format!("{}!", names.join("a"))).unwrap();
    assert_eq!(template.matches(&"a".repeat(5_000)), None);
    assert_eq!(template.matches(&"a".repeat(MAX_URI_BYTES)), None, "beyond the limits is not a match");
}

proptest! {
    #[test]
    fn any_text_is_a_template_or_a_problem(text in "[{}a-z+#./;?&:*,0-9%\\PC]{0,60}", uri in "[a-z+#./;?&=,0-9%\\PC]{0,60}") {
        match UriTemplate::parse(&text) {
            Err(problem) => prop_assert!(problem.to_string().chars().all(crate::text::is_visible)),
            Ok(template) => {
                prop_assert_eq!(template.to_string(), text);
                let made = template.expand(&values()).unwrap_or_default();
                prop_assert!(made.is_ascii());
                if let Some(found) = template.matches(&uri) {
                    let again = template.expand(&found).unwrap();
                    prop_assert!(template.matches(&again).is_some(), "{} {:?} {}", uri, found, again);
                }
            }
        }
    }

    /// What a template of common shape makes of any texts, it takes back.
    #[test]
    fn made_uris_are_taken_back(a in "\\PC{1,12}", b in "\\PC{1,12}", q in "\\PC{0,12}") {
        let template = UriTemplate::parse("x://{a}/m{/b}{?q}").unwrap();
        let values = TemplateValues::from([("a".to_owned(), a.into()), ("b".to_owned(), b.into()), ("q".to_owned(), q.into())]);
        let uri = template.fill(&values).unwrap();
        prop_assert_eq!(template.matches(&uri), Some(values));
    }
}
