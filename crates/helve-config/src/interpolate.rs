//! Filling in references: which spellings a dialect knows, and what an unset variable means there.
//!
//! No two families of applications agree, so each dialect names its [`Syntax`]. What was written stays beside the
//! value ([`ConfigText`]); problems name variables and files, never values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use helve_model::{ConfigText, LateReference, LateSource};

use crate::allowance::Allowance;
use crate::environment::{Environment, input_variable, variable};
use crate::reading::{self, Unread};
use crate::server::Referenced;
use crate::trust::TrustHash;

/// A file read through `${file:…}` may hold this many bytes: a token, not a database.
const MAX_REFERENCED_FILE: u64 = 64 * 1024;

/// A default may hold references, whose defaults may hold references, this deep.
const MAX_NESTING: usize = 8;

/// No argument and no variable of a program can be longer; the system says so.
const MAX_FILLED: usize = 128 * 1024;

/// Which references a dialect knows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Syntax {
    pub(crate) forms: &'static [Form],
    pub(crate) unset: Unset,
}

/// One way to write a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `${VAR}` and `${VAR:-default}`.
    Braces,
    /// `$VAR`.
    Bare,
    /// `${env:VAR}` and `${env:VAR:-default}`.
    Env,
    /// `${file:path}`.
    File,
    /// `${workspaceFolder}`, `${workspaceFolderBasename}`, `${userHome}`, `${pathSeparator}`, `${/}`.
    Workspace,
    /// `${input:id}`.
    Input,
    /// `{env:VAR}` and `{file:path}`.
    SingleBraces,
    /// `$env:VAR`.
    DollarEnv,
    /// `$${` for a literal `${`.
    Escape,
    /// `${secret:name}`, `${keyring:service/account}`, `${cmd:…}`: filled when a server starts.
    Late,
}

/// What an unset variable without a default means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unset {
    /// The server cannot run.
    Blocks,
    /// The reference stays as it was written.
    StaysLiteral,
    /// The reference becomes nothing.
    BecomesEmpty,
    /// Nothing in an environment variable's value, literal elsewhere.
    EmptyInEnvironment,
}

/// helve's own files, and the formats it grew from: everything is understood, nothing is guessed.
pub(crate) const OWN: Syntax = Syntax {
    forms: &[Form::Escape, Form::Env, Form::File, Form::Workspace, Form::Input, Form::Late, Form::Braces],
    unset: Unset::Blocks,
};
/// Claude Code.
pub(crate) const CLAUDE: Syntax = Syntax { forms: &[Form::Braces], unset: Unset::StaysLiteral };
/// VS Code, Cursor, Windsurf.
pub(crate) const EDITOR: Syntax =
    Syntax { forms: &[Form::Env, Form::File, Form::Workspace, Form::Input], unset: Unset::Blocks };
/// Cline.
pub(crate) const ENV_PREFIX: Syntax = Syntax { forms: &[Form::Env], unset: Unset::StaysLiteral };
/// Gemini CLI.
pub(crate) const GEMINI: Syntax = Syntax { forms: &[Form::Braces, Form::Bare], unset: Unset::EmptyInEnvironment };
/// goose and Copilot CLI.
pub(crate) const SHELL_LIKE: Syntax = Syntax { forms: &[Form::Braces, Form::Bare], unset: Unset::StaysLiteral };
/// opencode.
pub(crate) const OPENCODE: Syntax = Syntax { forms: &[Form::SingleBraces], unset: Unset::BecomesEmpty };
/// mcporter.
pub(crate) const MCPORTER: Syntax = Syntax { forms: &[Form::DollarEnv, Form::Braces], unset: Unset::Blocks };
/// Patterns of rules, which may be shown: directories, no variables.
pub(crate) const DIRECTORIES: Syntax = Syntax { forms: &[Form::Workspace], unset: Unset::StaysLiteral };
/// Codex, Claude Desktop, Zed: what is written is what is meant.
pub(crate) const NONE: Syntax = Syntax { forms: &[], unset: Unset::StaysLiteral };

