//! Whatever servers write is text: it adds no element, no attribute, no address; and it hides nothing.

use helve_model::text::is_invisible;

use crate::markup::{Element, elements};
use crate::samples::{Sample, fragments, screens};

const HOSTILE: &[&str] = &[
    "<script>alert(1)</script>",
    "</textarea></pre></title><script>alert(1)</script><textarea>",
    "\"><img src=x onerror=alert(1)>",
    "' hx-get='/servers' hx-trigger='load' x='",
    "\" hx-post=\"/tokens\" hx-trigger=\"load\" y=\"",
    "{{ 7*7 }} {% include \"x\" %}",
    "javascript:alert(1)",
    "&lt;b&gt; &#60;b&#62; &",
    "<!--",
    "]]>",
    "<svg onload=alert(1)>",
    "--><b>",
    "a\u{202e}b\u{2066}c\u{200b}d\u{e0041}\u{1b}[31m\u{0}\u{7f}\u{feff}",
    "../..",
    "?#/%2f",
    "\n\n\n",
    "`${x}`",
];

/// Name and attributes, without the values that a stranger's words are part of.
fn skeleton(html: &str) -> Vec<(String, Vec<String>)> {
    let kept = |element: &Element| element.name != "mark";
    elements(html)
        .iter()
        .filter(|element| kept(element))
        .map(|element| (element.name.clone(), element.attributes.keys().cloned().collect()))
        .collect()
}

fn all(say: &dyn Fn(&str) -> String) -> Vec<(String, String)> {
    let pages = screens(say).into_iter().map(|Sample { name, html }| (format!("page {name}"), html));
    pages.chain(fragments(say).into_iter().map(|(name, html)| (format!("live {name}"), html))).collect()
}

#[test]
fn hostile_text_adds_no_element_and_no_attribute() {
    // As long as a line, so that both choose the same controls.
    let plain = all(&|text| text.to_owned());
    for hostile in HOSTILE {
        let says =
            |text: &str| if text.contains('\n') { format!("{hostile}\n{text}") } else { format!("{hostile}{text}") };
        for ((name, benign), (_, html)) in plain.iter().zip(all(&says)) {
            // Long text gets an area of its own, and a difference more lines: elements of ours, which are looked at below.
            if !["page try", "page try-ask", "page conflict", "page server-tools", "page change"]
                .contains(&name.as_str())
            {
                assert_eq!(skeleton(benign), skeleton(&html), "{name} with {hostile:?}");
            }
            for element in elements(&html) {
                let known = [
                    "html", "head", "meta", "title", "link", "script", "body", "svg", "defs", "symbol", "circle",
                    "path", "rect", "use", "polygon", "polyline", "a", "div", "img", "nav", "b", "span", "footer",
                    "header", "form", "input", "button", "main", "p", "section", "h1", "h2", "h3", "details",
                    "summary", "dl", "dt", "dd", "pre", "table", "thead", "tbody", "tr", "th", "td", "small", "time",
                    "code", "label", "textarea", "select", "option", "fieldset", "legend", "ol", "ul", "li", "br",
                    "em", "mark", "progress", "meter", "output", "strong", "kbd",
                ];
                assert!(known.contains(&element.name.as_str()), "<{}> in {name} with {hostile:?}", element.name);
                for (attribute, value) in &element.attributes {
                    assert!(!attribute.starts_with("on") && attribute != "style", "{attribute} in {name}");
                    if ["href", "src", "action", "formaction", "hx-post", "hx-sse:connect"]
                        .contains(&attribute.as_str())
                    {
                        let is_ours = (value.starts_with('/') && !value.starts_with("//"))
                            || value.starts_with('#')
                            || value.starts_with("data:image/png;base64,");
                        assert!(is_ours, "{attribute}={value} in {name}");
                        let path = value.split(['?', '#']).next().unwrap_or_default();
                        assert!(!path.split('/').any(|part| part == ".."), "{attribute}={value} in {name}");
                    }
                }
            }
        }
    }
}

#[test]
fn no_hidden_character_stays_hidden() {
    let says = |text: &str| format!("{text}\u{202e}\u{200b}\u{1b}");
    for (name, html) in all(&says) {
        // What is edited comes back as it was: the values of controls are exact, everything else is visible.
        let mut shown = html.clone();
        for (opens, closes) in [("<textarea", "</textarea>"), ("value=\"", "\""), ("name=\"", "\"")] {
            while let Some(start) = shown.find(opens) {
                let from = start + opens.len();
                let end = from + shown[from..].find(closes).unwrap() + closes.len();
                shown.replace_range(start..end, "");
            }
        }
        let hidden = shown.chars().find(|character| is_invisible(*character) && !matches!(character, '\n' | '\t'));
        assert_eq!(hidden, None, "{name}");
        assert!(
            name == "page hub"
                || !html.contains("<main")
                || html.contains("\\u{202e}")
                || ["page add", "page overview-new", "page link"].contains(&name.as_str()),
            "{name}"
        );
    }
}

#[test]
fn ten_megabytes_are_cut() {
    let long = "x<".repeat(5 * 1024 * 1024);
    let many = helve_page::json_tree(&serde_json::json!(vec![&long[..100]; 10_000]).to_string());
    assert!(many.left_out > 9_000);
    let tree = helve_page::json_tree(&serde_json::json!({"a": long}).to_string());
    let view = helve_page::view::TryTool {
        outcome: helve_page::view::TryOutcome::Done(helve_page::view::CallResult {
            parts: vec![helve_page::view::ResultPart::Json(tree), helve_page::view::ResultPart::Json(many)],
            ..Default::default()
        }),
        ..Default::default()
    };
    let html = helve_page::page::try_tool(&helve_page::view::Frame::default(), &view);
    assert!(html.len() < 200_000, "{}", html.len());
}
