//! Owns one program on its way: the worker's messages, and its calls, which are made by [`PreparedCall::invoke`] and no other
//! way. A message that somebody forged is a call like any other, and is decided like any other.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::FuturesUnordered;
use helve::{
    ApprovalAnswer, ApprovalRequest, Approver, BoxFuture, CallContext, CallError, CallOutcome, Host, QualifiedName,
    ServerName, ToolEntry, ToolName,
};
use helve_model::json::{ObjectWriter, quoted};
use helve_model::{CallKind, ErrorCode, Risk};
use helve_render::Parameters;
use helve_wire::Progress;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::time::Instant;

use crate::approver::ProgramApprover;
use crate::engine::{How, Worker};
use crate::frame::{self, CallFrame, Failed, Plan};
use crate::probe::hex;
use crate::report::Report;
use crate::review::{Devices, OWN, review};
use crate::run::{Action, Ending, Lookup, Run};
use crate::runner::{LAST_WORDS, Listener, Runner, arrive};
use crate::slots::Place;
use crate::value::{self, Attachments};
use crate::{binding, lookup};

/// A call that ended; `None` when the program gave it up.
type Made = (u64, Arc<ToolEntry>, Option<Result<CallOutcome, CallError>>);

pub(crate) struct Driver<'a> {
    runner: &'a Runner,
    host: Host,
    context: CallContext,
    approver: Arc<ProgramApprover>,
    place: Arc<Place>,
    listener: &'a Listener,
    run: Run,
    attachments: Attachments,
    parameters: HashMap<QualifiedName, Arc<Parameters>>,
    /// Which tools wrap plain values: their schemas are read once.
    wraps: HashMap<QualifiedName, bool>,
    abort: HashMap<u64, AbortHandle>,
    calls: FuturesUnordered<BoxFuture<'static, Made>>,
    devices: Devices,
    digest: String,
    /// What the worker is to read, from here on.
    unwritten: Vec<u8>,
    written: usize,
    told: u64,
}

/// What became of an action.
enum Next {
    GoOn,
    Over(Box<Report>),
}

impl<'a> Driver<'a> {
    pub(crate) fn new(
        runner: &'a Runner,
        host: Host,
        context: CallContext,
        approver: Arc<ProgramApprover>,
        place: Arc<Place>,
        listener: &'a Listener,
    ) -> Self {
        let devices = Devices::new(host.snapshot(), &context);
        let context = context.with(|context| context.approver = Some(Arc::clone(&approver) as Arc<dyn Approver>));
        Self {
            runner,
            host,
            context,
            approver,
            place,
            listener,
            run: Run::new(runner.0.limits.clone(), Instant::now().into_std()),
            attachments: Attachments::default(),
            parameters: HashMap::new(),
            wraps: HashMap::new(),
            abort: HashMap::new(),
            calls: FuturesUnordered::new(),
            devices,
            digest: String::new(),
            unwritten: Vec::new(),
            written: 0,
            told: 0,
        }
    }

    /// Drives a program to its end. The worker is given back where it is kept for another one.
    pub(crate) async fn drive(mut self, source: &str, mut worker: Worker, keeps: bool) -> (Report, Option<Worker>) {
        let limits = &self.runner.0.limits;
        self.digest = hex(&Sha256::digest(source));
        self.unwritten = frame::start(source, limits.print_bytes, keeps).into_bytes();
        let mut lines = Lines::new(std::mem::take(&mut worker.unread), limits.message_bytes);
        let mut asking = self.approver.asking();
        loop {
            let deadline = self.run.deadline().map(Instant::from_std);
            let actions = tokio::select! {
                biased;
                line = lines.next(&mut worker.stdout) => match line {
                    Ok(Some(line)) => self.run.line(&line, now()),
                    Ok(None) => {
                        let mut report = ended(&worker.ended(LAST_WORDS).await);
                        self.complete(&mut report);
                        return (report, None);
                    }
                    Err(why) => vec![Action::Finish(Ending::Limit(why))],
                },
                Some(made) = self.calls.next(), if !self.calls.is_empty() => self.made(made),
                changed = asking.changed() => {
                    let asked = asking.borrow_and_update().clone();
                    if changed.is_ok() {
                        self.tell_asking(&asked);
                    }
                    if asked.is_empty() {
                        self.place.resume().await;
                    }
                    self.run.asks(asked.len(), now());
                    Vec::new()
                },
                written = worker.stdin.write(self.unwritten.get(self.written..).unwrap_or_default()), if self.written < self.unwritten.len() => {
                    self.wrote(written);
                    Vec::new()
                },
                () = sleep_until(deadline) => self.run.tick(now()),
            };
            for action in actions {
                // A worker that said how it ended, or was told not to begin, waits for the next program.
                let waits = matches!(action, Action::Review(_) | Action::Finish(Ending::Done(_) | Ending::Failed(_)));
                let is_refusal = matches!(action, Action::Review(_));
                if let Next::Over(mut report) = self.act(action).await {
                    self.complete(&mut report);
                    worker.unread = lines.rest();
                    if keeps && is_refusal {
                        worker.stdin.write_all(frame::stop().as_bytes()).await.ok();
                    }
                    return (*report, (keeps && waits && self.calls.is_empty()).then_some(worker));
                }
            }
        }
    }

