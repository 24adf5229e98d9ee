//! What changes the hash of what would run, and what does not (S5).

use std::path::PathBuf;

use helve_config::trust::{NothingTrusted, TrustHash, TrustRequest, TrustSubject, hash_content};
use helve_config::{CommandLine, Dialect, Environment, FilePlace, merge, read_text};
use helve_model::Layer;

/// A project in a directory of its own; files are written below it.
pub(crate) struct Project {
    _directory: tempfile::TempDir,
    pub(crate) root: PathBuf,
}

impl Project {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let root = fs_err::canonicalize(directory.path()).expect("a real path").join("project");
        fs_err::create_dir(&root).expect("made");
        Self { _directory: directory, root }
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs_err::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs_err::write(path, text).expect("written");
    }

    pub(crate) fn environment(&self) -> Environment {
        Environment::new(&self.root)
            .with_home("/home/me")
            .with_variables([("TOKEN", "hunter-one"), ("PATH", "/usr/bin:/bin")])
    }

    /// What a person would be asked about the only server of a `.mcp.json`.
    fn asked(&self, entry: &str) -> TrustRequest {
        self.asked_with(entry, &self.environment())
    }

    fn asked_with(&self, entry: &str, environment: &Environment) -> TrustRequest {
        let text = format!("{{\"mcpServers\": {{\"a\": {entry}}}}}");
        let requests = self.requests(Dialect::McpJson, ".mcp.json", &text, environment);
        assert_eq!(requests.len(), 1, "{entry}: {requests:?}");
        requests.into_iter().next().expect("a request")
    }

    fn hash(&self, entry: &str) -> TrustHash {
        self.asked(entry).hash
    }

    /// What a person would be asked about a `helve.toml`.
    pub(crate) fn own(&self, text: &str) -> Vec<TrustRequest> {
        self.requests(Dialect::Helve, "helve.toml", text, &self.environment())
    }

    pub(crate) fn requests(
        &self,
        dialect: Dialect,
        name: &str,
        text: &str,
        environment: &Environment,
    ) -> Vec<TrustRequest> {
        let place = FilePlace {
            path: self.root.join(name),
            application: dialect.name(),
            dialect,
            layer: Layer::Project,
            project: self.root.clone(),
        };
        let content = read_text(&place, text, environment);
        merge(vec![content], CommandLine::default(), &NothingTrusted).untrusted
    }

    /// The hashes of all servers of a `helve.toml`, on or off, and of its rules.
    pub(crate) fn hashes(&self, text: &str) -> Vec<TrustHash> {
        let place = FilePlace {
            path: self.root.join("helve.toml"),
            application: "helve",
            dialect: Dialect::Helve,
            layer: Layer::Project,
            project: self.root.clone(),
        };
        let content = read_text(&place, text, &self.environment());
        let merged = merge(vec![content], CommandLine::default(), &NothingTrusted);
        let rules = merged.untrusted.iter().filter(|request| request.subject == TrustSubject::Rules);
        let servers = merged.servers.iter().filter_map(|server| server.trust_hash);
        servers.chain(rules.map(|request| request.hash)).collect()
    }
}

