//! Which era a peer speaks, found out without costing a slow server anything extra.
//!
//! On a byte stream `server/discover` is asked first. Any answer that is not modern means legacy, and `initialize`
//! follows on the same process. Silence may be a server that ignores what it does not know, or one that is still
//! starting: after [`SILENCE`] `initialize` is sent too, and the first usable answer decides. If both are answered,
//! the server is by its own rules in the era of the handshake it answered last. A process that exits on the probe, or
//! takes the mixture badly, is started again with the one handshake it can take.

use std::pin::pin;
use std::time::Duration;

use helve_model::{ErrorCode, HttpFlavour};
use tokio::time::{Instant, sleep_until, timeout};

use crate::ClientInfo;
use crate::channel::Channel;
use crate::connect::HttpStart;
use crate::era::modern::Probe;
use crate::era::{Era, Greeting, ProtocolChoice, Verdict, legacy, modern, version_mismatch};
use crate::error::{Error, Result};
use crate::request::Times;

/// How long the probe stays alone.
const SILENCE: Duration = Duration::from_millis(300);
/// How long the second answer is waited for once the first is there.
const SETTLE: Duration = Duration::from_millis(200);

/// What a handshake needs to know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Handshake<'a> {
    pub(crate) client: &'a ClientInfo,
    pub(crate) protocol: &'a ProtocolChoice,
    pub(crate) times: Times,
}

/// What came of probing one process.
enum Probed {
    Settled(Greeting),
    /// This process is of no use any more; a fresh one is to be greeted in this era.
    StartAgain(Era, Error),
}

/// Greets a peer on a byte stream. `start` gives a fresh channel each time it is called.
pub(crate) async fn on_stream(
    start: impl Fn() -> Result<Channel> + Sync,
    handshake: Handshake<'_>,
) -> Result<(Channel, Greeting)> {
    let known = match handshake.protocol {
        ProtocolChoice::Pinned(version) => {
            let verdict = Verdict::of_version(version).ok_or_else(|| unknown_pin(version))?;
            return greet(start()?, &verdict, handshake).await;
        }
        ProtocolChoice::Known(verdict) => Some(verdict),
        ProtocolChoice::Auto => None,
    };
    if let Some(verdict) = known {
        // What was true yesterday may not be today: then it is found out again, on a fresh process.
        if let Ok(greeted) = greet(start()?, verdict, handshake).await {
            return Ok(greeted);
        }
    }
    let channel = start()?;
    match probe(&channel, handshake).await? {
        Probed::Settled(greeting) => Ok((channel, greeting)),
        Probed::StartAgain(era, reason) => {
            channel.close().await;
            let Ok(channel) = start() else { return Err(reason) };
            greet(channel, &newest(era), handshake).await
        }
    }
}

/// Greets a peer over HTTP: modern, else `initialize`, else HTTP+SSE where that is an option.
///
/// `start` gives a fresh channel of either kind.
pub(crate) async fn over_http(
    start: &HttpStart<'_>,
    flavour: HttpFlavour,
    handshake: Handshake<'_>,
) -> Result<(Channel, Greeting)> {
    if flavour == HttpFlavour::Sse {
        return greet(start.start(HttpKind::Sse).await?, &sse_verdict(handshake.protocol)?, handshake).await;
    }
    match handshake.protocol {
        ProtocolChoice::Pinned(version) => {
            let verdict = Verdict::of_version(version).ok_or_else(|| unknown_pin(version))?;
            let greeted = greet(start.start(HttpKind::Streamable).await?, &verdict, handshake).await;
            return match greeted {
                Err(error) if flavour == HttpFlavour::Auto && verdict.era == Era::Legacy && may_be_sse(&error) => {
                    let Ok(channel) = start.start(HttpKind::Sse).await else { return Err(error) };
                    greet(channel, &verdict, handshake).await.map_err(|_| error)
                }
                greeted => greeted,
            };
        }
        ProtocolChoice::Known(verdict) => {
            match greet(start.start(HttpKind::Streamable).await?, verdict, handshake).await {
                Ok(greeted) => return Ok(greeted),
                Err(error) if is_final(&error) => return Err(error),
                Err(_) => {}
            }
        }
        ProtocolChoice::Auto => {}
    }
    let channel = start.start(HttpKind::Streamable).await?;
    let version = match modern::probe(&channel, handshake.client, handshake.times).await {
        Probe::Modern(greeting) => {
            channel.agree(&greeting.verdict);
            return Ok((channel, greeting));
        }
        Probe::Refused(error) => return Err(error),
        Probe::NotModern(error) if is_final(&error) => return Err(error),
        Probe::OtherVersions { legacy: None, theirs } => return Err(version_mismatch(&theirs)),
        Probe::OtherVersions { legacy: Some(version), .. } => version,
        Probe::NotModern(_) => newest(Era::Legacy).version,
    };
    match legacy::handshake(&channel, handshake.client, &version, handshake.times).await {
        Ok(greeting) => Ok((channel, greeting)),
        Err(error) if flavour == HttpFlavour::Auto && may_be_sse(&error) => {
            // The older transport is only a guess: if it fails too, the first error says more.
            let Ok(channel) = start.start(HttpKind::Sse).await else { return Err(error) };
            greet(channel, &sse_verdict(handshake.protocol)?, handshake).await.map_err(|_| error)
        }
        Err(error) => Err(error),
    }
}

/// Which of the two HTTP transports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HttpKind {
    Streamable,
    Sse,
}

/// One handshake, in an era that is known.
pub(crate) async fn greet(
    channel: Channel,
    verdict: &Verdict,
    handshake: Handshake<'_>,
) -> Result<(Channel, Greeting)> {
    let greeting = match verdict.era {
        Era::Legacy => legacy::handshake(&channel, handshake.client, &verdict.version, handshake.times).await?,
        Era::Modern => modern::handshake(&channel, handshake.client, handshake.times).await?,
    };
    Ok((channel, greeting))
}

