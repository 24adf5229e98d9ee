//! What the modern era demands: metadata on every request, `server/discover`, results with a type.

use helve_model::ErrorCode;
use helve_model::json::{ObjectWriter, RawJson, scan};
use helve_model::protocol::{code, extension, meta, methods, version};

use crate::ClientInfo;
use crate::channel::{Ask, Channel};
use crate::era::speech::{Speech, SubscriptionMethods};
use crate::era::{Era, Greeting, NegotiatedVersion, OtherEra, version_mismatch};
use crate::error::{Error, Result, RpcError};
use crate::handler::ClientCapabilities;
use crate::request::Times;
use crate::session::Relayed;

/// The era without sessions.
#[derive(Debug)]
pub(crate) struct Modern;

impl Speech for Modern {
    fn liveness_method(&self) -> &'static str {
        methods::SERVER_DISCOVER
    }

    fn asks_at_any_time(&self) -> bool {
        false
    }

    fn request_meta(&self, version: &str, client: &ClientInfo, declared: &str, log_level: Option<&str>) -> String {
        request_meta(version, client, declared, log_level)
    }

    fn has_request_meta(&self) -> bool {
        true
    }

    fn log_level_method(&self) -> Option<&'static str> {
        None
    }

    fn subscription_methods(&self) -> Option<SubscriptionMethods> {
        None
    }

    fn relayed_members<'a>(&self, relayed: &'a Relayed) -> [(&'static str, Option<&'a RawJson>); 2] {
        [("inputResponses", relayed.responses.as_ref()), ("requestState", relayed.state.as_ref())]
    }

    fn repeats_in_headers(&self) -> bool {
        true
    }

    #[cfg(feature = "http")]
    fn has_http_sessions(&self) -> bool {
        false
    }
}

/// The versions of this era, newest first.
pub(crate) const VERSIONS: [&str; 1] = version::MODERN;

/// What the answer to the probe tells.
#[derive(Debug)]
pub(crate) enum Probe {
    /// The server is modern, and this is its greeting.
    Modern(Greeting),
    /// The server is modern and refuses for a reason of its own.
    Refused(Error),
    /// The server speaks other versions only; a legacy one among them, if any.
    OtherVersions { legacy: Option<String>, theirs: String },
    /// The server does not know what was asked: legacy.
    NotModern(Error),
}

/// What a result of the modern era is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ResultKind {
    Complete,
    InputRequired,
    Task,
    Unknown(String),
}

/// What is declared by somebody whose tasks are followed for him.
pub(crate) fn declared(mut capabilities: ClientCapabilities) -> String {
    if !capabilities.extensions.iter().any(|(name, _)| name == extension::TASKS) {
        capabilities.extensions.push((extension::TASKS.to_owned(), RawJson::empty_object()));
    }
    // Of the other era: this one has them by its extension.
    capabilities.written.retain(|(name, _)| name != "tasks");
    capabilities.to_json()
}

/// The members of `_meta` that every request carries, rendered once.
fn request_meta(version: &str, client: &ClientInfo, declared: &str, log_level: Option<&str>) -> String {
    let members = ObjectWriter::new()
        .text(meta::PROTOCOL_VERSION, version)
        .raw(meta::CLIENT_INFO, client.to_json())
        .raw(meta::CLIENT_CAPABILITIES, declared)
        .optional_text(meta::LOG_LEVEL, log_level)
        .into_text();
    members.strip_prefix('{').and_then(|members| members.strip_suffix('}')).unwrap_or_default().to_owned()
}

/// Asks the server who it is, in the modern way.
pub(crate) async fn probe(channel: &Channel, client: &ClientInfo, times: Times) -> Probe {
    let [version] = VERSIONS;
    // A server may refuse the very version it lists: one more try is owed.
    for retry in [true, false] {
        let meta = request_meta(version, client, &declared(channel.capabilities().clone()), None);
        let mut ask = Ask {
            cancellable: false,
            in_turn: false,
            times,
            era_meta: &meta,
            protocol_version: Some(version),
            ..Ask::new(methods::SERVER_DISCOVER, &[])
        };
        match channel.request(&mut ask).await {
            Ok(result) => return read_discover(&result),
            Err(error) => match error.rpc().cloned() {
                Some(refusal) if refusal.code == code::UNSUPPORTED_VERSION => {
                    let theirs = supported(&refusal);
                    if theirs.iter().any(|theirs| theirs == version) {
                        if retry {
                            continue;
                        }
                        return Probe::Refused(error);
                    }
                    return other_versions(&theirs);
                }
                Some(refusal) if [code::HEADER_MISMATCH, code::MISSING_CAPABILITY].contains(&refusal.code) => {
                    return Probe::Refused(error);
                }
                _ => return Probe::NotModern(error),
            },
        }
    }
    Probe::NotModern(Error::new(ErrorCode::ProtocolError, "the server does not answer `server/discover`"))
}

