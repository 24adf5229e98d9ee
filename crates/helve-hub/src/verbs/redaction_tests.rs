//! Values that may be secret are hidden in every form; the rest can still be read.

use super::*;

const CANARY: &str = "CANARY";

#[test]
fn values_that_may_be_secret_are_hidden_in_every_form() {
    for text in [
        format!("[servers.a.env]\nX = \"{CANARY}\"\ncommand = \"{CANARY}\"\n"),
        format!("[servers.a]\ncommand = \"npx\"\nenv = {{ X = \"{CANARY}\", name = \"{CANARY}\" }}\n"),
        format!("{{\"mcpServers\": {{\"a\": {{\"env\": {{\n\"X\": \"{CANARY}\",\n\"type\": \"{CANARY}\"\n}}}}}}}}"),
        format!("{{\"a\": {{\"headers\": {{\"X\": \"a\\\"{CANARY}\"}}}}}}"),
        format!("api_key = '{CANARY}'\nbearer = {CANARY}\nunknown = \"{CANARY}\""),
        format!("args = [\"--token\", \"{CANARY}\", \"X={CANARY}\"]"),
        format!("args = [\n  \"--password\",\n  \"{CANARY}\",\n]"),
        format!("url = \"https://x.example/mcp?key={CANARY}\"\nurl = \"https://me:{CANARY}@x.example\""),
        format!("env:\n  X: {CANARY}\n  name: {CANARY}\n"),
        format!("a:\n  headers:\n    type: {CANARY} and more\n  token: '{CANARY}'\n"),
        format!("command = \"{CANARY}0123456789abcdefghij\""),
        format!("# token = {CANARY}"),
    ] {
        let hidden = redacted(&text);
        assert!(!hidden.contains(CANARY), "{text}\n->\n{hidden}");
        assert_eq!(hidden.lines().count(), text.lines().count());
    }
}

#[test]
fn what_is_no_secret_can_be_read() {
    let kept = "# mine\n[servers.a]\ncommand = \"npx\"\nargs = [\"-y\", \"server\"]\nenabled = false\n\
                env = { TOKEN = \"${TOKEN}\" }\n\n[[rules]]\ntool = \"a/*\"\naction = \"allow\"\n";
    assert_eq!(redacted(kept), kept);
    let kept = "{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"npx\", \"args\": [\"-y\"], \"env\": {} },\n    \"b\": { \"url\": \"https://x.example/mcp\" }\n  }\n}\n";
    assert_eq!(redacted(kept), kept);
}