/// The newest version of an era.
pub(crate) fn newest(era: Era) -> Verdict {
    let version = match era {
        Era::Legacy => legacy::VERSIONS.first(),
        Era::Modern => modern::VERSIONS.first(),
    };
    Verdict { era, version: version.copied().unwrap_or_default().to_owned() }
}

pub(crate) fn unknown_pin(version: &str) -> Error {
    Error::new(ErrorCode::Config, format!("helve does not speak protocol version {version:?}"))
        .with_hint(format!("it speaks {}", super::all_versions()))
}

async fn probe(channel: &Channel, handshake: Handshake<'_>) -> Result<Probed> {
    let Handshake { client, times, .. } = handshake;
    let mut discover = pin!(modern::probe(channel, client, times));
    if let Ok(probe) = timeout(SILENCE, &mut discover).await {
        return match probe {
            Probe::Modern(greeting) => {
                channel.agree(&greeting.verdict);
                Ok(Probed::Settled(greeting))
            }
            Probe::Refused(error) => Err(error),
            Probe::OtherVersions { legacy: None, theirs } => Err(version_mismatch(&theirs)),
            Probe::OtherVersions { legacy: Some(version), .. } => {
                Ok(Probed::Settled(legacy::handshake(channel, client, &version, times).await?))
            }
            Probe::NotModern(error) if is_gone(&error) => Ok(Probed::StartAgain(Era::Legacy, error)),
            Probe::NotModern(_) => {
                let version = newest(Era::Legacy).version;
                match legacy::handshake(channel, client, &version, times).await {
                    // It answered the probe and then went: it may be one that takes nothing before `initialize`.
                    Err(error) if is_gone(&error) => Ok(Probed::StartAgain(Era::Legacy, error)),
                    settled => settled.map(Probed::Settled),
                }
            }
        };
    }

    let version = newest(Era::Legacy).version;
    let mut initialize = pin!(legacy::initialize(channel, client, &version, times));
    let mut discovered: Option<Probe> = None;
    let mut initialized: Option<Result<Greeting>> = None;
    let mut settled_at: Option<Instant> = None;
    while discovered.is_none() || initialized.is_none() {
        let settled = async {
            match settled_at {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            probe = &mut discover, if discovered.is_none() => {
                // A later answer rules: what `initialize` said before is void then.
                if let (Probe::Modern(_), Some(Ok(_))) = (&probe, &initialized) {
                    initialized = Some(Err(Error::new(ErrorCode::ProtocolError, "superseded by `server/discover`")));
                }
                if matches!(probe, Probe::Modern(_)) {
                    settled_at = Some(Instant::now() + SETTLE);
                }
                discovered = Some(probe);
            }
            greeting = &mut initialize, if initialized.is_none() => {
                if greeting.is_ok() {
                    settled_at = Some(Instant::now() + SETTLE);
                }
                initialized = Some(greeting);
            }
            () = settled => break,
        }
    }
    match (discovered, initialized) {
        (_, Some(Ok(greeting))) => match legacy::begin(channel, &greeting).await {
            Err(error) if is_gone(&error) => Ok(Probed::StartAgain(Era::Legacy, error)),
            begun => begun.map(|()| Probed::Settled(greeting)),
        },
        (Some(Probe::Modern(_)), Some(Err(error))) if is_gone(&error) => Ok(Probed::StartAgain(Era::Modern, error)),
        (Some(Probe::Modern(greeting)), _) => {
            channel.agree(&greeting.verdict);
            Ok(Probed::Settled(greeting))
        }
        (Some(Probe::OtherVersions { theirs, legacy: None }), _) => Err(version_mismatch(&theirs)),
        (Some(Probe::Refused(error)), _) => Err(error),
        (_, Some(Err(error))) if is_gone(&error) => Ok(Probed::StartAgain(Era::Legacy, error)),
        (_, Some(Err(error))) | (Some(Probe::NotModern(error)), None) => Err(error),
        (Some(Probe::OtherVersions { .. }) | None, None) => {
            Err(Error::new(ErrorCode::Timeout, "the server answers neither `server/discover` nor `initialize`"))
        }
    }
}

/// What HTTP+SSE is greeted with: it is older than the modern era.
fn sse_verdict(protocol: &ProtocolChoice) -> Result<Verdict> {
    match protocol {
        ProtocolChoice::Pinned(version) => Verdict::of_version(version)
            .filter(|verdict| verdict.era == Era::Legacy)
            .ok_or_else(|| unknown_pin(version).with_hint("over HTTP+SSE only versions of the legacy era are spoken")),
        ProtocolChoice::Known(verdict) if verdict.era == Era::Legacy => Ok(verdict.clone()),
        ProtocolChoice::Known(_) | ProtocolChoice::Auto => Ok(newest(Era::Legacy)),
    }
}

/// Asking differently would not help: the server wants credentials, cannot be reached, or is silent.
fn is_final(error: &Error) -> bool {
    match error.code() {
        ErrorCode::AuthRequired | ErrorCode::Timeout | ErrorCode::Config => true,
        ErrorCode::TransportError => error.http_status().is_none() && error.rpc().is_none(),
        _ => false,
    }
}

/// The server does not take `initialize` by POST: it may be one of the older transport.
fn may_be_sse(error: &Error) -> bool {
    error.rpc().is_some() || matches!(error.http_status(), Some(400 | 404 | 405))
}

/// The connection broke: the process exited, or closed its output.
fn is_gone(error: &Error) -> bool {
    error.code() == ErrorCode::TransportError && error.rpc().is_none()
}