fn lines(request: &TrustRequest) -> String {
    let line = |part: &helve_config::trust::Part| format!("{}: {}", part.label, part.to_line());
    request.parts.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn s5_every_change_of_what_would_run_changes_the_hash() {
    let project = Project::new();
    let variants = [
        r#"{"command": "a"}"#,
        r#"{"command": "b"}"#,
        r#"{"command": "a", "args": ["x"]}"#,
        r#"{"command": "a", "args": ["x", ""]}"#,
        r#"{"command": "a", "args": ["", "x"]}"#,
        r#"{"command": "a", "env": {"A": "1"}}"#,
        r#"{"command": "a", "env": {"A": "2"}}"#,
        r#"{"command": "a", "env": {"B": "1"}}"#,
        r#"{"command": "a", "env": {"API_KEY": "literal"}}"#,
        r#"{"command": "a", "env": {"API_KEY": "another"}}"#,
        r#"{"command": "a", "env": {"A": "${TOKEN}"}}"#,
        r#"{"command": "a", "env": {"A": "${OTHER:-}"}}"#,
        r#"{"command": "a", "cwd": "sub"}"#,
        r#"{"url": "https://a.example.com"}"#,
        r#"{"url": "https://b.example.com"}"#,
        r#"{"url": "https://a.example.com", "headers": {"X": "1"}}"#,
        r#"{"url": "https://a.example.com", "headers": {"X": "2"}}"#,
        r#"{"url": "https://a.example.com", "headers": {"X": "${TOKEN}"}}"#,
        r#"{"url": "https://a.example.com", "headers": {"X": "${AWS_SECRET}"}}"#,
        r#"{"url": "https://a.example.com", "headers": {"Y": "1"}}"#,
        r#"{"url": "https://a.example.com", "type": "sse"}"#,
        r#"{"command": "a", "tools": ["t"]}"#,
        r#"{"command": "a", "disabledTools": ["t"]}"#,
        r#"{"command": "a", "autoApprove": ["t"]}"#,
    ];
    let hashes: Vec<TrustHash> = variants.iter().map(|entry| project.hash(entry)).collect();
    for (index, one) in hashes.iter().enumerate() {
        for (other_index, other) in hashes.iter().enumerate().skip(index + 1) {
            assert_ne!(one, other, "{} and {}", variants[index], variants[other_index]);
        }
    }
}

#[test]
fn s5_where_values_go_is_part_of_it_in_every_dialect() {
    let project = Project::new();
    let differ = |dialect: Dialect, name: &str, one: &str, other: &str| {
        let hash = |text: &str| project.requests(dialect, name, text, &project.environment());
        let (one, other) = (hash(one), hash(other));
        assert_eq!((one.len(), other.len()), (1, 1));
        assert_ne!(one[0].hash, other[0].hash, "{}\n---\n{}", lines(&one[0]), lines(&other[0]));
    };
    let helve = |one: &str, other: &str| {
        let server = |text: &str| format!("[servers.a]\nurl = \"https://a.example.com\"\n{text}\n");
        differ(Dialect::Helve, "helve.toml", &server(one), &server(other));
    };
    helve("bearer_token_env_var = \"TOKEN\"", "bearer_token_env_var = \"AWS_SECRET\"");
    helve("bearer_token_env_var = \"UNSET\"", "bearer_token_env_var = \"UNSET_TOO\"");
    helve("oauth = { client_id = \"a\" }", "oauth = { client_id = \"a\", client_secret = \"${TOKEN}\" }");
    helve(
        "oauth = { client_id = \"a\", client_secret = \"x\" }",
        "oauth = { client_id = \"a\", client_secret = \"y\" }",
    );
    helve("oauth = { callback_port = 1 }", "oauth = { callback_port = 2 }");
    helve("oauth = true", "oauth = false");
    let codex = |one: &str, other: &str| {
        let server = |text: &str| format!("[mcp_servers.a]\nurl = \"https://a.example.com\"\n{text}\n");
        differ(Dialect::Codex, ".codex/config.toml", &server(one), &server(other));
    };
    codex("env_http_headers = { X = \"TOKEN\" }", "env_http_headers = { X = \"UNSET\" }");
    codex("env_http_headers = { X = \"UNSET\" }", "env_http_headers = { X = \"UNSET_TOO\" }");
    // A header in the shadow of one whose variable is unset is the one that is sent.
    let hidden = "env_http_headers = { X = \"UNSET\" }\n";
    codex(&format!("{hidden}http_headers = {{ X = \"1\" }}"), &format!("{hidden}http_headers = {{ X = \"2\" }}"));
    let claude_loop = |token: &str| {
        format!(
            r#"{{"servers": [{{"name": "a", "transport": "http", "endpoint": "https://a.example.com",
                 "auth_type": "bearer", "auth_token": "{token}"}}]}}"#
        )
    };
    differ(Dialect::ClaudeLoop, ".claude-loop/mcp-config.json", &claude_loop("one"), &claude_loop("two"));
    let passes = |names: &str| format!("[servers.a]\ncommand = \"a\"\npass_env = [{names}]\n");
    differ(Dialect::Helve, "helve.toml", &passes("\"UNSET\""), &passes("\"UNSET_TOO\""));
}

