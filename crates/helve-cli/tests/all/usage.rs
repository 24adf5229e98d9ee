//! The command line itself: help, wrong words, JSON, colours, and what happens to everything that is printed.

use crate::support::TestEnv;

#[test]
fn help_is_short_and_complete() {
    insta::assert_snapshot!(TestEnv::new().run(&["--help"]), @"
    exit status 0
    --- stdout
    The handle between an agent and its tools: MCP servers from a shell

    Usage: helve [OPTIONS] [COMMAND]

    Commands:
      call         Call a tool
      run          Run a Python program that calls tools
      tools        List tools [alias: list]
      tool         Show one tool: schema, annotations, risk, decision
      search       Find tools by what they do
      resources    List resources and resource templates
      read         Read a resource
      prompts      List prompts
      prompt       Get a prompt
      watch        Tell when a resource changes, until Ctrl-C
      poll         Call a tool or read a resource again and again, and tell when it says something else
      logs         Print what a server logs, until Ctrl-C
      servers      Show how the servers are doing [aliases: status, mcp]
      serve        Serve all servers as one MCP server, on standard input and output or over HTTP
      hub          Serve all servers to agents, with a page for people, an admin API and a record of every call
      approvals    List calls that wait at the hub for your answer, and answer them
      hubs         List the hubs that you joined, and ask each how it is doing
      join         Use the servers of a hub as your own, as `hub/server/tool`
      leave        Leave a hub: forget its servers and its token
      keep         Keep servers running in the background
      builtin      Serve the tools that ship inside as an MCP server, on standard input and output
      expand       Replace tool tags in a text by results
      bridge       Answer as another program's MCP client does
      explain      Explain the decision about a call
      rules        List the rules about calls, in the order in which they are asked
      allow        Let agents, scripts and prompt tags call something without asking
      ask          Be asked before something is called
      deny         Keep something from being called
      doctor       Look for what is wrong, and say what to do
      pin          Pin tool definitions, and look at what changed
      sandbox      Look at what a server's sandbox holds
      init         Write a first configuration file, and show what other applications' files hold
      add          Add a server: a command to start, or an address to reach
      add-json     Add a server from an entry of `.mcp.json`
      remove       Remove servers from helve's own files [alias: rm]
      enable       Switch servers on
      disable      Switch servers off
      get          Show how one server is configured, and where
      import       Copy servers of other applications into a file of your own
      connect      Put helve into another application's configuration
      disconnect   Take helve out of another application's configuration
      trust        Show what this project would run, and trust it
      login        Sign in to a server
      logout       Sign out of servers: revoke the login, then forget it
      secret       Keep secrets that servers need, sealed; entries refer to them as `${secret:NAME}`
      completions  Print the script that completes commands, options and server names in your shell
      man          Print the manual page of helve or of one command, or write all of them
      schema       Print the JSON Schema of helve.toml, for editors that check as you type

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Options for every command:
          --json            Print data as JSON; an error is then a JSON object on stdout too
      -v, --verbose...      Say more; twice for log lines
      -q, --quiet           Say nothing but errors
          --config <FILE>   Read this configuration file too; it wins over all others
          --dialect <APP>   The form of the files named with --config, where their names do not say it
          --no-discover     Read nothing but the files named with --config [alias: --only-config]
          --timeout <TIME>  How long anything may take: 5s, 500ms, 2m
          --color <WHEN>    Colours; auto is on a terminal [default: auto] [possible values: auto, always, never]
          --cwd <DIR>       Work as if started in this directory
          --no-mcp          Do without MCP servers altogether

    Exit status: 0 done, 1 other, 2 usage or configuration, 3 cannot start or connect, 4 time-out,
    5 tool error or not found, 6 needs credentials, 7 denied, untrusted or needs an answer, 130 interrupted

    Environment: HELVE_LOG=helve_wire=debug shows log lines by target; NO_COLOR switches colours off
    ");
    insta::assert_snapshot!(TestEnv::new().run(&["-h"]), @"
    exit status 0
    --- stdout
    The handle between an agent and its tools: MCP servers from a shell

    Usage: helve [OPTIONS] [COMMAND]

    Commands:
      call         Call a tool
      run          Run a Python program that calls tools
      tools        List tools [alias: list]
      tool         Show one tool: schema, annotations, risk, decision
      search       Find tools by what they do
      resources    List resources and resource templates
      read         Read a resource
      prompts      List prompts
      prompt       Get a prompt
      watch        Tell when a resource changes, until Ctrl-C
      poll         Call a tool or read a resource again and again, and tell when it says something else
      logs         Print what a server logs, until Ctrl-C
      servers      Show how the servers are doing [aliases: status, mcp]
      serve        Serve all servers as one MCP server, on standard input and output or over HTTP
      hub          Serve all servers to agents, with a page for people, an admin API and a record of every call
      approvals    List calls that wait at the hub for your answer, and answer them
      hubs         List the hubs that you joined, and ask each how it is doing
      join         Use the servers of a hub as your own, as `hub/server/tool`
      leave        Leave a hub: forget its servers and its token
      keep         Keep servers running in the background
      builtin      Serve the tools that ship inside as an MCP server, on standard input and output
      expand       Replace tool tags in a text by results
      bridge       Answer as another program's MCP client does
      explain      Explain the decision about a call
      rules        List the rules about calls, in the order in which they are asked
      allow        Let agents, scripts and prompt tags call something without asking
      ask          Be asked before something is called
      deny         Keep something from being called
      doctor       Look for what is wrong, and say what to do
      pin          Pin tool definitions, and look at what changed
      sandbox      Look at what a server's sandbox holds
      init         Write a first configuration file, and show what other applications' files hold
      add          Add a server: a command to start, or an address to reach
      add-json     Add a server from an entry of `.mcp.json`
      remove       Remove servers from helve's own files [alias: rm]
      enable       Switch servers on
      disable      Switch servers off
      get          Show how one server is configured, and where
      import       Copy servers of other applications into a file of your own
      connect      Put helve into another application's configuration
      disconnect   Take helve out of another application's configuration
      trust        Show what this project would run, and trust it
      login        Sign in to a server
      logout       Sign out of servers: revoke the login, then forget it
      secret       Keep secrets that servers need, sealed; entries refer to them as `${secret:NAME}`
      completions  Print the script that completes commands, options and server names in your shell
      man          Print the manual page of helve or of one command, or write all of them
      schema       Print the JSON Schema of helve.toml, for editors that check as you type

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Options for every command:
          --json            Print data as JSON; an error is then a JSON object on stdout too
      -v, --verbose...      Say more; twice for log lines
      -q, --quiet           Say nothing but errors
          --config <FILE>   Read this configuration file too; it wins over all others
          --dialect <APP>   The form of the files named with --config, where their names do not say it
          --no-discover     Read nothing but the files named with --config [alias: --only-config]
          --timeout <TIME>  How long anything may take: 5s, 500ms, 2m
          --color <WHEN>    Colours; auto is on a terminal [default: auto] [possible values: auto, always, never]
          --cwd <DIR>       Work as if started in this directory
          --no-mcp          Do without MCP servers altogether

    Exit status: 0 done, 1 other, 2 usage or configuration, 3 cannot start or connect, 4 time-out,
    5 tool error or not found, 6 needs credentials, 7 denied, untrusted or needs an answer, 130 interrupted

    Environment: HELVE_LOG=helve_wire=debug shows log lines by target; NO_COLOR switches colours off
    ");
}

#[test]
fn every_verb_has_help() {
    let env = TestEnv::new();
    for verb in [
        "init",
        "add",
        "add-json",
        "remove",
        "enable",
        "disable",
        "get",
        "import",
        "trust",
        "login",
        "logout",
        "secret",
        "completions",
        "man",
        "schema",
        "serve",
        "allow",
        "ask",
        "deny",
        "rules",
        "resources",
        "read",
        "prompts",
        "prompt",
        "watch",
        "poll",
        "logs",
        "call",
        "expand",
        "bridge",
        "sandbox",
    ] {
        let help = env.stdout(&[verb, "--help"]);
        assert!(help.contains("Usage: helve"), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 120), "{help}");
    }
    insta::assert_snapshot!(env.stdout(&["add", "--help"]), @"
    Add a server: a command to start, or an address to reach

    Usage: helve add [OPTIONS] <NAME> [URL|COMMAND]... [-- <COMMAND>...]

    Arguments:
      <NAME>
              What to call it

      [URL|COMMAND]...
              Its address, or its command when nothing of it begins with a dash

      [COMMAND]...
              The command and its arguments

    Options:
      -t, --transport <TRANSPORT>
              How it is reached; found out when left away

              Possible values:
              - stdio: A command to start
              - http:  Streamable HTTP
              - sse:   HTTP+SSE, the older transport

      -e, --env <NAME[=VALUE]>
              A variable for the command; without a value it is handed on from your environment

      -H, --header <NAME: VALUE>
              A header for every request to the address

          --secret <NAME>
              A variable for the command, or a header for the address, whose value is asked for and kept sealed

          --tool <GLOB>
              Only these tools, as globs

          --sandbox <PROFILE>
              The sandbox of the command; if left away, the one in your settings is written, if the server starts in it
              
              [possible values: off, standard, offline, strict]

          --replace
              Change the server if there is one of that name

      -s, --scope <SCOPE>
              Whose file it goes to; without it the project's helve.toml if there is one, else your own

              Possible values:
              - user:    Yours, everywhere: helve.toml in your configuration directory
              - project: Everybody's in this project: its helve.toml
              - local:   Yours in this project: its helve.local.toml

      -h, --help
              Print help (see a summary with '-h')

    Options for every command:
          --json
              Print data as JSON; an error is then a JSON object on stdout too

      -v, --verbose...
              Say more; twice for log lines

      -q, --quiet
              Say nothing but errors

          --config <FILE>
              Read this configuration file too; it wins over all others

          --dialect <APP>
              The form of the files named with --config, where their names do not say it

          --no-discover
              Read nothing but the files named with --config
              
              [alias: --only-config]

          --timeout <TIME>
              How long anything may take: 5s, 500ms, 2m

          --color <WHEN>
              Colours; auto is on a terminal
              
              [default: auto]
              [possible values: auto, always, never]

          --cwd <DIR>
              Work as if started in this directory

          --no-mcp
              Do without MCP servers altogether

    Examples:
      helve add files -- npx -y @modelcontextprotocol/server-filesystem .
      helve add github -e GITHUB_TOKEN -- docker run -i --rm -e GITHUB_TOKEN ghcr.io/github/github-mcp-server
      helve add docs https://docs.example.com/mcp -H 'Authorization: Bearer ${DOCS_TOKEN}'
      helve add --transport sse --scope user tickets https://tickets.example.com/sse
    ");
}

#[test]
fn the_version() {
    insta::assert_snapshot!(TestEnv::new().run(&["--version"]), @"
    exit status 0
    --- stdout
    helve 0.1.0
    ");
}

#[test]
fn an_unknown_verb_is_refused_with_the_one_that_was_meant() {
    let env = TestEnv::new();
    insta::assert_snapshot!(env.run(&["imprt"]), @"
    exit status 2
    --- stderr
    error: unrecognized subcommand 'imprt'

      tip: some similar subcommands exist: 'prompts', 'prompt', 'import'

    Usage: helve [OPTIONS] [COMMAND]

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(env.run(&["--jsno"]), @"
    exit status 2
    --- stderr
    error: unexpected argument '--jsno' found

      tip: a similar argument exists: '--json'

    Usage: helve --json

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(env.run(&["--timeout", "soon"]), @"
    exit status 2
    --- stderr
    error: invalid value 'soon' for '--timeout <TIME>': `soon` is not a unit of time: write ms, s, m or h

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(env.run(&["--dialect", "word"]), @"
    exit status 2
    --- stderr
    error: invalid value 'word' for '--dialect <APP>'
      [possible values: helve, mcp-json, claude-loop, loom, strawberry, claude-code, claude-settings, claude-desktop, vscode, cursor, codex, gemini, opencode, zed, goose, windsurf, cline, copilot, kiro, mcporter]

    For more information, try '--help'.
    ");
}

#[test]
fn errors_are_json_where_json_was_asked_for() {
    let env = TestEnv::new();
    insta::assert_snapshot!(env.run(&["imprt", "--json"]), @r#"
    exit status 2
    --- stdout
    {
      "error": "unrecognized subcommand 'imprt'",
      "code": "USAGE",
      "hints": [
        "some similar subcommands exist: 'prompts', 'prompt', 'import'"
      ]
    }
    "#);
    insta::assert_snapshot!(env.run(&["get", "nobody", "--json"]), @r#"
    exit status 5
    --- stdout
    {
      "error": "there is no server `nobody`",
      "code": "SERVER_NOT_FOUND",
      "server": "nobody",
      "hints": [
        "no server is configured: `helve add NAME -- COMMAND`"
      ]
    }
    "#);
    insta::assert_snapshot!(env.run(&["--json", "--config", "missing.toml"]), @r#"
    exit status 2
    --- stdout
    {
      "error": "there is no file `missing.toml`",
      "code": "CONFIG",
      "hints": []
    }
    "#);
}

#[test]
fn a_file_that_was_named_has_to_be_usable() {
    let env = TestEnv::new();
    env.write("project/broken.toml", "[servers.a\n").write("project/odd.json", "{\"words\": []}\n");
    insta::assert_snapshot!(env.run(&["--config", "missing.toml"]), @"
    exit status 2
    --- stderr
    error: there is no file `missing.toml`
    ");
    insta::assert_snapshot!(env.run(&["--config", "broken.toml"]), @"
    exit status 2
    --- stderr
    error: broken.toml:1: this is not TOML: unclosed table, expected `]`
    ");
    insta::assert_snapshot!(env.run(&["--config", "odd.json"]), @"
    exit status 2
    --- stderr
    error: `odd.json` has no servers in any known form
    hint: say which form it has: helve, mcp-json, claude-loop, loom, strawberry, claude-code, claude-settings, claude-desktop, vscode, cursor, codex, gemini, opencode, zed, goose, windsurf, cline, copilot, kiro, mcporter
    hint: `--dialect` says it: `--dialect mcp-json`
    ");
}

#[test]
fn a_named_file_counts_alone_or_with_the_others() {
    let env = TestEnv::new();
    env.write("home/.config/helve/helve.toml", "[servers.mine]\ncommand = \"mine\"\n");
    env.write("project/extra.json", r#"{"mcpServers": {"extra": {"command": "extra"}}}"#);
    insta::assert_snapshot!(env.run(&["--config", "extra.json"]), @"
    exit status 0
    --- stdout
    SERVER  STATE  VIA    FROM
    extra   on     stdio  extra.json:1
    mine    on     stdio  ~/.config/helve/helve.toml:1
    --- stderr
    2 servers in 2 files
    ");
    insta::assert_snapshot!(env.run(&["--config", "extra.json", "--only-config"]), @"
    exit status 0
    --- stdout
    SERVER  STATE  VIA    FROM
    extra   on     stdio  extra.json:1
    --- stderr
    1 server in 1 file
    hint: these come from other applications' files; keep one of your own with `helve import`
    ");
    insta::assert_snapshot!(env.run(&["--config", "extra.json", "--dialect", "zed", "--no-discover"]), @"
    exit status 0
    --- stderr
    The files you named configure no server.
    hint: add a server: `helve add NAME -- COMMAND`, or `helve add NAME URL`
    hint: or start with a commented file: `helve init`
    ");
}

#[test]
fn one_may_stand_elsewhere() {
    let env = TestEnv::new();
    env.write("other/helve.toml", "[servers.there]\ncommand = \"there\"\n");
    insta::assert_snapshot!(env.run(&["--cwd", "../other"]), @"
    exit status 0
    --- stdout
    SERVER  STATE        VIA    FROM
    there   not trusted  stdio  helve.toml:1
    --- stderr
    1 server in 1 file
    hint: look at what this project would run, and trust it: `helve trust`
    ");
    insta::assert_snapshot!(env.run(&["--cwd", "../nowhere"]), @"
    exit status 2
    --- stderr
    error: there is no directory [ROOT]/project/../nowhere
    ");
}

#[test]
fn log_filters_are_by_target() {
    insta::assert_snapshot!(TestEnv::new().with_variable("HELVE_LOG", "helve=loud").run(&["schema", "-q"]), @r#"
    exit status 2
    --- stderr
    error: HELVE_LOG is not a log filter: error parsing level filter: expected one of "off", "error", "warn", "info", "debug", "trace", or a number 0-5
    hint: write targets with levels: HELVE_LOG=helve_wire=debug,helve=info
    "#);
    let env = TestEnv::new().with_variable("HELVE_LOG", "helve_wire=debug");
    assert!(env.run(&[]).starts_with("exit status 0"));
}

#[test]
fn nobody_has_to_read_to_the_end() {
    let env = TestEnv::new();
    let mut child = env
        .command(&["schema"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("started");
    // Closed before the first byte is read.
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("ended");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn the_schema_is_the_one_editors_have() {
    let committed = include_str!("../../../../schemas/helve.schema.json");
    assert_eq!(TestEnv::new().stdout(&["schema"]), committed);
}

#[test]
fn manual_pages() {
    let env = TestEnv::new();
    let page = env.stdout(&["man"]);
    assert!(page.contains(".TH helve 1") && page.contains("helve\\-add(1)"), "{page}");
    assert!(env.stdout(&["man", "add"]).contains(".TH helve-add 1"));
    insta::assert_snapshot!(env.run(&["man", "ad"]), @"
    exit status 2
    --- stderr
    error: there is no command `ad`
    hint: did you mean `add`?
    ");
    insta::assert_snapshot!(env.run(&["man", "--dir", "pages"]), @"exit status 0");
    assert!(env.exists("project/pages/helve.1") && env.exists("project/pages/helve-trust.1"));
    assert!(!env.exists("project/pages/helve-__complete.1"));
}

#[test]
fn names_of_strangers_do_not_steer_the_terminal() {
    let env = TestEnv::new();
    env.write(
        "home/.cursor/mcp.json",
        "{\"mcpServers\": {\"evil\\u202e\": {\"command\": \"x\\u0007\", \"nonsense\\u001b\": 1}}}",
    );
    insta::assert_snapshot!(env.run(&["-v"]), @r#"
    exit status 0
    --- stdout
    SERVER        STATE  VIA    FROM
    evil\u{202e}  on     stdio  ~/.cursor/mcp.json:1
    --- stderr
    note: unknown key `nonsense�`
     --> [ROOT]/home/.cursor/mcp.json:1:54
      |
    1 | {"mcpServers": {"evil\u202e": {"command": "x\u0007", "nonsense\u001b": 1}}}
      |                                                      ^^^^^^^^^^^^^^^^
    1 server in 1 file
      ~/.cursor/mcp.json (cursor, user)
    hint: these come from other applications' files; keep one of your own with `helve import`
    "#);
    insta::assert_snapshot!(env.run(&["get", "evil\u{202e}"]), @r#"
    exit status 0
    --- stdout
    server     evil\u{202e}
    state      on
    from       ~/.cursor/mcp.json:1 (cursor, user layer)
    via        stdio
    command    x\u{7}
    directory  [ROOT]/project
    "#);
    let output = env.output(&["--json"], "");
    assert!(!output.stdout.contains(&0x1b), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(env.json(&["--json"])["servers"][0]["name"], "evil\u{202e}");
}

#[test]
fn colours_only_where_they_are_wanted() {
    let env = TestEnv::new();
    env.write("home/.config/helve/helve.toml", "[servers.mine]\ncommand = \"mine\"\n");
    assert!(!env.stdout(&[]).contains('\u{1b}'));
    assert!(env.stdout(&["--color", "always"]).contains("\u{1b}[32mon\u{1b}[0m"));
    let forced = TestEnv::new().with_variable("CLICOLOR_FORCE", "1");
    forced.write("home/.config/helve/helve.toml", "[servers.mine]\ncommand = \"mine\"\n");
    assert!(forced.stdout(&[]).contains('\u{1b}'));
    assert!(!forced.stdout(&["--color", "never"]).contains('\u{1b}'));
}
