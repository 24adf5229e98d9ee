//! Owns the course of one program: what it may do next, what it has used, when its clock stands still. Neither reads nor
//! writes: messages and the time come in, actions go out.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use helve_model::ErrorCode;
use helve_model::json::RawJson;

use crate::frame::{self, CallFrame, Describe, Done, Failed, Find, Frame, Names, Plan};
use crate::limits::Limits;
use crate::review::spelled;

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Action {
    /// Look at the plan, and say [`Run::go`] or end it.
    Review(Plan),
    /// Make a call, and say [`Run::answered`].
    Dispatch(CallFrame),
    /// Give up a call that was dispatched.
    GiveUp(u64),
    /// Answer at once.
    LookUp(Lookup),
    /// Write to the worker.
    Send(String),
    /// The program printed something.
    Print(String),
    /// It is over.
    Finish(Ending),
}

/// A question about tools, which is not a call.
#[derive(Debug)]
pub(crate) enum Lookup {
    Find(Find),
    Describe(Describe),
    Names(Names),
}

/// How a program ended.
#[derive(Debug)]
pub(crate) enum Ending {
    Done(Done),
    Failed(Failed),
    /// It reached a limit, of this name.
    Limit(String),
    /// The worker said what no worker says.
    Nonsense(String),
}

/// A call that a program made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallMade {
    /// The tool: `server/tool`, or as the program spelled it where there is none.
    pub tool: String,
    /// How it ended; `None` while it is under way, or when it was cut off.
    pub end: Option<Result<(), ErrorCode>>,
    /// How long it took.
    pub duration: Duration,
}

/// One program.
#[derive(Debug)]
pub(crate) struct Run {
    limits: Limits,
    state: State,
    calls: Vec<CallMade>,
    /// Calls under way and when they were begun, by the worker's number.
    open: BTreeMap<u64, (usize, Instant)>,
    /// Calls that begin when others have ended, with their places among all.
    waiting: VecDeque<(usize, CallFrame)>,
    lookups: usize,
    printed: String,
    cut: u64,
    asking: usize,
    last: Instant,
    used: Used,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Planning,
    Reviewing,
    Running,
    Over,
}

#[derive(Debug, Default)]
struct Used {
    planning: Duration,
    computing: Duration,
    total: Duration,
}

impl Run {
    pub(crate) fn new(limits: Limits, now: Instant) -> Self {
        Self {
            limits,
            state: State::Planning,
            calls: Vec::new(),
            open: BTreeMap::new(),
            waiting: VecDeque::new(),
            lookups: 0,
            printed: String::new(),
            cut: 0,
            asking: 0,
            last: now,
            used: Used::default(),
        }
    }

    /// A line of the worker's.
    pub(crate) fn line(&mut self, line: &[u8], now: Instant) -> Vec<Action> {
        // One that never stops talking is held to its time as well.
        let over = self.tick(now);
        if !over.is_empty() {
            return over;
        }
        let frame = match serde_json::from_slice::<Frame>(line) {
            Ok(frame) => frame,
            Err(error) => return self.finish(Ending::Nonsense(error.to_string())),
        };
        match (self.state, frame) {
            (State::Over, _) => Vec::new(),
            (State::Planning, Frame::Plan(plan)) => {
                self.state = State::Reviewing;
                vec![Action::Review(plan)]
            }
            (State::Planning | State::Running, Frame::Failed(failed)) => self.finish(Ending::Failed(failed)),
            (State::Running, Frame::Done(done)) => {
                self.cut = done.printed.saturating_sub(self.printed.chars().count() as u64);
                self.finish(Ending::Done(done))
            }
            (State::Running, Frame::Call(call)) => self.call(call, now),
            (State::Running, Frame::Cancel(numbered)) => self.cancel(numbered.id, now),
            (State::Running, Frame::Find(find)) => self.look_up(Lookup::Find(find)),
            (State::Running, Frame::Describe(describe)) => self.look_up(Lookup::Describe(describe)),
            (State::Running, Frame::Names(names)) => self.look_up(Lookup::Names(names)),
            (State::Running, Frame::Print(text)) => self.print(&text),
            (state, _) => self.finish(Ending::Nonsense(format!("a message that does not belong here ({state:?})"))),
        }
    }

    /// The plan was looked at, and the program may run.
    pub(crate) fn go(&mut self, now: Instant) -> Vec<Action> {
        self.last = now;
        self.state = State::Running;
        vec![Action::Send(frame::go())]
    }

    /// A call has its answer, which is for the worker.
    pub(crate) fn answered(
        &mut self,
        id: u64,
        tool: String,
        end: Result<(), ErrorCode>,
        answer: String,
        now: Instant,
    ) -> Vec<Action> {
        self.advance(now);
        self.close(id, tool, Some(end), now);
        let mut actions = vec![Action::Send(answer)];
        actions.extend(self.next_call(now));
        actions
    }

    /// So many calls wait for a person now.
    pub(crate) fn asks(&mut self, asking: usize, now: Instant) {
        self.advance(now);
        self.asking = asking;
    }