/// A handshake for callers who know that the server is modern.
pub(crate) async fn handshake(channel: &Channel, client: &ClientInfo, times: Times) -> Result<Greeting> {
    match probe(channel, client, times).await {
        Probe::Modern(greeting) => {
            channel.agree(&greeting.negotiated);
            Ok(greeting)
        }
        Probe::Refused(error) => Err(error),
        Probe::OtherVersions { theirs, .. } => Err(version_mismatch(&theirs)),
        Probe::NotModern(error) if error.rpc().is_some() => {
            Err(Error::new(ErrorCode::ProtocolError, "the server does not speak the modern protocol")
                .with_hint(format!("it may speak one of {}", super::legacy::VERSIONS.join(", ")))
                .with_source(error))
        }
        Probe::NotModern(error) => Err(error),
    }
}

/// Did the headers of a request not fit its body, because the tool's definition has changed?
pub(crate) fn is_header_mismatch(error: &Error) -> bool {
    error.rpc().is_some_and(|refusal| refusal.code == code::HEADER_MISMATCH)
}

/// The listen request a notification belongs to.
pub(crate) fn subscription_of(params: &RawJson) -> Option<u64> {
    params.member("_meta")?.member(meta::SUBSCRIPTION_ID)?.as_str().trim_matches('"').parse().ok()
}

/// The type of a result. Results without one are complete, as legacy results are.
pub(crate) fn result_kind(result: &RawJson) -> ResultKind {
    let kind = scan::members(result.as_str())
        .into_iter()
        .flatten()
        .map_while(Result::ok)
        .find(|member| member.key_is("resultType"))
        .map(|member| member.value);
    match kind {
        None | Some("\"complete\"") => ResultKind::Complete,
        Some("\"input_required\"") => ResultKind::InputRequired,
        Some("\"task\"") => ResultKind::Task,
        Some(other) => ResultKind::Unknown(other.to_owned()),
    }
}

fn read_discover(result: &RawJson) -> Probe {
    let not_modern = || {
        Probe::NotModern(Error::new(
            ErrorCode::ProtocolError,
            "the server's answer to `server/discover` names no protocol versions",
        ))
    };
    let Some(theirs) = result.member("supportedVersions").and_then(|list| list.parse::<Vec<String>>().ok()) else {
        return not_modern();
    };
    let Some(version) = VERSIONS.iter().find(|ours| theirs.iter().any(|theirs| theirs == *ours)) else {
        return other_versions(&theirs);
    };
    let speaks_legacy = theirs.iter().any(|theirs| super::legacy::VERSIONS.contains(&theirs.as_str()));
    let other = if speaks_legacy { OtherEra::Spoken } else { OtherEra::Unknown };
    let in_meta = result.member("_meta").and_then(|meta| meta.member(meta::SERVER_INFO));
    Probe::Modern(Greeting {
        negotiated: NegotiatedVersion { era: Era::Modern, version: (*version).to_owned(), other },
        capabilities: result.member("capabilities").unwrap_or_else(RawJson::empty_object),
        server_info: in_meta.or_else(|| result.member("serverInfo")),
        instructions: result.member_str("instructions"),
    })
}

fn supported(refusal: &RpcError) -> Vec<String> {
    let list = refusal.data.as_ref().and_then(|data| data.member("supported"));
    list.and_then(|list| list.parse().ok()).unwrap_or_default()
}

fn other_versions(theirs: &[String]) -> Probe {
    let legacy = super::legacy::VERSIONS.iter().find(|ours| theirs.iter().any(|theirs| theirs == *ours));
    let listed = if theirs.is_empty() { "no version it names".to_owned() } else { theirs.join(", ") };
    Probe::OtherVersions { legacy: legacy.map(|version| (*version).to_owned()), theirs: listed }
}
