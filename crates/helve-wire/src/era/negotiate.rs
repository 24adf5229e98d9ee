//! Which era a peer speaks, found out without costing a slow server anything extra.
//!
//! On a byte stream `server/discover` is asked first. Any answer that is not modern means legacy, and `initialize`
//! follows on the same process. Silence may be a server that ignores what it does not know, or one that is still
//! starting: after [`SILENCE`] `initialize` is sent too, and the first usable answer decides. If both are answered,
//! the server is by its own rules in the era of the handshake it answered last. A process that exits on the probe, or
//! takes the mixture badly, is started again with the one handshake it can take.

use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::Either;
use futures_util::stream::FuturesUnordered;
use helve_model::ErrorCode;
#[cfg(feature = "http")]
use helve_model::HttpFlavour;
use tokio::time::{Instant, sleep_until, timeout};

use crate::ClientInfo;
use crate::channel::Channel;
#[cfg(feature = "http")]
use crate::connect::HttpStart;
use crate::era::modern::Probe;
use crate::era::{
    Era, Greeting, NegotiatedVersion, OtherEra, ProtocolChoice, legacy, legacy_first, modern, version_mismatch,
};
use crate::error::{Error, Result};
use crate::request::Times;

/// How long the probe stays alone, and how long where the server was modern the last time.
const SILENCE: Duration = Duration::from_millis(300);
const SILENCE_WHEN_KNOWN: Duration = Duration::from_secs(3);
/// How long the answer to the probe is waited for once `initialize` has succeeded: legacy servers may never give one.
pub(crate) const SETTLE: Duration = Duration::from_millis(200);
/// How long the second answer is waited for in all other cases: every server answers `initialize`.
pub(crate) const SETTLE_AT_MOST: Duration = Duration::from_secs(1);

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
    /// This process is of no use any more; fresh ones are to be greeted in these eras, one after another.
    StartAgain(&'static [Era], Error),
}

/// Greets a peer on a byte stream. `start` gives a fresh channel each time it is called.
pub(crate) async fn on_stream(
    start: impl Fn() -> Result<Channel> + Sync,
    handshake: Handshake<'_>,
) -> Result<(Channel, Greeting)> {
    if let ProtocolChoice::Pinned(version) = handshake.protocol {
        let negotiated = NegotiatedVersion::of_version(version).ok_or_else(|| unknown_pin(version))?;
        return greet(start()?, &negotiated, handshake).await.and_then(|greeted| only(version, greeted));
    }
    if *handshake.protocol == ProtocolChoice::LegacyFirst {
        return Box::pin(legacy_first::on_stream(start, handshake)).await;
    }
    let mut channel = start()?;
    let mut silence = SILENCE;
    if let ProtocolChoice::Known(negotiated) = handshake.protocol {
        match negotiated.era {
            Era::Modern => silence = SILENCE_WHEN_KNOWN,
            // What was true yesterday may not be today: then it is found out again, on a fresh process.
            Era::Legacy => match greet(channel, negotiated, handshake).await {
                Ok(greeted) => return Ok(greeted),
                Err(error) => channel = start().map_err(|_| error)?,
            },
        }
    }
    match probe(&channel, handshake, silence).await? {
        Probed::Settled(greeting) => Ok((channel, greeting)),
        Probed::StartAgain(eras, mut reason) => {
            channel.close().await;
            for (position, era) in eras.iter().enumerate() {
                let Ok(channel) = start() else { return Err(reason) };
                match Box::pin(greet(channel, &newest(*era), handshake)).await {
                    // It went because of the other one.
                    Ok((channel, greeting)) => return Ok((channel, knowing(OtherEra::NotSpoken)(greeting))),
                    // The first guess is the likelier one, and so is its error.
                    Err(error) if position == 0 => reason = error,
                    Err(_) => {}
                }
            }
            Err(reason)
        }
    }
}

/// The greeting with what was found out about the other era.
pub(crate) fn knowing(other: OtherEra) -> impl Fn(Greeting) -> Greeting {
    move |mut greeting| {
        greeting.negotiated.other = other;
        greeting
    }
}

