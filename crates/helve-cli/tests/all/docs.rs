//! The documentation is true: every `console` block is run with the real program, and says what the program says.
//!
//! A document is one story in one project. `<!-- file: PATH -->` before a block puts the block into that file, in the
//! project or below `~/`; `<!-- new project -->` begins anew; `<!-- needs: PROGRAM -->` before a `console` block leaves
//! it out where there is no such program. Of the commands those of helve are run. What is expected stands below each:
//! stdout, then stderr. `…` stands for any text in a line, and a line of its own for any number of lines. In a block
//! without `$` every line is a command, of which no more is expected than that it ends well.

use std::path::{Path, PathBuf};

use helve_model::ErrorCode;

use crate::support::TestEnv;

/// Commands that are helve.
const PROGRAMS: &[&str] = &["helve", "cargo run --release --", "cargo run --"];

enum Step {
    NewProject,
    File { path: String, text: String },
    Command { line: usize, arguments: Vec<String>, expected: Expected },
}

enum Expected {
    Success,
    Said(String),
}

#[test]
fn console_blocks_of_the_documentation_are_true() {
    let mut wrong = Vec::new();
    let mut commands = 0;
    for document in documents() {
        let text = fs_err::read_to_string(&document).expect("readable");
        let name = document.file_name().expect("a name").to_string_lossy().into_owned();
        let mut env = environment(&name, &text);
        for step in steps(&text) {
            match step {
                Step::NewProject => env = environment(&name, &text),
                Step::File { path, text } => drop(write(&env, &path, &text)),
                Step::Command { line, arguments, expected } => {
                    commands += 1;
                    let (is_success, said) = run(&env, &arguments);
                    let is_true = match expected {
                        Expected::Success => is_success,
                        Expected::Said(expected) => fits(&expected, &said),
                    };
                    if !is_true {
                        wrong.push(format!("{name}:{line}: helve {}\n{said}", arguments.join(" ")));
                    }
                }
            }
        }
    }
    assert!(commands > 0, "no document has a command");
    assert!(wrong.is_empty(), "helve says something else:\n\n{}", wrong.join("\n"));
}

#[test]
fn every_error_code_has_its_section() {
    let text = fs_err::read_to_string(root().join("docs/troubleshooting.md")).expect("readable");
    for code in ErrorCode::ALL {
        assert!(text.lines().any(|line| line == format!("### {code}")), "docs/troubleshooting.md lacks {code}");
    }
}

#[test]
fn every_verb_is_described() {
    let env = TestEnv::new();
    let help = env.stdout(&["--help"]);
    let text = fs_err::read_to_string(root().join("docs/cli.md")).expect("readable");
    let verbs = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let verbs: Vec<&str> = verbs.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(!verbs.is_empty());
    for verb in verbs {
        assert!(text.contains(&format!("helve {verb}")), "docs/cli.md lacks `helve {verb}`");
    }
}

#[test]
fn what_fits() {
    assert!(fits("a\n…\nd\n", "a\nb\nc\nd\n"));
    assert!(fits("ready in … ms\n", "ready in 12 ms\n"));
    assert!(fits("a\n…\n", "a\n"));
    assert!(!fits("a\n", "a\nb\n"));
    assert!(!fits("a…c\n", "abd\n"));
    assert!(!fits("…b\n", "a\n"));
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn documents() -> Vec<PathBuf> {
    let mut documents: Vec<PathBuf> = fs_err::read_dir(root().join("docs"))
        .expect("there")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    documents.push(root().join("README.md"));
    documents.sort();
    documents
}

/// An empty home, and a project that has the document in it.
#[expect(clippy::disallowed_methods, reason = "servers of the documentation are found where the tests find programs")]
fn environment(name: &str, text: &str) -> TestEnv {
    let path = std::env::var("PATH").unwrap_or_default();
    let env = TestEnv::new().with_variable("PATH", &path);
    env.write(&format!("project/{name}"), text);
    env
}

fn write<'env>(env: &'env TestEnv, path: &str, text: &str) -> &'env TestEnv {
    match path.strip_prefix("~/") {
        Some(below) => env.write(&format!("home/{below}"), text),
        None => env.write(&format!("project/{path}"), text),
    }
}