#[test]
fn s5_the_content_of_files_that_become_values_counts() {
    let project = Project::new();
    let entries = [
        "command = \"a\"\nargs = [\"${file:value}\"]",
        "command = \"a\"\nargs = [\"${UNSET:-${file:value}}\"]",
        "command = \"a\"\nargs = [\"${TOKEN:-${file:value}}\"]",
        "command = \"a\"\nenv = { X = \"${file:value}\" }",
        "command = \"a\"\nenv_file = \"value\"",
        "command = \"a\"\ncwd = \"${file:value}\"",
        "url = \"https://example.com/${file:value}\"",
        "url = \"https://example.com\"\nheaders = { X = \"${file:value}\" }",
        "url = \"https://example.com\"\noauth = { client_secret = \"${file:value}\" }",
    ];
    for entry in entries {
        let hash = || project.own(&format!("[servers.a]\n{entry}\n"))[0].hash;
        project.write("value", "A=one");
        let one = hash();
        project.write("value", "A=two");
        assert_ne!(one, hash(), "{entry}");
        project.write("value", "A=one");
        assert_eq!(one, hash(), "{entry}");
    }
}

#[test]
fn s5_a_file_of_the_persons_own_counts_by_its_path() {
    let project = Project::new();
    let outside = project.root.parent().expect("a parent").join("own.env");
    let entry =
        format!("[servers.a]\ncommand = \"a\"\nenv_file = {outside:?}\nargs = [\"${{file:{}}}\"]\n", outside.display());
    fs_err::write(&outside, "A=hunter").expect("written");
    let one = project.own(&entry);
    fs_err::write(&outside, "A=rotated\nB=new").expect("written");
    let two = project.own(&entry);
    assert_eq!(one, two);
    assert!(!lines(&one[0]).contains("hunter"), "{}", lines(&one[0]));
}

#[test]
fn values_of_variables_and_the_look_of_the_file_change_nothing() {
    let project = Project::new();
    let entry = r#"{"command": "a", "args": ["${TOKEN}"], "env": {"A": "${TOKEN}"}, "cwd": "${TOKEN}"}"#;
    let asked = project.asked(entry);
    assert!(!lines(&asked).contains("hunter"), "{}", lines(&asked));
    for variables in [vec![("TOKEN", "rotated")], vec![], vec![("TOKEN", "x"), ("MCP_TIMEOUT", "5000")]] {
        let environment = Environment::new(&project.root).with_home("/home/me").with_variables(variables);
        assert_eq!(asked.hash, project.asked_with(entry, &environment).hash);
    }
    let respelled = "{ // comment\n \"env\": {\"A\": \"${TOKEN}\"},\n\n \"cwd\": \"${TOKEN}\", \"args\": [\"${TOKEN}\"], \"command\": \"a\", }";
    assert_eq!(asked.hash, project.hash(respelled));
    let passed = |environment: &Environment| {
        let text = "[servers.a]\ncommand = \"a\"\npass_env = [\"TOKEN\", \"OTHER\"]\n";
        project.requests(Dialect::Helve, "helve.toml", text, environment)[0].hash
    };
    let set = project.environment().with_variables([("OTHER", "set since")]);
    assert_eq!(passed(&project.environment()), passed(&set), "a variable that is set since is the same list");
}

