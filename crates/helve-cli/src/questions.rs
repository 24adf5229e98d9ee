//! What servers ask in the course of a call: answered by `--answer`, by the person at the terminal, or not at all.

#[cfg(test)]
pub(crate) mod fake_screen;
mod form;
pub(crate) mod keyboard;
mod url;
mod widget;

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use helve::{ElicitationAnswer, ElicitationRequest, Elicitor};
use helve_model::json::RawJson;
use helve_schema::{Elicitation, FieldProblemKind, Form};
use helve_wire::BoxFuture;
use rustix::pipe::{PipeFlags, pipe_with};
use serde_json::{Map, Value};
use tokio::task::spawn_blocking;

use crate::context::Context;
use crate::printer::{CLEAR_LINE, Printer, write_talk};
use keyboard::Keyboard;
pub(crate) use url::Browser;
use widget::Terminal;

/// How a verb that calls something answers what it is asked meanwhile.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Questions")]
pub(crate) struct QuestionArgs {
    /// Say yes to what would be asked; what is denied stays denied
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// Answer a server that asks for KEY; may be repeated
    #[arg(long = "answer", value_name = "KEY=VALUE", value_parser = Answer::parse)]
    pub(crate) answers: Vec<Answer>,

    /// Let servers use a model: CMD gets each request as JSON on stdin and answers on stdout
    #[arg(long, value_name = "CMD")]
    pub(crate) sampler: Option<String>,
}

/// An answer that was given beforehand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    key: String,
    value: String,
}

impl Answer {
    fn parse(word: &str) -> Result<Self, String> {
        match word.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok(Self { key: key.to_owned(), value: value.to_owned() }),
            _ => Err("write key=value".to_owned()),
        }
    }
}

/// What came of questions, for the exit status and for a last word.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// The fields or hosts that nobody was there to answer for.
    unanswered: Mutex<Vec<String>>,
    /// The answers that somebody wanted.
    used: Mutex<BTreeSet<String>>,
}

impl Asked {
    /// What to do about questions that nobody answered; empty when there were none.
    pub(crate) fn hints(&self) -> Vec<String> {
        self.unanswered.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says which answers nobody wanted.
    pub(crate) fn report_unused(&self, printer: &Printer, answers: &[Answer]) {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        for answer in answers.iter().filter(|answer| !used.contains(&answer.key)) {
            printer.warning(format!("no server asked for `{}`, so the answer to it was not used", answer.key));
        }
    }

    fn needs(&self, hint: &str) {
        self.unanswered.lock().unwrap_or_else(PoisonError::into_inner).push(hint.to_owned());
    }
}

/// Answers for the person who typed the command.
#[derive(Debug)]
pub(crate) struct CommandLineElicitor {
    answers: Vec<Answer>,
    yes: bool,
    can_ask: bool,
    printer: Printer,
    browser: Browser,
    asked: Arc<Asked>,
    /// One question at a time, whoever asks.
    turn: Arc<Mutex<()>>,
}

impl CommandLineElicitor {
    pub(crate) fn new(context: &Context, arguments: &QuestionArgs) -> Self {
        Self {
            answers: arguments.answers.clone(),
            yes: arguments.yes,
            can_ask: context.console.can_ask(),
            printer: context.printer.clone(),
            browser: Browser::new(&context.env),
            asked: Arc::clone(&context.asked),
            turn: Arc::clone(&context.turn),
        }
    }

    /// What `--answer` says about a form, and whether that is all it wants to know.
    fn given(&self, form: &Form) -> Given {
        let words: Vec<(&str, &str)> =
            self.answers.iter().map(|answer| (answer.key.as_str(), answer.value.as_str())).collect();
        let known: Vec<(&str, &str)> = words.iter().copied().filter(|(key, _)| form.field(key).is_some()).collect();
        let mut used = self.asked.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.extend(known.iter().map(|(key, _)| (*key).to_owned()));
        drop(used);
        if form.fields().is_empty() && self.yes {
            return Given::Whole(RawJson::empty_object());
        }
        if known.is_empty() {
            let strangers = form.from_words(&words).err().unwrap_or_default();
            return Given::Part(Map::new(), strangers.iter().map(ToString::to_string).collect());
        }
        let answers = match form.from_words(&known) {
            Ok(answers) => answers,
            Err(problems) => return Given::Part(Map::new(), problems.iter().map(ToString::to_string).collect()),
        };
        let mut filled = answers.clone();
        form.fill_defaults(&mut filled);
        match form.check(&filled) {
            Ok(content) => Given::Whole(content),
            Err(problems) => {
                let open = problems.iter().filter(|problem| problem.kind != FieldProblemKind::Unknown);
                Given::Part(answers, open.map(ToString::to_string).collect())
            }
        }
    }

