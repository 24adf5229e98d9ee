//! Everything that decides what a project runs, with which rights, and where values go: one list, of which both the hash
//! that a yes is kept under and the question that a person reads are made.
//!
//! Specs are taken apart whole here: a new field does not compile until somebody has decided whether it belongs in the
//! list. What is not said is not in it, so that a new key asks only those who use it.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use helve_model::sandbox::Network;
use helve_model::{
    AccessSpec, BuiltinSpec, ConfigText, HttpFlavour, HttpSpec, IdentitySpec, Listed, OAuthSpec, PrivateIdle,
    RecordedBodies, Rule, SandboxSpec, ServerSpec, StdioSpec, TransportSpec, Validation,
};
use indexmap::IndexMap;

use super::files::{Covered, is_inside};
use super::{TrustHash, Unhashed};
use crate::environment::variable;
use crate::reading::Budget;
use crate::server::{AsWritten, ConfiguredServer, Input, Referenced};
use crate::settings::{Import, Setting, SettingsPatch};

/// One thing that is trusted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Part {
    /// What it is about, in a word or two: `command`, `headers`.
    pub label: &'static str,
    /// What it says, in one piece or several.
    pub fields: Vec<String>,
    /// How the pieces are put together for people.
    form: Form,
    /// What counts besides and is not shown: the content of a file, a secret that is written out.
    pub digest: Option<TrustHash>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Form {
    /// One text.
    Text,
    /// Words of a command line.
    CommandLine,
    /// `NAME=value`.
    Assignment,
    /// `Name: value`.
    Header,
    /// `a, b`.
    List,
    /// One sentence.
    Sentence,
    /// A file; where it leads stands behind it.
    File,
}

impl Part {
    fn new(label: &'static str, form: Form, fields: Vec<String>) -> Self {
        Self { label, fields, form, digest: None }
    }

    fn text(label: &'static str, text: impl Into<String>) -> Self {
        Self::new(label, Form::Text, vec![text.into()])
    }

    pub(super) fn file(shown: String, leads_to: Option<String>, content: TrustHash) -> Self {
        let fields = std::iter::once(shown).chain(leads_to).collect();
        Self { digest: Some(content), ..Self::new("file", Form::File, fields) }
    }

    /// A file that is not the project's: only its name counts.
    pub(super) fn outside(shown: String) -> Self {
        Self::new("reads", Form::Text, vec![shown])
    }

    /// What was written; a secret that is written out counts, and is not shown.
    fn with_value(label: &'static str, form: Form, mut fields: Vec<String>, text: &ConfigText) -> Self {
        fields.push(text.written().to_owned());
        let is_hidden = text.written().contains(ConfigText::HIDDEN);
        let digest = is_hidden.then(|| TrustHash::of_content(text.expose().as_bytes()));
        Self { digest, ..Self::new(label, form, fields) }
    }

    /// For people, in one line.
    #[must_use]
    pub fn to_line(&self) -> String {
        let mut line = match self.form {
            Form::Text => self.fields.concat(),
            Form::CommandLine => shell_words::join(&self.fields),
            Form::Assignment => self.fields.join("="),
            Form::Header => self.fields.join(": "),
            Form::List => self.fields.join(", "),
            Form::Sentence => self.fields.join(" "),
            Form::File => self.fields.join(" → "),
        };
        if let Some(digest) = &self.digest {
            line.push_str(&format!(" (sha256 {}…)", digest.beginning()));
        }
        line
    }
}

