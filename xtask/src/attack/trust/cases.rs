//! Owns the generated changes: where a value stands, what becomes of it, and what a command line runs.

/// One server before and after; `{dir}` is its directory.
pub(super) struct Case {
    pub(super) what: String,
    pub(super) entry: String,
    pub(super) after: String,
    /// Path below its directory, content before, content after.
    pub(super) files: Vec<(String, String, String)>,
}

/// Where a value may stand.
const PLACES: &[(&str, &str)] = &[
    ("an argument", "command = \"tool\"\nargs = [\"--x\", \"@\"]"),
    ("the command", "command = \"tool-@\""),
    ("a variable", "command = \"tool\"\nenv = { X = \"@\" }"),
    ("the directory", "command = \"tool\"\ncwd = \"@\""),
    ("the address", "url = \"https://example.com/@\""),
    ("a header", "url = \"https://example.com\"\nheaders = { X = \"@\" }"),
    ("the client", "url = \"https://example.com\"\noauth = { client_id = \"@\" }"),
    ("the client's secret", "url = \"https://example.com\"\noauth = { client_id = \"a\", client_secret = \"@\" }"),
    ("the metadata", "url = \"https://example.com\"\noauth = { metadata_url = \"@\" }"),
];

/// What becomes of it.
const CHANGES: &[(&str, &str)] = &[
    ("one", "two"),
    ("one", "${AWS_SECRET}"),
    ("${A}", "${AWS_SECRET}"),
    ("${A}", "${A}${AWS_SECRET}"),
    ("${A:-one}", "${A:-two}"),
];

/// Entries whose names of variables change.
const NAMES: &[&str] = &[
    "url = \"https://example.com\"\nbearer_token_env_var = \"@\"",
    "command = \"tool\"\npass_env = [\"@\"]",
    "url = \"https://example.com\"\nheaders = { \"@\" = \"x\" }",
    "command = \"tool\"\nenv = { \"@\" = \"x\" }",
];

/// What runs or names which file.
const RUNS: &[(&str, &str)] = &[
    ("command = \"./run\"", "run"),
    ("command = \"./run.db\"", "run.db"),
    ("command = \"sh\"\nargs = [\"server.db\"]", "server.db"),
    ("command = \"sh\"\nargs = [\"-e\", \"server\"]", "server"),
    ("command = \"bash\"\nargs = [\"-o\", \"pipefail\", \"server.log\"]", "server.log"),
    ("command = \"sh\"\nargs = [\"-c\", \"./run.sh;true\"]", "run.sh"),
    ("command = \"sh\"\nargs = [\"-c\", \"cd sub && ./run.sh\"]", "sub/run.sh"),
    ("command = \"sh\"\nargs = [\"-c\", \"(./run.sh|cat)&\"]", "run.sh"),
    ("command = \"sh\"\nargs = [\"-c\", \". ./run.db\"]", "run.db"),
    ("command = \"sh\"\nargs = [\"-c\", \"cat run.db | sh\"]", "run.db"),
    ("command = \"sh\"\nargs = [\"-c\", \"exec 'run me.sh'\"]", "run me.sh"),
    ("command = \"dash\"\nargs = [\"-ec\", \"FOO=1 ./run.sh --fast\"]", "run.sh"),
    ("command = \"env\"\nargs = [\"X=1\", \"python3\", \"server.log\"]", "server.log"),
    ("command = \"python3\"\nargs = [\".\"]", "__main__.py"),
    ("command = \"python3\"\nargs = [\"app/\"]", "app/__main__.py"),
    ("command = \"python3\"\nargs = [\"-u\", \"server.py\"]", "server.py"),
    ("command = \"python3.12\"\nargs = [\"-m\", \"app\"]", "app/__main__.py"),
    ("command = \"python3\"\nargs = [\"-m\", \"app.server\"]", "app/server.py"),
    ("command = \"python3\"\nargs = [\"-m\", \"app\"]", "app/__init__.py"),
    ("command = \"node\"\nargs = [\".\"]", "index.js"),
    ("command = \"node\"\nargs = [\".\"]", "package.json"),
    ("command = \"node\"\nargs = [\"server\"]", "server.js"),
    ("command = \"node\"\nargs = [\"server\"]", "server.mjs"),
    ("command = \"node\"\nargs = [\"--no-warnings\", \"server\"]", "server.cjs"),
    ("command = \"node\"\nargs = [\"-r\", \"./hook.js\", \"server.js\"]", "hook.js"),
    ("command = \"npx\"\nargs = [\"tsx\", \"src/index\"]", "src/index.ts"),
    ("command = \"bun\"\nargs = [\"run\", \"server.ts\"]", "server.ts"),
    ("command = \"deno\"\nargs = [\"run\", \"-A\", \"main.ts\"]", "main.ts"),
    ("command = \"ruby\"\nargs = [\"server\"]", "server"),
    ("command = \"perl\"\nargs = [\"-w\", \"server.pl\"]", "server.pl"),
    ("command = \"php\"\nargs = [\"artisan\", \"serve\"]", "artisan"),
    ("command = \"java\"\nargs = [\"-jar\", \"app.jar\"]", "app.jar"),
    ("command = \"make\"\nargs = [\"serve\"]", "Makefile"),
    ("command = \"make\"\nargs = [\"-f\", \"mine.mk\"]", "mine.mk"),
    ("command = \"just\"\nargs = [\"serve\"]", "justfile"),
    ("command = \"npm\"\nargs = [\"run\", \"serve\"]", "package.json"),
    ("command = \"uv\"\nargs = [\"run\", \"server.py\"]", "server.py"),
    ("command = \"uv\"\nargs = [\"--directory\", \"sub\", \"run\", \"server.py\"]", "sub/server.py"),
    ("command = \"tool\"\nargs = [\"--config=settings.json\"]", "settings.json"),
    ("command = \"tool\"\nenv = { LD_PRELOAD = \"./evil.so\" }", "evil.so"),
];

