//! The handshake of the legacy era.

use helve_model::ErrorCode;
use helve_model::json::RawJson;
use helve_model::protocol::version;

use crate::ClientInfo;
use crate::channel::{Ask, Channel};
use crate::encode::{self, Meta, Params};
use crate::era::{Era, Greeting, NegotiatedVersion, OtherEra, version_mismatch};
use crate::error::{Error, Result};
use crate::request::Times;

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
    let mut ask = Ask { cancellable: false, in_turn: false, times, ..Ask::new("initialize", &members) };
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
    channel.notify("notifications/initialized", Params::Members(&[]), Meta::default()).await?;
    channel.open_stream().await;
    Ok(())
}
