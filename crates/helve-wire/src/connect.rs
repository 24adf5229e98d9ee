//! From a target to a session: start or reach the server, find out what it speaks, within the time allowed.

#[cfg(feature = "http")]
use helve_model::protocol::methods;
use std::io;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "http")]
use helve_model::HttpFlavour;
use helve_model::{ErrorCode, SecretSet, ServerName};
#[cfg(feature = "http")]
use secrecy::ExposeSecret as _;
use secrecy::SecretString;
use tokio::io::{AsyncRead, AsyncWrite, ReadHalf, WriteHalf};
use tokio::time::timeout;

#[cfg(feature = "http")]
use crate::channel::Ask;
use crate::channel::Channel;
use crate::client_info::ClientInfo;
use crate::dispatch::{Dispatcher, Redaction};
#[cfg(feature = "http")]
use crate::era::negotiate::HttpKind;
use crate::era::negotiate::{self, Handshake};
use crate::era::{Greeting, ProtocolChoice};
use crate::error::{Error, Result};
use crate::handler::{NoHandler, PeerHandler};
#[cfg(unix)]
use crate::launch::{CloseTimes, Launcher, ServerCommand};
use crate::limits::Limits;
use crate::pending::Closed;
use crate::request::Times;
use crate::session::Session;
use crate::transport::Link;
#[cfg(feature = "http")]
use crate::transport::http::{HttpLink, HttpTarget, SseLink, StreamableLink};
#[cfg(unix)]
use crate::transport::stdio::StdioLink;
use crate::transport::stream::{Source, StreamLink, WhyEnded};
use helve_model::sync::lock;

/// How a connection is made and kept.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConnectOptions {
    /// The server's configured name: permits for other servers are refused.
    pub server: ServerName,
    /// The client's name and version.
    pub client: ClientInfo,
    /// Handles notifications and requests of the server.
    pub handler: Arc<dyn PeerHandler>,
    /// What the peer may cost us.
    pub limits: Limits,
    /// Which protocol to speak.
    pub protocol: ProtocolChoice,
    /// How long all of it may take, a slow first start included.
    pub startup: Duration,
    /// Send one request at a time.
    pub one_at_a_time: bool,
    /// A session of an earlier process with this server over HTTP: used again if the server still knows it.
    pub resume: Option<SavedSession>,
    /// Values that are taken out of whatever the server says, before anybody else hears it; `None`: there are none. More may
    /// be added to the set at any time.
    pub secrets: Option<Arc<SecretSet>>,
    /// They stay in the results of requests, where the person wants these as they are.
    pub leaves_results: bool,
    /// How patiently a program is ended.
    #[cfg(unix)]
    pub close_times: CloseTimes,
}

/// A legacy session over HTTP that outlives its connection.
#[derive(Debug, Clone)]
pub struct SavedSession {
    /// The id the server gave it.
    pub id: SecretString,
    /// What the server said when it began.
    pub greeting: Greeting,
}

impl ConnectOptions {
    /// The same with a change. Fields are added in time, so nobody writes out all of them.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// The defaults, for a server of this name.
    #[must_use]
    pub fn new(server: ServerName) -> Self {
        Self {
            server,
            client: ClientInfo::default(),
            handler: Arc::new(NoHandler),
            limits: Limits::default(),
            protocol: ProtocolChoice::Auto,
            startup: Duration::from_secs(30),
            one_at_a_time: false,
            resume: None,
            secrets: None,
            leaves_results: false,
            #[cfg(unix)]
            close_times: CloseTimes::default(),
        }
    }

    fn handshake(&self) -> Handshake<'_> {
        Handshake { client: &self.client, protocol: &self.protocol, times: Times::exactly(self.startup) }
    }

    fn dispatcher(&self) -> Arc<Dispatcher> {
        let secrets = self.secrets.clone().map(|secrets| Redaction { secrets, leaves_results: self.leaves_results });
        Arc::new(Dispatcher::new(Arc::clone(&self.handler), &self.limits).of(&self.server).without(secrets))
    }

    /// An error that says nothing it must not.
    fn hide(&self, error: Error) -> Error {
        match &self.secrets {
            Some(secrets) => error.reworded(|text| secrets.hide(text).into_owned()),
            None => error,
        }
    }

    fn too_slow(&self) -> Error {
        let (server, seconds) = (&self.server, self.startup.as_secs_f64());
        Error::new(ErrorCode::Timeout, format!("the server `{server}` was not ready within {seconds} s"))
            .with_hint("a first start may have to download something: try again, or give it more time")
    }
}

/// Starts a program and speaks to it over its standard streams.
///
/// Cancel safe: dropping the future ends the program.
///
/// # Errors
/// When the program cannot be started, does not speak the protocol, or takes longer than `options.startup`; the
/// error has the last lines of its stderr where there are any.
#[cfg(unix)]
pub async fn connect_stdio(
    launcher: &dyn Launcher,
    command: &ServerCommand,
    options: ConnectOptions,
) -> Result<Session> {
    // What the program said last is worth more than "too slow": it is kept where the time-out can reach it.
    let started: std::sync::Mutex<Option<Arc<crate::transport::stdio::StderrTail>>> = std::sync::Mutex::default();
    let start = || {
        let dispatcher = options.dispatcher();
        let link = StdioLink::start(
            launcher,
            &options.server,
            command,
            Arc::clone(&dispatcher),
            &options.limits,
            options.close_times,
        )?;
        *lock(&started) = Some(Arc::clone(link.stderr()));
        Ok(Channel::new(Link::Stdio(link), dispatcher, options.one_at_a_time))
    };
    match timeout(options.startup, negotiate::on_stream(start, options.handshake())).await {
        Ok(greeted) => {
            let (channel, greeting) = greeted.map_err(|error| options.hide(nothing_ran(error)))?;
            Ok(Session::new(channel, greeting, options))
        }
        Err(_) => {
            let words = lock(&started).take().map(|stderr| stderr.last_lines()).unwrap_or_default();
            let error = options.too_slow();
            Err(if words.is_empty() {
                error
            } else {
                error.with_hint(format!("the last lines of its stderr:\n{words}"))
            })
        }
    }
}

