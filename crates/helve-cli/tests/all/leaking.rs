//! Secrets in every place where they can stand, and servers that repeat all of them everywhere they can: nothing that helve
//! says about itself shows one, and what a server says is without its own.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use helve_testkit::Scenario;
use helve_testkit::authority::{Authority, Switches, visit};
use insta::assert_snapshot;

use crate::support::{ALLOW, TestEnv};

/// How many secrets there are of each kind.
const EACH: usize = 200;
/// How many of them are in the vault, which is filled one by one.
const SEALED: usize = 20;

/// A server that repeats its variables, its arguments and the text it is given: in its tools, its results, its errors, its log
/// and on its stderr.
const LEAKY: &str = r#"
PATH=/usr/bin:/bin
all="$(env | grep -E '^LEAK_' | cut -d= -f2- | tr '\n' ' ')$*"
echo "stderr: $all" >&2
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}\n' "$id" ;;
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"leaky %s","version":"1"}}}\n' "$id" "$all" ;;
    *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"tell","description":"knows %s","inputSchema":{"type":"object"}},{"name":"fail","inputSchema":{"type":"object"}},{"name":"die","inputSchema":{"type":"object"}}]}}\n' "$id" "$all" ;;
    *'"name":"die"'*) echo "last words: $all" >&2; exit 3 ;;
    *'"name":"fail"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"failed with %s","data":{"all":"%s"}}}\n' "$id" "$all" "$all" ;;
    *'"tools/call"'*) printf '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"%s"}}\n' "$all"
      echo "noise $all"
      printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}],"structuredContent":{"all":"%s"}}}\n' "$id" "$all" "$all" ;;
    *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"result":{}}\n' "$id" ;;
  esac
done
"#;

fn secret(kind: &str, number: usize) -> String {
    format!("canary-{kind}-{number:04}-Zq7")
}

/// A machine with a thousand secrets, and what they are.
fn machine() -> (TestEnv, BTreeSet<String>) {
    let mut secrets = BTreeSet::new();
    let mut made = |kind: &str, number: usize| {
        let secret = secret(kind, number);
        secrets.insert(secret.clone());
        secret
    };
    let mut env = TestEnv::new();
    let [mut variables, mut dotenv, mut arguments, mut headers] = [const { String::new() }; 4];
    for number in 0..EACH {
        env = env.with_variable(&format!("GIVEN_{number}_TOKEN"), &made("variable", number));
        writeln!(variables, "LEAK_{number}_TOKEN = \"${{GIVEN_{number}_TOKEN}}\"").expect("written");
        writeln!(variables, "LEAK_{number}_KEY = \"{}\"", made("literal", number)).expect("written");
        writeln!(dotenv, "LEAK_{number}_PASSWORD={}", made("dotenv", number)).expect("written");
        write!(arguments, ", \"--api-key={}\"", made("argument", number)).expect("written");
        writeln!(headers, "X-{number}-Api-Key = \"{}\"", made("header", number)).expect("written");
    }
    for number in 0..SEALED {
        writeln!(variables, "LEAK_{number}_VAULT = \"${{secret:s{number}}}\"").expect("written");
    }
    env.write("home/printed", &made("command", 0));
    let printed = env.home().join("printed");
    writeln!(variables, "LEAK_COMMAND = \"${{cmd:/bin/cat {}}}\"", printed.display()).expect("written");
    env.write("home/leaky.sh", LEAKY).write("home/leaky.env", &dotenv);
    env.write(
        "home/.config/helve/helve.toml",
        &format!(
            "{ALLOW}\n[servers.leaky]\ncommand = \"/bin/sh\"\nargs = [\"{0}/leaky.sh\"{arguments}]\nenv_file = \"{0}/leaky.env\"\n\
             [servers.leaky.env]\n{variables}\n[servers.elsewhere]\nurl = \"http://127.0.0.1:9/mcp\"\n\
             [servers.elsewhere.headers]\nAuthorization = \"Bearer {1}\"\n{headers}",
            env.home().display(),
            made("bearer", 0),
        ),
    );
    for number in 0..SEALED {
        let told = env.run_with_input(&["secret", "set", &format!("s{number}"), "-"], &made("vault", number));
        assert!(told.starts_with("exit status 0"), "{told}");
    }
    (env, secrets)
}

fn assert_silent(env: &TestEnv, secrets: &BTreeSet<String>, arguments: &[&str]) -> String {
    let told = env.run(arguments);
    if let Some(secret) = secrets.iter().find(|secret| told.contains(secret.as_str())) {
        panic!("{arguments:?} says {secret}:\n{told}");
    }
    told
}

