//! What an agent asks for: its request, and what the request says about itself in `_meta`.

use bytestring::ByteString;
use helve_model::json::{ObjectWriter, RawJson, scan};
use helve_model::method::{self, Need};
use helve_model::protocol::meta as meta_key;
use helve_wire::RpcError;

use crate::lookups::{self, Lookup};
use crate::refusal::invalid_params;

/// A request of an agent that has passed the gate: its parameters are JSON in which nothing is said twice.
#[derive(Debug)]
pub(crate) struct Request {
    /// As the agent wrote it.
    pub(crate) id: RawJson,
    pub(crate) method: String,
    pub(crate) params: Option<RawJson>,
    /// The parameters that are understood here, by their place in [`KNOWN`]: a call is asked for most of them.
    known: [Option<Span>; KNOWN.len()],
    /// There are others besides.
    has_more: bool,
    /// Nobody but the gate makes one.
    _passed: (),
}

/// Where a value stands in the parameters.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
}

/// What a request says about itself.
#[derive(Debug, Default)]
pub(crate) struct Meta {
    /// Under which progress is to be reported, as the agent wrote it.
    pub(crate) progress_token: Option<RawJson>,
    /// The modern era's version; its presence is what makes a request modern.
    pub(crate) protocol_version: Option<RawJson>,
    pub(crate) client_capabilities: Option<RawJson>,
    pub(crate) client_info: Option<RawJson>,
    pub(crate) log_level: Option<String>,
    /// What is meant for the server.
    pub(crate) rest: Option<RawJson>,
}

/// Parameters of calls that are understood here.
const KNOWN: [&str; 7] = ["name", "arguments", "uri", "_meta", "task", "inputResponses", "requestState"];

impl Request {
    /// The parameters are JSON in which nothing is named twice.
    pub(super) fn passed(id: RawJson, method: String, params: Option<RawJson>) -> Self {
        let mut known = [None; KNOWN.len()];
        let mut has_more = false;
        let text = params.as_ref().map_or("{}", RawJson::as_str);
        lookups::note(Lookup::Params);
        for member in scan::members(text).into_iter().flatten().map_while(Result::ok) {
            let slot = KNOWN.iter().position(|known| member.key_is(known)).and_then(|place| known.get_mut(place));
            match slot {
                Some(slot) => {
                    let start = member.value.as_ptr() as usize - text.as_ptr() as usize;
                    *slot = Some(Span { start, end: start + member.value.len() });
                }
                None => has_more = true,
            }
        }
        Self { id, method, params, known, has_more, _passed: () }
    }

    /// The same call of another tool, which the arguments of this one name.
    pub(crate) fn meant(&self, name: &RawJson, arguments: &RawJson) -> Option<Self> {
        let params = self.params.as_ref()?.replacing("name", name.as_str());
        // Without arguments this was not the call of a tool that takes a name.
        let params = params.replacing("arguments", arguments.as_str());
        Some(Self::passed(self.id.clone(), self.method.clone(), Some(params)))
    }

    /// What the request is about, by its method: what else stands beside it is not.
    pub(crate) fn subject(&self) -> String {
        let member = match method::request(&self.method).map(|known| known.need) {
            Some(Need::Resource(member) | Need::Prompt(member)) => member,
            _ => "name",
        };
        self.required(member).unwrap_or_default()
    }

    /// The value of a parameter.
    pub(crate) fn param(&self, key: &str) -> Option<RawJson> {
        let params = self.params.as_ref()?;
        match KNOWN.iter().position(|known| *known == key).and_then(|place| self.known.get(place)) {
            Some(span) => {
                let Span { start, end } = (*span)?;
                Some(RawJson::part_of(params.shared(), params.as_str().get(start..end)?))
            }
            None => {
                lookups::note(Lookup::Params);
                params.member(key)
            }
        }
    }

    /// A parameter that has to be there, and to be a string.
    pub(crate) fn required(&self, key: &str) -> Result<String, RpcError> {
        self.param(key)
            .and_then(|value| text_of(&value))
            .ok_or_else(|| invalid_params(format!("`{key}` is missing, or no string")))
    }

    /// Parameters that are none of the protocol's, as an object: a server may know them.
    pub(crate) fn more(&self) -> Option<RawJson> {
        let params = self.params.as_ref().filter(|_| self.has_more)?;
        lookups::note(Lookup::Params);
        let more = ObjectWriter::new().members_of(params, |key| !KNOWN.contains(&key));
        (!more.is_empty()).then(|| more.finish()).filter(|more| more.check().is_ok())
    }

    /// The parameters as a server gets them: what the request says about itself to us is left out.
    pub(crate) fn params_for_server(&self) -> Option<RawJson> {
        self.params.as_ref().map(for_server)
    }

