//! Owns whether the arguments for a prompt are those it takes. Prompt arguments are texts, by name, without a schema.

use std::fmt;

use helve_model::PromptView;
use serde_json::{Map, Value};

use crate::validate::MAX_VIOLATIONS;
use helve_model::text::nearest;
use helve_model::text::{SHOWN_CHARACTERS, counted, folded, named};

/// Arguments shown in a line of usage.
const SHOWN_ARGUMENTS: usize = 12;

/// Arguments that a prompt does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidPromptArguments {
    /// The name of the prompt.
    pub prompt: String,
    /// What is wrong.
    pub problems: Vec<PromptArgumentProblem>,
    /// How the prompt is used, in one line.
    pub usage: String,
}

/// What is wrong with one argument.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PromptArgumentProblem {
    /// It must be given and is not.
    Missing {
        /// Its name.
        name: String,
        /// What the server says about it.
        description: Option<String>,
    },
    /// The prompt has no such argument.
    Unknown {
        /// The name that was given.
        name: String,
        /// The name that was probably meant.
        meant: Option<String>,
    },
    /// It is given as something other than a text.
    NotText {
        /// Its name.
        name: String,
        /// What was given.
        found: &'static str,
    },
}

/// Checks the arguments for a prompt. `name` is the name to show.
///
/// # Errors
/// When one is missing, unknown, or not a text.
pub fn check_prompt_arguments(
    name: &str,
    prompt: &PromptView,
    arguments: &Map<String, Value>,
) -> Result<(), InvalidPromptArguments> {
    let mut problems = Vec::new();
    for argument in &prompt.arguments {
        match arguments.get(&argument.name) {
            None if argument.required => problems.push(PromptArgumentProblem::Missing {
                name: argument.name.clone(),
                description: argument.description.clone(),
            }),
            None | Some(Value::String(_)) => {}
            Some(other) => {
                problems.push(PromptArgumentProblem::NotText { name: argument.name.clone(), found: kind(other) });
            }
        }
    }
    let known = |name: &str| prompt.arguments.iter().any(|argument| argument.name == name);
    // What is given already was not meant.
    let open =
        || prompt.arguments.iter().map(|argument| argument.name.as_str()).filter(|name| !arguments.contains_key(*name));
    for stranger in arguments.keys().filter(|name| !known(name)).take(MAX_VIOLATIONS) {
        let meant = nearest(stranger, open()).map(str::to_owned);
        problems.push(PromptArgumentProblem::Unknown { name: stranger.clone(), meant });
    }
    if problems.is_empty() {
        return Ok(());
    }
    problems.truncate(MAX_VIOLATIONS);
    Err(InvalidPromptArguments { prompt: name.to_owned(), problems, usage: usage(name, prompt) })
}

impl fmt::Display for InvalidPromptArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problems = counted(self.problems.len(), "problem", "problems");
        write!(f, "invalid arguments for prompt {}: {problems}", folded(&self.prompt, SHOWN_CHARACTERS))?;
        self.problems.iter().try_for_each(|problem| write!(f, "\n  {problem}"))?;
        write!(f, "\nusage: {}", self.usage)
    }
}

impl std::error::Error for InvalidPromptArguments {}

impl fmt::Display for PromptArgumentProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { name, description: Some(description) } => {
                write!(f, "missing argument {}: {}", named(name), folded(description, SHOWN_CHARACTERS * 2))
            }
            Self::Missing { name, description: None } => write!(f, "missing argument {}", named(name)),
            Self::Unknown { name, meant: Some(meant) } => {
                write!(f, "no argument {}; did you mean {}?", named(name), named(meant))
            }
            Self::Unknown { name, meant: None } => write!(f, "no argument {}", named(name)),
            Self::NotText { name, found } => {
                write!(f, "argument {} is {found}; arguments of prompts are texts", named(name))
            }
        }
    }
}

/// `review code=… [style=…]`
fn usage(name: &str, prompt: &PromptView) -> String {
    let mut usage = folded(name, SHOWN_CHARACTERS);
    if prompt.arguments.is_empty() {
        usage.push_str(" (takes no arguments)");
    }
    for argument in prompt.arguments.iter().take(SHOWN_ARGUMENTS) {
        let name = folded(&argument.name, SHOWN_CHARACTERS);
        usage.push_str(&if argument.required { format!(" {name}=…") } else { format!(" [{name}=…]") });
    }
    if prompt.arguments.len() > SHOWN_ARGUMENTS {
        usage.push_str(" …");
    }
    usage
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
#[path = "prompt_arguments_tests.rs"]
mod tests;
