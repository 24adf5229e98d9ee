//! Owns one program on its way: the worker's messages, and its calls, which are made by [`PreparedCall::invoke`] and no other
//! way. A message that somebody forged is a call like any other, and is decided like any other.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

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
use tokio::io::AsyncWriteExt as _;
use tokio::time::{Instant, Sleep};

use crate::approver::ProgramApprover;
use crate::engine::{How, Worker};
use crate::frame::{self, CallFrame, Failed, Plan};
use crate::pipes::{Arrived, Lines, Outbox};
use crate::probe::hex;
use crate::report::Report;
use crate::review::{Devices, OWN, review};
use crate::run::{Action, Ending, Run};
use crate::runner::{LAST_WORDS, Listener, Runner, arrive, arrive_at};
use crate::slots::Place;
use crate::value::{self, Attachments};
use crate::{binding, lookup};

/// Whoever waits for a program that waits for a person hears so this often: most clients give up after a minute of silence.
const REMINDED_EVERY: Duration = Duration::from_secs(15);

/// So much is gathered before it is written, while there is more to do at once.
const GATHERED_BYTES: usize = 16 << 10;

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
    outbox: Outbox,
    timer: Timer,
    /// Calls that wait for a person, and when whoever waits for the program last heard of it.
    waits_for: Vec<String>,
    reminded: Option<std::time::Instant>,
    told: u64,
}