/// The list of a server, and the files that are in it by their content.
pub(crate) fn of_server(
    server: &ConfiguredServer,
    inputs: &[Input],
    project: &Path,
    budget: &Budget,
) -> Result<Covered, Unhashed> {
    let mut covered = Covered::default();
    let parts = &mut covered.parts;
    let Some(spec) = &server.spec else { return Ok(covered) };
    let ServerSpec {
        name,
        transport,
        // Trust is about what runs when it is on: who never trusted it is asked when it is switched on.
        enabled: _,
        required,
        lazy,
        one_at_a_time,
        shared,
        private_idle,
        protocol_version,
        // As they are written: an application's own variable may stand in for them.
        startup_timeout: _,
        call_timeout: _,
        max_retries,
        // As it is written: some applications promise one.
        validation: _,
        inherit_environment,
        leaves_results,
        record,
        sandbox,
        oauth,
        access,
        // Which line of which file says it does not change what it says.
        origin: _,
        layer: _,
    } = spec;
    let AsWritten {
        directory,
        passed_variables,
        bearer_variable,
        header_variables,
        environment_file,
        file_variables,
        startup_timeout,
        call_timeout,
        validation,
        files,
        inputs: named_inputs,
        search_path,
    } = &server.as_written;
    parts.push(Part::text("server", name.as_str()));
    // A file inside the project counts by its content, and shows what it sets; one outside by its path alone.
    let is_projects = |path: &Path| is_inside(path, project);
    let from_own_file = match environment_file {
        Some((_, path)) if !is_projects(path) => file_variables.as_slice(),
        _ => &[],
    };
    match transport {
        TransportSpec::Stdio(stdio) => {
            let StdioSpec { command, arguments, environment, working_directory } = stdio;
            let words = std::iter::once(command).chain(arguments).map(|text| text.written().to_owned());
            parts.push(Part::new("command", Form::CommandLine, words.collect()));
            for secret in arguments.iter().filter(|text| text.written().contains(ConfigText::HIDDEN)) {
                parts.push(Part::with_value("argument", Form::Text, Vec::new(), secret));
            }
            // What is only passed on is there or not, and it is the same server; so is what a file of the person's own holds.
            let passed: HashSet<&str> = passed_variables.iter().map(String::as_str).collect();
            let own: HashMap<&str, &str> = from_own_file.iter().map(|(name, as_is)| (&**name, &**as_is)).collect();
            let is_elsewhere = |name: &String, text: &ConfigText| {
                (passed.contains(name.as_str()) && text.written() == format!("${{{name}}}"))
                    || own.get(name.as_str()) == Some(&text.written())
            };
            for (name, text) in environment.iter().filter(|(name, text)| !is_elsewhere(name, text)) {
                parts.push(Part::with_value("variables", Form::Assignment, vec![name.clone()], text));
            }
            list(parts, "passes on", passed_variables);
            let default = || working_directory.as_ref().map(|path| path.to_string_lossy().into_owned());
            parts.extend(directory.clone().or_else(default).map(|directory| Part::text("directory", directory)));
        }
        TransportSpec::Http(HttpSpec { url, headers, flavour }) => {
            parts.push(Part::with_value("address", Form::Text, Vec::new(), url));
            match flavour {
                HttpFlavour::Auto => {}
                HttpFlavour::Streamable => parts.push(Part::text("transport", "streamable HTTP")),
                HttpFlavour::Sse => parts.push(Part::text("transport", "HTTP+SSE")),
            }
            // Those that come from a variable are there only while it is set: they count as they are written.
            let bearer = bearer_variable.iter().map(|name| ("Authorization".to_owned(), format!("Bearer ${{{name}}}")));
            let named = header_variables.iter().map(|(header, name)| (header.clone(), format!("${{{name}}}")));
            let from_variables: Vec<(String, String)> = named.chain(bearer).collect();
            for (name, text) in headers {
                if !from_variables.iter().any(|(header, value)| header == name && value == text.written()) {
                    parts.push(Part::with_value("headers", Form::Header, vec![name.clone()], text));
                }
            }
            for (header, value) in from_variables {
                parts.push(Part::new("headers", Form::Header, vec![header, value]));
            }
        }
        TransportSpec::Builtin(BuiltinSpec { kind, options }) => {
            parts.push(Part::text("built in", kind));
            builtin_options(parts, options);
        }
    }
    parts.extend(environment_file.as_ref().map(|(written, _)| Part::text("variables from", written)));
    flag(parts, *inherit_environment, "gets your whole environment");
    flag(parts, *leaves_results, "its results may show its secrets");
    flag(
        parts,
        *record != RecordedBodies::None,
        match record {
            RecordedBodies::All => "a hub records what is sent to it and what it answers",
            RecordedBodies::Arguments | RecordedBodies::None => "a hub records what is sent to it",
        },
    );
    if let Some(sandbox) = sandbox {
        confinement(parts, sandbox);
    }
    lists(parts, access);
    flag(parts, *required, "helve does not start without it");
    flag(parts, *lazy, "starts at first use");
    flag(parts, *one_at_a_time, "takes one request at a time");
    if let Some(shared) = shared {
        parts.push(Part::text("also", if *shared { "is shared by all agents" } else { "is one for each agent" }));
    }
    parts.extend(private_idle.map(|idle| Part::text("also", lasts(idle))));
    parts.extend(
        protocol_version.as_ref().map(|version| Part::text("also", format!("speaks protocol version {version}"))),
    );
    parts.extend(startup_timeout.map(|time| Part::text("also", format!("may take {time:?} to start"))));
    parts.extend(call_timeout.map(|time| Part::text("also", format!("may take {time:?} for a call"))));
    parts.extend(max_retries.map(|retries| Part::text("also", format!("is tried {retries} times more"))));
    parts.extend(validation.map(|validation| Part::text("also", judge(validation))));
    if let Some(oauth) = oauth {
        sign_in(parts, oauth);
    }
    rules(parts, &server.rules);
    // A variable that answers an input is the person's way to answer, and the input is in the list itself.
    let is_asked = |name: &&String| !name.starts_with(variable::HELVE_INPUT_PREFIX);
    list(parts, "reads yours", &server.variables.iter().filter(is_asked).cloned().collect::<Vec<_>>());
    let named_inputs: HashSet<&str> = named_inputs.iter().map(String::as_str).collect();
    if !named_inputs.is_empty() {
        inputs.iter().filter(|input| named_inputs.contains(&*input.id)).for_each(|input| question(parts, input));
    }
    for Referenced { path, content } in files {
        covered.add_value(path, *content, project);
    }
    if let TransportSpec::Stdio(stdio) = transport {
        let directory = stdio.working_directory.as_deref().unwrap_or(project);
        covered.add_named(stdio, directory, project, search_path.as_deref(), budget)?;
    }
    Ok(covered)
}

