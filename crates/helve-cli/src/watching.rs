//! What happens at each change of something that is watched: a line, the new content, or a command.

use helve::{WatchChange, WatchEvent};
use helve_model::json::RawJson;
use helve_setup::{Bounds, Program};
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::failure::Failure;
use crate::printer::{Line, Style};
use crate::program;

/// Bytes that a command may say about one change.
const MOST_OUTPUT: usize = 16 * 1024 * 1024;

/// What the verbs that go on have in common.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct EventArgs {
    /// Run CMD at each change: the event as JSON on stdin, HELVE_SERVER and HELVE_URI or HELVE_TOOL set
    #[arg(long, value_name = "CMD")]
    exec: Option<String>,

    /// End after so many changes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
}

/// What is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject<'a> {
    Resource { server: &'a str, uri: &'a str },
    Tool { server: &'a str, tool: &'a str },
}

/// Tells of changes, one after another.
#[derive(Debug)]
pub(crate) struct Reporter<'a> {
    context: &'a Context,
    subject: Subject<'a>,
    program: Option<Program>,
    left: Option<u64>,
}

/// What there is to tell: the words for people, and the new content where it is known.
#[derive(Debug)]
pub(crate) struct Told<'a> {
    pub(crate) word: &'static str,
    pub(crate) content: Option<&'a RawJson>,
    pub(crate) superseded: u64,
}

impl<'a> Reporter<'a> {
    pub(crate) fn new(context: &'a Context, args: &EventArgs, subject: Subject<'a>) -> Result<Self, Failure> {
        let program = match &args.exec {
            None => None,
            Some(text) => {
                let program = program::parse(context, "--exec", text)?.with_variable("HELVE_SERVER", subject.server());
                Some(match subject {
                    Subject::Resource { uri, .. } => program.with_variable("HELVE_URI", uri),
                    Subject::Tool { tool, .. } => program.with_variable("HELVE_TOOL", tool),
                })
            }
        };
        Ok(Self { context, subject, program, left: args.count })
    }

    /// Tells of one change; `show` prints its content for a person. False when that was the last one.
    pub(crate) async fn tell(
        &mut self,
        told: &Told<'_>,
        show: impl FnOnce(&RawJson) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        let printer = &self.context.printer;
        let line = self.line(told);
        match (&self.program, told.content) {
            (Some(program), _) => {
                printer.say(&line);
                let event = format!("{}\n", self.as_json(told));
                match program.run(event.as_bytes(), Bounds { time: None, output: MOST_OUTPUT }).await {
                    Ok(said) => {
                        printer.data(&String::from_utf8_lossy(&said.stdout))?;
                        printer.talk(&said.stderr);
                    }
                    Err(broken) => {
                        printer.data(&String::from_utf8_lossy(&broken.stdout))?;
                        printer.talk(&broken.stderr);
                        printer.warning(broken.problem);
                    }
                }
            }
            (None, _) if printer.is_json() => printer.json_line(&self.as_json(told))?,
            (None, Some(content)) => {
                printer.say(&line);
                show(content)?;
            }
            (None, None) => printer.line(&line)?,
        }
        self.left = self.left.map(|left| left.saturating_sub(1));
        Ok(self.left != Some(0))
    }

    /// Prints what is there before anything changes; a command has nothing to do yet.
    pub(crate) fn begin(
        &self,
        content: &RawJson,
        show: impl FnOnce(&RawJson) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let told = Told { word: "first", content: Some(content), superseded: 0 };
        match &self.program {
            Some(_) => Ok(()),
            None if self.context.printer.is_json() => self.context.printer.json_line(&self.as_json(&told)),
            None => show(content),
        }
    }

    fn line(&self, told: &Told<'_>) -> Line {
        let mut line = Line::styled(Style::Name, self.subject.server())
            .then(Style::Plain, format!("  {}  ", self.subject.target()))
            .then(Style::Good, told.word);
        if told.superseded > 0 {
            line = line.then(Style::Dim, format!(" ({} times more before)", told.superseded));
        }
        line
    }

    fn as_json(&self, told: &Told<'_>) -> Value {
        let mut event = Map::new();
        event.insert("server".to_owned(), self.subject.server().into());
        let (key, target) = match self.subject {
            Subject::Resource { uri, .. } => ("uri", uri),
            Subject::Tool { tool, .. } => ("tool", tool),
        };
        event.insert(key.to_owned(), target.into());
        event.insert("change".to_owned(), told.word.into());
        event.insert("superseded".to_owned(), told.superseded.into());
        if let Some(content) = told.content {
            event.insert("result".to_owned(), content.parse().unwrap_or(Value::Null));
        }
        Value::Object(event)
    }
}

impl Subject<'_> {
    const fn server(&self) -> &str {
        match self {
            Self::Resource { server, .. } | Self::Tool { server, .. } => server,
        }
    }

    const fn target(&self) -> &str {
        match self {
            Self::Resource { uri, .. } => uri,
            Self::Tool { tool, .. } => tool,
        }
    }
}

/// What an event means for who watches: something to tell, or the end. Failures that may pass are told on the side.
pub(crate) fn meaning<'e>(context: &Context, event: &'e WatchEvent) -> Result<Option<Told<'e>>, Failure> {
    let told = |word, content| Ok(Some(Told { word, content, superseded: event.superseded }));
    match &event.change {
        WatchChange::Updated(_) => told("changed", None),
        WatchChange::MayHaveChanged => told("may have changed", None),
        WatchChange::Content(content) => told("changed", Some(content)),
        WatchChange::Failed(error) => {
            context.printer.warning(format!("{}; it is tried again", error.chain()));
            Ok(None)
        }
        WatchChange::Ended(error) => {
            let mut failure = Failure::new(error.code(), error.chain()).at_server(event.server.as_str());
            for hint in error.hints() {
                failure = failure.hint(hint);
            }
            Err(failure)
        }
        _ => Ok(None),
    }
}

/// A line of a server's log, for scripts.
pub(crate) fn log_json(server: &str, level: &str, logger: Option<&str>, data: &RawJson) -> Value {
    let data: Value = data.parse().unwrap_or_else(|_| data.as_str().into());
    json!({"server": server, "level": level, "logger": logger, "data": data})
}
