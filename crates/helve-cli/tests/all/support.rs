//! A home and a project of their own for every test, and the program run in them with nothing else around it.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A person's machine.
pub(crate) struct TestEnv {
    /// Removed when the test ends.
    _directory: tempfile::TempDir,
    root: PathBuf,
    variables: Vec<(String, String)>,
}

impl TestEnv {
    /// An empty home, and an empty project with a repository around it.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        // Where a temporary directory is a link, helve shows what it leads to.
        let root = fs_err::canonicalize(directory.path()).expect("a real path");
        fs_err::create_dir_all(root.join("home")).expect("made");
        fs_err::create_dir_all(root.join("project/.git")).expect("made");
        Self { _directory: directory, root, variables: Vec::new() }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// The same with a variable.
    pub(crate) fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A file below the root: `home/.cursor/mcp.json`, `project/helve.toml`.
    pub(crate) fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.root.join(path);
        fs_err::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs_err::write(path, text).expect("written");
        self
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs_err::read_to_string(self.root.join(path)).expect("there")
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// Runs helve in the project; gives what it said and how it ended.
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        self.run_with_input(arguments, "")
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> String {
        self.shown(&self.output(arguments, input))
    }

    /// What helve writes to stdout; it must end well.
    pub(crate) fn stdout(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments, "");
        assert!(output.status.success(), "{}", self.shown(&output));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// What helve writes to stdout, as JSON, however it ends.
    pub(crate) fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let output = self.output(arguments, "");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}\n{}", self.shown(&output)))
    }

    pub(crate) fn output(&self, arguments: &[&str], input: &str) -> Output {
        use std::io::Write as _;
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("started");
        // A program that does not read its input may be gone already.
        drop(child.stdin.take().expect("a pipe").write_all(input.as_bytes()));
        child.wait_with_output().expect("ended")
    }

    /// The program in this home and project, with no variables but those of the test.
    #[expect(clippy::disallowed_methods, reason = "the program under test is started by its test")]
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_helve"));
        command
            .args(arguments)
            .current_dir(self.project())
            .env_clear()
            .env("HOME", self.home())
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    fn shown(&self, output: &Output) -> String {
        let status = output.status.code().map_or_else(|| "a signal".to_owned(), |code| code.to_string());
        let mut text = format!("exit status {status}\n");
        for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            if !bytes.is_empty() {
                text.push_str(&format!("--- {name}\n{}", self.filter(&String::from_utf8_lossy(bytes))));
            }
        }
        text
    }

    /// Paths of this machine and hashes give way to words.
    pub(crate) fn filter(&self, text: &str) -> String {
        let root = self.root.to_string_lossy();
        let text = text.replace(&format!("{root}/"), "[ROOT]/").replace(root.as_ref(), "[ROOT]");
        let mut filtered = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(at) = rest.find(|character: char| character.is_ascii_hexdigit()) {
            let (before, from) = rest.split_at(at);
            filtered.push_str(before);
            let end = from.find(|character: char| !character.is_ascii_hexdigit()).unwrap_or(from.len());
            let (digits, after) = from.split_at(end);
            filtered.push_str(if digits.len() == 64 { "[HASH]" } else { digits });
            rest = after;
        }
        filtered.push_str(rest);
        filtered
    }
}
