//! Properties: what is written is read back, edits touch one server alone, and values never show.

use helve_config::edit::{Change, NewServer, NewTransport, edit_text};
use helve_config::{CommandLine, Dialect, Environment, FileContent, merge, read_text, trust::NothingTrusted};
use helve_model::{HttpFlavour, Layer, ServerSpec, TransportSpec};
use proptest::prelude::*;

use crate::dialects::EXAMPLES;
use crate::support::{PROJECT, place};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9_./@-]{1,12}",
        "[ -~]{1,16}",
        Just("true".to_owned()),
        Just("0x10".to_owned()),
        Just("~".to_owned()),
        Just("- x: y # z".to_owned()),
        Just("ünïcödé 🦀".to_owned()),
        Just("tab\tnew\nline \"quoted\" 'single' \\ back".to_owned()),
    ]
    // References are another property's business.
    .prop_map(|text| text.replace(['$', '{', '}'], "_"))
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z][a-z0-9_-]{0,10}", "[ -~]{1,10}"].prop_map(|name| format!("new {name}"))
}

fn new_server() -> impl Strategy<Value = NewServer> {
    let variable = "[A-Z][A-Z_]{0,6}";
    let pairs = |text| proptest::collection::btree_map(variable, text, 0..3).prop_map(|map| map.into_iter().collect());
    let program = ("[a-z][ -~]{0,8}", proptest::collection::vec(text(), 0..4), pairs(text().boxed())).prop_map(
        |(command, arguments, environment)| NewTransport::Program {
            command: command.replace(['$', '{', '}'], "_"),
            arguments,
            environment,
            working_directory: None,
        },
    );
    let address = ("[a-z]{1,8}", pairs("[a-z0-9]{1,8}".boxed())).prop_map(|(host, headers)| NewTransport::Address {
        url: format!("https://{host}.example.com/mcp"),
        headers,
        flavour: HttpFlavour::Auto,
    });
    (prop_oneof![program, address], any::<Option<bool>>()).prop_map(|(transport, enabled)| NewServer {
        transport,
        enabled,
        tools: None,
        disabled_tools: None,
        call_timeout: None,
        sandbox: None,
    })
}

fn read(dialect: Dialect, path: &str, text: &str) -> FileContent {
    read_text(&place(dialect, path, Layer::User), text, &Environment::new(PROJECT))
}

fn spec<'content>(content: &'content FileContent, name: &str) -> Option<&'content ServerSpec> {
    content.servers.iter().find(|server| server.name.as_str() == name)?.spec.as_ref()
}

fn is(spec: &ServerSpec, new: &NewServer) -> bool {
    match (&spec.transport, &new.transport) {
        (TransportSpec::Stdio(stdio), NewTransport::Program { command, arguments, environment, .. }) => {
            stdio.command.expose() == command
                && stdio.arguments.iter().map(|text| text.expose()).eq(arguments.iter().map(String::as_str))
                && environment.iter().all(|(key, value)| stdio.environment[key].expose() == value)
        }
        (TransportSpec::Http(http), NewTransport::Address { url, headers, .. }) => {
            http.url.expose() == url && headers.iter().all(|(key, value)| http.headers[key].expose() == value)
        }
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parse_edit_parse(which in 0..EXAMPLES.len(), name in name(), new in new_server(), other in new_server()) {
        let (dialect, path, text) = EXAMPLES[which];
        let file = place(dialect, path, Layer::User);
        let Ok(added) = edit_text(&file, text, &name, &Change::Add(new.clone())) else { return Ok(()) };
        let content = read(dialect, path, &added);
        prop_assert!(is(spec(&content, &name).expect("added"), &new), "{added}");

        if let Ok(changed) = edit_text(&file, &added, &name, &Change::Update(other.clone())) {
            prop_assert!(is(spec(&read(dialect, path, &changed), &name).expect("changed"), &other), "{changed}");
        }
        let off = edit_text(&file, &added, &name, &Change::Disable).expect("switched off");
        prop_assert!(!spec(&read(dialect, path, &off), &name).expect("off").enabled);
        let removed = edit_text(&file, &off, &name, &Change::Remove).expect("removed");
        prop_assert_eq!(removed.trim_end(), text.trim_end());
    }

    #[test]
    fn what_can_be_written_is_never_refused(which in 0..EXAMPLES.len(), name in "[a-z]{3,8}-new", arguments in proptest::collection::vec("[a-z ]{0,6}", 0..3)) {
        let (dialect, path, text) = EXAMPLES[which];
        prop_assume!(dialect != Dialect::ClaudeSettings);
        let new = NewServer::program("run", arguments);
        let added = edit_text(&place(dialect, path, Layer::User), text, &name, &Change::Add(new));
        prop_assert!(added.is_ok(), "{dialect}: {added:?}");
    }

    #[test]
    fn a_value_never_shows(secret in "hunter[a-z0-9]{6}", broken in any::<bool>(), piece in 0..4_usize) {
        let reference = ["${SECRET}", "x${SECRET}y", "${env:SECRET}", "${MISSING:-${SECRET}}"][piece];
        let text = format!(
            r#"
inputs = [{{ id = "asked" }}]
[servers.a]
command = "a"
args = ["{reference}", "${{input:asked}}", "${{NOPE}}"]
env = {{ TOKEN = "{reference}", PLAIN = "{reference}" }}
{}
[servers.b]
url = "https://b.example.com/{reference}"
headers = {{ Authorization = "Bearer {reference}" }}
bearer_token_env_var = "SECRET"
oauth = {{ client_secret = "{reference}" }}
[servers.c]
url = "{reference}"
[servers.d]
type = "{reference}"
url = "https://d.example.com"
"#,
            if broken { "timeout_seconds = \"x\"\ncomand = 1" } else { "" }
        );
        let environment = Environment::new(PROJECT).with_variables([("SECRET", secret.as_str())]).with_answer("helve.toml", "asked", secret.as_str());
        let content = read_text(&place(Dialect::Helve, "helve.toml", Layer::Project), &text, &environment);
        let mut shown = format!("{content:?} {environment:?}");
        let merged = merge(vec![content], CommandLine::default(), &NothingTrusted);
        shown.push_str(&format!("{merged:?}"));
        for diagnostic in &merged.diagnostics {
            shown.push_str(&format!("{diagnostic} {}", diagnostic.render()));
        }
        prop_assert!(!shown.contains(&secret), "{shown}");
        prop_assert!(merged.servers.iter().any(|server| server.variables.iter().any(|name| name == "SECRET")));
    }
}