/// Greets a peer over HTTP: modern, else `initialize`, else HTTP+SSE where that is an option.
///
/// `start` gives a fresh channel of either kind.
#[cfg(feature = "http")]
pub(crate) async fn over_http(
    start: &HttpStart<'_>,
    flavour: HttpFlavour,
    handshake: Handshake<'_>,
) -> Result<(Channel, Greeting)> {
    if flavour == HttpFlavour::Sse {
        return greet(start.start(HttpKind::Sse).await?, &sse_version(handshake.protocol)?, handshake).await;
    }
    match handshake.protocol {
        ProtocolChoice::Pinned(version) => {
            let negotiated = NegotiatedVersion::of_version(version).ok_or_else(|| unknown_pin(version))?;
            let greeted = greet(start.start(HttpKind::Streamable).await?, &negotiated, handshake).await;
            return match greeted {
                Err(error) if flavour == HttpFlavour::Auto && negotiated.era == Era::Legacy && may_be_sse(&error) => {
                    let Ok(channel) = start.start(HttpKind::Sse).await else { return Err(error) };
                    greet(channel, &negotiated, handshake).await.map_err(|_| error)
                }
                greeted => greeted.and_then(|greeted| only(version, greeted)),
            };
        }
        ProtocolChoice::Known(negotiated) => {
            match greet(start.start(HttpKind::Streamable).await?, negotiated, handshake).await {
                Ok(greeted) => return Ok(greeted),
                Err(error) if is_final(&error) => return Err(error),
                Err(_) => {}
            }
        }
        ProtocolChoice::LegacyFirst => {
            match greet(start.start(HttpKind::Streamable).await?, &newest(Era::Legacy), handshake).await {
                Ok(greeted) => return Ok(greeted),
                Err(error) if is_final(&error) => return Err(error),
                Err(_) => {}
            }
        }
        ProtocolChoice::Auto => {}
    }
    let channel = start.start(HttpKind::Streamable).await?;
    let version = match modern::probe(&channel, handshake.client, handshake.times).await {
        Probe::Modern(mut greeting) => {
            channel.agree(&greeting.negotiated);
            if *handshake.protocol == ProtocolChoice::LegacyFirst {
                greeting.negotiated.other = OtherEra::NotSpoken;
            }
            return Ok((channel, greeting));
        }
        Probe::Refused(error) => return Err(error),
        Probe::NotModern(error) if is_final(&error) => return Err(error),
        Probe::OtherVersions { legacy: None, theirs } => return Err(version_mismatch(&theirs)),
        Probe::OtherVersions { legacy: Some(version), .. } => version,
        Probe::NotModern(_) => newest(Era::Legacy).version,
    };
    match legacy::handshake(&channel, handshake.client, &version, handshake.times).await {
        Ok(greeting) => Ok((channel, knowing(OtherEra::NotSpoken)(greeting))),
        Err(error) if flavour == HttpFlavour::Auto && may_be_sse(&error) => {
            // The older transport is only a guess: if it fails too, the first error says more.
            let Ok(channel) = start.start(HttpKind::Sse).await else { return Err(error) };
            let greeted = greet(channel, &sse_version(handshake.protocol)?, handshake).await.map_err(|_| error);
            greeted.map(|(channel, greeting)| (channel, knowing(OtherEra::NotSpoken)(greeting)))
        }
        Err(error) => Err(error),
    }
}

/// Which of the two HTTP transports.
#[cfg(feature = "http")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HttpKind {
    Streamable,
    Sse,
}

/// One handshake, in an era that is known.
pub(crate) async fn greet(
    channel: Channel,
    negotiated: &NegotiatedVersion,
    handshake: Handshake<'_>,
) -> Result<(Channel, Greeting)> {
    let greeting = match negotiated.era {
        Era::Legacy => legacy::handshake(&channel, handshake.client, &negotiated.version, handshake.times).await?,
        Era::Modern => modern::handshake(&channel, handshake.client, handshake.times).await?,
    };
    Ok((channel, greeting))
}

