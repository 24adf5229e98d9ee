//! A home and a project of their own for every test, and the program run in them with nothing else around it.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use helve_testkit::Scenario;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Long enough for a loaded machine; a test that waits so long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

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

    /// Every file below a directory, as text.
    pub(crate) fn files_below(&self, path: &str) -> Vec<(String, String)> {
        let mut files = Vec::new();
        let mut directories = vec![self.root.join(path)];
        while let Some(directory) = directories.pop() {
            for entry in fs_err::read_dir(directory).into_iter().flatten().map_while(Result::ok) {
                let path = entry.path();
                if path.is_dir() {
                    directories.push(path);
                } else if let Ok(bytes) = fs_err::read(&path) {
                    files.push((path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned()));
                }
            }
        }
        files
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

/// A program of the system's.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "the program under test is started by its test")]
fn program(name: &str) -> Command {
    Command::new(name)
}

/// A machine whose person has these servers, and may call what the rules say.
pub(crate) fn with_servers(servers: &[(&str, Scenario)], rules: &str) -> TestEnv {
    let env = TestEnv::new();
    let mut config = String::new();
    for (name, scenario) in servers {
        config.push_str(&format!("[servers.{name}]\n{}\n", started_by(scenario)));
    }
    config.push_str(rules);
    env.write("home/.config/helve/helve.toml", &config);
    env
}

/// The lines of a configuration that start a fake peer.
pub(crate) fn started_by(scenario: &Scenario) -> String {
    let program = helve_testkit::peer_program();
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    format!("command = {}\nargs = [{}]\n", quoted(&program.to_string_lossy()), quoted(&scenario.to_json()))
}

/// Everything may be called.
pub(crate) const ALLOW: &str = "[[rules]]\ntool = \"*/*\"\naction = \"allow\"\n";

/// Somebody at a terminal of 60 columns.
pub(crate) struct Person<'env> {
    env: &'env TestEnv,
    terminal: File,
    child: Child,
    seen: Vec<u8>,
}

impl<'env> Person<'env> {
    /// Starts helve there.
    pub(crate) fn at(env: &'env TestEnv, arguments: &[&str]) -> Self {
        Self::with(env, env.command(arguments))
    }

    /// Starts a program there that has the terminal to itself, as a shell does.
    #[cfg(target_os = "linux")]
    pub(crate) fn in_session(env: &'env TestEnv, words: &[&str]) -> Self {
        let helve = env.command(&[]);
        let mut command = program("setsid");
        command.args(["--ctty", "--wait"]).args(words).current_dir(env.project()).env_clear();
        command.envs(helve.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Self::with(env, command)
    }

    fn with(env: &'env TestEnv, mut command: Command) -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&controller).expect("granted");
        unlockpt(&controller).expect("unlocked");
        let name = ptsname(&controller, Vec::new()).expect("a name").into_string().expect("UTF-8");
        let size = Winsize { ws_row: 24, ws_col: 60, ws_xpixel: 0, ws_ypixel: 0 };
        let end = || -> Stdio {
            let file: OwnedFd =
                fs_err::OpenOptions::new().read(true).write(true).open(&name).expect("opened").into_parts().0.into();
            tcsetwinsize(&file, size).expect("sized");
            Stdio::from(file)
        };
        command.stdin(end()).stdout(end()).stderr(end());
        // The child's ends close with the command, so that reading ends when the child does.
        let child = command.spawn().expect("started");
        Self { env, terminal: File::from(controller), child, seen: Vec::new() }
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).expect("typed");
    }

    /// Ctrl-C, where the terminal is not the child's own and sends no signals.
    pub(crate) fn interrupts(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("there");
    }

    /// Waits until a text is on the terminal that was not seen before.
    pub(crate) fn sees(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let seen = String::from_utf8_lossy(&self.seen).into_owned();
            if let Some((_, after)) = seen.split_once(text) {
                self.seen = after.as_bytes().to_vec();
                return;
            }
            assert!(self.look(deadline), "helve ended, or is silent, after:\n{seen}");
        }
    }

    /// Everything up to a text that was not seen before.
    pub(crate) fn sees_up_to(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let seen = String::from_utf8_lossy(&self.seen).into_owned();
            if let Some((before, after)) = seen.split_once(text) {
                self.seen = after.as_bytes().to_vec();
                return before.to_owned();
            }
            assert!(self.look(deadline), "helve ended, or is silent, after:\n{seen}");
        }
    }

    /// The exit status, and everything that was not seen before.
    pub(crate) fn sees_the_end(&mut self) -> String {
        let deadline = Instant::now() + PATIENCE;
        while self.look(deadline) {}
        let status = self.child.wait().expect("ended");
        let text = String::from_utf8_lossy(&self.seen).replace("\r\n", "\n");
        format!("exit status {}\n{}", status.code().unwrap_or(-1), self.env.filter(&text))
    }

    /// Takes what is there; false when there will be no more.
    fn look(&mut self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut ends = [PollFd::new(&self.terminal, PollFlags::IN)];
        let ready = poll(&mut ends, Some(&Timespec::try_from(left).expect("a time"))).expect("a terminal");
        let mut buffer = [0; 4096];
        if ready == 0 {
            return false;
        }
        // A terminal whose other end is gone is an error, not an end.
        let Ok(count @ 1..) = self.terminal.read(&mut buffer) else { return false };
        self.seen.extend_from_slice(&buffer[..count]);
        true
    }
}

impl Drop for Person<'_> {
    fn drop(&mut self) {
        // A test that failed leaves nobody waiting for an answer.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
