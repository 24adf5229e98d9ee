//! S4, S28: what a project's files may hold of anything is bounded, and what is beyond it is said, never skipped.

use std::fmt::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;

use helve_config::{Code, Configuration, Dialect, Environment, LoadRequest, load, read_text};
use helve_model::Layer;

use crate::support::{place, problems, read};

fn project(plant: impl FnOnce(&Path)) -> Configuration {
    let directory = tempfile::tempdir().expect("a directory");
    let root = fs_err::canonicalize(directory.path()).expect("a real path");
    plant(&root);
    load(LoadRequest::new(&Environment::new(&root)))
}

fn one_file(name: &str, text: &str) -> Configuration {
    project(|root| fs_err::write(root.join(name), text).expect("written"))
}

fn has(configuration: &Configuration, code: Code) -> bool {
    configuration.diagnostics.iter().any(|diagnostic| diagnostic.code == code)
}

#[test]
fn s4_servers_beyond_the_number_are_told_with_their_place() {
    let mut text = String::from("{\"mcpServers\": {\n");
    for index in 0..700 {
        writeln!(text, "\"s{index}\": {{\"command\": \"x\"}},").expect("written");
    }
    text.push_str("}}");
    let configuration = one_file(".mcp.json", &text);
    assert_eq!(configuration.servers.len(), 500);
    let diagnostic = configuration.diagnostics.iter().find(|diagnostic| diagnostic.code == Code::TooMany);
    let shown = diagnostic.expect("a diagnostic").render();
    assert!(shown.contains(".mcp.json:502:1"), "{shown}");
    insta::assert_snapshot!(diagnostic.expect("a diagnostic").message, @"the files of this project configure more than 500 servers; the rest is not read");

    // In helve's own file nothing is started at all: an entry that narrows may be among the rest.
    let text: String = (0..700).map(|index| format!("[servers.s{index}]\ncommand = \"x\"\n")).collect();
    assert!(one_file("helve.toml", &text).broken_rules().is_some());
    // The person's own file may have as many as it likes.
    let own = read(Dialect::Helve, "helve.toml", &text);
    assert_eq!((own.servers.len(), problems(&own)), (700, String::new()));
}

#[test]
fn s4_rules_inputs_values_references_and_texts_are_counted() {
    let rules: String = (0..2_001).map(|_| "[[rules]]\ntool = \"a/b\"\naction = \"deny\"\n").collect();
    assert!(one_file("helve.toml", &rules).broken_rules().is_some());
    let inputs: String = (0..201).map(|index| format!("[[inputs]]\nid = \"i{index}\"\n")).collect();
    assert!(one_file("helve.toml", &inputs).broken_rules().is_some());

    let zeros = format!("{{\"mcpServers\": [{}0]}}", "0,".repeat(100_000));
    assert!(has(&one_file(".mcp.json", &zeros), Code::TooMany));
    let dotted = format!("{}a = 1", "a.".repeat(400_000));
    assert!(one_file("helve.toml", &dotted).broken_rules().is_some());

    let argument = "${NOPE:-x}".repeat(5_000);
    let text = format!("{{\"mcpServers\": {{\"a\": {{\"command\": \"x\", \"args\": [\"{argument}\"]}}}}}}");
    let configuration = one_file(".mcp.json", &text);
    assert!(has(&configuration, Code::TooMany));
    assert!(configuration.servers.iter().all(|server| !server.blockers.is_empty()));
}

#[test]
fn s4_texts_beyond_the_number_are_not_collected() {
    let headers: Vec<String> = (0..20_000).map(|index| format!("\"H{index}\":\"x\"")).collect();
    let entry = format!("{{\"url\":\"http://127.0.0.1\",\"headers\":{{{}}}}}", headers.join(","));
    let configuration = one_file(".mcp.json", &format!("{{\"mcpServers\":{{\"a\":{entry}}}}}"));
    assert!(has(&configuration, Code::TooMany));
    let server = configuration.server("a").expect("a server");
    assert!(!server.blockers.is_empty());
    let kept = server.spec.as_ref().map_or(0, |spec| match &spec.transport {
        helve_model::TransportSpec::Http(http) => http.headers.len(),
        _ => 0,
    });
    assert!(kept < 6_000, "{kept}");
}