    async fn act(&mut self, action: Action) -> Next {
        match action {
            Action::Review(plan) => {
                if let Some(report) = Box::pin(self.review(plan)).await {
                    return Next::Over(Box::new(report));
                }
                let actions = self.run.go(now());
                actions.into_iter().for_each(|action| self.send(action));
            }
            Action::Dispatch(call) => self.dispatch(call),
            Action::GiveUp(id) => {
                if let Some(abort) = self.abort.remove(&id) {
                    abort.abort();
                }
            }
            Action::LookUp(lookup) => {
                let answer = self.look_up(&lookup);
                self.unwritten.extend(answer.into_bytes());
            }
            Action::Print(text) => {
                if let Some(hear) = &self.listener.on_print {
                    hear(&text);
                }
            }
            Action::Finish(ending) => return Next::Over(Box::new(self.finished(ending))),
            send @ Action::Send(_) => self.send(send),
        }
        Next::GoOn
    }

    fn send(&mut self, action: Action) {
        if let Action::Send(text) = action {
            self.unwritten.extend(text.into_bytes());
        }
    }

    fn wrote(&mut self, written: std::io::Result<usize>) {
        match written {
            Ok(bytes) => self.written += bytes,
            // It is gone, and its end is noticed where it is read.
            Err(_) => self.written = self.unwritten.len(),
        }
        if self.written == self.unwritten.len() {
            self.unwritten.clear();
            self.written = 0;
        }
    }

    /// Looks at the plan, and asks the person once for all that can be asked for up front. A report is the end.
    async fn review(&mut self, plan: Plan) -> Option<Report> {
        arrive(&self.host, &plan).await;
        self.devices = Devices::new(self.host.snapshot(), &self.context);
        if !self.runner.0.has_gate {
            return None;
        }
        let review = review(&self.host, &self.devices, &plan, self.runner.0.engine.modules(), &self.context);
        if let Some(first) = review.problems.first() {
            let code = review
                .problems
                .iter()
                .find(|problem| problem.code == ErrorCode::Denied)
                .map_or(first.code, |denied| denied.code);
            let message = format!("the program was not run, and no call was made:\n{}", review.problems_in_lines());
            return Some(Report::failed(code, message, true));
        }
        let asks = review.asks();
        if asks.is_empty() {
            return None;
        }
        let names: Vec<String> = asks.iter().map(ToString::to_string).collect();
        let risk = review.calls.iter().filter(|call| asks.contains(&call.tool)).map(|call| call.risk).max();
        let digest = self.digest.get(..12).unwrap_or_default();
        let arguments =
            ObjectWriter::new().text("program", digest).array("tools", names.iter().map(|name| quoted(name)));
        let (Ok(server), tool) = (ServerName::new(OWN), ToolName::new("run_code")) else { return None };
        let request = ApprovalRequest {
            name: QualifiedName::new(server, tool),
            kind: CallKind::Tool,
            arguments: arguments.finish(),
            principal: self.context.principal.clone(),
            caller: self.context.caller,
            risk: risk.unwrap_or(Risk::Medium),
            sentence: format!("may this program call {} while it runs?", names.join(", ")),
            decider: None,
            definition: None,
            server: None,
            source: self.context.source.clone(),
        };
        let refused = |code: ErrorCode, why: &str| {
            let message =
                format!("the program was not run, and no call was made: it calls {}, and {why}", names.join(", "));
            Some(Report::failed(code, message, true))
        };
        match self.approver.ask(request).await {
            ApprovalAnswer::Once | ApprovalAnswer::Run | ApprovalAnswer::Always { .. } => {
                self.approver.cover(asks);
                self.place.resume().await;
                None
            }
            ApprovalAnswer::Decline => refused(ErrorCode::Denied, "the person was asked and said no"),
            ApprovalAnswer::DeclineWith(said) => refused(ErrorCode::Denied, &said),
            ApprovalAnswer::Later(open) => refused(ErrorCode::ApprovalRequired, &open.said),
            ApprovalAnswer::Unavailable => {
                refused(ErrorCode::ApprovalRequired, "that needs the person's yes, and they cannot be asked here")
            }
        }
    }

