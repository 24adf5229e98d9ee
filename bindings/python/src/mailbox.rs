//! How answers and questions get from the runtime's threads to Python: letters in a queue, which Python empties in a thread of its own.
//! No thread of the runtime ever runs Python or waits for its lock.
//!
//! With an event loop, an eventfd that the loop reads says that there are letters. Without one, the thread that waits for its own call
//! delivers whatever letters come meanwhile.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use helve_model::sync::lock;
use helve_wire::Progress;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use rustix::event::{EventfdFlags, eventfd};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::runtime;

/// A thread that waits looks for Ctrl-C so often.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Numbers of calls and questions, never given twice in one process.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Makes a Python value of what the runtime came to, in Python's own thread.
pub(crate) type Answer = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// What a callback said: a text whose meaning depends on the question, or why there is none.
pub(crate) type Reply = Result<String, String>;

/// Where Python picks up what the runtime has for it.
#[pyclass(frozen, module = "helve._helve")]
#[derive(Clone)]
pub(crate) struct Mailbox(Arc<Inner>);

struct Inner {
    letters: Mutex<Letters>,
    /// Calls that somebody waits for. Touched in Python's threads alone.
    pending: Mutex<HashMap<u64, Pending>>,
    wake: Wake,
}

#[derive(Default)]
struct Letters {
    queue: VecDeque<Letter>,
    /// Answers that another thread took out of the queue and was not waiting for.
    done: HashMap<u64, Answer>,
}

enum Wake {
    Loop(OwnedFd),
    Threads(Condvar),
}

struct Pending {
    /// The future of an event loop; `None` where a thread waits.
    future: Option<Py<PyAny>>,
    on_progress: Option<Py<PyAny>>,
    abort: AbortHandle,
}

enum Letter {
    Done { ticket: u64, answer: Answer },
    Progress { ticket: u64, progress: Progress },
    Question { home: Arc<Home>, number: u64, kind: &'static str, payload: Answer, sender: oneshot::Sender<Reply> },
    Withdrawn { home: Arc<Home>, number: u64 },
    News { home: Arc<Home>, kind: &'static str, payload: Answer },
}

/// The Python host that the runtime's side speaks to, held so that it is not kept alive.
pub(crate) struct Home {
    mailbox: Mailbox,
    /// A `weakref.ref`.
    host: Py<PyAny>,
}

/// What a callback answers with.
#[pyclass(frozen, module = "helve._helve")]
pub(crate) struct Responder(Mutex<Option<oneshot::Sender<Reply>>>);

/// Says, when it is dropped, that nobody waits for an answer any more.
struct Withdrawal<'a> {
    home: &'a Arc<Home>,
    number: u64,
    is_answered: bool,
}

enum Next {
    Mine(Answer),
    Letter(Letter),
    Nothing,
}

impl Mailbox {
    /// Starts work on the runtime whose answer somebody waits for.
    pub(crate) fn start(
        &self,
        future: Option<Py<PyAny>>,
        on_progress: Option<Py<PyAny>>,
        work: impl FnOnce(u64) -> PyResult<WorkFuture>,
    ) -> PyResult<u64> {
        let ticket = NEXT.fetch_add(1, Ordering::Relaxed);
        let mailbox = self.clone();
        let work = work(ticket)?;
        let abort = runtime::spawn(async move {
            let answer = work.await;
            mailbox.post(Letter::Done { ticket, answer });
        })?;
        lock(&self.0.pending).insert(ticket, Pending { future, on_progress, abort });
        Ok(ticket)
    }

    /// The same for work that is short until it waits: its first step is made here. A small request is on its way then before
    /// another thread has even been woken, which takes longer than everything else about it.
    pub(crate) fn start_here(
        &self,
        future: Option<Py<PyAny>>,
        on_progress: Option<Py<PyAny>>,
        work: impl FnOnce(u64) -> PyResult<WorkFuture>,
    ) -> PyResult<u64> {
        let _entered = runtime::runtime()?.enter();
        self.start(future, on_progress, |ticket| {
            let mut work = work(ticket)?;
            // The runtime polls it again at once, and is the one who is woken from then on.
            match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(answer) => Ok(Box::pin(std::future::ready(answer))),
                Poll::Pending => Ok(work),
            }
        })
    }

