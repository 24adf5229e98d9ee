//! Greeting a peer that is to speak the legacy era if it can.
//!
//! `initialize` comes first and nothing before it: a server that has both eras stays in the one it is greeted in, and most
//! of them do not say that they have another.

use std::pin::pin;
use std::time::Duration;

use helve_model::ErrorCode;
use tokio::time::timeout;

use crate::channel::Channel;
use crate::era::modern::Probe;
use crate::era::negotiate::{Handshake, SETTLE, SETTLE_AT_MOST, greet, is_gone, knowing, newest};
use crate::era::{Era, Greeting, OtherEra, legacy, modern};
use crate::error::{Error, Result};

/// How long `initialize` stays alone where it comes first. A server that is slow to start is far more likely than one that
/// leaves a request of another era unanswered.
const SILENCE_WHEN_LEGACY: Duration = Duration::from_secs(10);

/// Greets a peer on a byte stream. `start` gives a fresh channel each time it is called.
pub(crate) async fn on_stream(
    start: impl Fn() -> Result<Channel> + Sync,
    handshake: Handshake<'_>,
) -> Result<(Channel, Greeting)> {
    let channel = start()?;
    let (error, discovered) = match initialize_first(&channel, handshake).await {
        (Ok(greeting), None | Some(Probe::NotModern(_) | Probe::Refused(_) | Probe::OtherVersions { .. })) => {
            legacy::begin(&channel, &greeting).await?;
            return Ok((channel, greeting));
        }
        // By its own rules it is in the other era now. It was only slow to start, and is there the sooner this time.
        (Ok(_), Some(Probe::Modern(_))) => {
            channel.close().await;
            let (channel, greeting) = greet(start()?, &newest(Era::Legacy), handshake).await?;
            return Ok((channel, knowing(OtherEra::Spoken)(greeting)));
        }
        (Err(error), discovered) => (error, discovered),
    };
    let client = handshake.client;
    let settled = match discovered {
        Some(Probe::Modern(greeting)) => Ok(greeting),
        _ if is_gone(&error) => Err(error),
        _ => modern::handshake(&channel, client, handshake.times).await.map_err(|_| error),
    };
    let (channel, greeting) = match settled {
        Ok(greeting) => {
            channel.agree(&greeting.negotiated);
            (channel, greeting)
        }
        Err(error) => {
            channel.close().await;
            let Ok(channel) = start() else { return Err(error) };
            // The first guess is the likelier one, and so is its error.
            greet(channel, &newest(Era::Modern), handshake).await.map_err(|_| error)?
        }
    };
    Ok((channel, knowing(OtherEra::NotSpoken)(greeting)))
}

/// Says `initialize`, and after a long silence asks in the other era too: what came of both.
async fn initialize_first(channel: &Channel, handshake: Handshake<'_>) -> (Result<Greeting>, Option<Probe>) {
    let Handshake { client, times, .. } = handshake;
    let version = newest(Era::Legacy).version;
    let mut initialize = pin!(legacy::initialize(channel, client, &version, times));
    if let Ok(initialized) = timeout(SILENCE_WHEN_LEGACY, &mut initialize).await {
        return (initialized, None);
    }
    let mut discover = pin!(modern::probe(channel, client, times));
    tokio::select! {
        biased;
        initialized = &mut initialize => {
            let discovered = timeout(SETTLE, discover).await.ok();
            (initialized, discovered)
        }
        discovered = &mut discover => match discovered {
            Probe::Modern(greeting) => match timeout(SETTLE_AT_MOST, initialize).await {
                // Answered last, so this is the one that counts.
                Ok(Ok(initialized)) => (Ok(initialized), None),
                Ok(Err(error)) => (Err(error), Some(Probe::Modern(greeting))),
                Err(_) => {
                    let error = Error::new(ErrorCode::Timeout, "the server does not answer `initialize`");
                    (Err(error), Some(Probe::Modern(greeting)))
                }
            },
            other => (initialize.await, Some(other)),
        },
    }
}