    fn dispatch(&mut self, call: CallFrame) {
        let id = call.id;
        let found = self.devices.find(&call.server, &call.tool).map(Arc::clone);
        let tool = match found {
            Ok(tool) => tool,
            Err((code, message)) => {
                let answer = frame::error(id, code.as_str(), &message, (None, None), None);
                return self.answered(id, String::new(), Err(code), answer);
            }
        };
        let parameters = self
            .parameters
            .entry(tool.name().clone())
            .or_insert_with(|| Arc::new(helve_render::parameters(tool.input_schema())));
        let arguments = match binding::bind(parameters, &call) {
            Ok(arguments) => arguments,
            Err(message) => {
                let (name, code) = (tool.name(), ErrorCode::InvalidParams);
                let at = (Some(name.server.as_str()), Some(name.tool.as_str()));
                let answer = frame::error(id, code.as_str(), &message, at, None);
                return self.answered(id, name.to_string(), Err(code), answer);
            }
        };
        let (abort, registration) = AbortHandle::new_pair();
        let made = self.host.prepare(Arc::clone(&tool)).invoke(arguments, self.context.clone());
        self.abort.insert(id, abort);
        self.calls.push(Box::pin(async move {
            let result = Abortable::new(made, registration).await.ok();
            (id, tool, result)
        }));
    }

    fn made(&mut self, (id, tool, result): Made) -> Vec<Action> {
        self.abort.remove(&id);
        // One that was given up has been told already.
        let Some(result) = result else { return Vec::new() };
        let end = match &result {
            Ok(outcome) if outcome.outcome.is_error() => Err(ErrorCode::ToolError),
            Ok(_) => Ok(()),
            Err(error) => Err(error.code()),
        };
        let wraps = match self.wraps.get(tool.name()) {
            Some(wraps) => *wraps,
            None => *self.wraps.entry(tool.name().clone()).or_insert(value::wraps_result(&tool)),
        };
        let answer =
            value::answer(id, &tool, &result, wraps, &mut self.attachments, self.runner.0.limits.message_bytes);
        let name = tool.name().to_string();
        let took = result.as_ref().map(|outcome| outcome.duration.as_millis());
        let how = match (&end, took) {
            (Ok(()), Ok(milliseconds)) => format!("{name} {milliseconds} ms"),
            (Err(code), _) => format!("{name} failed ({code})"),
            (Ok(()), Err(_)) => name.clone(),
        };
        self.tell(&how);
        self.run.answered(id, name, end, answer, now())
    }

    /// The answer to a call that is not made.
    fn answered(&mut self, id: u64, tool: String, end: Result<(), ErrorCode>, answer: String) {
        for action in self.run.answered(id, tool, end, answer, now()) {
            match action {
                Action::Dispatch(next) => self.dispatch(next),
                other => self.send(other),
            }
        }
    }

    fn look_up(&self, lookup: &Lookup) -> String {
        lookup::answer(&self.devices, lookup)
    }

    fn tell(&mut self, what: &str) {
        self.told += 1;
        let Some(hear) = &self.listener.on_progress else { return };
        let message = format!("{}: {what}", self.told);
        // The token is whoever's who asked for progress, and is put in there.
        let raw = ObjectWriter::new().raw("progressToken", "0").number("progress", self.told).text("message", &message);
        let raw = raw.finish();
        let progress = f64::from(u32::try_from(self.told).unwrap_or(u32::MAX));
        hear(Progress { progress, total: None, message: Some(message), raw });
    }

    fn tell_asking(&mut self, asked: &[String]) {
        if let Some(last) = asked.last() {
            let what = format!("waiting for approval of {last}");
            self.tell(&what);
        }
    }