/// Whether helve ended well, and what it said.
fn run(env: &TestEnv, arguments: &[String]) -> (bool, String) {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = env.output(&arguments, "");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let said = env.filter(&said).replace("[ROOT]/home", "/home/you").replace("[ROOT]", "/home/you");
    (output.status.success(), said)
}

fn steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let (mut file, mut is_left_out) = (None, false);
    let mut lines = text.lines().enumerate();
    while let Some((_, line)) = lines.next() {
        if line == "<!-- new project -->" {
            steps.push(Step::NewProject);
        } else if let Some(path) = comment(line, "file:") {
            file = Some(path.to_owned());
        } else if let Some(program) = comment(line, "needs:") {
            is_left_out = !is_there(program);
        } else if let Some(language) = line.strip_prefix("```") {
            let block: Vec<(usize, &str)> = lines.by_ref().take_while(|(_, line)| *line != "```").collect();
            match file.take() {
                Some(path) => {
                    let text = block.iter().map(|(_, line)| format!("{line}\n")).collect();
                    steps.push(Step::File { path, text });
                }
                None if language == "console" && !is_left_out => steps.extend(commands(&block)),
                None => {}
            }
            is_left_out = false;
        }
    }
    steps
}

/// The commands of a block, each with what is expected. Other programs' are passed over with all they say.
fn commands(block: &[(usize, &str)]) -> Vec<Step> {
    let has_prompts = block.iter().any(|(_, line)| line.starts_with("$ "));
    let mut commands = Vec::new();
    let mut rest = block.iter().peekable();
    while let Some((number, line)) = rest.next() {
        let (command, expected) = if has_prompts {
            let Some(command) = line.strip_prefix("$ ") else { continue };
            let mut said = String::new();
            while let Some((_, line)) = rest.next_if(|(_, line)| !line.starts_with("$ ")) {
                said.push_str(line);
                said.push('\n');
            }
            (command, Expected::Said(said))
        } else {
            (*line, Expected::Success)
        };
        if let Some(words) = PROGRAMS.iter().find_map(|program| after(program, command)) {
            let arguments = shell_words::split(words).expect("words");
            commands.push(Step::Command { line: number + 1, arguments, expected });
        }
    }
    commands
}

/// What follows the program in a command that is one of it.
fn after<'command>(program: &str, command: &'command str) -> Option<&'command str> {
    let rest = command.strip_prefix(program)?;
    (rest.is_empty() || rest.starts_with(' ')).then_some(rest)
}

fn comment<'line>(line: &'line str, key: &str) -> Option<&'line str> {
    line.strip_prefix("<!-- ")?.strip_suffix(" -->")?.strip_prefix(key).map(str::trim)
}

#[expect(clippy::disallowed_methods, reason = "servers of the documentation are found where the tests find programs")]
fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

fn fits(expected: &str, said: &str) -> bool {
    let (expected, said): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), said.lines().collect());
    lines_fit(&expected, &said)
}

fn lines_fit(expected: &[&str], said: &[&str]) -> bool {
    match (expected, said) {
        ([], []) => true,
        (["…", rest @ ..], _) => (0..=said.len()).any(|skipped| lines_fit(rest, &said[skipped..])),
        ([pattern, expected @ ..], [line, said @ ..]) => {
            line_fits(pattern.trim_end(), line.trim_end()) && lines_fit(expected, said)
        }
        _ => false,
    }
}

fn line_fits(pattern: &str, line: &str) -> bool {
    match pattern.split_once('…') {
        None => pattern == line,
        Some((before, after)) => line.strip_prefix(before).is_some_and(|rest| {
            let ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            ends.filter_map(|at| rest.get(at..)).any(|rest| line_fits(after, rest))
        }),
    }
}