    /// Nobody is there: says what was asked, and how to answer it.
    fn decline(&self, server: &str, question: &Elicitation, problems: &[String]) -> ElicitationAnswer {
        let message = question.message();
        let first = message.lines().next().unwrap_or_default();
        let warn = |text: String| self.printer.warning(text);
        let hint = match question {
            Elicitation::Form(request) => {
                let fields = request.form().fields();
                let names: Vec<String> = fields.iter().map(|field| format!("`{}`", field.name)).collect();
                let wants = if names.is_empty() { "a yes".to_owned() } else { names.join(", ") };
                warn(format!("the server `{server}` asks for {wants} and nobody is there to answer: {first}"));
                problems.iter().for_each(|problem| warn(problem.clone()));
                match fields.iter().find(|field| field.required).or(fields.first()) {
                    Some(field) => {
                        format!("answer beforehand with `--answer {}=…`, or run it at a terminal", field.name)
                    }
                    None => "say yes beforehand with `--yes`, or run it at a terminal".to_owned(),
                }
            }
            Elicitation::Url(request) => {
                let host = request.host();
                warn(format!("the server `{server}` asks to open {host} and nobody is there to say yes: {first}"));
                "run it at a terminal to be asked".to_owned()
            }
            _ => "run it at a terminal to be asked".to_owned(),
        };
        self.printer.hint(hint.as_str());
        self.asked.needs(&hint);
        ElicitationAnswer::Decline
    }
}

/// What was given beforehand.
enum Given {
    /// Everything a form wants.
    Whole(RawJson),
    /// Some answers, and what is wrong with the others or missing.
    Part(Map<String, Value>, Vec<String>),
}

impl Elicitor for CommandLineElicitor {
    fn elicit(&self, request: ElicitationRequest) -> BoxFuture<'_, ElicitationAnswer> {
        Box::pin(async move {
            let mut before = Map::new();
            let mut problems = Vec::new();
            if let Elicitation::Form(asked) = &request.question {
                match self.given(asked.form()) {
                    Given::Whole(content) => return ElicitationAnswer::Accept(Some(content)),
                    Given::Part(answers, wrong) => (before, problems) = (answers, wrong),
                }
            }
            if !self.can_ask {
                return self.decline(request.server.as_str(), &request.question, &problems);
            }
            // Closed with this future: then nobody waits for the answer any more.
            let Ok((gone, _alive)) = pipe_with(PipeFlags::CLOEXEC) else { return ElicitationAnswer::Cancel };
            let (turn, color, browser) = (Arc::clone(&self.turn), self.printer.stderr_color(), self.browser.clone());
            let asking = spawn_blocking(move || {
                let _turn = turn.lock();
                at_terminal(&request, &before, &browser, color, gone)
            });
            match asking.await {
                Ok(Some(answer)) => answer,
                Ok(None) => interrupt().await,
                Err(_) => ElicitationAnswer::Cancel,
            }
        })
    }
}

/// For verbs that call nothing. Servers hear that a person can be asked, because some offer other tools then and a list
/// must not depend on the verb; a server that asks although nobody called it is declined.
#[derive(Debug)]
pub(crate) struct NobodyCalled;

impl Elicitor for NobodyCalled {
    fn elicit(&self, _: ElicitationRequest) -> BoxFuture<'_, ElicitationAnswer> {
        Box::pin(std::future::ready(ElicitationAnswer::Decline))
    }
}

/// What the person says; `None` when they interrupt everything.
fn at_terminal(
    request: &ElicitationRequest,
    before: &Map<String, Value>,
    browser: &Browser,
    color: crate::printer::Color,
    gone: OwnedFd,
) -> Option<ElicitationAnswer> {
    let Ok(mut keyboard) = Keyboard::open(gone) else { return Some(ElicitationAnswer::Cancel) };
    let mut terminal =
        Terminal { keys: &mut keyboard, write: &mut |text| write_talk(text), color, width: Keyboard::columns() };
    // Whatever shows that something goes on stands in this line.
    write_talk(CLEAR_LINE);
    let server = request.server.as_str();
    let answer = match &request.question {
        Elicitation::Form(asked) => form::ask(&mut terminal, server, asked, before),
        Elicitation::Url(asked) => url::ask(&mut terminal, server, asked, browser),
        _ => ElicitationAnswer::Decline,
    };
    (!keyboard.is_interrupted()).then_some(answer)
}

/// Ctrl-C is for the whole command, as it is when nobody is asked: the signal that the terminal did not send is sent, and
/// whoever listens for it ends the call that this is part of.
async fn interrupt() -> ElicitationAnswer {
    if rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::INT).is_err() {
        return ElicitationAnswer::Cancel;
    }
    std::future::pending().await
}
