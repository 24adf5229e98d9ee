//! Entries for forms and texts for pages: what is written comes out as it is, and no secret comes out at all.

use std::collections::HashMap;

use helve_config::Dialect;
use helve_config::edit::{Change, NewTransport, edit_text, mask_secrets, written_server};
use helve_model::{Layer, ServerKey};

use crate::dialects::EXAMPLES;
use crate::support::{place, read};

#[test]
fn an_entry_that_is_written_back_changes_nothing() {
    for (dialect, path, text) in EXAMPLES.iter().filter(|(dialect, ..)| *dialect != Dialect::ClaudeSettings) {
        let place = place(*dialect, path, Layer::User);
        for server in read(*dialect, path, text).servers {
            let Some(written) = written_server(&place, text, server.name.as_str()) else { continue };
            let after = edit_text(&place, text, server.name.as_str(), &Change::Update(written.server));
            let after = after.unwrap_or_else(|error| panic!("{dialect} {}: {error}", server.name));
            let others = |text: &str| read(*dialect, path, text).servers.len();
            assert_eq!(others(text), others(&after), "{dialect}");
            // A command with its arguments in one list becomes a command and its arguments.
            let is_list = |line: &&str| line.contains("command") && line.contains('[');
            // An empty list of arguments says nothing.
            let is_empty = |line: &&str| line.trim() == "args = []";
            let kept = |line: &&str| after.contains(line.trim_end_matches(',')) || is_list(line) || is_empty(line);
            let lost: Vec<&str> = text.lines().filter(|line| !kept(line)).collect();
            assert_eq!(lost, Vec::<&str>::new(), "{dialect} {}\n{after}", server.name);
        }
    }
}

#[test]
fn references_stay_references_and_other_keys_are_named() {
    let text = "[servers.a]\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\nenv = { T = \"${TOKEN}\" }\ntimeout_seconds = 5\nlazy = true\n";
    let place = place(Dialect::Helve, "helve.toml", Layer::User);
    let written = written_server(&place, text, "a").expect("an entry");
    assert_eq!(written.other_keys, ["lazy"]);
    let NewTransport::Program { environment, arguments, .. } = &written.server.transport else { panic!("a program") };
    assert_eq!(environment, &[("T".to_owned(), "${TOKEN}".to_owned())]);
    assert_eq!(arguments, &["-y", "x"]);
    let cleared = edit_text(&place, text, "a", &Change::Clear(vec![ServerKey::CallTimeout, ServerKey::Tools]));
    assert_eq!(cleared.expect("cleared"), text.replace("timeout_seconds = 5\n", ""));
}

#[test]
fn a_mask_covers_every_spelling_of_a_secret_and_gives_the_file_back() {
    let texts = [
        (
            Dialect::Helve,
            "helve.toml",
            "[servers.a]\nurl = \"https://x\"\nheaders = { Authorization = 'canary', B = \"ca\\u006eary\" }\n",
        ),
        (
            Dialect::Helve,
            "helve.toml",
            "[servers.a]\ncommand = \"x\"\n[servers.a.env]\nAPI_KEY = \"\"\"canary\"\"\"\nKEY_REF = \"${KEY}\"\n",
        ),
        (
            Dialect::McpJson,
            "m.json",
            "{\"mcpServers\": {\"a\": {\"command\": \"x\", \"env\": {\"MY_TOKEN\": \"canary\"}}}}",
        ),
        (
            Dialect::Goose,
            "config.yaml",
            "extensions:\n  a:\n    cmd: x\n    envs:\n      MY_SECRET: canary\n    type: stdio\n",
        ),
    ];
    for (dialect, path, text) in texts {
        let place = place(dialect, path, Layer::User);
        let mut known: HashMap<String, String> = HashMap::new();
        let masked = mask_secrets(&place, text, &mut |secret| {
            let mark = format!("•••{}", known.len());
            known.insert(mark.clone(), secret.to_owned());
            mark
        });
        let masked = masked.expect("masked");
        assert!(!masked.contains("canary") && !masked.contains("ca\\u006eary"), "{masked}");
        let back = known.iter().fold(masked, |text, (mark, secret)| text.replace(mark, secret));
        assert_eq!(back, text);
    }
    let broken = place(Dialect::Helve, "helve.toml", Layer::User);
    assert!(mask_secrets(&broken, "[servers", &mut |_| String::new()).is_err(), "nobody knows where its secrets are");
}
