//! Owns the rule for what the documentation promises: each promise names the test that keeps it, and the test exists.
//!
//! A promise is a paragraph under "Promised" of docs/security.md that opens with bold words, or an item of a list there
//! that does. The test stands behind it, unseen by readers: `<!-- test: crates/helve/tests/all/calls.rs::a_name -->`.

use std::path::Path;

use anyhow::Result;

use super::Finding;

/// The page whose promises have to be kept.
const PAGE: &str = "docs/security.md";

/// The section of it that promises, up to the next of its kind.
const SECTION: &str = "## Promised";

const OPENS: &str = "<!-- test: ";
const CLOSES: &str = " -->";

/// How many lines above a function its `#[test]` is looked for.
const ATTRIBUTES: usize = 8;

/// Checks the promises of the documentation below `root`.
pub(super) fn check(root: &Path, findings: &mut Vec<Finding>) -> Result<()> {
    if !root.join(PAGE).exists() {
        return Ok(());
    }
    let text = fs_err::read_to_string(root.join(PAGE))?;
    let page = Path::new(PAGE);
    for promise in promises(&text) {
        if promise.tests.is_empty() {
            findings.push(
                Finding::new(
                    page,
                    format!("promises \"{}\" and names no test", promise.words),
                    format!("add {OPENS}path/of/the/file.rs::name_of_the_test{CLOSES} behind it"),
                )
                .at(promise.line),
            );
        }
    }
    for (line, test) in named_tests(&text) {
        if let Some(problem) = missing(root, test) {
            findings.push(
                Finding::new(page, format!("names the test {test}, {problem}"), "name a test that keeps the promise")
                    .at(line),
            );
        }
    }
    Ok(())
}

struct Promise<'text> {
    line: usize,
    words: &'text str,
    tests: Vec<&'text str>,
}

/// The promises of a page, each with the tests that stand before the next one.
fn promises(text: &str) -> Vec<Promise<'_>> {
    let mut found: Vec<Promise<'_>> = Vec::new();
    let (mut is_promised, mut is_block, mut was_blank) = (false, false, true);
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.starts_with("```") {
            is_block = !is_block;
        }
        if is_block {
            continue;
        }
        if line.starts_with("## ") {
            is_promised = line == SECTION;
        }
        let opening = trimmed.strip_prefix("- **").or_else(|| line.strip_prefix("**").filter(|_| was_blank));
        if is_promised && let Some((words, _)) = opening.and_then(|rest| rest.split_once("**")) {
            found.push(Promise { line: index + 1, words, tests: Vec::new() });
        } else if is_promised && let Some(promise) = found.last_mut() {
            promise.tests.extend(test_of(trimmed));
        }
        was_blank = trimmed.is_empty() || trimmed.starts_with("<!--");
    }
    found
}

fn named_tests(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter_map(|(index, line)| Some((index + 1, test_of(line.trim())?)))
}

fn test_of(line: &str) -> Option<&str> {
    line.strip_prefix(OPENS)?.strip_suffix(CLOSES)
}

/// Why there is no such test.
fn missing(root: &Path, test: &str) -> Option<&'static str> {
    let Some((file, name)) = test.rsplit_once("::") else { return Some("which is not written file::name") };
    let Ok(text) = fs_err::read_to_string(root.join(file)) else { return Some("whose file does not exist") };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let declares = |line: &str| {
        let rest =
            line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ").and_then(|rest| rest.strip_prefix(name));
        rest.is_some_and(|rest| rest.starts_with('('))
    };
    let Some(at) = lines.iter().position(|line| declares(line)) else { return Some("which is not in that file") };
    let above = lines.get(at.saturating_sub(ATTRIBUTES)..at).unwrap_or_default();
    let is_test = above.iter().any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"));
    (!is_test).then_some("which is not a test")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# Page

**Not yet.** Words.

## Promised

**One.** Words
and more **bold** ones.
<!-- test: tests/a.rs::one -->

**Two.** Words:

1. **not one** of them

```text
**Nor** this.
```

<!-- test: tests/a.rs::helper -->
<!-- test: tests/a.rs::gone -->
<!-- test: tests/b.rs::one -->
<!-- test: one -->

**Three.** Words.

### What servers ask

- **Four.** Words
  and more.
  <!-- test: tests/a.rs::four -->
- **Five.** Words.

## Not promised

- **Six.** Words.
";

    #[test]
    fn a_promise_names_a_test_that_exists() {
        let root = tempfile::tempdir().unwrap();
        for directory in ["docs", "tests"] {
            fs_err::create_dir(root.path().join(directory)).unwrap();
        }
        fs_err::write(root.path().join(PAGE), TEXT).unwrap();
        let tests = "#[test]\nfn one() {}\n\n\n\n\n\n\n\n\n\nfn helper() {}\n\n#[tokio::test]\nasync fn four() {}\n";
        fs_err::write(root.path().join("tests/a.rs"), tests).unwrap();
        let mut findings = Vec::new();
        check(root.path(), &mut findings).unwrap();
        let told: Vec<String> = findings.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(told.join("\n"), @r#"
        docs/security.md:24: promises "Three." and names no test
            help: add <!-- test: path/of/the/file.rs::name_of_the_test --> behind it
        docs/security.md:31: promises "Five." and names no test
            help: add <!-- test: path/of/the/file.rs::name_of_the_test --> behind it
        docs/security.md:19: names the test tests/a.rs::helper, which is not a test
            help: name a test that keeps the promise
        docs/security.md:20: names the test tests/a.rs::gone, which is not in that file
            help: name a test that keeps the promise
        docs/security.md:21: names the test tests/b.rs::one, whose file does not exist
            help: name a test that keeps the promise
        docs/security.md:22: names the test one, which is not written file::name
            help: name a test that keeps the promise
        "#);
    }
}
