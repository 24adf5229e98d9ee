//! The lender's end: one running program, and everybody who has it at the moment.
//!
//! The handshake is made once, by the first who comes; the others get the same answer. What the program wrote while it
//! started is told to each of them, as it would be told to whoever started it; what it writes later, to those who are there.

use helve_model::protocol::{methods, notifications};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex};

use helve_model::json::ObjectWriter;
use helve_model::protocol::code;
use helve_model::{ErrorCode, ServerSpec, TransportSpec};
#[cfg(sandbox)]
use helve_wire::launch::SandboxedLauncher;
use helve_wire::launch::{CloseTimes, ExitReport, Launched, Launcher as _, ServerProcess, close};
use helve_wire::plane::{Line, LineBuffer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch};

use super::KeeperConnection;
use super::frame::Frame;
use super::messages::{self, MOST_BORROWERS, Message};
use crate::confine;
use crate::connect::command;
use crate::error::CallError;
use crate::settings::{Planned, Surroundings};
use crate::start_guard::Begun;
use helve_model::sync::lock;

/// A line above this size is nobody's message.
const MAX_LINE: usize = 256 << 20;
/// Lines that wait for a program that does not read. Whoever has more to say waits.
const LINES_WAITING: usize = 64;
/// Bytes that wait for a borrower that does not read. One that leaves more unread is let go.
const UNREAD_BYTES: usize = 512 << 20;
/// So much of what a program wrote while it started is told to those who come later.
const STARTUP_BYTES: usize = 64 << 10;
/// What is asked before anything is asked of the server itself.
const OPENING: [&str; 4] = [methods::INITIALIZE, methods::SERVER_DISCOVER, methods::TOOLS_LIST, methods::PING];

/// A program that is kept running for whoever comes.
#[derive(Debug)]
pub struct KeptProgram {
    shared: Arc<Shared>,
    process: Arc<ServerProcess>,
    /// Its input; `None` when it is being ended.
    to_program: Mutex<Option<mpsc::Sender<String>>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// It takes one request at a time.
    one_at_a_time: bool,
    exit: watch::Sender<Option<ExitReport>>,
}

#[derive(Debug, Default)]
struct State {
    last_borrower: u32,
    borrowers: HashMap<u32, Borrower>,
    /// Requests that the program has not answered, by the number it knows them by.
    open: HashMap<u64, u32>,
    /// Requests that wait for their turn.
    waiting: VecDeque<(u32, String)>,
    handshake: Handshake,
    /// Which connection was asked what the program wants to know, by its id for it.
    asked: HashMap<String, u32>,
    /// Something was asked of the server itself.
    has_begun: bool,
    startup_output: Vec<u8>,
    startup_diagnostics: Vec<u8>,
}

#[derive(Debug)]
struct Borrower {
    frames: mpsc::UnboundedSender<Frame>,
    unread: usize,
}

/// Where the one `initialize` is.
#[derive(Debug, Default)]
enum Handshake {
    #[default]
    Unsaid,
    /// Asked under this number; these wait for the answer, each under an id of its own.
    Asked {
        number: u64,
        greeting: Greeting,
        waiting: Vec<(u32, String)>,
    },
    Done {
        greeting: Greeting,
        answer: Answer,
        is_confirmed: bool,
    },
}

/// What the program was told: who is told something else cannot have it.
#[derive(Debug)]
struct Greeting {
    capabilities: Option<String>,
    /// The version that was asked for, and the one that it answered.
    versions: Vec<String>,
}

/// An answer, with room for an id.
#[derive(Debug, Clone)]
struct Answer {
    before: String,
    after: String,
}