/// Each entry runs the file: another content is another hash, and so is a link in its place.
#[test]
fn s5_the_content_of_what_is_run_counts() {
    let project = Project::new();
    let target = project.root.parent().expect("a parent").join("target.sh");
    fs_err::write(&target, "1").expect("written");
    project.write("node_modules/x/package.json", "{}");
    let path = format!(r#"{{"command": "tool", "env": {{"PATH": "{}/bin"}}}}"#, project.root.display());
    let relative = r#"{"command": "sh", "args": ["-c", "tool"], "env": {"PATH": "bin:/usr/bin"}}"#;
    for (name, entry) in [
        ("run.sh", r#"{"command": "./run.sh"}"#),
        ("run.db", r#"{"command": "./run.db"}"#),
        ("bin/tool", path.as_str()),
        ("bin/tool", relative),
        ("server.py", r#"{"command": "python", "args": ["-u", "server.py"]}"#),
        ("server.db", r#"{"command": "sh", "args": ["server.db"]}"#),
        ("server.db", r#"{"command": "sh", "args": ["-o", "errexit", "server.db"]}"#),
        ("server.log", r#"{"command": "/usr/bin/python3.12", "args": ["-W", "ignore", "server.log"]}"#),
        ("server.log", r#"{"command": "env", "args": ["-i", "python3", "server.log"]}"#),
        ("__main__.py", r#"{"command": "python3", "args": ["."]}"#),
        ("app/__main__.py", r#"{"command": "python3", "args": ["app/"]}"#),
        ("app/__main__.py", r#"{"command": "python3", "args": ["-Im", "app"]}"#),
        ("app/sub/server.py", r#"{"command": "python3", "args": ["-m", "app.sub.server"]}"#),
        ("app/__init__.py", r#"{"command": "python3", "args": ["-mapp.sub"]}"#),
        ("lib/app.py", r#"{"command": "python3", "args": ["-m", "app"], "env": {"PYTHONPATH": "lib"}}"#),
        ("code.csv", r#"{"command": "python3", "args": ["-c", "exec(open('code.csv').read())"]}"#),
        ("index.js", r#"{"command": "node", "args": ["."]}"#),
        ("package.json", r#"{"command": "node", "args": ["."]}"#),
        ("server.js", r#"{"command": "node", "args": ["server"]}"#),
        ("server.mjs", r#"{"command": "node", "args": ["--no-warnings", "./server"]}"#),
        ("server.cjs", r#"{"command": "nodejs", "args": ["server"]}"#),
        ("sub/index.ts", r#"{"command": "npx", "args": ["-y", "tsx", "watch", "sub"]}"#),
        ("a.js", r#"{"command": "node", "args": ["--require=a.js", "-e", "1"]}"#),
        ("a.db", r#"{"command": "node", "args": ["-r", "./a.db", "server.js"]}"#),
        ("a.js", r#"{"command": "node", "args": ["-r./a.js", "server.js"]}"#),
        ("node_modules/.bin/tool", r#"{"command": "npx", "args": ["tool"]}"#),
        ("deep/x.sh", r#"{"command": "sh", "args": ["-c", "exec deep/x.sh --fast"]}"#),
        ("run.sh", r#"{"command": "sh", "args": ["-c", "./run.sh;true"]}"#),
        ("run.sh", r#"{"command": "bash", "args": ["-lc", "true&&(./run.sh|cat)"]}"#),
        ("sub/run.sh", r#"{"command": "sh", "args": ["-c", "cd sub && ./run.sh"]}"#),
        ("sub/deep/run", r#"{"command": "sh", "args": ["-c", "cd sub; cd 'deep' && exec ./run"]}"#),
        ("run.sh", r#"{"command": "sh", "args": ["-c", "(cd sub; true); ./run.sh"]}"#),
        ("run.db", r#"{"command": "sh", "args": ["-c", ". ./run.db"]}"#),
        ("run.db", r#"{"command": "sh", "args": ["-c", "cat run.db | sh"]}"#),
        ("run.db", r#"{"command": "sh", "args": ["-c", "python3 < run.db"]}"#),
        ("run.db", r#"{"command": "sh", "args": ["-c", "sh \"$1\"", "_", "run.db"]}"#),
        ("run.db", r#"{"command": "sh", "args": ["-c", "$TOOL run.db"]}"#),
        ("run.sh", r#"{"command": "sh", "args": ["-c", "$TOOL"], "env": {"TOOL": "./run.sh"}}"#),
        ("run.sh", r#"{"command": "sh", "args": ["-c", "\"$PWD/run.sh\""]}"#),
        ("run-a.sh", r#"{"command": "sh", "args": ["-c", "for f in run-*.sh; do sh $f; done"]}"#),
        ("run.sh", r#"{"command": "timeout", "args": ["5", "nice", "sh", "-c", "./run.sh"]}"#),
        ("run.sh", r#"{"command": "env", "args": ["-S", "sh ./run.sh"]}"#),
        ("../tools/run.sh", r#"{"command": "../tools/run.sh"}"#),
        ("../tools/run.py", r#"{"command": "python3", "args": ["../tools/run.py"]}"#),
        ("tools/run.sh", r#"{"command": "../tools/run.sh", "cwd": "sub"}"#),
        ("sub/y.py", r#"{"command": "python", "args": ["y.py"], "cwd": "sub"}"#),
        ("sub/server.py", r#"{"command": "uv", "args": ["--directory", "sub", "run", "server.py"]}"#),
        ("sub/pyproject.toml", r#"{"command": "uv", "args": ["--directory=sub", "run", "tool"]}"#),
        ("server.log", r#"{"command": "uv", "args": ["run", "python", "server.log"]}"#),
        ("package.json", r#"{"command": "npm", "args": ["run", "mcp"]}"#),
        ("sub/package.json", r#"{"command": "npm", "args": ["--prefix", "sub", "run", "mcp"]}"#),
        ("Makefile", r#"{"command": "make", "args": ["serve"]}"#),
        ("other.mk", r#"{"command": "make", "args": ["-f", "other.mk", "serve"]}"#),
        ("justfile", r#"{"command": "just", "args": ["serve"]}"#),
        ("app.jar", r#"{"command": "java", "args": ["-jar", "app.jar"]}"#),
        ("lib/b.jar", r#"{"command": "java", "args": ["-cp", "lib/a.jar:lib/b.jar", "Main"]}"#),
        ("run.rb", r#"{"command": "ruby", "args": ["-I", "lib", "run.rb"]}"#),
        ("run.pl", r#"{"command": "perl", "args": ["run.pl"]}"#),
        ("artisan", r#"{"command": "php", "args": ["artisan", "mcp"]}"#),
        ("main.ts", r#"{"command": "deno", "args": ["run", "-A", "main.ts"]}"#),
        ("evil.so", r#"{"command": "tool", "env": {"LD_PRELOAD": "./evil.so"}}"#),
        ("hook.log", r#"{"command": "node", "args": ["x"], "env": {"NODE_OPTIONS": "--require ./hook.log"}}"#),
        ("settings.json", r#"{"command": "tool", "args": ["--config", "settings.json"]}"#),
        ("settings.json", r#"{"command": "tool", "args": ["--config=settings.json"]}"#),
    ] {
        let path = project.root.join(name);
        let label = format!("{name} in {entry}");
        assert!(!path.exists(), "{label}");
        let missing = project.hash(entry);
        fs_err::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs_err::write(&path, "{\"one\": 1}").expect("written");
        let one = project.hash(entry);
        fs_err::write(&path, "{\"two\": 2}").expect("written");
        let two = project.hash(entry);
        assert!(missing != one && one != two, "{label}");
        fs_err::remove_file(&path).expect("removed");
        fs_err::os::unix::fs::symlink(&target, &path).expect("linked");
        let linked = project.hash(entry);
        fs_err::write(&target, format!("{label} changed")).expect("written");
        assert!(linked != two && linked != project.hash(entry), "{label}: a link out of the project counts too");
        fs_err::remove_file(&path).expect("removed");
    }
}

#[test]
fn s5_what_a_manifest_or_a_first_line_names_counts() {
    let project = Project::new();
    let check = |entry: &str, file: &str| {
        project.write(file, "one");
        let one = project.hash(entry);
        project.write(file, "two");
        assert_ne!(one, project.hash(entry), "{file} of {entry}");
    };
    project.write("package.json", r#"{"main": "dist/main", "scripts": {"mcp": "cd tools && node serve"}}"#);
    check(r#"{"command": "node", "args": ["."]}"#, "dist/main.js");
    check(r#"{"command": "npm", "args": ["run", "mcp"]}"#, "tools/serve.js");
    check(r#"{"command": "yarn", "args": ["mcp"]}"#, "tools/serve.js");
    check(r#"{"command": "sh", "args": ["-c", "npm run mcp"]}"#, "tools/serve.js");
    project.write("deno.json", r#"{"tasks": {"mcp": "deno run -A serve.ts"}}"#);
    fs_err::remove_file(project.root.join("package.json")).expect("removed");
    check(r#"{"command": "deno", "args": ["task", "mcp"]}"#, "serve.ts");
    project.write("run", "#!./interpreter --flag\n");
    check(r#"{"command": "./run"}"#, "interpreter");
    // Behind a link `..` leads elsewhere than it seems.
    project.write("elsewhere/inner/x", "");
    project.write("run.sh", "decoy");
    fs_err::os::unix::fs::symlink(project.root.join("elsewhere/inner"), project.root.join("link")).expect("linked");
    check(r#"{"command": "link/../run.sh"}"#, "elsewhere/run.sh");
}

#[test]
fn s5_data_that_a_server_works_on_is_not_another_server() {
    let project = Project::new();
    for entry in [
        r#"{"command": "sqlite-server", "args": ["--db-path", "data.db"]}"#,
        r#"{"command": "uvx", "args": ["mcp-server-sqlite", "--db-path", "./data.db"]}"#,
        r#"{"command": "uv", "args": ["--directory", ".", "run", "mcp-server-sqlite", "--db-path", "data.db"]}"#,
        r#"{"command": "npx", "args": ["-y", "server-sqlite", "data.db"]}"#,
        r#"{"command": "python3", "args": ["-m", "server", "--db", "data.db"]}"#,
        r#"{"command": "java", "args": ["-jar", "server.jar", "data.db"]}"#,
        r#"{"command": "sh", "args": ["-c", "./server --db data.db > data.db"]}"#,
        r#"{"command": "tool", "env": {"DB": "data.db"}}"#,
    ] {
        let before = project.hash(entry);
        project.write("data.db", "rows");
        assert_eq!(before, project.hash(entry), "{entry}");
        fs_err::remove_file(project.root.join("data.db")).expect("removed");
    }
}

#[test]
fn s5_no_false_alarms() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = Project::new();
    project.write("server.py", "print()");
    project.write("other.py", "print()");
    project.write("data.db", "rows");
    let entry = r#"{"command": "python3", "args": ["server.py", "--db", "data.db"], "env": {"A": "${TOKEN}"}}"#;
    let trusted = project.hash(entry);
    for _ in 0..1_000 {
        assert_eq!(trusted, project.hash(entry));
    }
    let script = project.root.join("server.py");
    let touched = fs_err::OpenOptions::new().write(true).open(&script).expect("open");
    touched.file().set_modified(std::time::UNIX_EPOCH).expect("touched");
    assert_eq!(trusted, project.hash(entry), "touched");
    fs_err::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("changed");
    fs_err::set_permissions(project.root.join("other.py"), std::fs::Permissions::from_mode(0o600)).expect("changed");
    assert_eq!(trusted, project.hash(entry), "an unrelated chmod");
    project.write("data.db", "other rows");
    project.write("other.py", "changed");
    assert_eq!(trusted, project.hash(entry), "data, and a file that nobody names");
    fs_err::remove_file(&script).expect("removed");
    project.write("server.py", "print()");
    assert_eq!(trusted, project.hash(entry), "checked out again");
    let rotated = project.environment().with_variables([("TOKEN", "rotated")]);
    assert_eq!(trusted, project.asked_with(entry, &rotated).hash, "a rotated variable");
}

#[test]
fn s5_the_question_is_the_list() {
    let project = Project::new();
    project.write("server.py", "print()");
    project.write(".env", "MODE=fast");
    let asked = project.own(
        r#"
[servers.run]
command = "python3"
args = ["server.py", "it's", "${input:region}"]
env = { TOKEN = "${TOKEN}", API_KEY = "literal" }
env_file = ".env"
pass_env = ["HTTPS_TOKEN"]
cwd = "."
inherit_env = true
write_tools = ["write_*"]
readonly = true
trust_annotations = true
shared = false
startup_timeout_seconds = 5
timeout_seconds = 6
max_retries = 7

[[inputs]]
id = "region"
description = "Which one?"
options = ["eu", "us"]
default = "eu"

[[inputs]]
id = "unused"
"#,
    );
    let shown = lines(&asked[0]).replace(&project.root.display().to_string(), "[project]");
    assert!(!shown.contains("hunter") && !shown.contains("literal"), "{shown}");
    insta::assert_snapshot!(shown, @r"
    server: run
    command: python3 server.py 'it'\''s' '${input:region}'
    variables: MODE=${env_file:.env:MODE}
    variables: TOKEN=${TOKEN}
    variables: API_KEY=(hidden) (sha256 829f8d848b44…)
    passes on: HTTPS_TOKEN
    directory: .
    variables from: .env
    also: gets your whole environment
    may write: write_*
    read-only: yes
    also: is believed when it calls a tool harmless
    also: is one for each agent
    also: may take 5s to start
    also: may take 6s for a call
    also: is tried 7 times more
    reads yours: TOKEN, HTTPS_TOKEN
    asks you: region, Which one?, one of eu us, suggests eu
    file: .env (sha256 33e214600f3e…)
    file: server.py (sha256 525d51331341…)
    ");
    let reached = project.own(
        r#"
[servers.reach]
url = "https://${HOST:-example.com}/mcp"
type = "sse"
headers = { Authorization = "Bearer ${TOKEN}", X = "literal" }
oauth = { client_id = "me", client_secret = "${SECRET}", scopes = ["read", "write"], callback_port = 80, metadata_url = "https://as", resource = "r" }
tools = ["a", "b"]
disabled_tools = ["c"]
"#,
    );
    insta::assert_snapshot!(lines(&reached[0]), @r"
    server: reach
    address: https://${HOST:-example.com}/mcp
    transport: HTTP+SSE
    headers: Authorization: Bearer ${TOKEN}
    headers: X: (hidden) (sha256 829f8d848b44…)
    only tools: a, b
    without tools: c
    signing in: allowed
    signing in: client: me
    signing in: secret: ${SECRET}
    signing in: described at: https://as
    signing in: resource: r
    signing in: asks for: read write
    signing in: answers come to port 80
    reads yours: HOST, TOKEN, SECRET
    ");
}

fn rules(text: &str) -> Option<TrustHash> {
    let project = Project::new();
    let requests = project.own(text);
    requests.into_iter().find(|request| request.subject == TrustSubject::Rules).map(|request| request.hash)
}

#[test]
fn s5_all_rules_of_a_file_that_allows_count_in_their_order() {
    let allow = "[[rules]]\ntool = \"a/*\"\naction = \"allow\"\n";
    let deny = "[[rules]]\ntool = \"a/danger\"\naction = \"deny\"\n";
    let first = rules(&format!("{deny}{allow}"));
    assert!(first.is_some());
    assert_ne!(first, rules(&format!("{allow}{deny}")), "moved behind");
    assert_ne!(first, rules(allow), "deleted");
    assert_ne!(first, rules(&format!("{}{allow}", deny.replace("deny", "ask"))), "milder");
    assert_ne!(rules(allow), rules(&allow.replace("a/*", "b/*")));
    assert_ne!(rules(allow), rules(&allow.replace("action", "pattern = \"x\"\naction")));
    assert_ne!(rules(allow), rules(&allow.replace("action", "risk = \"low\"\naction")));
    assert_ne!(rules(allow), rules(&allow.replace("action", "kind = \"resource\"\naction")));
    assert_ne!(rules(allow), rules(&format!("{allow}[settings]\nmax_retries = 3\n")));
    assert_eq!(rules(deny), None, "narrowing needs no trust");
}

#[test]
fn a_hash_is_read_back() {
    let hash = hash_content(b"content");
    assert_eq!(hash.to_string().parse::<TrustHash>(), Ok(hash));
    assert!("12".parse::<TrustHash>().is_err() && "é".repeat(32).parse::<TrustHash>().is_err());
}