/// The list of a file's rules and settings. All rules, in their order: one that denies in front of one that allows decides
/// what the latter allows.
pub(crate) fn of_rules(all: &[Rule], settings: &SettingsPatch) -> Vec<Part> {
    let mut parts = Vec::new();
    rules(&mut parts, all);
    let SettingsPatch {
        call_timeout,
        startup_timeout,
        max_retries,
        cache_tool_schemas,
        schema_cache_ttl,
        calls_per_server,
        result_bytes,
        result_cache_ttl,
        cacheable_tools,
        validation,
        watch,
        keep,
        keep_idle,
        private_idle,
        unlisted,
        unlisted_tokens,
        readonly,
        // A project cannot say these.
        sandbox: _,
        notify: _,
        vault_key: _,
        code_python: _,
        import,
        roots,
        sampling_command,
        sampling_calls,
        sampling_tokens,
        sampling_concurrent,
        sampling_timeout,
    } = settings;
    let mut say = |text: Option<String>| parts.extend(text.map(|text| Part::text("settings", text)));
    say(time(call_timeout, "a call may take"));
    say(time(startup_timeout, "starting a server may take"));
    say(value(max_retries, |count| format!("{count} retries")));
    say(value(cache_tool_schemas, |keeps| format!("tool lists are kept: {keeps}")));
    say(time(schema_cache_ttl, "tool lists count for"));
    say(value(calls_per_server, |count| format!("calls on their way to one server: {count}")));
    say(value(result_bytes, |bytes| match bytes {
        Some(bytes) => format!("agents get {bytes} bytes of a result"),
        None => "agents get whole results".to_owned(),
    }));
    say(value(result_cache_ttl, |time| match time {
        Some(time) => format!("results are kept for {time:?}"),
        None => "results are not kept".to_owned(),
    }));
    say(value(cacheable_tools, |tools| format!("results are kept of {}", shell_words::join(tools))));
    say(value(validation, |validation| {
        validation.map_or_else(|| "arguments are judged as usual".to_owned(), |validation| judge(validation).to_owned())
    }));
    say(value(watch, |follows| format!("changes of these files are followed: {follows}")));
    say(value(keep, |keeps| format!("servers are kept running: {keeps}")));
    say(time(keep_idle, "servers are kept for"));
    say(value(private_idle, |idle| format!("a server {}", lasts(*idle))));
    say(value(unlisted, |action| format!("what agents call that no rule mentions: {action}")));
    say(value(unlisted_tokens, |counts| format!("the same for agents with a token: {counts}")));
    say(value(readonly, |readonly| format!("servers are read-only: {readonly}")));
    say(value(import, |import| match import {
        Import::All => "files of all applications are read".to_owned(),
        Import::Only(names) => format!("files of these applications are read: {}", shell_words::join(names)),
    }));
    say(value(roots, |roots| {
        let roots: Vec<String> = roots.iter().map(|root| root.to_string_lossy().into_owned()).collect();
        format!("servers are told to work in {}", shell_words::join(roots))
    }));
    say(value(sampling_command, |words| format!("the model is {}", shell_words::join(words))));
    say(value(sampling_calls, |count| format!("a server may use the model {count} times")));
    say(value(sampling_tokens, |count| format!("a server may use {count} tokens")));
    say(value(sampling_concurrent, |count| format!("a server may ask the model {count} things at once")));
    say(time(sampling_timeout, "the model may take"));
    parts
}