impl KeptProgram {
    /// Starts the program of a server.
    ///
    /// # Errors
    /// When it cannot be started, or is not a program.
    pub async fn start(planned: &Planned, surroundings: &Surroundings) -> Result<Self, CallError> {
        let spec = &planned.spec;
        let TransportSpec::Stdio(stdio) = &spec.transport else {
            let message = format!("the server `{}` is not a program", spec.name);
            return Err(CallError::new(ErrorCode::Config, message).at_server(&spec.name));
        };
        let begun = match &planned.guard {
            Some(guard) => Some(guard.begin_start(&spec.name).await?),
            None => None,
        };
        let mut command = command(spec, stdio, surroundings);
        command.executable = begun.as_ref().and_then(|start| start.executable());
        for (name, value) in surroundings.nesting.variables(stdio.written()) {
            command.environment.set(name, value);
        }
        #[cfg(sandbox)]
        let launched = match confine::of_spec(spec, stdio, surroundings)? {
            Some(sandbox) => {
                if let Some(begun) = &begun {
                    command.sealed = begun.copies(&spec.name).await?;
                }
                let launcher = SandboxedLauncher::new(Arc::clone(&surroundings.launcher), Arc::new(sandbox));
                launcher.launch(&command).map_err(|error| {
                    let refusal = confine::refusal(&error);
                    confine::explain(CallError::from_wire(error, &spec.name), refusal, spec)
                })?
            }
            None => surroundings.launcher.launch(&command).map_err(|error| CallError::from_wire(error, &spec.name))?,
        };
        #[cfg(not(sandbox))]
        let launched = {
            confine::refuse(spec)?;
            surroundings.launcher.launch(&command).map_err(|error| CallError::from_wire(error, &spec.name))?
        };
        Ok(Self::of(launched, spec, begun))
    }

    fn of(launched: Launched, spec: &ServerSpec, begun: Option<Begun>) -> Self {
        let Launched { stdin, stdout, stderr, process } = launched;
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            one_at_a_time: spec.one_at_a_time,
            exit: watch::Sender::new(None),
        });
        let process = Arc::new(process);
        let (to_program, lines) = mpsc::channel(LINES_WAITING);
        drop(tokio::spawn(write(stdin, lines)));
        let diagnostics = tokio::spawn(Arc::clone(&shared).hear_diagnostics(stderr));
        let (hearing, ending) = (Arc::clone(&shared), Arc::clone(&process));
        let (name, answers) = (spec.name.clone(), to_program.downgrade());
        drop(tokio::spawn(async move {
            let heard = hearing.hear_output(stdout, &name, begun, &answers);
            tokio::select! {
                is_trusted = heard => if !is_trusted {
                    ending.kill();
                },
                _ = ending.wait() => {}
            }
            let exit = ending.wait().await;
            // What it said last comes before its end.
            drop(tokio::time::timeout(LAST_WORDS, diagnostics).await);
            hearing.end(exit);
        }));
        Self { shared, process, to_program: Mutex::new(Some(to_program)) }
    }

    fn input(&self) -> Option<mpsc::Sender<String>> {
        lock(&self.to_program).clone()
    }

    /// The number of its process.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.process.id()
    }

    /// False when it has ended.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.shared.exit.borrow().is_none() && self.process.try_wait().is_none()
    }

    /// True when it has answered.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        let state = lock(&self.shared.state);
        self.is_running() && (state.has_begun || matches!(state.handshake, Handshake::Done { .. }))
    }

    /// Lends it until whoever is at the other end of the connection gives it back, or it ends.
    ///
    /// # Errors
    /// When the connection breaks.
    pub async fn lend(&self, connection: KeeperConnection) -> io::Result<()> {
        let (mut reader, mut writer) = tokio::io::split(connection);
        let Some((borrower, mut frames)) = self.shared.admit() else { return Ok(()) };
        let _gone = Gone { program: self, borrower };
        let telling = async {
            while let Some(frame) = frames.recv().await {
                let bytes = frame.encode();
                writer.write_all(&bytes).await?;
                self.shared.was_read(borrower, bytes.len());
                if matches!(frame, Frame::Ended(_)) {
                    writer.flush().await?;
                    break;
                }
            }
            Ok(())
        };
        let hearing = async {
            let mut lines = LineBuffer::new(MAX_LINE);
            loop {
                while let Some(line) = lines.next_line() {
                    let (Line::Text(text), Some(input)) = (line, self.input()) else { continue };
                    self.shared.said(borrower, &text, &input).await;
                }
                if reader.read_buf(lines.room()).await? == 0 {
                    return Ok(());
                }
            }
        };
        tokio::select! {
            told = telling => told,
            heard = hearing => heard,
        }
    }

    /// Ends it, patiently.
    pub async fn close(&self, times: CloseTimes) {
        // Its input ends with the last who could say something.
        drop(lock(&self.to_program).take());
        lock(&self.shared.state).borrowers.clear();
        close(&self.process, times).await;
    }
}