/// The newest version of an era.
pub(crate) fn newest(era: Era) -> NegotiatedVersion {
    let version = match era {
        Era::Legacy => legacy::VERSIONS.first(),
        Era::Modern => modern::VERSIONS.first(),
    };
    let version = version.copied().unwrap_or_default().to_owned();
    NegotiatedVersion { era, version, other: OtherEra::Unknown }
}

/// A server may answer with another version than it was asked for; where one is pinned, that is too late.
fn only(version: &str, greeted: (Channel, Greeting)) -> Result<(Channel, Greeting)> {
    let theirs = &greeted.1.negotiated.version;
    if theirs == version {
        return Ok(greeted);
    }
    Err(Error::new(
        ErrorCode::ProtocolError,
        format!("the server speaks protocol version {theirs}, and helve is pinned to {version}"),
    )
    .with_hint("pin the version that the server speaks, or none"))
}

pub(crate) fn unknown_pin(version: &str) -> Error {
    Error::new(ErrorCode::Config, format!("helve does not speak protocol version {version:?}"))
        .with_hint(format!("it speaks {}", super::all_versions()))
}

async fn probe(channel: &Channel, handshake: Handshake<'_>, silence: Duration) -> Result<Probed> {
    let Handshake { client, times, .. } = handshake;
    let mut discover = pin!(modern::probe(channel, client, times));
    let Ok(probe) = timeout(silence, &mut discover).await else {
        // Kept apart: most servers speak up, and shall not hold room for it.
        return Box::pin(probe_both(channel, handshake, discover)).await;
    };
    let version = match probe {
        Probe::Modern(greeting) => {
            channel.agree(&greeting.negotiated);
            return Ok(Probed::Settled(greeting));
        }
        Probe::Refused(error) => return Err(error),
        Probe::OtherVersions { legacy: None, theirs } => return Err(version_mismatch(&theirs)),
        Probe::OtherVersions { legacy: Some(version), .. } => version,
        Probe::NotModern(error) if is_gone(&error) => return Ok(Probed::StartAgain(&[Era::Legacy], error)),
        Probe::NotModern(_) => newest(Era::Legacy).version,
    };
    match legacy::handshake(channel, client, &version, times).await {
        // It may be one that takes nothing before `initialize`.
        Err(error) if is_bad_mixture(&error) => Ok(Probed::StartAgain(&[Era::Legacy], error)),
        settled => settled.map(knowing(OtherEra::NotSpoken)).map(Probed::Settled),
    }
}