    pub(crate) fn report(&self, ticket: u64, progress: Progress) {
        self.post(Letter::Progress { ticket, progress });
    }

    fn post(&self, letter: Letter) {
        let was_empty = {
            let mut letters = lock(&self.0.letters);
            letters.queue.push_back(letter);
            letters.queue.len() == 1
        };
        match &self.0.wake {
            // A full counter wakes as well as one more would.
            Wake::Loop(fd) if was_empty => {
                let _: Result<usize, _> = rustix::io::write(fd, &1_u64.to_ne_bytes());
            }
            Wake::Loop(_) => {}
            Wake::Threads(condition) => condition.notify_all(),
        }
    }

    fn deliver(&self, py: Python<'_>, letter: Letter) {
        let done = match letter {
            Letter::Done { ticket, answer } => self.finish(py, ticket, answer),
            Letter::Progress { ticket, progress } => self.tell_progress(py, ticket, &progress),
            Letter::Question { home, number, kind, payload, sender } => home.with_host(py, |host| {
                let responder = Py::new(py, Responder(Mutex::new(Some(sender))))?;
                host.call_method1("_asked", (kind, number, payload(py)?, responder)).map(drop)
            }),
            Letter::Withdrawn { home, number } => {
                home.with_host(py, |host| host.call_method1("_withdrawn", (number,)).map(drop))
            }
            Letter::News { home, kind, payload } => {
                home.with_host(py, |host| host.call_method1("_told", (kind, payload(py)?)).map(drop))
            }
        };
        if let Err(error) = done {
            error.write_unraisable(py, None);
        }
    }

    fn finish(&self, py: Python<'_>, ticket: u64, answer: Answer) -> PyResult<()> {
        let Some(Pending { future: Some(future), .. }) = lock(&self.0.pending).remove(&ticket) else { return Ok(()) };
        let future = future.bind(py);
        if future.call_method0("done")?.is_truthy()? {
            return Ok(());
        }
        match answer(py) {
            Ok(value) => future.call_method1("set_result", (value,)).map(drop),
            Err(error) => future.call_method1("set_exception", (error,)).map(drop),
        }
    }

    fn tell_progress(&self, py: Python<'_>, ticket: u64, progress: &Progress) -> PyResult<()> {
        let callback = lock(&self.0.pending)
            .get(&ticket)
            .and_then(|pending| pending.on_progress.as_ref().map(|callback| callback.clone_ref(py)));
        match callback {
            Some(callback) => {
                callback.call1(py, (progress.progress, progress.total, progress.message.clone())).map(drop)
            }
            None => Ok(()),
        }
    }

    /// The next letter for a thread that waits for one answer.
    fn next(&self, ticket: u64) -> Next {
        let Wake::Threads(condition) = &self.0.wake else { return Next::Nothing };
        let mut letters = lock(&self.0.letters);
        loop {
            match letters.queue.pop_front() {
                Some(Letter::Done { ticket: other, answer }) if other == ticket => return Next::Mine(answer),
                Some(Letter::Done { ticket: other, answer }) => {
                    letters.done.insert(other, answer);
                    condition.notify_all();
                }
                Some(letter) => return Next::Letter(letter),
                None => match letters.done.remove(&ticket) {
                    Some(answer) => return Next::Mine(answer),
                    None => break,
                },
            }
        }
        drop(condition.wait_timeout(letters, SIGNAL_INTERVAL));
        Next::Nothing
    }
}

/// Work whose end is told to Python.
pub(crate) type WorkFuture = std::pin::Pin<Box<dyn Future<Output = Answer> + Send>>;

