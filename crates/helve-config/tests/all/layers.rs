//! Which file wins, what stays visible, and what a project may say.

use std::fmt::Write as _;

use helve_config::trust::{NothingTrusted, TrustRequest};
use helve_config::{CommandLine, Configuration, Dialect, FileContent, merge, read_text};
use helve_model::{Layer, Origin, ServerName, ServerSpec, StdioSpec, TransportSpec};

use crate::support::{environment, place, position, problems};

fn file(dialect: Dialect, path: &str, layer: Layer, text: &str) -> FileContent {
    read_text(&place(dialect, path, layer), text, &environment())
}

fn mcp(path: &str, layer: Layer, servers: &str) -> FileContent {
    file(Dialect::McpJson, path, layer, &format!("{{\"mcpServers\": {{{servers}}}}}"))
}

fn own(path: &str, layer: Layer, text: &str) -> FileContent {
    file(Dialect::Helve, path, layer, text)
}

fn everything(_: &TrustRequest) -> bool {
    true
}

fn command(spec: Option<&ServerSpec>) -> String {
    match spec.map(|spec| &spec.transport) {
        Some(TransportSpec::Stdio(stdio)) => stdio.command.written().to_owned(),
        Some(TransportSpec::Http(http)) => http.url.written().to_owned(),
        Some(TransportSpec::Builtin(builtin)) => builtin.kind.clone(),
        None => "nothing".to_owned(),
    }
}

fn describe(configuration: &Configuration) -> String {
    let mut out = String::new();
    for server in &configuration.servers {
        write!(out, "{} = {} [{}] {:?}", server.name, command(server.spec.as_ref()), server.layer, server.trust)
            .unwrap();
        if let Some(by) = &server.disabled_by {
            write!(out, " off by {by}").unwrap();
        }
        out.push('\n');
    }
    for shadowed in &configuration.shadowed {
        let server = &shadowed.server;
        let spec = command(server.spec.as_ref());
        writeln!(out, "hidden {} = {spec} [{}] {:?} by {}", server.name, server.layer, shadowed.reason, shadowed.by)
            .unwrap();
    }
    for rule in &configuration.rules {
        writeln!(out, "rule {} {} [{}]", rule.action, rule.tool, rule.layer).unwrap();
    }
    for rule in &configuration.withheld_rules {
        writeln!(out, "withheld {} {} [{}]", rule.action, rule.tool, rule.layer).unwrap();
    }
    for request in &configuration.untrusted {
        writeln!(out, "untrusted {:?} of {}", request.subject, request.file.display()).unwrap();
    }
    out
}