/// Entries whose file becomes a value.
const VALUES: &[&str] = &[
    "command = \"tool\"\nargs = [\"${file:{dir}/value}\"]",
    "command = \"tool\"\nenv = { X = \"${file:{dir}/value}\" }",
    "command = \"tool\"\nenv_file = \"{dir}/value\"",
    "url = \"https://example.com/${file:{dir}/value}\"",
    "url = \"https://example.com\"\nheaders = { X = \"${file:{dir}/value}\" }",
];

/// All of them: more than a hundred.
pub(super) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for (place, entry) in PLACES {
        for (before, after) in CHANGES {
            cases.push(Case {
                what: format!("{place}: {before} becomes {after}"),
                entry: entry.replace('@', before),
                after: entry.replace('@', after),
                files: Vec::new(),
            });
        }
    }
    for entry in NAMES {
        cases.push(Case {
            what: format!("another name in {}", one_line(entry)),
            entry: entry.replace('@', "A"),
            after: entry.replace('@', "AWS_SECRET"),
            files: Vec::new(),
        });
    }
    for entry in VALUES {
        cases.push(in_place(&format!("a value in {}", one_line(entry)), entry, "value", "X=one", "X=two"));
    }
    for (entry, file) in RUNS {
        let entry = format!("{entry}\ncwd = \"{{dir}}\"");
        let what = format!("{file} of {}", one_line(&entry));
        cases.push(in_place(&what, &entry, file, "{\"content\": 1}", "{\"content\": 2}"));
        // The same length, and one byte of difference at the end.
        cases.push(in_place(&format!("one byte of {what}"), &entry, file, "{\"a\": \"\"} ", "{\"a\": \"\"}\n"));
    }
    let outside = "command = \"../tools/run.sh\"\ncwd = \"{dir}/sub\"";
    let mut beside = in_place("../tools/run.sh", outside, "tools/run.sh", "one", "two");
    beside.files.push(("sub/notes.txt".to_owned(), String::new(), String::new()));
    cases.push(beside);
    cases
}

fn in_place(what: &str, entry: &str, file: &str, before: &str, after: &str) -> Case {
    Case {
        what: what.to_owned(),
        entry: entry.to_owned(),
        after: entry.to_owned(),
        files: vec![(file.to_owned(), before.to_owned(), after.to_owned())],
    }
}

fn one_line(entry: &str) -> String {
    entry.replace('\n', ", ")
}