/// Where values come from.
#[derive(Debug)]
pub(crate) struct Scope<'a> {
    pub(crate) environment: &'a Environment,
    /// Variables of a `.env` file beside the configuration; the real environment wins.
    pub(crate) beside: BTreeMap<String, String>,
    /// That file.
    pub(crate) beside_file: Option<Referenced>,
    /// What `${workspaceFolder}` means.
    pub(crate) workspace: PathBuf,
    /// What relative `${file:…}` paths are relative to.
    pub(crate) directory: PathBuf,
    /// What this file may take, and the files it refers to.
    pub(crate) allowance: &'a Allowance,
    /// The file; an answer to one of its inputs is for this file alone.
    pub(crate) file: PathBuf,
    /// The ids of the inputs the file declares.
    pub(crate) inputs: Vec<String>,
    /// It is a project's file: it cannot have programs run for it, or what others keep opened.
    pub(crate) is_project: bool,
}

/// Where a text stands; Gemini CLI treats environments differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Environment,
    Elsewhere,
}

/// What became of a text.
#[derive(Debug, Default)]
pub(crate) struct Expansion {
    value: String,
    changed: bool,
    pub(crate) problems: Vec<Problem>,
    /// The variables it refers to, set or not.
    pub(crate) variables: Vec<String>,
    /// The files it refers to, used or not.
    pub(crate) files: Vec<Referenced>,
    /// The inputs it refers to.
    pub(crate) inputs: Vec<String>,
    /// What is filled when a server starts.
    late: Vec<LateReference>,
}

/// Why a reference could not be filled in. Never holds a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// Not set; the server cannot run.
    Unset(String),
    /// Not set; the reference stayed as written.
    Kept(String),
    /// Not set; the reference became nothing.
    Emptied(String),
    /// The person has to be asked.
    NeedsInput(String),
    /// The file does not declare that input.
    UndeclaredInput(String),
    /// A file cannot be read.
    File(PathBuf, Unread),
    /// There are more references than are filled in, or what they stand for is too long.
    TooMuch,
    /// `${` without `}`.
    Unterminated,
    /// A spelling that nobody defined.
    Unknown(String),
    /// A project asks for what only the person's own files may ask for.
    NotForProjects(String),
}

impl Expansion {
    /// The text and its meaning.
    pub(crate) fn into_text(self, written: &str) -> ConfigText {
        if !self.late.is_empty() {
            return ConfigText::late(written, self.value, self.late);
        }
        if self.changed { ConfigText::expanded(written, self.value) } else { ConfigText::literal(written) }
    }

    /// The meaning, where it is not a secret.
    pub(crate) fn into_value(self) -> String {
        self.value
    }

    /// How long the meaning is.
    pub(crate) const fn len(&self) -> usize {
        self.value.len()
    }

    /// True when a reference was filled in or should have been.
    pub(crate) fn has_references(&self) -> bool {
        self.changed || !self.problems.is_empty()
    }
}

/// Fills in every reference of `text`.
pub(crate) fn expand(text: &str, syntax: &Syntax, scope: &Scope<'_>, place: Place) -> Expansion {
    let mut expansion = Expansion::default();
    if syntax.forms.is_empty() || !text.contains(['$', '{']) {
        text.clone_into(&mut expansion.value);
        return expansion;
    }
    expand_into(text, syntax, scope, place, 0, &mut expansion);
    expansion
}