/// How long a program that has ended may still be heard.
const LAST_WORDS: std::time::Duration = std::time::Duration::from_millis(200);

fn envelope() -> ObjectWriter {
    ObjectWriter::new().text("jsonrpc", "2.0")
}

/// A borrower while it is there. What it asked for and did not get is taken back when it goes.
struct Gone<'a> {
    program: &'a KeptProgram,
    borrower: u32,
}

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        let open = self.program.shared.forget(self.borrower);
        for number in open {
            let params = ObjectWriter::new().number("requestId", number);
            let line = envelope().text("method", notifications::CANCELLED).object("params", params).into_text();
            // A program that does not read hears nothing anyway.
            drop(self.program.input().map(|input| input.try_send(line)));
        }
    }
}

/// Writes what is said to the program.
async fn write(mut stdin: pipe::Sender, mut lines: mpsc::Receiver<String>) {
    while let Some(mut line) = lines.recv().await {
        line.push('\n');
        if stdin.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

impl Shared {
    /// One more borrower; `None` when the program has ended.
    fn admit(&self) -> Option<(u32, mpsc::UnboundedReceiver<Frame>)> {
        let mut state = lock(&self.state);
        if self.exit.borrow().is_some() {
            return None;
        }
        let (frames, receiver) = mpsc::unbounded_channel();
        let mut borrower = state.last_borrower;
        loop {
            borrower = borrower % (MOST_BORROWERS - 1) + 1;
            if !state.borrowers.contains_key(&borrower) {
                break;
            }
        }
        state.last_borrower = borrower;
        for frame in
            [Frame::Diagnostics(state.startup_diagnostics.clone()), Frame::Output(state.startup_output.clone())]
        {
            drop(frames.send(frame));
        }
        state.borrowers.insert(borrower, Borrower { frames, unread: 0 });
        Some((borrower, receiver))
    }

    /// A borrower is gone; gives what it has asked for and not got.
    fn forget(&self, borrower: u32) -> Vec<u64> {
        let mut state = lock(&self.state);
        state.borrowers.remove(&borrower);
        state.waiting.retain(|(of, _)| *of != borrower);
        state.asked.retain(|_, of| *of != borrower);
        let handshake = match &state.handshake {
            Handshake::Asked { number, .. } => Some(*number),
            Handshake::Unsaid | Handshake::Done { .. } => None,
        };
        let open = state.open.extract_if(|_, of| *of == borrower).map(|(number, _)| number);
        // Others may wait for the handshake too.
        open.filter(|number| Some(*number) != handshake).collect()
    }

    fn was_read(&self, borrower: u32, bytes: usize) {
        if let Some(borrower) = lock(&self.state).borrowers.get_mut(&borrower) {
            borrower.unread = borrower.unread.saturating_sub(bytes);
        }
    }

    /// A borrower said something.
    async fn said(&self, borrower: u32, text: &str, to_program: &mpsc::Sender<String>) {
        let line = lock(&self.state).take(borrower, text, self.one_at_a_time);
        if let Some(line) = line {
            // Nobody reads it when the program has ended, which the borrower is told.
            drop(to_program.send(line).await);
        }
    }

    async fn hear_diagnostics(self: Arc<Self>, mut stderr: pipe::Receiver) {
        let mut piece = Vec::new();
        loop {
            piece.clear();
            match stderr.read_buf(&mut piece).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let mut state = lock(&self.state);
            if !state.has_begun && state.startup_diagnostics.len() < STARTUP_BYTES {
                state.startup_diagnostics.extend_from_slice(&piece);
            }
            state.tell_all(|| Frame::Diagnostics(piece.clone()));
        }
    }

    /// Hears the program until its output ends. False when it was started from files that are not what was trusted.
    async fn hear_output(
        &self,
        mut stdout: pipe::Receiver,
        server: &helve_model::ServerName,
        mut begun: Option<Begun>,
        answers: &mpsc::WeakSender<String>,
    ) -> bool {
        let mut lines = LineBuffer::new(MAX_LINE);
        loop {
            while let Some(line) = lines.next_line() {
                let (Line::Text(text) | Line::NotUtf8(text)) = line else { continue };
                let message = Message::read(&text);
                // The program has answered for the first time: it is known by now what it read of its files, or nobody
                // hears of it.
                if matches!(message, Message::Answer { .. })
                    && let Some(begun) = begun.take()
                    && begun.check_again(server).await.is_err()
                {
                    return false;
                }
                let replies = lock(&self.state).hear(&text, &message, self.one_at_a_time);
                if let Some(to_program) = answers.upgrade() {
                    for reply in replies {
                        drop(to_program.send(reply).await);
                    }
                }
            }
            match stdout.read_buf(lines.room()).await {
                Ok(0) | Err(_) => return true,
                Ok(_) => {}
            }
        }
    }

    fn end(&self, exit: ExitReport) {
        let mut state = lock(&self.state);
        self.exit.send_replace(Some(exit));
        state.tell_all(|| Frame::Ended(exit));
        state.borrowers.clear();
    }
}

impl State {
    /// What a borrower says, as the program is to get it now, if it is.
    fn take(&mut self, borrower: u32, text: &str, one_at_a_time: bool) -> Option<String> {
        match Message::read(text) {
            Message::Request { id, method } if method == methods::INITIALIZE => self.initialize(borrower, id, text),
            Message::Request { id, method } => {
                self.has_begun |= !OPENING.contains(&&*method);
                let line = messages::to_program(borrower, text);
                if one_at_a_time && !self.open.is_empty() {
                    self.waiting.push_back((borrower, line));
                    return None;
                }
                self.open.extend(messages::marked(borrower, id).map(|number| (number, borrower)));
                Some(line)
            }
            Message::Notification { method } if method == notifications::INITIALIZED => match &mut self.handshake {
                Handshake::Done { is_confirmed, .. } if *is_confirmed => None,
                Handshake::Done { is_confirmed, .. } => {
                    *is_confirmed = true;
                    Some(text.to_owned())
                }
                Handshake::Unsaid | Handshake::Asked { .. } => Some(text.to_owned()),
            },
            Message::Notification { .. } | Message::Noise => Some(messages::to_program(borrower, text)),
            // Nobody answers for another.
            Message::Answer { id } => (self.asked.remove(id) == Some(borrower)).then(|| text.to_owned()),
        }
    }

    /// The program is asked once; who comes later gets the same answer.
    fn initialize(&mut self, borrower: u32, id: &str, text: &str) -> Option<String> {
        let greeting = Greeting::of(messages::member(text, "params"));
        match &mut self.handshake {
            Handshake::Unsaid => {
                let number = messages::marked(borrower, id)?;
                self.handshake = Handshake::Asked { number, greeting, waiting: vec![(borrower, id.to_owned())] };
                self.open.insert(number, borrower);
                Some(messages::to_program(borrower, text))
            }
            Handshake::Asked { greeting: asked, waiting, .. } if asked.covers(&greeting) => {
                waiting.push((borrower, id.to_owned()));
                None
            }
            Handshake::Done { greeting: asked, answer, .. } if asked.covers(&greeting) => {
                let line = answer.with_id(id);
                self.tell(borrower, line);
                None
            }
            // Somebody who is to be told something else than the program was: it is not for them.
            Handshake::Asked { .. } | Handshake::Done { .. } => {
                self.borrowers.remove(&borrower);
                None
            }
        }
    }

    /// What the program says; gives what it is to be told at once.
    fn hear(&mut self, text: &str, message: &Message<'_>, one_at_a_time: bool) -> Vec<String> {
        match message {
            Message::Answer { id } => {
                let number = messages::number(id);
                if let Handshake::Asked { number: asked, .. } = &self.handshake
                    && number == Some(*asked)
                {
                    self.greeted(text, id);
                    self.open.retain(|open, _| Some(*open) != number);
                    return self.next_turn(one_at_a_time);
                }
                let (Some(borrower), line) = messages::from_program(text) else { return Vec::new() };
                self.open.retain(|open, _| Some(*open) != number);
                self.tell(borrower, line);
                self.next_turn(one_at_a_time)
            }
            Message::Request { id, method } => match self.whom_to_ask() {
                Some(borrower) => {
                    self.asked.insert((*id).to_owned(), borrower);
                    self.tell(borrower, text.to_owned());
                    Vec::new()
                }
                None if method == methods::PING => {
                    vec![envelope().raw("id", id).object("result", ObjectWriter::new()).into_text()]
                }
                None => {
                    let error = ObjectWriter::new().number("code", code::SERVER_ERROR).text("message", NOBODY);
                    vec![envelope().raw("id", id).object("error", error).into_text()]
                }
            },
            Message::Notification { .. } => {
                match messages::from_program(text) {
                    (Some(borrower), line) => self.tell(borrower, line),
                    (None, line) => self.tell_all(|| output(&line)),
                }
                Vec::new()
            }
            Message::Noise => {
                if !self.has_begun && self.startup_output.len() < STARTUP_BYTES {
                    self.startup_output.extend_from_slice(text.as_bytes());
                    self.startup_output.push(b'\n');
                }
                self.tell_all(|| output(text));
                Vec::new()
            }
        }
    }

    /// The handshake was answered.
    fn greeted(&mut self, text: &str, id: &str) {
        let Handshake::Asked { mut greeting, waiting, .. } = std::mem::take(&mut self.handshake) else { return };
        let answer = Answer::of(text, id);
        for (borrower, id) in waiting {
            self.tell(borrower, answer.with_id(&id));
        }
        // A server that refuses may be asked again, and otherwise.
        if let Some(result) = messages::member(text, "result") {
            greeting.versions.extend(Greeting::of(Some(result)).versions);
            self.handshake = Handshake::Done { greeting, answer, is_confirmed: false };
        }
    }

    /// The next of those that wait for their turn.
    fn next_turn(&mut self, one_at_a_time: bool) -> Vec<String> {
        if !one_at_a_time || !self.open.is_empty() {
            return Vec::new();
        }
        let Some((borrower, line)) = self.waiting.pop_front() else { return Vec::new() };
        if let Message::Request { id, .. } = Message::read(&line) {
            self.open.extend(messages::number(id).map(|number| (number, borrower)));
        }
        vec![line]
    }

    /// The only one a question can be about: the one with an open request, or who is there alone.
    fn whom_to_ask(&self) -> Option<u32> {
        let mut asking: Vec<u32> = self.open.values().copied().collect();
        asking.sort_unstable();
        asking.dedup();
        match (asking.as_slice(), self.borrowers.len()) {
            ([only], _) => Some(*only),
            ([], 1) => self.borrowers.keys().next().copied(),
            _ => None,
        }
    }

    fn tell(&mut self, borrower: u32, line: String) {
        self.send(borrower, output(&line));
    }

    fn tell_all(&mut self, frame: impl Fn() -> Frame) {
        let borrowers: Vec<u32> = self.borrowers.keys().copied().collect();
        borrowers.into_iter().for_each(|borrower| self.send(borrower, frame()));
    }

    fn send(&mut self, borrower: u32, frame: Frame) {
        let Some(known) = self.borrowers.get_mut(&borrower) else { return };
        known.unread += frame.len();
        if known.unread > UNREAD_BYTES || known.frames.send(frame).is_err() {
            self.borrowers.remove(&borrower);
        }
    }
}

/// Why a program is not answered.
const NOBODY: &str = "nobody was asked: several use this server, and it does not say for which call it asks";

fn output(line: &str) -> Frame {
    let mut bytes = Vec::with_capacity(line.len() + 1);
    bytes.extend_from_slice(line.as_bytes());
    bytes.push(b'\n');
    Frame::Output(bytes)
}

impl Greeting {
    fn of(params: Option<&str>) -> Self {
        let member = |key| params.and_then(|params| messages::member(params, key)).map(str::to_owned);
        Self { capabilities: member("capabilities"), versions: member("protocolVersion").into_iter().collect() }
    }

    /// True when somebody who says this gets the same answer: who knows the server asks for the version it speaks.
    fn covers(&self, other: &Self) -> bool {
        self.capabilities == other.capabilities && other.versions.iter().all(|version| self.versions.contains(version))
    }
}

impl Answer {
    fn of(text: &str, id: &str) -> Self {
        let (before, after) = messages::around(text, id);
        Self { before: before.to_owned(), after: after.to_owned() }
    }

    fn with_id(&self, id: &str) -> String {
        [&self.before, id, &self.after].concat()
    }
}