    /// When to look again, and [`Run::tick`].
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let left = match self.state {
            State::Planning => self.limits.plan_time.saturating_sub(self.used.planning),
            State::Running if self.asking > 0 => return None,
            State::Running => {
                let total = self.limits.total_time.saturating_sub(self.used.total);
                if self.open.is_empty() {
                    total.min(self.limits.computing_time.saturating_sub(self.used.computing))
                } else {
                    total
                }
            }
            State::Reviewing | State::Over => return None,
        };
        Some(self.last + left)
    }

    /// Time has passed.
    pub(crate) fn tick(&mut self, now: Instant) -> Vec<Action> {
        self.advance(now);
        let seconds = |time: Duration| time.as_secs_f64();
        let limit = match self.state {
            State::Planning if self.used.planning >= self.limits.plan_time => {
                format!("it was not read within {} s", seconds(self.limits.plan_time))
            }
            State::Running if self.used.total >= self.limits.total_time => {
                format!("it took longer than {} s in all", seconds(self.limits.total_time))
            }
            State::Running if self.used.computing >= self.limits.computing_time => {
                format!("it computed for longer than {} s", seconds(self.limits.computing_time))
            }
            _ => return Vec::new(),
        };
        self.finish(Ending::Limit(limit))
    }

    /// Calls made, in order; those under way are taken as they stand.
    pub(crate) fn calls(&self, now: Instant) -> Vec<CallMade> {
        let mut calls = self.calls.clone();
        for (index, began) in self.open.values() {
            if let Some(call) = calls.get_mut(*index) {
                call.duration = now.saturating_duration_since(*began);
            }
        }
        calls
    }

    /// What it printed, and how many characters more.
    pub(crate) fn printed(&self) -> (&str, u64) {
        (&self.printed, self.cut)
    }

    fn call(&mut self, call: CallFrame, now: Instant) -> Vec<Action> {
        if self.calls.len() >= self.limits.calls {
            return self.finish(Ending::Limit(format!("it made more than {} calls", self.limits.calls)));
        }
        if self.open.contains_key(&call.id) || self.waiting.iter().any(|(_, other)| other.id == call.id) {
            return self.finish(Ending::Nonsense("two calls of one number".to_owned()));
        }
        let bytes = call.args.as_str().len() + call.positional.as_str().len();
        let tool = spelled(&call.server, &call.tool);
        self.calls.push(CallMade {
            tool: helve_model::text::cut(&tool, 200).into_owned(),
            end: None,
            duration: Duration::ZERO,
        });
        if bytes > self.limits.argument_bytes {
            let code = ErrorCode::LimitExceeded;
            self.calls.last_mut().iter_mut().for_each(|made| made.end = Some(Err(code)));
            let most = self.limits.argument_bytes;
            let message = format!("the arguments have {bytes} bytes, and a call takes up to {most}");
            return vec![Action::Send(frame::error(call.id, code.as_str(), &message, (None, None), None))];
        }
        self.waiting.push_back((self.calls.len() - 1, call));
        if self.open.len() >= self.limits.calls_at_once {
            return Vec::new();
        }
        self.next_call(now).into_iter().collect()
    }

    /// The call whose turn it is.
    fn next_call(&mut self, now: Instant) -> Option<Action> {
        let (index, call) = self.waiting.pop_front()?;
        self.open.insert(call.id, (index, now));
        Some(Action::Dispatch(call))
    }

    fn cancel(&mut self, id: u64, now: Instant) -> Vec<Action> {
        let cancelled = Some(Err(ErrorCode::Cancelled));
        if let Some(place) = self.waiting.iter().position(|(_, call)| call.id == id) {
            let made = self.waiting.remove(place).and_then(|(index, _)| self.calls.get_mut(index));
            made.into_iter().for_each(|made| made.end = cancelled);
        }
        if !self.open.contains_key(&id) {
            return Vec::new();
        }
        self.close(id, String::new(), cancelled, now);
        let mut actions = vec![Action::GiveUp(id)];
        actions.extend(self.next_call(now));
        actions
    }

    fn close(&mut self, id: u64, tool: String, end: Option<Result<(), ErrorCode>>, now: Instant) {
        let Some((index, began)) = self.open.remove(&id) else { return };
        if let Some(call) = self.calls.get_mut(index) {
            call.end = end;
            call.duration = now.saturating_duration_since(began).max(Duration::from_nanos(1));
            if !tool.is_empty() {
                call.tool = tool;
            }
        }
    }

    fn look_up(&mut self, lookup: Lookup) -> Vec<Action> {
        self.lookups += 1;
        if self.lookups > self.limits.lookups {
            return self.finish(Ending::Limit(format!("it looked for tools more than {} times", self.limits.lookups)));
        }
        vec![Action::LookUp(lookup)]
    }

    fn print(&mut self, text: &str) -> Vec<Action> {
        let room = self.limits.print_bytes.saturating_sub(self.printed.len());
        let end = (0..=room.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        let (kept, rest) = text.split_at(end);
        self.cut += rest.chars().count() as u64;
        if kept.is_empty() {
            return Vec::new();
        }
        self.printed.push_str(kept);
        vec![Action::Print(kept.to_owned())]
    }

    fn advance(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.last);
        self.last = self.last.max(now);
        match self.state {
            State::Planning => self.used.planning += passed,
            State::Running if self.asking == 0 => {
                self.used.total += passed;
                if self.open.is_empty() {
                    self.used.computing += passed;
                }
            }
            State::Running | State::Reviewing | State::Over => {}
        }
    }

    fn finish(&mut self, ending: Ending) -> Vec<Action> {
        self.state = State::Over;
        vec![Action::Finish(ending)]
    }
}

impl CallFrame {
    /// For tests: a call as a worker would write it.
    #[cfg(test)]
    pub(crate) fn numbered(id: u64, tool: &str) -> String {
        use helve_model::json::ObjectWriter;
        let call = ObjectWriter::new().number("id", id).text("server", "AMCP").text("tool", tool);
        let call = call.raw("args", "{}").raw("positional", "[]").raw("texts", "{}");
        ObjectWriter::new().object("call", call).into_text()
    }
}

/// A value of a program that has none.
pub(crate) fn none() -> RawJson {
    RawJson::from_static("null")
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