/// Speaks over a byte stream that is there already: an in-process server, a socket, a test.
///
/// # Errors
/// When the peer does not speak the protocol, or takes longer than `options.startup`.
pub async fn connect_stream(
    stream: impl AsyncRead + AsyncWrite + Send + 'static,
    options: ConnectOptions,
) -> Result<Session> {
    let (source, sink) = tokio::io::split(stream);
    let halves = std::sync::Mutex::new(Some((source, sink)));
    let start = || {
        let Some((source, sink)) = lock(&halves).take() else {
            return Err(Error::new(ErrorCode::TransportError, "a stream that was handed in cannot be started again"));
        };
        Ok(start_stream(source, sink, &options))
    };
    match timeout(options.startup, negotiate::on_stream(start, options.handshake())).await {
        Ok(greeted) => {
            let (channel, greeting) = greeted.map_err(nothing_ran)?;
            Ok(Session::new(channel, greeting, options))
        }
        Err(_) => Err(options.too_slow()),
    }
}

/// Speaks to a server over HTTP: Streamable HTTP, or HTTP+SSE where `flavour` allows it and the server is that old.
///
/// # Errors
/// `AUTH_REQUIRED`, with the server's challenge, when it wants credentials; otherwise when it cannot be reached, does
/// not speak the protocol, or takes longer than `options.startup`.
#[cfg(feature = "http")]
pub async fn connect_http(target: &HttpTarget, flavour: HttpFlavour, mut options: ConnectOptions) -> Result<Session> {
    let saved = options.resume.take();
    let start = HttpStart { target, options: &options };
    let connecting = async {
        if let Some(saved) = saved
            && let Some(resumed) = start.resume(saved).await
        {
            return Ok(resumed);
        }
        negotiate::over_http(&start, flavour, options.handshake()).await
    };
    match timeout(options.startup, connecting).await {
        Ok(greeted) => {
            let (channel, greeting) = greeted.map_err(|error| options.hide(nothing_ran(error)))?;
            Ok(Session::new(channel, greeting, options))
        }
        Err(_) => Err(options.too_slow()),
    }
}

/// A handshake is not a call: whatever became of it, it may be repeated.
fn nothing_ran(error: Error) -> Error {
    error.with_may_have_run(false)
}

/// What a fresh connection over HTTP is made from.
#[cfg(feature = "http")]
pub(crate) struct HttpStart<'a> {
    target: &'a HttpTarget,
    options: &'a ConnectOptions,
}

#[cfg(feature = "http")]
impl HttpStart<'_> {
    /// Goes on with an earlier session; `None` when the server does not know it any more.
    async fn resume(&self, saved: SavedSession) -> Option<(Channel, Greeting)> {
        let options = self.options;
        let dispatcher = options.dispatcher();
        let link = StreamableLink::new(self.target.clone(), Arc::clone(&dispatcher), &options.limits).ok()?;
        link.resume(saved.id.expose_secret())?;
        let channel = Channel::new(Link::Http(HttpLink::Streamable(link)), dispatcher, options.one_at_a_time);
        channel.agree(&saved.greeting.negotiated);
        let mut ask = Ask {
            cancellable: false,
            in_turn: false,
            times: Times::exactly(options.startup),
            ..Ask::new(methods::PING, &[])
        };
        if let Err(error) = channel.request(&mut ask).await {
            tracing::debug!(server = %options.server, %error, "the earlier session is over");
            return None;
        }
        channel.open_stream().await;
        Some((channel, saved.greeting))
    }

    pub(crate) async fn start(&self, kind: HttpKind) -> Result<Channel> {
        let (target, options) = (self.target.clone(), self.options);
        let dispatcher = options.dispatcher();
        let link = match kind {
            HttpKind::Streamable => {
                HttpLink::Streamable(StreamableLink::new(target, Arc::clone(&dispatcher), &options.limits)?)
            }
            HttpKind::Sse => {
                let connecting = SseLink::connect(target, Arc::clone(&dispatcher), &options.limits, options.startup);
                HttpLink::Sse(connecting.await?)
            }
        };
        Ok(Channel::new(Link::Http(link), dispatcher, options.one_at_a_time))
    }
}

fn start_stream<S>(source: ReadHalf<S>, sink: WriteHalf<S>, options: &ConnectOptions) -> Channel
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let dispatcher = options.dispatcher();
    let link = StreamLink::start(source, Box::pin(sink), Arc::clone(&dispatcher), &options.limits, stream_ended());
    Channel::new(Link::Stream(link), dispatcher, options.one_at_a_time)
}

impl<S: AsyncRead + Send + 'static> Source for ReadHalf<S> {}

fn stream_ended() -> WhyEnded {
    Box::new(|ended: io::Result<()>| {
        let message = match ended {
            Ok(()) => "the peer closed the connection".to_owned(),
            Err(error) => format!("the connection broke: {error}"),
        };
        Box::pin(async move { Closed::new(ErrorCode::TransportError, message) })
    })
}