#[test]
fn a_thousand_secrets_are_said_nowhere() {
    let (env, secrets) = machine();
    assert!(secrets.len() > 1_000, "{}", secrets.len());
    // The log at its most talkative, in every one of them.
    let env = env.with_variable("HELVE_LOG", "trace");
    let told = assert_silent(&env, &secrets, &["call", "leaky/tell"]);
    assert!(told.starts_with("exit status 0") && told.contains("(hidden)"), "{told}");
    let result = assert_silent(&env, &secrets, &["call", "leaky/tell", "--raw"]);
    assert!(result.contains(r#""_meta":{"helve/redacted":true}"#), "{result}");
    for arguments in [
        &["call", "leaky/fail"][..],
        &["call", "leaky/die"],
        &["call", "leaky/die", "--json"],
        &["call", "leaky/tell", "--json"],
        &["call", "elsewhere/x"],
        &["tools"],
        &["tools", "--json"],
        &["tool", "leaky/tell"],
        &["servers"],
        &["servers", "--json"],
        &["get", "leaky"],
        &["get", "leaky", "--json"],
        &["get", "elsewhere", "--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["secret", "list", "--json"],
        &[],
    ] {
        assert_silent(&env, &secrets, arguments);
    }
    // Whatever helve keeps.
    for directory in ["home/.cache/helve", "home/.local/state/helve"] {
        for (path, text) in env.files_below(directory) {
            let found = secrets.iter().find(|secret| text.contains(secret.as_str()));
            assert_eq!(found, None, "in {path}");
        }
    }
}

#[test]
fn a_list_opens_no_vault_and_runs_no_program() {
    let env = TestEnv::new();
    let trace = env.home().join("ran");
    env.write(
        "home/.config/helve/helve.toml",
        &format!(
            "[servers.near]\ncommand = \"/bin/sh\"\nargs = [\"-c\", \"exit 1\"]\n[servers.near.env]\nA = \"${{cmd:/usr/bin/touch {}}}\"\nB = \"${{secret:none}}\"\n",
            trace.display()
        ),
    );
    for arguments in [&[][..], &["tools", "--cached"], &["get", "near"], &["rules"]] {
        env.run(arguments);
        assert!(!trace.exists(), "{arguments:?}");
    }
    let told = env.run(&["call", "near/x"]);
    assert!(trace.exists(), "a server that starts needs it: {told}");
}

#[test]
fn a_server_may_show_its_own_secrets_where_its_person_says_so() {
    let env = TestEnv::new();
    env.write("home/leaky.sh", LEAKY);
    let entry = |redact: &str| {
        format!(
            "{ALLOW}\n[servers.leaky]\ncommand = \"/bin/sh\"\nargs = [\"{}/leaky.sh\"]\n{redact}\n[servers.leaky.env]\nLEAK_TOKEN = \"mine-secret-123\"\nLEAK_OTHER = \"production\"\n",
            env.home().display()
        )
    };
    env.write("home/.config/helve/helve.toml", &entry(""));
    assert_snapshot!(env.stdout(&["call", "leaky/tell", "--raw"]), @r#"{"content":[{"type":"text","text":"(hidden) production "}],"structuredContent":{"all":"(hidden) production "},"_meta":{"helve/redacted":true}}"#);
    env.write("home/.config/helve/helve.toml", &entry("redact = false"));
    assert_snapshot!(env.stdout(&["call", "leaky/tell", "--raw"]), @r#"{"content":[{"type":"text","text":"mine-secret-123 production "}],"structuredContent":{"all":"mine-secret-123 production "}}"#);
    // Elsewhere it is hidden all the same.
    let told = env.run(&["call", "leaky/die"]);
    assert!(!told.contains("mine-secret-123"), "{told}");
}

#[test]
fn a_token_is_not_repeated_by_the_server_it_is_for() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let authority = runtime.block_on(Authority::start(&Scenario::modern(), Switches::default())).expect("started");
    let env = TestEnv::new();
    let url = authority.url();
    env.write("home/.config/helve/helve.toml", &format!("[servers.far]\nurl = \"{url}\"\n{ALLOW}"));
    let begun = env.json(&["login", "far", "--start", "--json"]);
    let page = begun["page"].as_str().unwrap_or_else(|| panic!("{begun}"));
    let visit = runtime.block_on(visit(page)).expect("a page");
    env.json(&["login", "far", "--paste", &visit.url, "--json"]);
    let tokens = authority.issued();
    assert!(!tokens.is_empty());
    let env = env.with_variable("HELVE_LOG", "trace");
    for token in &tokens {
        let told = env.run(&["call", "far/echo", &format!("text=my token is {token}"), "--raw"]);
        assert!(told.contains("my token is (hidden)"), "{told}");
        assert!(!told.contains(token.as_str()), "{told}");
    }
}