#[test]
fn s4_files_that_are_referred_to_share_one_budget() {
    let configuration = project(|root| {
        fs_err::write(root.join("big"), vec![b'x'; 64 * 1024]).expect("written");
        let arguments = "\"${file:big}\",".repeat(200);
        let text = format!("{{\"mcpServers\": {{\"a\": {{\"command\": \"x\", \"args\": [{arguments}]}}}}}}");
        fs_err::write(root.join(".mcp.json"), text).expect("written");
    });
    let server = configuration.server("a").expect("a server");
    assert!(!server.blockers.is_empty(), "12 MiB of arguments are not read");
}

/// What a link leads to, or a file claims to be, does not matter: every load ends, and nothing of it can be trusted.
#[cfg(target_os = "linux")]
#[test]
fn s4_scripts_and_references_that_are_made_up_or_have_no_end_keep_the_server_off() {
    for target in ["/proc/kallsyms", "/proc/self/environ"] {
        let configuration = project(|root| {
            symlink(target, root.join("run.py")).expect("linked");
            let text = "{\"mcpServers\": {\"a\": {\"command\": \"python3\", \"args\": [\"run.py\"]}}}";
            fs_err::write(root.join(".mcp.json"), text).expect("written");
        });
        let server = configuration.server("a").expect("a server");
        assert!(!server.blockers.is_empty(), "{target}: {:?}", server.diagnostics);
        assert!(configuration.untrusted.is_empty(), "nobody is asked to trust what cannot be read");
    }
    for entry in ["\"args\": [\"${file:run.py}\"]", "\"envFile\": \"run.py\""] {
        let configuration = project(|root| {
            symlink("/proc/self/environ", root.join("run.py")).expect("linked");
            let text = format!("{{\"mcpServers\": {{\"a\": {{\"command\": \"x\", {entry}}}}}}}");
            fs_err::write(root.join(".mcp.json"), text).expect("written");
        });
        assert!(!configuration.server("a").expect("a server").blockers.is_empty(), "{entry}");
    }
}

#[test]
fn s4_a_program_beyond_what_is_hashed_cannot_be_trusted() {
    let configuration = project(|root| {
        let file = std::fs::File::create_new(root.join("run")).expect("made");
        file.set_len(1 << 40).expect("stretched");
        fs_err::write(root.join(".mcp.json"), "{\"mcpServers\": {\"a\": {\"command\": \"./run\"}}}").expect("written");
    });
    assert!(configuration.untrusted.is_empty());
    let server = configuration.server("a").expect("a server");
    assert!(!server.blockers.is_empty());
}

#[test]
fn s4_many_files_end_as_one_large_one_does() {
    let configuration = project(|root| {
        fs_err::create_dir(root.join(".git")).expect("made");
        for name in [".mcp.json", "mcp.json", "opencode.json", "mcp_servers.json", "kilo.json", ".github/mcp.json"] {
            fs_err::create_dir_all(root.join(name).parent().expect("a parent")).expect("made");
            fs_err::write(root.join(name), " ".repeat(1000 * 1024)).expect("written");
        }
    });
    let message = "is left out: the files of this project are too large together";
    assert!(configuration.diagnostics.iter().any(|diagnostic| diagnostic.message.ends_with(message)));
    let file = one_file(".mcp.json", &" ".repeat(1024 * 1024 + 1));
    assert!(file.diagnostics.iter().any(|diagnostic| diagnostic.message.ends_with("it is larger than 1 MiB")));
}

#[test]
fn s4_problems_beyond_some_are_one_and_as_bad_as_the_worst() {
    let keys: String = (0..1_000).map(|index| format!("unknown{index} = 1\n")).collect();
    let configuration = one_file("helve.toml", &keys);
    assert!(configuration.diagnostics.len() < 60, "{}", configuration.diagnostics.len());
    let many: String = (0..1_000).map(|index| format!("\"unknown{index}\": 1,")).collect();
    let text = format!("{{\"mcpServers\": {{\"a\": {{{many}\"command\": \"x\"}}}}}}");
    let configuration = one_file(".mcp.json", &text);
    assert!(configuration.diagnostics.len() < 30, "{}", configuration.diagnostics.len());
    assert!(!configuration.server("a").expect("a server").blockers.is_empty());
}