/// The probe was met with silence: `initialize` as well, and see.
async fn probe_both(
    channel: &Channel,
    handshake: Handshake<'_>,
    discover: impl Future<Output = Probe>,
) -> Result<Probed> {
    let Handshake { client, times, .. } = handshake;
    let version = newest(Era::Legacy).version;
    let discover = async { Either::Left(discover.await) };
    let initialize = async { Either::Right(legacy::initialize(channel, client, &version, times).await) };
    // It hands out what is finished in the order in which it was woken, which is the order of the answers.
    let mut answers: FuturesUnordered<_> = [Either::Left(discover), Either::Right(initialize)].into_iter().collect();
    let mut discovered: Option<Probe> = None;
    let mut initialized: Option<Result<Greeting>> = None;
    let mut last = Era::Legacy;
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
            Some(answer) = answers.next() => match answer {
                Either::Left(probe) => {
                    last = Era::Modern;
                    discovered = Some(probe);
                }
                Either::Right(greeting) => {
                    last = Era::Legacy;
                    initialized = Some(greeting);
                }
            },
            () = settled => break,
        }
        settled_at = match (&discovered, &initialized) {
            (_, Some(Ok(_))) => Some(Instant::now() + SETTLE),
            (Some(Probe::Modern(_)), _) | (_, Some(Err(_))) => Some(Instant::now() + SETTLE_AT_MOST),
            _ => None,
        };
    }
    match (discovered, initialized) {
        (Some(Probe::Modern(greeting)), Some(Ok(_))) if last == Era::Modern => {
            channel.agree(&greeting.negotiated);
            Ok(Probed::Settled(greeting))
        }
        (discovered, Some(Ok(greeting))) => match legacy::begin(channel, &greeting).await {
            Err(error) if is_gone(&error) => Ok(Probed::StartAgain(&[Era::Legacy], error)),
            begun => {
                let other =
                    if matches!(discovered, Some(Probe::Modern(_))) { OtherEra::Spoken } else { OtherEra::NotSpoken };
                begun.map(|()| Probed::Settled(knowing(other)(greeting)))
            }
        },
        (Some(Probe::Modern(_)), Some(Err(error))) if is_gone(&error) => Ok(Probed::StartAgain(&[Era::Modern], error)),
        // There are servers that refuse `initialize` and then exit over it: is it still there?
        (Some(Probe::Modern(_)), Some(Err(_))) => match modern::handshake(channel, client, times).await {
            Err(error) if is_gone(&error) => Ok(Probed::StartAgain(&[Era::Modern], error)),
            settled => settled.map(Probed::Settled),
        },
        (Some(Probe::Modern(greeting)), None) => {
            channel.agree(&greeting.negotiated);
            Ok(Probed::Settled(greeting))
        }
        (Some(Probe::OtherVersions { theirs, legacy: None }), _) => Err(version_mismatch(&theirs)),
        (Some(Probe::Refused(error)), _) => Err(error),
        (Some(Probe::NotModern(probe)), Some(Err(error))) if !is_gone(&probe) && is_bad_mixture(&error) => {
            Ok(Probed::StartAgain(&[Era::Legacy], error))
        }
        // It said nothing to the probe, so it may be of either era.
        (_, Some(Err(error))) if is_bad_mixture(&error) => Ok(Probed::StartAgain(&[Era::Legacy, Era::Modern], error)),
        (_, Some(Err(error))) | (Some(Probe::NotModern(error)), None) => Err(error),
        (Some(Probe::OtherVersions { .. }) | None, None) => {
            Err(Error::new(ErrorCode::Timeout, "the server answers neither `server/discover` nor `initialize`"))
        }
    }
}

/// Went, or refused: what a server does that takes no `initialize` after a probe.
fn is_bad_mixture(error: &Error) -> bool {
    is_gone(error) || error.rpc().is_some()
}

/// What HTTP+SSE is greeted with: it is older than the modern era.
#[cfg(feature = "http")]
fn sse_version(protocol: &ProtocolChoice) -> Result<NegotiatedVersion> {
    match protocol {
        ProtocolChoice::Pinned(version) => NegotiatedVersion::of_version(version)
            .filter(|negotiated| negotiated.era == Era::Legacy)
            .ok_or_else(|| unknown_pin(version).with_hint("over HTTP+SSE only versions of the legacy era are spoken")),
        ProtocolChoice::Known(negotiated) if negotiated.era == Era::Legacy => Ok(negotiated.clone()),
        ProtocolChoice::Known(_) | ProtocolChoice::LegacyFirst | ProtocolChoice::Auto => Ok(newest(Era::Legacy)),
    }
}

/// Asking differently would not help: the server wants credentials, cannot be reached, or is silent.
#[cfg(feature = "http")]
fn is_final(error: &Error) -> bool {
    match error.code() {
        ErrorCode::AuthRequired | ErrorCode::Timeout | ErrorCode::Config => true,
        ErrorCode::TransportError => error.http_status().is_none() && error.rpc().is_none(),
        _ => false,
    }
}

/// The server does not take `initialize` by POST: it may be one of the older transport.
#[cfg(feature = "http")]
fn may_be_sse(error: &Error) -> bool {
    error.rpc().is_some() || matches!(error.http_status(), Some(400 | 404 | 405))
}

/// The connection broke: the process exited, or closed its output.
pub(crate) fn is_gone(error: &Error) -> bool {
    error.code() == ErrorCode::TransportError && error.rpc().is_none()
}