    pub(crate) fn meta(&self) -> Meta {
        self.param("_meta").map_or_else(Meta::default, |meta| Meta::read(meta.shared()))
    }
}

impl Meta {
    fn read(text: &ByteString) -> Self {
        let mut meta = Self::default();
        let mut rest = ObjectWriter::new();
        for member in scan::members(text).into_iter().flatten().map_while(Result::ok) {
            let value = || RawJson::part_of(text, member.value);
            // As it reads, whatever it is written with: what cannot be read is nobody's.
            let Some(key) = member.key() else { continue };
            match &*key {
                "progressToken" => meta.progress_token = Some(value()),
                meta_key::PROTOCOL_VERSION => meta.protocol_version = Some(value()),
                meta_key::CLIENT_CAPABILITIES => meta.client_capabilities = Some(value()),
                meta_key::CLIENT_INFO => meta.client_info = Some(value()),
                other => {
                    if other == meta_key::LOG_LEVEL {
                        meta.log_level = value().parse().ok();
                    }
                    rest.add_written(member.raw_key, member.value);
                }
            }
        }
        if !rest.is_empty() {
            meta.rest = Some(rest.finish());
        }
        meta
    }
}

/// The text that a value is. What has no backslash in it means itself: its syntax was checked.
fn text_of(value: &RawJson) -> Option<String> {
    let inner = value.as_str().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'))?;
    if inner.contains('\\') { value.parse().ok() } else { Some(inner.to_owned()) }
}

/// Parameters as a server gets them: what they say about the message to us is left out.
pub(super) fn for_server(params: &RawJson) -> RawJson {
    lookups::note(Lookup::Params);
    let Some(meta) = params.member("_meta") else { return params.clone() };
    let rest = Meta::read(meta.shared()).rest.unwrap_or_else(RawJson::empty_object);
    params.replacing("_meta", rest.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_sorted_by_whom_it_is_for() {
        let params = r#"{"name":"x","_meta":{"progressToken":"a","io.modelcontextprotocol/protocolVersion":"v","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"trace":"1-2","protocolVersion":"its own","io.modelcontextprotocol/logLevel":"info"}}"#;
        let request =
            Request::passed(RawJson::from_static("1"), "tools/call".to_owned(), Some(RawJson::from_static(params)));
        let meta = request.meta();
        assert_eq!(meta.progress_token.unwrap().as_str(), r#""a""#);
        assert_eq!(meta.protocol_version.unwrap().as_str(), r#""v""#);
        assert_eq!(meta.client_capabilities.unwrap().as_str(), r#"{"roots":{}}"#);
        assert_eq!(meta.log_level.as_deref(), Some("info"));
        let rest = r#"{"trace":"1-2","protocolVersion":"its own","io.modelcontextprotocol/logLevel":"info"}"#;
        assert_eq!(meta.rest.unwrap().as_str(), rest);
        assert_eq!(request.required("name").unwrap(), "x");
        assert_eq!(request.more(), None);
        let told = request.params_for_server().unwrap();
        assert_eq!(told.member("_meta").unwrap().as_str(), rest);
        assert!(request.required("uri").is_err());
    }

    #[test]
    fn parameters_are_found_however_they_are_written() {
        let params = r#"{ "n\u0061me" : "\u0078y" ,"arguments":{"name":"inner"}, "cursor":"c","task":null}"#;
        let request =
            Request::passed(RawJson::from_static("1"), "tools/call".to_owned(), Some(RawJson::from_static(params)));
        assert_eq!(request.required("name").unwrap(), "xy");
        assert_eq!(request.required("cursor").unwrap(), "c");
        assert_eq!(request.param("arguments").unwrap().as_str(), r#"{"name":"inner"}"#);
        assert_eq!(request.param("task").unwrap().as_str(), "null");
        assert!(request.param("requestState").is_none() && request.required("task").is_err());
        assert_eq!(request.more().unwrap().as_str(), r#"{"cursor":"c"}"#);
        let meant = request.meant(&RawJson::from_static("\"other\""), &RawJson::from_static("{}")).unwrap();
        assert_eq!(
            (meant.required("name").unwrap().as_str(), meant.param("arguments").unwrap().as_str()),
            ("other", "{}")
        );
    }

    #[test]
    fn one_member_is_replaced_and_nothing_else() {
        let object = RawJson::from_static("{ \"b\" : 1e400,\"name\":\"x\" , \"a\":[2] }");
        assert_eq!(object.replacing("name", "\"y\"").as_str(), "{ \"b\" : 1e400,\"name\":\"y\" , \"a\":[2] }");
        assert_eq!(object.replacing("none", "1").as_str(), object.as_str());
    }
}