#[pymethods]
impl Mailbox {
    /// One that an event loop empties when its file descriptor can be read, or one that waiting threads empty.
    #[new]
    fn new(for_loop: bool) -> PyResult<Self> {
        let wake = if for_loop {
            let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
            Wake::Loop(fd.map_err(|error| PyOSError::new_err(format!("no eventfd could be made: {error}")))?)
        } else {
            Wake::Threads(Condvar::new())
        };
        Ok(Self(Arc::new(Inner { letters: Mutex::default(), pending: Mutex::default(), wake })))
    }

    /// What the loop reads; -1 where threads wait.
    fn fileno(&self) -> i32 {
        match &self.0.wake {
            Wake::Loop(fd) => fd.as_raw_fd(),
            Wake::Threads(_) => -1,
        }
    }

    /// Delivers every letter that is there.
    fn drain(&self, py: Python<'_>) {
        if let Wake::Loop(fd) = &self.0.wake {
            let _: Result<usize, _> = rustix::io::read(fd, &mut [0_u8; 8]);
        }
        let letters = std::mem::take(&mut lock(&self.0.letters).queue);
        for letter in letters {
            self.deliver(py, letter);
        }
    }

    /// Nobody waits for this call any more: it ends, and its server is told.
    fn cancel(&self, ticket: u64) {
        let pending = lock(&self.0.pending).remove(&ticket);
        if let Some(pending) = pending {
            pending.abort.abort();
        }
    }

    /// Waits for a call in this thread, without Python's lock, and delivers what else comes meanwhile.
    fn wait(&self, py: Python<'_>, ticket: u64) -> PyResult<Py<PyAny>> {
        loop {
            match py.detach(|| self.next(ticket)) {
                Next::Mine(answer) => {
                    drop(lock(&self.0.pending).remove(&ticket));
                    return answer(py);
                }
                Next::Letter(letter) => self.deliver(py, letter),
                Next::Nothing => {}
            }
            if let Err(interrupt) = py.check_signals() {
                self.cancel(ticket);
                return Err(interrupt);
            }
        }
    }

    /// How many calls are waited for.
    fn __len__(&self) -> usize {
        lock(&self.0.pending).len()
    }
}

#[pymethods]
impl Responder {
    /// Answers; only the first answer counts.
    fn send(&self, text: String) {
        self.finish(Ok(text));
    }

    /// Says why there is no answer.
    fn fail(&self, reason: String) {
        self.finish(Err(reason));
    }
}

impl Responder {
    fn finish(&self, reply: Reply) {
        if let Some(sender) = lock(&self.0).take() {
            // Whoever asked may have gone.
            drop(sender.send(reply));
        }
    }
}

impl Home {
    pub(crate) const fn new(mailbox: Mailbox, host: Py<PyAny>) -> Self {
        Self { mailbox, host }
    }

    /// Asks Python; `None` when nobody answers. Cancel safe: a question that nobody waits for is withdrawn.
    pub(crate) async fn ask(self: &Arc<Self>, kind: &'static str, payload: Answer) -> Option<Reply> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        let mut withdrawal = Withdrawal { home: self, number, is_answered: false };
        self.mailbox.post(Letter::Question { home: Arc::clone(self), number, kind, payload, sender });
        let reply = receiver.await.ok();
        withdrawal.is_answered = true;
        reply
    }

    /// Tells Python something that needs no answer.
    pub(crate) fn tell(self: &Arc<Self>, kind: &'static str, payload: Answer) {
        self.mailbox.post(Letter::News { home: Arc::clone(self), kind, payload });
    }

    /// A host that is gone needs to hear nothing.
    fn with_host(&self, py: Python<'_>, work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) -> PyResult<()> {
        let host = self.host.bind(py).call0()?;
        if host.is_none() { Ok(()) } else { work(&host) }
    }
}

impl Drop for Withdrawal<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            self.home.mailbox.post(Letter::Withdrawn { home: Arc::clone(self.home), number: self.number });
        }
    }
}

impl fmt::Debug for Mailbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Mailbox").finish_non_exhaustive()
    }
}

impl fmt::Debug for Responder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Responder").finish_non_exhaustive()
    }
}

impl fmt::Debug for Home {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Home").finish_non_exhaustive()
    }
}