/// How long a server runs without its agent, in words.
fn lasts(idle: PrivateIdle) -> String {
    match idle {
        PrivateIdle::After(_) => format!("runs on for {idle} without its agent"),
        PrivateIdle::Never => "runs on without its agent".to_owned(),
    }
}

const fn judge(validation: Validation) -> &'static str {
    match validation {
        Validation::Strict => "arguments are checked before they are sent",
        Validation::Server => "arguments are sent unchecked, the server judges them",
    }
}

fn value<T>(setting: &Option<Setting<T>>, say: impl FnOnce(&T) -> String) -> Option<String> {
    // Its origin does not change what it says.
    let Setting { value, origin: _, layer: _ } = setting.as_ref()?;
    Some(say(value))
}

fn time(setting: &Option<Setting<Duration>>, what: &str) -> Option<String> {
    value(setting, |time| format!("{what} {time:?}"))
}

fn flag(parts: &mut Vec<Part>, is_said: bool, what: &'static str) {
    parts.extend(is_said.then(|| Part::text("also", what)));
}

fn list(parts: &mut Vec<Part>, label: &'static str, names: &[String]) {
    if !names.is_empty() {
        parts.push(Part::new(label, Form::List, names.to_vec()));
    }
}

fn builtin_options(parts: &mut Vec<Part>, options: &IndexMap<String, Vec<ConfigText>>) {
    for (option, values) in options {
        let values: Vec<String> = values.iter().map(|value| value.expose().to_owned()).collect();
        parts.push(Part::new("option", Form::Assignment, vec![option.clone(), shell_words::join(values)]));
    }
}

fn lists(parts: &mut Vec<Part>, access: &AccessSpec) {
    let AccessSpec { tools, write_tools, disabled_tools, readonly, trust_annotations } = access;
    let mut globs = |label, listed: &[Listed]| {
        let globs = listed.iter().map(|Listed { glob, origin: _ }| glob.clone()).collect();
        parts.push(Part::new(label, Form::List, globs));
    };
    if let Some(tools) = tools {
        globs("only tools", tools);
    }
    if let Some(tools) = write_tools {
        globs("may write", tools);
    }
    if !disabled_tools.is_empty() {
        globs("without tools", disabled_tools);
    }
    parts.extend(readonly.map(|readonly| Part::text("read-only", if readonly { "yes" } else { "no" })));
    flag(parts, *trust_annotations, "is believed when it calls a tool harmless");
}

/// Everything of a sandbox: whatever opens it further is asked about again.
fn confinement(parts: &mut Vec<Part>, spec: &SandboxSpec) {
    let SandboxSpec { profile, read, write, exec, network, unix, limits, required, is_default } = spec;
    // What the person's own settings chose is not the project's, and they may change it without being asked.
    if *is_default {
        return;
    }
    parts.push(Part::text("sandbox", profile.as_str()));
    for (what, paths) in [("reads", read), ("writes", write), ("writes and runs", exec)] {
        for path in paths {
            let fields = vec![what.to_owned(), path.to_string_lossy().into_owned()];
            parts.push(Part::new("sandbox", Form::Sentence, fields));
        }
    }
    parts.extend(network.as_ref().map(|network| match network {
        Network::All => Part::text("sandbox", "all of the network, this machine's ports too"),
        Network::None => Part::text("sandbox", "no network"),
        Network::Hosts(hosts) => {
            let fields = std::iter::once("reaches".to_owned()).chain(hosts.iter().map(ToString::to_string)).collect();
            Part::new("sandbox", Form::Sentence, fields)
        }
    }));
    parts.extend(unix.then(|| Part::text("sandbox", "makes Unix sockets")));
    parts.extend(limits.words().map(|words| Part::text("sandbox", words)));
    parts.extend(required.map(|required| {
        Part::text(
            "sandbox",
            if required { "all of it or no start" } else { "as much of it as this machine can enforce" },
        )
    }));
}

