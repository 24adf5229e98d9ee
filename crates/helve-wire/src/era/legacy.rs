//! The legacy era: its handshake, and how a connection speaks it.

use helve_model::ErrorCode;
use helve_model::json::RawJson;
use helve_model::protocol::{methods, notifications, version};

use crate::ClientInfo;
use crate::channel::{Ask, Channel};
use crate::encode::{self, Meta, Params};
use crate::era::speech::{Speech, SubscriptionMethods};
use crate::era::{Era, Greeting, NegotiatedVersion, OtherEra, version_mismatch};
use crate::error::{Error, Result};
use crate::request::Times;
use crate::session::Relayed;

/// The era of sessions.
#[derive(Debug)]
pub(crate) struct Legacy;

impl Speech for Legacy {
    fn liveness_method(&self) -> &'static str {
        methods::PING
    }

    fn asks_at_any_time(&self) -> bool {
        true
    }

    fn request_meta(&self, _version: &str, _client: &ClientInfo, _declared: &str, _log_level: Option<&str>) -> String {
        String::new()
    }

    fn has_request_meta(&self) -> bool {
        false
    }

    fn log_level_method(&self) -> Option<&'static str> {
        Some(methods::LOGGING_SET_LEVEL)
    }

    fn subscription_methods(&self) -> Option<SubscriptionMethods> {
        let (subscribe, unsubscribe) = (methods::RESOURCES_SUBSCRIBE, methods::RESOURCES_UNSUBSCRIBE);
        Some(SubscriptionMethods { subscribe, unsubscribe })
    }

    fn relayed_members<'a>(&self, relayed: &'a Relayed) -> [(&'static str, Option<&'a RawJson>); 2] {
        [("task", relayed.task.as_ref()), ("", None)]
    }

    fn repeats_in_headers(&self) -> bool {
        false
    }

    #[cfg(feature = "http")]
    fn has_http_sessions(&self) -> bool {
        true
    }
}

/// The versions of this era, newest first.
pub(crate) const VERSIONS: [&str; 4] = version::LEGACY;

/// Asks for a session, and says that it has begun.
pub(crate) async fn handshake(channel: &Channel, client: &ClientInfo, version: &str, times: Times) -> Result<Greeting> {
    let greeting = initialize(channel, client, version, times).await?;
    begin(channel, &greeting).await?;
    Ok(greeting)
}

/// The first half: `initialize`.
pub(crate) async fn initialize(
    channel: &Channel,
    client: &ClientInfo,
    version: &str,
    times: Times,
) -> Result<Greeting> {
    let version = encode::quoted(version);
    let capabilities = channel.capabilities().to_json();
    let client = client.to_json();
    let members = [
        ("protocolVersion", version.as_str()),
        ("capabilities", capabilities.as_str()),
        ("clientInfo", client.as_str()),
    ];
    let mut ask = Ask { cancellable: false, in_turn: false, times, ..Ask::new(methods::INITIALIZE, &members) };
    let result = channel.request(&mut ask).await?;
    let agreed = result.member_str("protocolVersion").ok_or_else(|| {
        Error::new(ErrorCode::ProtocolError, "the server's answer to `initialize` names no protocol version")
            .with_hint("the server does not follow the protocol; report it to its authors")
    })?;
    if !VERSIONS.contains(&agreed.as_str()) {
        return Err(version_mismatch(&agreed));
    }
    Ok(Greeting {
        negotiated: NegotiatedVersion { era: Era::Legacy, version: agreed, other: OtherEra::Unknown },
        capabilities: result.member("capabilities").unwrap_or_else(RawJson::empty_object),
        server_info: result.member("serverInfo"),
        instructions: result.member_str("instructions"),
    })
}

/// The second half: from now on both sides speak the agreed version.
pub(crate) async fn begin(channel: &Channel, greeting: &Greeting) -> Result<()> {
    channel.agree(&greeting.negotiated);
    channel.notify(notifications::INITIALIZED, Params::Members(&[]), Meta::default()).await?;
    channel.open_stream().await;
    Ok(())
}