fn expand_into(text: &str, syntax: &Syntax, scope: &Scope<'_>, place: Place, depth: usize, out: &mut Expansion) {
    let has = |form: Form| syntax.forms.contains(&form);
    let mut rest = text;
    while let Some(at) = rest.find(['$', '{']) {
        let (before, found) = rest.split_at(at);
        out.value.push_str(before);
        if out.value.len() > MAX_FILLED && out.changed {
            out.problems.push(Problem::TooMuch);
        }
        // What is beyond would only be the same problem again.
        if out.problems.contains(&Problem::TooMuch) {
            return;
        }

        if has(Form::Escape)
            && let Some(after) = found.strip_prefix("$${")
        {
            out.value.push_str("${");
            out.changed = true;
            rest = after;
            continue;
        }
        // opencode finds its `{env:VAR}` in `${env:VAR}` too, and leaves the dollar sign.
        if !has(Form::SingleBraces)
            && let Some(inside) = found.strip_prefix("${")
        {
            let Some(length) = closing_brace(inside) else {
                out.value.push_str(found);
                if has(Form::Braces) || has(Form::Env) {
                    out.problems.push(Problem::Unterminated);
                }
                return;
            };
            let (body, after) = inside.split_at(length);
            let whole = found.get(..length + 3).unwrap_or(found);
            braced(body, whole, syntax, scope, place, depth, out);
            rest = after.get(1..).unwrap_or("");
            continue;
        }
        if has(Form::DollarEnv)
            && let Some(after) = found.strip_prefix("$env:")
        {
            let (name, after) = split_name(after);
            if !name.is_empty() {
                variable_value(name, None, &format!("$env:{name}"), syntax, scope, place, out);
                rest = after;
                continue;
            }
        }
        if has(Form::Bare)
            && let Some(after) = found.strip_prefix('$')
        {
            let (name, after) = split_name(after);
            if !name.is_empty() {
                variable_value(name, None, &format!("${name}"), syntax, scope, place, out);
                rest = after;
                continue;
            }
        }
        if has(Form::SingleBraces)
            && let Some(inside) = found.strip_prefix('{')
            && let Some((body, after)) = inside.split_once('}')
        {
            if let Some(name) = body.strip_prefix("env:") {
                variable_value(name, None, &format!("{{{body}}}"), syntax, scope, place, out);
                rest = after;
                continue;
            }
            if let Some(path) = body.strip_prefix("file:") {
                file_value(path, scope, out);
                rest = after;
                continue;
            }
        }
        let mut characters = found.chars();
        out.value.extend(characters.next());
        rest = characters.as_str();
    }
    out.value.push_str(rest);
}

/// What stands between `${` and `}`.
fn braced(
    body: &str,
    whole: &str,
    syntax: &Syntax,
    scope: &Scope<'_>,
    place: Place,
    depth: usize,
    out: &mut Expansion,
) {
    let has = |form: Form| syntax.forms.contains(&form);
    if has(Form::Workspace)
        && let Some(value) = workspace_value(body, scope)
    {
        out.value.push_str(&value);
        out.changed = true;
        return;
    }
    let env_body = if has(Form::Env) { body.strip_prefix("env:") } else { None };
    if let Some(reference) = env_body.or_else(|| has(Form::Braces).then_some(body)) {
        let (name, default) = match reference.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (reference, None),
        };
        if is_variable_name(name) {
            match default {
                Some(default) if lookup(name, scope).is_none_or(str::is_empty) => {
                    if !scope.allowance.take_reference() {
                        return out.problems.push(Problem::TooMuch);
                    }
                    out.variables.push(name.to_owned());
                    out.changed = true;
                    if depth < MAX_NESTING {
                        expand_into(default, syntax, scope, place, depth + 1, out);
                    } else {
                        out.value.push_str(default);
                    }
                }
                _ => {
                    variable_value(name, default, whole, syntax, scope, place, out);
                    // What stands in for it tomorrow is as much a part of what was written.
                    if let Some(default) = default.filter(|_| depth < MAX_NESTING) {
                        let mut unused = Expansion::default();
                        expand_into(default, syntax, scope, place, depth + 1, &mut unused);
                        out.variables.append(&mut unused.variables);
                        out.files.append(&mut unused.files);
                        out.inputs.append(&mut unused.inputs);
                    }
                }
            }
            return;
        }
    }
    if has(Form::File)
        && let Some(path) = body.strip_prefix("file:")
    {
        return file_value(path, scope, out);
    }
    if has(Form::Late)
        && let Some(source) = LateSource::parse(body)
    {
        return late_value(source, scope, out);
    }
    if has(Form::Input)
        && let Some(id) = body.strip_prefix("input:")
    {
        return input_value(id, scope, out);
    }
    out.value.push_str(whole);
    // `${foo}` means nothing to an editor and stays; `${scheme:…}` asks for something nobody here can give.
    if *syntax == OWN || (has(Form::Workspace) && body.contains(':')) {
        out.problems.push(Problem::Unknown(whole.to_owned()));
    }
}