fn sign_in(parts: &mut Vec<Part>, oauth: &OAuthSpec) {
    let OAuthSpec {
        enabled,
        client_id,
        client_secret,
        scopes,
        callback_port,
        metadata_url,
        resource,
        resource_omitted,
        issuer,
        pkce_assumed,
        callback_localhost,
        client_name,
        client_document,
        dynamic_registration,
        account,
        client_credentials,
        client_key,
        identity,
        assertion,
    } = oauth;
    parts.push(Part::text("signing in", if *enabled { "allowed" } else { "must not be signed in to" }));
    let texts = [
        ("client", client_id),
        ("secret", client_secret),
        ("described at", metadata_url),
        ("resource", resource),
        ("issuer", issuer),
        ("client described at", client_document),
        ("key", client_key),
        ("assertion", assertion),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            parts.push(Part::with_value("signing in", Form::Header, vec![name.to_owned()], text));
        }
    }
    if !scopes.is_empty() {
        let fields = vec!["asks for".to_owned(), shell_words::join(scopes)];
        parts.push(Part::new("signing in", Form::Header, fields));
    }
    parts.extend(callback_port.map(|port| Part::text("signing in", format!("answers come to port {port}"))));
    let named = [("calls itself", client_name), ("account", account)];
    for (name, text) in named {
        parts.extend(
            text.as_ref().map(|text| Part::new("signing in", Form::Header, vec![name.to_owned(), text.clone()])),
        );
    }
    let said = [
        (*resource_omitted, "without naming the resource"),
        (*pkce_assumed, "PKCE is taken for granted"),
        (*callback_localhost, "answers come to localhost"),
        (*dynamic_registration, "registers anew"),
        (*client_credentials, "by itself, without a person"),
    ];
    parts.extend(said.into_iter().filter(|(is_said, _)| *is_said).map(|(_, words)| Part::text("signing in", words)));
    if let Some(IdentitySpec { token_endpoint, client_id, client_secret, id_token }) = identity {
        let texts = [
            ("identity provider", Some(token_endpoint)),
            ("identity client", Some(client_id)),
            ("identity secret", client_secret.as_ref()),
            ("identity token", Some(id_token)),
        ];
        for (name, text) in texts {
            parts.extend(text.map(|text| Part::with_value("signing in", Form::Header, vec![name.to_owned()], text)));
        }
    }
}

fn rules(parts: &mut Vec<Part>, rules: &[Rule]) {
    for rule in rules {
        let Rule { tool, pattern, risk, kind, who, action, origin: _, layer: _, by } = rule;
        let said = [
            Some(action.to_string()),
            Some(tool.clone()),
            pattern.as_ref().map(|pattern| format!("with {pattern}")),
            risk.map(|risk| format!("of {risk} risk")),
            kind.map(|kind| format!("as a {kind}")),
            by.map(|by| format!("answered by {by}")),
            (!who.is_empty())
                .then(|| format!("by {}", who.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))),
        ];
        parts.push(Part::new("rules", Form::Sentence, said.into_iter().flatten().collect()));
    }
}

fn question(parts: &mut Vec<Part>, input: &Input) {
    let Input { id, description, secret, options, default, origin: _ } = input;
    let mut said = vec![id.clone(), description.clone()];
    said.extend(secret.then(|| "(secret)".to_owned()));
    said.extend((!options.is_empty()).then(|| format!("one of {}", shell_words::join(options))));
    said.extend(default.as_ref().map(|default| format!("suggests {default}")));
    parts.push(Part::new("asks you", Form::List, said));
}