/// What a program's driver waits for.
enum Event {
    /// The worker wrote, or ended.
    Arrived(Result<Arrived, String>),
    /// A call has its end.
    Made(Made),
    /// These calls wait for a person now.
    Asking(Vec<String>),
    /// It is time to look at the limits.
    Time,
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
            outbox: Outbox::default(),
            timer: Timer::default(),
            waits_for: Vec::new(),
            reminded: None,
            told: 0,
        }
    }

    /// Drives a program to its end. The worker is given back where it is kept for another one.
    pub(crate) async fn drive(mut self, source: &str, mut worker: Worker, keeps: bool) -> (Report, Option<Worker>) {
        let limits = &self.runner.0.limits;
        self.digest = hex(&Sha256::digest(source));
        self.outbox.put(&frame::start(source, limits.print_bytes, keeps));
        let mut lines = Lines::new(std::mem::take(&mut worker.unread), limits.message_bytes);
        loop {
            let event = poll_fn(|context| self.poll_event(&mut worker, &mut lines, context)).await;
            let actions = match event {
                Event::Arrived(Ok(Arrived::Line)) => self.run.line(lines.line(), now()),
                Event::Arrived(Ok(Arrived::End)) => {
                    let mut report = ended(&worker.ended(LAST_WORDS).await);
                    self.complete(&mut report);
                    return (report, None);
                }
                Event::Arrived(Err(why)) => vec![Action::Finish(Ending::Limit(why))],
                Event::Made(made) => self.made(made),
                Event::Asking(asked) => {
                    if asked.is_empty() {
                        self.place.resume().await;
                    }
                    self.run.asks(asked.len(), now());
                    self.waits_for = asked;
                    self.remind();
                    Vec::new()
                }
                Event::Time => {
                    if self.reminded.is_some_and(|last| last.elapsed() >= REMINDED_EVERY) {
                        self.remind();
                    }
                    self.run.tick(now())
                }
            };
            let mut actions = VecDeque::from(actions);
            while let Some(action) = actions.pop_front() {
                // A worker that said how it ended, or was told not to begin, waits for the next program.
                let waits = matches!(action, Action::Review(_) | Action::Finish(Ending::Done(_) | Ending::Failed(_)));
                let is_refusal = matches!(action, Action::Review(_));
                if let Next::Over(mut report) = self.act(action, &mut actions).await {
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

    /// The next thing that happens. What there is to say to the worker is written when there is nothing else to do at once,
    /// so that many answers are one write, and wake it once.
    fn poll_event(&mut self, worker: &mut Worker, lines: &mut Lines, context: &mut Context<'_>) -> Poll<Event> {
        if self.outbox.len() > GATHERED_BYTES {
            self.outbox.poll_flush(&mut worker.stdin, context);
        }
        if !self.calls.is_empty()
            && let Poll::Ready(Some(made)) = self.calls.poll_next_unpin(context)
        {
            return Poll::Ready(Event::Made(made));
        }
        if let Poll::Ready(asked) = self.approver.poll_asking(context) {
            return Poll::Ready(Event::Asking(asked));
        }
        if let Poll::Ready(arrived) = lines.poll_line(&mut worker.stdout, context) {
            return Poll::Ready(Event::Arrived(arrived));
        }
        self.outbox.poll_flush(&mut worker.stdin, context);
        let reminder = self.reminded.map(|last| last + REMINDED_EVERY);
        let next = [self.run.deadline(), reminder].into_iter().flatten().min();
        self.timer.poll(next, context).map(|()| Event::Time)
    }

    /// Does it; what follows from it at once is put behind the others.
    async fn act(&mut self, action: Action, following: &mut VecDeque<Action>) -> Next {
        match action {
            Action::Review(plan) => {
                if let Some(report) = Box::pin(self.review(plan)).await {
                    return Next::Over(Box::new(report));
                }
                following.extend(self.run.go(now()));
            }
            Action::Dispatch(call) => {
                // A server that nobody has asked yet: a plan does not see names that are put together.
                if self.devices.find(&call.server, &call.tool).is_err() && arrive_at(&self.host, &call.server).await {
                    self.devices = Devices::new(self.host.snapshot(), &self.context);
                }
                following.extend(self.dispatch(call));
            }
            Action::GiveUp(id) => {
                if let Some(abort) = self.abort.remove(&id) {
                    abort.abort();
                }
            }
            Action::LookUp(lookup) => {
                let answer = lookup::answer(&self.devices, &lookup);
                self.outbox.put(&answer);
            }
            Action::Print(text) => {
                if let Some(hear) = &self.listener.on_print {
                    hear(&text);
                }
            }
            Action::Finish(ending) => return Next::Over(Box::new(self.finished(ending))),
            Action::Send(text) => self.outbox.put(&text),
        }
        Next::GoOn
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
        let arguments =
            ObjectWriter::new().text("program", &self.digest).array("tools", names.iter().map(|name| quoted(name)));
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
        match self.asked_up_front(request).await {
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

    /// Puts the one question about a program. Whoever waits for the program hears that it waits, and hears it again.
    async fn asked_up_front(&mut self, request: ApprovalRequest) -> ApprovalAnswer {
        let (approver, name) = (Arc::clone(&self.approver), vec![request.name.to_string()]);
        let mut asked = pin!(approver.ask(request));
        loop {
            self.tell_asking(&name);
            if let Ok(answer) = tokio::time::timeout(REMINDED_EVERY, asked.as_mut()).await {
                return answer;
            }
        }
    }

    /// Begins a call, or says what follows where it cannot be made.
    fn dispatch(&mut self, call: CallFrame) -> Vec<Action> {
        let id = call.id;
        let found = self.devices.find(&call.server, &call.tool).map(Arc::clone);
        let tool = match found {
            Ok(tool) => tool,
            Err((code, message)) => {
                let answer = frame::error(id, code.as_str(), &message, (None, None), None);
                return self.run.answered(id, String::new(), Err(code), answer, now());
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
                return self.run.answered(id, name.to_string(), Err(code), answer, now());
            }
        };
        let (abort, registration) = AbortHandle::new_pair();
        let made = self.host.prepare(Arc::clone(&tool)).invoke(arguments, self.context.clone());
        self.abort.insert(id, abort);
        self.calls.push(Box::pin(async move {
            let result = Abortable::new(made, registration).await.ok();
            (id, tool, result)
        }));
        Vec::new()
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
        self.told += 1;
        if self.listener.on_progress.is_some() {
            let took = result.as_ref().map(|outcome| outcome.duration.as_millis());
            match (&end, took) {
                (Ok(()), Ok(milliseconds)) => self.tell(&format!("{name} {milliseconds} ms")),
                (Err(code), _) => self.tell(&format!("{name} failed ({code})")),
                (Ok(()), Err(_)) => self.tell(&name),
            }
        }
        self.run.answered(id, name, end, answer, now())
    }

    fn tell(&self, what: &str) {
        let Some(hear) = &self.listener.on_progress else { return };
        let message = format!("{}: {what}", self.told);
        // The token is whoever's who asked for progress, and is put in there.
        let raw = ObjectWriter::new().raw("progressToken", "0").number("progress", self.told).text("message", &message);
        let raw = raw.finish();
        let progress = f64::from(u32::try_from(self.told).unwrap_or(u32::MAX));
        hear(Progress { progress, total: None, message: Some(message), raw });
    }

    /// Tells which call waits for a person, as long as one does.
    fn remind(&mut self) {
        let waits_for = std::mem::take(&mut self.waits_for);
        self.tell_asking(&waits_for);
        self.reminded = (!waits_for.is_empty() && self.listener.on_progress.is_some()).then(now);
        self.waits_for = waits_for;
    }

    fn tell_asking(&mut self, asked: &[String]) {
        if let Some(last) = asked.last() {
            self.told += 1;
            self.tell(&format!("waiting for approval of {last}"));
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

/// Wakes the driver when a limit may be reached. Limits move on while others work: it is armed anew when it has rung, or when
/// one comes nearer.
#[derive(Default)]
struct Timer(Option<Pin<Box<Sleep>>>);

impl Timer {
    fn poll(&mut self, deadline: Option<std::time::Instant>, context: &mut Context<'_>) -> Poll<()> {
        let Some(deadline) = deadline.map(Instant::from_std) else { return Poll::Pending };
        let sleep = self.0.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if sleep.is_elapsed() || deadline < sleep.deadline() {
            sleep.as_mut().reset(deadline);
        }
        sleep.as_mut().poll(context)
    }
}

fn now() -> std::time::Instant {
    Instant::now().into_std()
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
