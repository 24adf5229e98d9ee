//! What is not ours is as it was published, and templates hold nothing that a strict policy would refuse.

use sha2::{Digest as _, Sha256};

/// From the package htmx.org 4.0.1: `dist/htmx.min.js`, `dist/ext/hx-sse.min.js`.
const VENDORED: [(&str, &[u8], &str); 2] = [
    (
        "htmx.min.js",
        include_bytes!("../../assets/htmx.min.js"),
        "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130",
    ),
    (
        "hx-sse.min.js",
        include_bytes!("../../assets/hx-sse.min.js"),
        "18ef2761356ec1fe0bb6d92612315b37517a7c1e9856b661c5ae81fef239d103",
    ),
];

/// What templates may write as it is: HTML that `draw` and `escape` made.
const MAY_BE_SAFE: [&str; 9] =
    ["marked", "exactly", "tree", "spark", "times", "strip", "bars", "fields", "crate::draw::image(media_type, data)"];

#[test]
fn vendored_files_are_as_published() {
    for (name, bytes, published) in VENDORED {
        let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash, published, "{name}");
    }
}

#[test]
fn templates_hold_no_script_and_no_style() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    for entry in fs_err::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let text = fs_err::read_to_string(&path).unwrap();
        for refused in [
            "hx-on",
            "hx-vals",
            "js:",
            "style=",
            "<style",
            "onclick",
            "onload",
            "hx-trigger=\"load",
            "http://",
            "https://",
        ] {
            assert!(!text.contains(refused), "{refused} in {}", path.display());
        }
        for (place, _) in text.match_indices("<script") {
            assert!(text[place..].starts_with("<script defer src=\"{{ paths."), "a script in {}", path.display());
        }
        for (place, _) in text.match_indices("|safe") {
            let before = &text[..place];
            let expression = &before[before.rfind("{{").unwrap() + 2..];
            let last = expression.rsplit('|').next().unwrap().trim();
            assert!(MAY_BE_SAFE.contains(&last), "{expression}|safe in {}", path.display());
        }
        for (place, _) in text.match_indices("<form") {
            let form = &text[place..text[place..].find("</form>").map_or(text.len(), |end| place + end)];
            let is_guarded =
                form.contains("method=\"get\"") || form.contains("p::csrf(frame)") || form.contains("name=\"csrf\"");
            assert!(is_guarded, "a form without a token in {}: {:.120}", path.display(), form);
        }
    }
}