    fn finished(&self, ending: Ending) -> Report {
        let Ending::Done(done) = ending else { return failure(&ending) };
        let kinds: Vec<String> =
            done.notes.iter().take(8).map(|kind| format!("`{}`", helve_model::text::cut(kind, 60))).collect();
        let note = (!kinds.is_empty()).then(|| format!("values of the type {} are given as text", kinds.join(", ")));
        let attachments = done.attachments.iter().filter_map(|number| self.attachments.get(*number).cloned());
        let mut report = Report::failed(ErrorCode::ToolError, String::new(), false);
        report.error = None;
        report.value = done.value;
        report.notes = note.into_iter().collect();
        report.attachments = attachments.take(32).collect();
        report
    }

    /// Puts in what every report has.
    fn complete(&self, report: &mut Report) {
        let (printed, more) = self.run.printed();
        (report.printed, report.printed_more) = (printed.to_owned(), more);
        report.calls = self.run.calls(now());
    }
}

/// Lines of a worker, each within a limit.
pub(crate) struct Lines {
    buffer: Vec<u8>,
    from: usize,
    most: usize,
}

impl Lines {
    pub(crate) const fn new(unread: Vec<u8>, most: usize) -> Self {
        Self { buffer: unread, from: 0, most }
    }

    /// The next line; `None` at the end. Cancel safe: what was read stays.
    pub(crate) async fn next(&mut self, stdout: &mut pipe::Receiver) -> Result<Option<Vec<u8>>, String> {
        loop {
            let unseen = self.buffer.get(self.from..).unwrap_or_default();
            if let Some(end) = unseen.iter().position(|byte| *byte == b'\n') {
                let end = self.from + end;
                let mut line: Vec<u8> = self.buffer.drain(..=end).collect();
                line.pop();
                self.from = 0;
                return Ok(Some(line));
            }
            self.from = self.buffer.len();
            if self.buffer.len() > self.most {
                return Err(format!("it wrote a message of more than {} bytes", self.most));
            }
            match stdout.read_buf(&mut self.buffer).await {
                Ok(0) | Err(_) => return Ok(None),
                Ok(_) => {}
            }
        }
    }

    fn rest(self) -> Vec<u8> {
        self.buffer
    }
}

fn now() -> std::time::Instant {
    Instant::now().into_std()
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// What is told of a program whose worker ended without a word.
pub(crate) fn ended(how: &How) -> Report {
    match how {
        How::ProcessorLimit => Report::failed(
            ErrorCode::LimitExceeded,
            "the program was ended: it used all of its processor time".to_owned(),
            false,
        ),
        How::Crashed(why) => Report::failed(ErrorCode::ToolError, format!("the interpreter crashed: {why}"), false),
        How::Exited(why) => Report::failed(ErrorCode::ToolError, format!("the interpreter ended: {why}"), false),
    }
}

/// What is told of a program that did not come to its end.
pub(crate) fn failure(ending: &Ending) -> Report {
    let (code, message) = match ending {
        Ending::Failed(failed) => (ErrorCode::ToolError, words(failed)),
        Ending::Limit(limit) => (ErrorCode::LimitExceeded, format!("the program was ended: {limit}")),
        Ending::Nonsense(why) => {
            (ErrorCode::ProtocolError, format!("the program was ended: it wrote what no program writes ({why})"))
        }
        Ending::Done(_) => (ErrorCode::ProtocolError, "the program ended before it ran".to_owned()),
    };
    let code = match ending {
        Ending::Failed(Failed { code: Some(said), .. }) => {
            ErrorCode::ALL.into_iter().find(|known| known.as_str() == said).unwrap_or(code)
        }
        _ => code,
    };
    Report::failed(code, message, false)
}

/// `KeyError: no key 'x' (line 3, in total; line 9)`.
fn words(failed: &Failed) -> String {
    let mut at: Vec<String> = failed
        .at
        .iter()
        .rev()
        .take(5)
        .map(
            |(line, function)| {
                if function.is_empty() { format!("line {line}") } else { format!("line {line}, in {function}") }
            },
        )
        .collect();
    at.dedup();
    let place = if at.is_empty() { String::new() } else { format!(" ({})", at.join("; ")) };
    let line = failed.line.as_deref().filter(|line| !line.is_empty()).map(|line| format!(": {line}"));
    let message = if failed.message.is_empty() { String::new() } else { format!(": {}", failed.message) };
    format!("{}{message}{place}{}", failed.r#type, line.unwrap_or_default())
}