#[test]
fn the_higher_layer_wins_whole() {
    let files = vec![
        mcp("user.json", Layer::User, r#""a": {"command": "user", "args": ["x"]}, "u": {"command": "only-user"}"#),
        mcp("project.json", Layer::Project, r#""a": {"command": "project"}, "p": {"command": "only-project"}"#),
        mcp("explicit.json", Layer::Explicit, r#""p": {"command": "explicit"}"#),
    ];
    let stdio = StdioSpec {
        command: "typed".into(),
        arguments: Vec::new(),
        environment: indexmap::IndexMap::new(),
        working_directory: None,
    };
    let name = ServerName::new("u").expect("a name");
    let spec = ServerSpec::new(name, TransportSpec::Stdio(stdio), Origin::CommandLine, Layer::CommandLine);
    let command_line = CommandLine { servers: vec![spec], ..CommandLine::default() };
    insta::assert_snapshot!(describe(&merge(files, command_line, &everything)), @r"
    u = typed [command line] Own
    p = explicit [explicit] Own
    a = project [project] Trusted
    hidden p = only-project [project] HigherLayer by explicit.json:1:17
    hidden a = user [user] HigherLayer by project.json:1:17
    hidden u = only-user [user] HigherLayer by the command line
    ");
}

#[test]
fn switched_off_in_a_higher_layer_stays_visible() {
    let files = vec![
        mcp("user.json", Layer::User, r#""a": {"command": "user"}"#),
        mcp("explicit.json", Layer::Explicit, r#""a": {"command": "user", "disabled": true}"#),
    ];
    let merged = merge(files, CommandLine::default(), &NothingTrusted);
    insta::assert_snapshot!(describe(&merged), @r"
    a = user [explicit] Own off by explicit.json:1:42
    hidden a = user [user] Same by explicit.json:1:17
    ");
    assert!(!merged.server("a").expect("visible").is_usable());
}

#[test]
fn an_entry_that_only_switches_off_speaks_of_the_layers_below() {
    let files = vec![
        own("project.toml", Layer::Project, "[servers.a]\nenabled = false\n[servers.ghost]\nenabled = false\n"),
        own("user.toml", Layer::User, "[servers.b]\nenabled = false\n"),
        mcp("user.json", Layer::User, r#""a": {"command": "a"}, "b": {"command": "b"}, "c": {"command": "c"}"#),
    ];
    let merged = merge(files, CommandLine::default(), &NothingTrusted);
    assert_eq!(merged.diagnostics, []);
    insta::assert_snapshot!(describe(&merged), @r"
    a = a [user] Own off by project.toml:2:1
    b = b [user] Own off by user.toml:2:1
    c = c [user] Own
    ghost = nothing [project] Untrusted off by project.toml:4:1
    ");
}

#[test]
fn two_applications_that_differ_both_keep_theirs() {
    let files = vec![
        mcp(
            ".mcp.json",
            Layer::User,
            r#""a": {"command": "one"}, "same": {"command": "s", "args": ["1"]}, "off": {"command": "x", "disabled": true}"#,
        ),
        file(
            Dialect::Cursor,
            ".cursor/mcp.json",
            Layer::User,
            r#"{"mcpServers": {"a": {"command": "two"}, "same": {"command": "s", "args": ["1"]}, "off": {"command": "y"}}}"#,
        ),
        file(
            Dialect::Cline,
            "cline.json",
            Layer::User,
            r#"{"mcpServers": {"a": {"command": "three", "autoApprove": ["t"]}}}"#,
        ),
    ];
    let merged = merge(files, CommandLine::default(), &NothingTrusted);
    insta::assert_snapshot!(describe(&merged), @r"
    a = one [user] Own
    same = s [user] Own
    off = x [user] Own off by .mcp.json:1:107
    a@cursor = two [user] Own
    a@cline = three [user] Own
    hidden same = s [user] Same by .mcp.json:1:42
    hidden off = y [user] EarlierFile by .mcp.json:1:83
    rule allow a@cline/t [user]
    ");
    let renamed = merged.server("a@cline").expect("there");
    assert_eq!(renamed.rules[0].tool, "a@cline/t", "its rules follow it");
    let layer_rules: Vec<&str> = merged.rules.iter().map(|rule| rule.tool.as_str()).collect();
    assert_eq!(layer_rules, ["a@cline/t"], "and count like any other");

    let selected = |selector: &str| merged.select(selector).map(|server| command(server.spec.as_ref()));
    assert_eq!(selected("a").as_deref(), Some("one"));
    assert_eq!(selected("cursor:a").as_deref(), Some("two"));
    assert_eq!(selected("a@cline").as_deref(), Some("three"));
    assert_eq!(selected("cursor:off").as_deref(), Some("y"), "hidden ones too");
    assert_eq!(selected("off@cursor").as_deref(), Some("y"));
    assert_eq!(selected("zed:a"), None);
}

#[test]
fn helves_own_file_corrects_what_is_imported() {
    let files = vec![
        own("helve.toml", Layer::User, "[servers.a]\ncommand = \"mine\"\n"),
        mcp(".mcp.json", Layer::User, r#""a": {"command": "imported"}"#),
    ];
    insta::assert_snapshot!(describe(&merge(files, CommandLine::default(), &NothingTrusted)), @r"
    a = mine [user] Own
    hidden a = imported [user] EarlierFile by helve.toml:1:10
    ");
}

#[test]
fn a_project_narrows_at_once_and_widens_when_trusted() {
    let files = || {
        vec![
            own("user.toml", Layer::User, "[servers.mine]\ncommand = \"mine\"\n[servers.off]\ncommand = \"was-on\"\n"),
            own(
                "project.toml",
                Layer::Project,
                r#"
[servers.mine]
command = "evil"
[servers.off]
command = "whatever"
enabled = false
[servers.new]
command = "new"
[[rules]]
tool = "mine/*"
action = "allow"
[[rules]]
tool = "mine/delete"
action = "deny"
[[rules]]
tool = "mine/write"
action = "ask"
[settings]
max_retries = 9
readonly = true
"#,
            ),
        ]
    };
    let untrusted = merge(files(), CommandLine::default(), &NothingTrusted);
    insta::assert_snapshot!(describe(&untrusted), @r#"
    mine = mine [user] Own
    off = was-on [user] Own off by project.toml:6:1
    new = new [project] Untrusted
    hidden mine = evil [project] Untrusted by user.toml:1:10
    hidden off = whatever [project] Untrusted by user.toml:3:10
    rule deny mine/delete [project]
    rule ask mine/write [project]
    withheld allow mine/* [project]
    untrusted Server("mine") of project.toml
    untrusted Server("new") of project.toml
    untrusted Rules of project.toml
    "#);
    assert_eq!((untrusted.settings.max_retries.value, untrusted.settings.readonly.value), (2, true));
    assert_eq!(untrusted.specs().count(), 2, "mine and off, never evil or new");
    let messages: Vec<String> = untrusted.diagnostics.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(messages.join("\n"), @"project.toml:7:10: warning: server `new` comes from this project and nobody has trusted it yet");

    let trusted = merge(files(), CommandLine::default(), &everything);
    insta::assert_snapshot!(describe(&trusted), @r"
    mine = evil [project] Trusted
    off = whatever [project] Trusted off by project.toml:6:1
    new = new [project] Trusted
    hidden mine = mine [user] HigherLayer by project.toml:2:10
    hidden off = was-on [user] HigherLayer by project.toml:4:10
    rule allow mine/* [project]
    rule deny mine/delete [project]
    rule ask mine/write [project]
    ");
    assert_eq!((trusted.settings.max_retries.value, trusted.settings.readonly.value), (9, true));
}

#[test]
fn roots_and_the_model_of_the_settings() {
    let text = "[settings]\nroots = [\".\", \"~/notes\", \"${workspaceFolder}/docs\", \"/srv\"]\n\
        [settings.sampling]\ncommand = [\"llm\", \"--json\"]\ncalls = 3\ntokens = 1000\nconcurrent = 1\ntimeout_seconds = 5\n";
    let settings = merge(vec![own("user.toml", Layer::User, text)], CommandLine::default(), &NothingTrusted).settings;
    let roots: Vec<String> = settings.roots.value.iter().map(|root| root.display().to_string()).collect();
    assert_eq!(roots, ["/home/me/project", "/home/me/notes", "/home/me/project/docs", "/srv"]);
    assert_eq!(settings.sampling_command.value, ["llm", "--json"]);
    let limits = (settings.sampling_calls.value, settings.sampling_tokens.value, settings.sampling_concurrent.value);
    assert_eq!((limits, settings.sampling_timeout.value.as_secs()), ((3, 1000, 1), 5));

    let code = "[settings.code]\npython = \"~/python/bin/python3\"\n";
    let user = own("user.toml", Layer::User, code);
    let settings = merge(vec![user], CommandLine::default(), &NothingTrusted).settings;
    assert_eq!(settings.code_python.value.as_deref(), Some("/home/me/python/bin/python3"));
    let of_project = own("helve.toml", Layer::Project, code);
    insta::assert_snapshot!(problems(&of_project), @"
    warning: a project cannot say `code`
     --> helve.toml:1:11
      |
    1 | [settings.code]
      |           ^^^^
      = help: put it under `[settings]` of your own helve.toml
    ");
    let trusted = merge(vec![of_project], CommandLine::default(), &everything).settings;
    assert_eq!(trusted.code_python.value, None);

    let of_project = own("helve.toml", Layer::Project, text);
    insta::assert_snapshot!(problems(&of_project), @r#"
    warning: a project cannot say which program answers for a model
     --> helve.toml:4:1
      |
    4 | command = ["llm", "--json"]
      | ^^^^^^^
      = help: put `[settings.sampling]` into your own helve.toml
    "#);
    let trusted = merge(vec![of_project], CommandLine::default(), &everything).settings;
    assert!(trusted.sampling_command.value.is_empty());
    assert_eq!(trusted.sampling_calls.value, 3);
    let wrong = own("user.toml", Layer::User, "[settings]\nroots = 3\nsampling = true\n");
    insta::assert_snapshot!(problems(&wrong), @"
    error: `roots` must be a list of strings, not a number
     --> user.toml:2:9
      |
    2 | roots = 3
      |         ^

    error: `sampling` must be a table, not true or false
     --> user.toml:3:12
      |
    3 | sampling = true
      |            ^^^^
    ");
}

#[test]
fn settings_merge_key_by_key() {
    let files = vec![
        own("user.toml", Layer::User, "[settings]\ntimeout_seconds = 10\nmax_retries = 5\n"),
        own("explicit.toml", Layer::Explicit, "[settings]\nmax_retries = 7\n"),
    ];
    let settings = merge(files, CommandLine::default(), &NothingTrusted).settings;
    assert_eq!(
        (settings.call_timeout.value.as_secs(), position(&settings.call_timeout.origin)),
        (10, "2:1".to_owned())
    );
    assert_eq!((settings.max_retries.value, settings.max_retries.layer), (7, Layer::Explicit));
    assert_eq!((settings.schema_cache_ttl.value.as_secs(), settings.schema_cache_ttl.origin), (3_600, Origin::BuiltIn));
}

#[test]
fn the_applications_own_switches_count() {
    let claude = r#"{
      "mcpServers": {"notes": {"command": "n"}},
      "projects": {"/home/me/project": {
        "mcpServers": {"local": {"command": "l"}, "docs": {"command": "mine"}},
        "disabledMcpServers": ["notes"], "disabledMcpjsonServers": ["legacy"]}}
    }"#;
    let gemini = r#"{"mcp": {"allowed": ["g1", "g2"], "excluded": ["g2"]}, "mcpServers": {"g1": {"command": "1"}, "g2": {"command": "2"}, "g3": {"command": "3"}}}"#;
    let files = vec![
        file(Dialect::ClaudeCode, ".claude.json", Layer::User, claude),
        mcp(".mcp.json", Layer::Project, r#""legacy": {"command": "old"}, "docs": {"command": "project"}"#),
        file(Dialect::Gemini, "settings.json", Layer::User, gemini),
    ];
    insta::assert_snapshot!(describe(&merge(files, CommandLine::default(), &everything)), @r"
    local = l [user] Own
    docs = mine [user] Own
    g1 = 1 [user] Own
    legacy = old [project] Trusted off by .claude.json:5:69
    notes = n [user] Own off by .claude.json:5:32
    g2 = 2 [user] Own off by settings.json:1:48
    g3 = 3 [user] Own off by settings.json:1:10
    hidden docs = project [project] HigherLayer by .claude.json:4:51
    ");
}

#[test]
fn problems_of_servers_that_do_not_count_are_not_reported() {
    let files = vec![
        mcp(
            "explicit.json",
            Layer::Explicit,
            r#""a": {"command": "x"}, "off": {"command": "${NOPE}", "disabled": true}"#,
        ),
        mcp("user.json", Layer::User, r#""a": {"command": "${NOPE}"}, "b": {"command": "${NOPE}"}"#),
    ];
    let merged = merge(files, CommandLine::default(), &NothingTrusted);
    let messages: Vec<String> = merged.diagnostics.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(messages.join("\n"), @"user.json:1:63: error: server `b` is off: `command` needs the variable NOPE, which is not set");
}

#[test]
fn claude_codes_time_outs_and_project_directory_reach_the_servers_of_a_project() {
    let environment = environment().with_variables([("MCP_TIMEOUT", "5000"), ("MCP_TOOL_TIMEOUT", "60000")]);
    let text =
        r#"{"mcpServers": {"a": {"command": "${CLAUDE_PROJECT_DIR}/run.sh", "cwd": "sub"}, "b": {"command": "b"}}}"#;
    let content = read_text(&place(Dialect::McpJson, "/home/me/project/.mcp.json", Layer::Project), text, &environment);
    let spec = content.servers[0].spec.as_ref().expect("a spec");
    assert_eq!(
        (spec.startup_timeout.map(|time| time.as_secs()), spec.call_timeout.map(|time| time.as_secs())),
        (Some(5), Some(60))
    );
    let TransportSpec::Stdio(stdio) = &spec.transport else { panic!("a program") };
    assert_eq!(stdio.command.expose(), "/home/me/project/run.sh");
    assert_eq!(stdio.environment["CLAUDE_PROJECT_DIR"].expose(), "/home/me/project");
    assert_eq!(stdio.working_directory.as_deref(), Some(std::path::Path::new("/home/me/project/sub")));
    let TransportSpec::Stdio(stdio) = &content.servers[1].spec.as_ref().expect("a spec").transport else {
        panic!("a program")
    };
    assert_eq!(stdio.working_directory.as_deref(), Some(std::path::Path::new("/home/me/project")));
}

#[test]
fn two_hundred_servers_of_five_files() {
    let servers = |from: usize| -> String {
        let entry = |index| {
            format!(
                "\"s{index}\": {{\"command\": \"npx\", \"args\": [\"-y\", \"p{index}\"], \"env\": {{\"T\": \"${{API_TOKEN}}\"}}}}"
            )
        };
        (from..from + 40).map(entry).collect::<Vec<_>>().join(",\n")
    };
    let files = (0..5).map(|file| mcp(&format!("{file}.json"), Layer::User, &servers(file * 40))).collect();
    let merged = merge(files, CommandLine::default(), &NothingTrusted);
    assert_eq!(merged.specs().count(), 200);
    assert_eq!(merged.diagnostics, []);
}

#[test]
fn c1_a_list_of_another_application_switches_off_its_own_servers_alone() {
    let claude = r#"{"disabledMcpjsonServers": ["fs", "only"]}"#;
    let gemini = r#"{"mcp": {"excluded": ["fs"]}, "mcpServers": {"fs": {"command": "gemini"}}}"#;
    for trusted in [true, false] {
        let files = vec![
            own("/home/me/.config/helve/helve.toml", Layer::User, "[servers.fs]\ncommand = \"ours\"\n"),
            mcp("/p/.mcp.json", Layer::Project, r#""fs": {"command": "theirs"}, "only": {"command": "only"}"#),
            file(Dialect::ClaudeSettings, "/home/me/.claude/settings.json", Layer::User, claude),
            file(Dialect::Gemini, "/p/.gemini/settings.json", Layer::Project, gemini),
        ];
        let merged = merge(files, CommandLine::default(), &|_: &TrustRequest| trusted);
        let fs = merged.server("fs").expect("ours");
        assert_eq!((command(fs.spec.as_ref()).as_str(), &fs.disabled_by), ("ours", &None));
        assert!(merged.server("only").expect("theirs").disabled_by.is_some());
        assert_eq!(merged.shadowed.len(), 2);
    }
}

/// The variables a server gets, as they are written.
fn variables(configuration: &Configuration, server: &str) -> Vec<String> {
    let spec = configuration.server(server).and_then(|server| server.spec.as_ref());
    let Some(TransportSpec::Stdio(stdio)) = spec.map(|spec| &spec.transport) else { panic!("{server}") };
    stdio.environment.iter().map(|(name, text)| format!("{name}={}", text.written())).collect()
}

const GRANTS: &str = "[environment.github]\npass = [\"GITHUB_TOKEN\", \"UNSET_HERE\"]\n";

/// C6: an entry of another application has no key for it; the person's own file has.
#[test]
fn c6_variables_are_passed_on_to_servers_of_other_applications() {
    let grants = own("/home/me/.config/helve/helve.toml", Layer::User, GRANTS);
    let cursor = mcp(
        "/home/me/.cursor/mcp.json",
        Layer::User,
        r#""github": {"command": "gh", "env": {"A": "b"}}, "other": {"command": "x"}"#,
    );
    let loaded = merge(vec![grants, cursor], CommandLine::default(), &NothingTrusted);
    assert_eq!(variables(&loaded, "github"), ["A=b", "GITHUB_TOKEN=${GITHUB_TOKEN}"]);
    assert_eq!(variables(&loaded, "other"), Vec::<String>::new());

    // What the entry itself says about a variable stands.
    let grants = own("/home/me/.config/helve/helve.toml", Layer::User, GRANTS);
    let cursor = mcp(
        "/home/me/.cursor/mcp.json",
        Layer::User,
        r#""github": {"command": "gh", "env": {"GITHUB_TOKEN": "mine"}}"#,
    );
    let loaded = merge(vec![grants, cursor], CommandLine::default(), &NothingTrusted);
    assert!(
        variables(&loaded, "github")[0].starts_with("GITHUB_TOKEN=") && !variables(&loaded, "github")[0].contains('{')
    );

    // Of two applications' servers of one name it is the one that is called so.
    let files = vec![
        own("/home/me/.config/helve/helve.toml", Layer::User, GRANTS),
        mcp("/home/me/.cursor/mcp.json", Layer::User, r#""github": {"command": "gh"}"#),
        file(
            Dialect::Codex,
            "/home/me/.codex/config.toml",
            Layer::User,
            "[mcp_servers.github]\ncommand = \"another\"\n",
        ),
    ];
    let loaded = merge(files, CommandLine::default(), &NothingTrusted);
    assert_eq!(variables(&loaded, "github"), ["GITHUB_TOKEN=${GITHUB_TOKEN}"]);
    assert_eq!(variables(&loaded, "github@codex"), Vec::<String>::new());
}

/// C6: a project's server gets what the person named only together with a yes that named it and the program.
#[test]
fn c6_what_a_projects_server_gets_is_part_of_what_is_trusted() {
    let project = || mcp("/home/me/project/.mcp.json", Layer::Project, r#""github": {"command": "gh"}"#);
    let asked = |files: Vec<FileContent>| merge(files, CommandLine::default(), &NothingTrusted).untrusted.remove(0);
    let without = asked(vec![project()]);
    let with = asked(vec![own("/home/me/.config/helve/helve.toml", Layer::User, GRANTS), project()]);
    assert_ne!(without.hash, with.hash, "an earlier yes does not count for it");
    let lines: Vec<String> = with.parts.iter().map(|part| format!("{}: {}", part.label, part.to_line())).collect();
    assert!(lines.contains(&"command: gh".to_owned()), "{lines:?}");
    assert!(lines.contains(&"passes on: GITHUB_TOKEN, UNSET_HERE".to_owned()), "{lines:?}");
    let files = vec![own("/home/me/.config/helve/helve.toml", Layer::User, GRANTS), project()];
    let trusted = merge(files, CommandLine::default(), &everything);
    assert!(variables(&trusted, "github").contains(&"GITHUB_TOKEN=${GITHUB_TOKEN}".to_owned()));
}

/// C6: nobody but the person says so.
#[test]
fn c6_a_project_passes_on_nothing_of_the_persons() {
    let files = vec![
        own("/home/me/project/helve.toml", Layer::Project, &format!("{GRANTS}\n[servers.github]\ncommand = \"gh\"\n")),
        mcp("/home/me/.cursor/mcp.json", Layer::User, r#""mine": {"command": "x"}"#),
    ];
    let loaded = merge(files, CommandLine::default(), &everything);
    assert_eq!(variables(&loaded, "github"), Vec::<String>::new());
    let told: Vec<&str> = loaded.diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect();
    assert_eq!(told, ["a project cannot say which of your variables a server gets"]);
}

/// C6: what cannot be meant is told.
#[test]
fn c6_mistakes_in_grants_are_told() {
    let file = own(
        "/home/me/.config/helve/helve.toml",
        Layer::User,
        "[environment.a]\npass = [\"TOKEN=x\", \"\", 7]\nsend = []\n[environment]\nb = 1\n",
    );
    insta::assert_snapshot!(problems(&file), @r#"
    warning: unknown key `send`
     --> /home/me/.config/helve/helve.toml:3:1
      |
    3 | send = []
      | ^^^^
      = help: known keys are `pass`

    warning: this is not the name of a variable
     --> /home/me/.config/helve/helve.toml:2:9
      |
    2 | pass = ["TOKEN=x", "", 7]
      |         ^^^^^^^^^
      = help: `pass` has names alone: the values are those of your environment

    warning: this is not the name of a variable
     --> /home/me/.config/helve/helve.toml:2:20
      |
    2 | pass = ["TOKEN=x", "", 7]
      |                    ^^
      = help: `pass` has names alone: the values are those of your environment

    warning: this is not the name of a variable
     --> /home/me/.config/helve/helve.toml:2:24
      |
    2 | pass = ["TOKEN=x", "", 7]
      |                        ^
      = help: `pass` has names alone: the values are those of your environment

    warning: `b` must be a table, not a number
     --> /home/me/.config/helve/helve.toml:5:5
      |
    5 | b = 1
      |     ^
    "#);
}
