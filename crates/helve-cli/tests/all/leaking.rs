//! Secrets in every place where they can stand, and servers that repeat all of them everywhere they can: nothing that helve
//! says about itself shows one, and what a server says is without its own.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use helve_testkit::authority::{Authority, Switches, visit};
use helve_testkit::secret_service::{FakeKeyring, KeyringKind};
use helve_testkit::{Scenario, descendants_of};
use insta::assert_snapshot;

use crate::ruling::Served;
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
    // What every user of the machine can read of helve's own processes; a server's own arguments are its own.
    let mut agent = Served::by(&env, &[], "{}");
    agent.says(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    agent.hears(|line| line["id"] == 1);
    let mut processes = descendants_of(agent.id());
    processes.push(agent.id());
    let own = fs_err::canonicalize(env!("CARGO_BIN_EXE_helve")).expect("the program");
    let mut looked_at = 0;
    for process in processes {
        let line = fs_err::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        let is_own = fs_err::read_link(format!("/proc/{process}/exe")).is_ok_and(|program| program == own);
        if is_own {
            looked_at += 1;
            assert_eq!(secrets.iter().find(|secret| line.contains(secret.as_str())), None, "{line}");
        }
    }
    let own_processes = if cfg!(warden) { 2 } else { 1 };
    assert!(looked_at >= own_processes, "the gateway and the warden of its server: {looked_at}");
    agent.goes();
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
    let keyring = FakeKeyring::start(&env.home(), KeyringKind::Working).expect("a keyring");
    keyring.keep(&[("service", "mail"), ("username", "me")], "canary-of-the-keyring");
    let env = env.with_variable("DBUS_SESSION_BUS_ADDRESS", &keyring.address());
    let trace = env.home().join("ran");
    // Its key is in the keyring from now on.
    let told = env.run_with_input(&["secret", "set", "kept", "-"], "canary-of-the-vault");
    assert!(told.starts_with("exit status 0") && !told.contains("vault.key"), "{told}");
    let asked = keyring.connections();
    let sh = "command = \"/bin/sh\"\nargs = [\"-c\", \"echo $A >&2; exit 1\"]";
    env.write(
        "home/.config/helve/helve.toml",
        &format!(
            "[servers.near]\n{sh}\nenv = {{ A = \"${{cmd:/usr/bin/touch {}}}\" }}\n\
             [servers.other]\n{sh}\nenv = {{ A = \"${{keyring:mail/me}}\" }}\n\
             [servers.sealed]\n{sh}\nenv = {{ A = \"${{secret:kept}}\" }}\n[servers.plain]\n{sh}\n",
            trace.display()
        ),
    );
    for arguments in [
        &[][..],
        &["tools", "--cached"],
        &["get", "near"],
        &["get", "other"],
        &["rules"],
        &["secret", "list"],
        &["doctor"],
    ] {
        env.run(arguments);
        assert!(!trace.exists(), "{arguments:?}");
        assert_eq!(keyring.connections(), asked, "{arguments:?}");
    }
    let told = env.run(&["doctor"]);
    let open = told.lines().filter(|line| line.contains("not started: for its secrets that would"));
    assert_eq!(open.clone().filter(|line| line.ends_with("run a command of yours")).count(), 1, "{told}");
    assert_eq!(open.filter(|line| line.ends_with("ask the system's keyring")).count(), 2, "{told}");
    assert!(told.contains("`helve doctor --secrets` starts it too"), "{told}");
    assert!(told.contains("ended by itself") || told.contains("exit"), "a server without secrets is started: {told}");

    let told = env.run(&["doctor", "--secrets"]);
    assert!(trace.exists() && keyring.connections() > asked, "who asks for it gets it: {told}");
    assert!(told.contains("(hidden)") && !told.contains("canary"), "{told}");
}

#[test]
fn a_keyring_that_hangs_costs_two_seconds_once_and_the_key_is_a_file() {
    let env = TestEnv::new();
    let keyring = FakeKeyring::start(&env.home(), KeyringKind::SilentKeyring).expect("a keyring");
    let env = env.with_variable("DBUS_SESSION_BUS_ADDRESS", &keyring.address());
    let told = env.run_with_input(&["secret", "set", "kept", "-"], "canary-of-the-vault");
    assert_snapshot!(told, @"
    exit status 0
    --- stderr
    warning: it is sealed with the key in ~/.config/helve/vault.key (the system's keyring did not answer within 2 s): whoever can read your files can open it
    hint: HELVE_VAULT_KEY keeps the key elsewhere: set it before anything is kept
    kept `kept`; entries refer to it as ${secret:kept}
    ");
    env.run_with_input(&["secret", "set", "other", "-"], "canary-of-the-vault");
    assert_eq!(env.stdout(&["secret", "get", "kept", "--reveal"]), "canary-of-the-vault\n");
    assert_eq!(keyring.connections(), 1, "the vault says where its key is");
    env.write(
        "home/.config/helve/helve.toml",
        "[servers.near]\ncommand = \"/bin/true\"\nenv = { A = \"${keyring:mail/me}\", B = \"${keyring:mail/you}\" }\n",
    );
    let start = std::time::Instant::now();
    let told = env.run(&["call", "near/x"]);
    assert!(told.contains("the system's keyring did not answer within 2 s"), "{told}");
    assert!(start.elapsed() < std::time::Duration::from_secs(4), "not two seconds for each: {:?}", start.elapsed());
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