#[test]
fn s4_yaml_aliases_copy_no_more_than_some() {
    let long = "x".repeat(100_000);
    let aliases = "- *a\n".repeat(1_000);
    let text = format!("mcp: &a {long}\nmore:\n{aliases}");
    let configuration = project(|root| {
        fs_err::create_dir(root.join("config")).expect("made");
        fs_err::write(root.join("config/settings.yaml"), &text).expect("written");
    });
    assert!(has(&configuration, Code::Syntax));
}

#[test]
fn merge_keys_give_way_to_what_a_mapping_says_itself() {
    let text = "base: &base\n  command: old\n  args: [a]\nmcp:\n  servers:\n    - <<: *base\n      name: a\n      command: new\n";
    let content = read(Dialect::Strawberry, "settings.yaml", text);
    let server = format!("{:?}", content.servers);
    assert!(server.contains("new") && !server.contains("old"), "{server}");
}

/// S28: a name is printed in the middle of sentences; one that breaks lines could write hints of its own.
#[test]
fn s28_names_that_break_lines_are_refused() {
    for name in ["a\\nhint: run this", "a\\r", "a\\u0000", "a\\u001b[2J", "a\\u2028b", "a\\u0085b"] {
        let text =
            format!("{{\"mcpServers\": {{\"{name}\": {{\"command\": \"x\"}}, \"ok\": {{\"command\": \"x\"}}}}}}");
        let configuration = one_file(".mcp.json", &text);
        let names: Vec<&str> = configuration.servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, ["ok"], "{name}");
        assert!(has(&configuration, Code::NoName), "{name}");
    }
}

/// S28: a line break in a header begins another header.
#[test]
fn s28_headers_and_addresses_hold_no_line_breaks() {
    let environment = Environment::new("/p").with_variables([("EVIL", "a\r\nX-Admin: 1")]);
    let blockers = |entry: &str| {
        let text = format!("[servers.a]\nurl = \"https://a.example.com\"\n{entry}\n");
        let content = read_text(&place(Dialect::Helve, "helve.toml", Layer::User), &text, &environment);
        content.servers[0].blockers.len()
    };
    assert_eq!(blockers("headers = { X = \"a\\tb\" }"), 0);
    for entry in [
        "headers = { X = \"a\\r\\nY: b\" }",
        "headers = { X = \"a\\nb\" }",
        "headers = { X = \"a\\u0000b\" }",
        "headers = { X = \"${EVIL}\" }",
        "headers = { \"X: a\\r\\nY\" = \"b\" }",
        "headers = { \"\" = \"b\" }",
        "bearer_token_env_var = \"EVIL\"",
    ] {
        assert_eq!(blockers(entry), 1, "{entry}");
    }
    let content = read(Dialect::Helve, "helve.toml", "[servers.a]\nurl = \"https://a.example.com/\\r\\nx\"\n");
    assert_eq!(content.servers[0].blockers.len(), 1);
    let content = read(Dialect::Helve, "helve.toml", "[servers.a]\ncommand = \"a\"\nargs = [\"b\\u0000c\"]\n");
    assert_eq!(content.servers[0].blockers.len(), 1);
}

#[test]
fn columns_count_characters_on_a_line_of_any_length() {
    let long = format!("{{\"x\": \"{}\", \"mcpServers\": {{\"é\": {{\"command\": 1}}}}}}", "ü".repeat(20_000));
    let far = read(Dialect::McpJson, ".mcp.json", &long);
    let shown = problems(&far);
    let column = long.chars().take_while(|character| *character != '1').count() + 1;
    assert!(shown.contains(&format!(":1:{column}\n")), "{shown}");
    let caret = shown.lines().nth(4).and_then(|line| line.chars().position(|character| character == '^'));
    let under = shown.lines().nth(3).and_then(|line| line.chars().nth(caret.expect("a caret")));
    assert_eq!(under, Some('1'), "{shown}");
}
