//! What a server's sandbox holds on this machine, in words: the same plan that a start is made with, without starting anything.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use helve::{CallError, Surroundings};
use helve_model::sandbox::{Choice, Network, Profile};
use helve_model::{SandboxSpec, ServerSpec};
use helve_sandbox::Plan;
use serde_json::{Value, json};

use crate::context::Context;
use crate::describe::Detail;

/// Knows the machine, and asks it once.
pub(crate) struct Confinement {
    surroundings: Surroundings,
}

impl Confinement {
    pub(crate) fn new(context: &Context) -> Self {
        let surroundings = Surroundings::default().with(|surroundings| {
            surroundings.environment = context.env.variables().into();
            surroundings.working_directory = Some(context.env.working_directory().to_owned());
            surroundings.confining = context.setup.confining();
        });
        Self { surroundings }
    }

    /// What holds for a server. `None` where it has no sandbox.
    pub(crate) fn plan(&self, spec: &ServerSpec) -> Result<Option<Plan>, CallError> {
        helve::sandbox_plan(spec, &self.surroundings)
    }

    /// What a result that says it failed shows of paths that the sandbox did not open.
    pub(crate) fn hints(&self, spec: &ServerSpec, text: &str) -> Vec<String> {
        helve::sandbox_hints(text, spec, &self.surroundings)
    }

    /// One line: what is enforced, or why the server is not started.
    pub(crate) fn line(&self, spec: &ServerSpec) -> Option<String> {
        match self.plan(spec) {
            Ok(plan) => plan.map(|plan| plan.report.to_string()),
            Err(error) => Some(format!("{}: {}", profile(spec), error.chain())),
        }
    }

    /// The profile, and in a word that something is missing.
    pub(crate) fn word(&self, spec: &ServerSpec) -> Option<String> {
        let profile = profile(spec);
        match self.plan(spec) {
            Ok(plan) => plan.map(|plan| if plan.report.is_whole() { profile } else { format!("{profile} (in part)") }),
            Err(_) => Some(format!("{profile} (refused)")),
        }
    }

    /// For scripts.
    pub(crate) fn json(&self, spec: &ServerSpec) -> Value {
        match self.plan(spec) {
            Ok(None) => Value::Null,
            Ok(Some(Plan { report, .. })) => json!({
                "profile": report.profile.as_str(),
                "files": report.files.to_string(),
                "metadata": report.metadata.to_string(),
                "network": report.network.to_string(),
                "unixSockets": if report.unix_closed { "closed" } else { "open" },
                "signals": if report.signals_closed { "closed" } else { "open" },
                "landlockAbi": report.landlock_abi,
                "leftOut": report.left_out.iter().map(|left| left.path.to_string_lossy()).collect::<Vec<_>>(),
                "protectedOpened": report.protected_opened.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
            }),
            Err(error) => json!({ "profile": profile(spec), "refused": error.chain() }),
        }
    }

    /// What is enforced, what stays closed although one might expect it, and what is open although it is protected.
    pub(crate) fn details(&self, context: &Context, spec: &ServerSpec) -> Vec<Detail> {
        let plan = match self.plan(spec) {
            Ok(None) => return Vec::new(),
            Ok(Some(plan)) => plan,
            Err(error) => {
                let hints = context.printer.words.say_all(error.hints());
                return vec![(
                    "enforced",
                    std::iter::once(format!("nothing: {}", error.chain())).chain(hints).collect(),
                )];
            }
        };
        let mut details = vec![("enforced", vec![plan.report.to_string()])];
        let weak: Vec<String> = plan.report.weaknesses().into_iter().map(str::to_owned).collect();
        if !weak.is_empty() {
            details.push(("open", weak));
        }
        let left_out = plan.report.left_out.iter().map(|left| {
            format!("{} (it contains {})", context.env.shown(&left.path), context.env.shown(&left.protected))
        });
        let left_out: Vec<String> = left_out.collect();
        if !left_out.is_empty() {
            details.push(("not opened", left_out));
        }
        let opened: Vec<String> = plan.report.protected_opened.iter().map(|path| context.env.shown(path)).collect();
        if !opened.is_empty() {
            details.push(("opened although protected", opened));
        }
        details
    }
}

/// A sandbox as it is written, a line each.
pub(crate) fn written(context: &Context, sandbox: &SandboxSpec) -> Vec<String> {
    let chosen = if sandbox.is_default { " (the entry says nothing)" } else { "" };
    let mut lines = vec![format!("{}{chosen}", sandbox.profile)];
    for (what, paths) in [("reads", &sandbox.read), ("writes", &sandbox.write), ("writes and runs", &sandbox.exec)] {
        lines.extend(paths.iter().map(|path| format!("{what} {}", context.env.shown(path))));
    }
    match &sandbox.network {
        None => {}
        Some(Network::All) => lines.push("all of the network".to_owned()),
        Some(Network::None) => lines.push("no network".to_owned()),
        Some(Network::Hosts(hosts)) => {
            lines.push(format!("reaches {}", hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")))
        }
    }
    if sandbox.unix {
        lines.push("makes Unix sockets".to_owned());
    }
    lines.extend(sandbox.limits.words());
    match sandbox.required {
        Some(true) => lines.push("all of it or no start".to_owned()),
        Some(false) => lines.push("as much of it as this machine can enforce".to_owned()),
        None => {}
    }
    lines
}

/// The words of an option that names a profile, or none.
pub(crate) fn choices() -> impl TypedValueParser<Value = Choice> {
    PossibleValuesParser::new(Choice::ALL.map(Choice::as_str))
        .map(|word| word.parse().unwrap_or(Choice::In(Profile::Strict)))
}

fn profile(spec: &ServerSpec) -> String {
    spec.sandbox.as_ref().map_or(Choice::Off, |sandbox| sandbox.profile).to_string()
}