fn variable_value(
    name: &str,
    default: Option<&str>,
    whole: &str,
    syntax: &Syntax,
    scope: &Scope<'_>,
    place: Place,
    out: &mut Expansion,
) {
    if !scope.allowance.take_reference() {
        return out.problems.push(Problem::TooMuch);
    }
    out.variables.push(name.to_owned());
    if scope.beside.contains_key(name) {
        out.files.extend(scope.beside_file.clone());
    }
    if let Some(value) = lookup(name, scope).or(default) {
        out.value.push_str(value);
        out.changed = true;
        return;
    }
    match (syntax.unset, place) {
        (Unset::Blocks, _) => out.problems.push(Problem::Unset(name.to_owned())),
        (Unset::BecomesEmpty, _) | (Unset::EmptyInEnvironment, Place::Environment) => {
            out.changed = true;
            out.problems.push(Problem::Emptied(name.to_owned()));
        }
        (Unset::StaysLiteral, _) | (Unset::EmptyInEnvironment, Place::Elsewhere) => {
            out.value.push_str(whole);
            out.problems.push(Problem::Kept(name.to_owned()));
        }
    }
}

fn lookup<'scope>(name: &str, scope: &'scope Scope<'_>) -> Option<&'scope str> {
    if let Some(value) = scope.environment.variable(name) {
        return Some(value);
    }
    if name == variable::CLAUDE_PROJECT_DIR {
        return scope.workspace.to_str();
    }
    scope.beside.get(name).map(String::as_str)
}

fn workspace_value(body: &str, scope: &Scope<'_>) -> Option<String> {
    let path = |path: &Path| Some(path.to_string_lossy().into_owned());
    match body {
        "workspaceFolder" | "workspaceRoot" => path(&scope.workspace),
        "workspaceFolderBasename" => scope.workspace.file_name().map(|name| name.to_string_lossy().into_owned()),
        "userHome" => scope.environment.home.as_deref().and_then(path),
        "pathSeparator" | "/" => Some("/".to_owned()),
        _ => None,
    }
}

fn file_value(path: &str, scope: &Scope<'_>, out: &mut Expansion) {
    if !scope.allowance.take_reference() {
        return out.problems.push(Problem::TooMuch);
    }
    let path = scope.directory.join(scope.environment.expand_home(path));
    let read = reading::text(&path, MAX_REFERENCED_FILE, &scope.allowance.budget);
    let content = read.as_ref().ok().map(|content| TrustHash::of_content(content.as_bytes()));
    out.files.push(Referenced { path: path.clone(), content });
    match read {
        Ok(content) => {
            out.value.push_str(content.strip_suffix('\n').map_or(content.as_str(), |text| text.trim_end_matches('\r')));
            out.changed = true;
        }
        Err(reason) => out.problems.push(Problem::File(path, reason)),
    }
}

fn late_value(source: LateSource, scope: &Scope<'_>, out: &mut Expansion) {
    if !scope.allowance.take_reference() {
        return out.problems.push(Problem::TooMuch);
    }
    if scope.is_project && source.is_for_own_files() {
        return out.problems.push(Problem::NotForProjects(source.to_string()));
    }
    out.changed = true;
    out.late.push(LateReference::new(out.value.len(), source));
}

fn input_value(id: &str, scope: &Scope<'_>, out: &mut Expansion) {
    if !scope.allowance.take_reference() {
        return out.problems.push(Problem::TooMuch);
    }
    out.inputs.push(id.to_owned());
    if let Some(answer) = scope.environment.answer(&scope.file, id) {
        out.value.push_str(answer);
        out.changed = true;
    } else if let Some(value) = declared(id, scope).and_then(|()| scope.environment.variable(&input_variable(id))) {
        out.variables.push(input_variable(id));
        out.value.push_str(value);
        out.changed = true;
    } else if declared(id, scope).is_some() {
        out.problems.push(Problem::NeedsInput(id.to_owned()));
    } else {
        out.problems.push(Problem::UndeclaredInput(id.to_owned()));
    }
}

/// An input that the file does not declare is answered by nobody.
fn declared(id: &str, scope: &Scope<'_>) -> Option<()> {
    scope.inputs.iter().any(|known| known == id).then_some(())
}

/// Where the `}` is that ends what follows `${`.
fn closing_brace(inside: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut previous = ' ';
    for (index, character) in inside.char_indices() {
        match character {
            '{' if previous == '$' => depth += 1,
            '}' if depth == 0 => return Some(index),
            '}' => depth -= 1,
            _ => {}
        }
        previous = character;
    }
    None
}

fn split_name(text: &str) -> (&str, &str) {
    let end = text.find(|character: char| !(character.is_ascii_alphanumeric() || character == '_'));
    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
    if is_variable_name(name) { (name, rest) } else { ("", text) }
}

pub(crate) fn is_variable_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
