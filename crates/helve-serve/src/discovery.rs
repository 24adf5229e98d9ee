//! Progressive discovery: instead of hundreds of definitions an agent gets three tools, by which it finds, reads and calls
//! the others.

mod search;

use helve::Host;
use helve_model::json::{RawJson, quoted};
use helve_model::{Definition as _, Outcome};
use helve_wire::RpcError;

use crate::catalog::{Catalog, Pages};
use crate::gate::Request;
use crate::refusal::invalid_params;

/// When agents get the three tools instead of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discovery {
    /// Never.
    All,
    /// Always.
    Search,
    /// Always, and what is found is called in programs: search and `run_code` alone.
    Code,
    /// When all definitions together have more bytes than this.
    Above(usize),
}

/// What becomes of a call under discovery.
pub(crate) enum Step {
    /// It is answered here.
    Answered(RawJson),
    /// It is the call of another tool.
    Call(Box<Request>),
}

/// About so many tokens as a model should spend on tools it may never use: four bytes each.
const DEFAULT_ABOVE: usize = 128 << 10;

/// The tool that runs programs, which goes by its own name whatever the others go by.
pub(crate) const RUN_CODE: &str = "run_code";
/// The toolbox that it is in.
pub(crate) const OWN_TOOLBOX: &str = "helve";

const SEARCH: &str = r#"{"name":"search_tools","title":"Search tools","description":"Find tools by words of what you want to do. Gives names, signatures and descriptions, the best first; describe_tool has all about one, call_tool calls it.","inputSchema":{"type":"object","properties":{"query":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"},"maxItems":16}],"description":"Words of what you want to do, or a list of several such texts; none for all tools"},"limit":{"type":"integer","minimum":1,"maximum":50,"description":"How many to give; 10 unless said"},"server":{"type":"string","description":"Only tools of this server"}},"required":["query"]},"annotations":{"readOnlyHint":true,"openWorldHint":false}}"#;
const DESCRIBE: &str = r#"{"name":"describe_tool","title":"Describe a tool","description":"The whole definition of one tool: what it does, and the schema of its arguments.","inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"A name that search_tools gave"}},"required":["name"]},"annotations":{"readOnlyHint":true,"openWorldHint":false}}"#;
const CALL: &str = r#"{"name":"call_tool","title":"Call a tool","description":"Call one of the tools that search_tools finds.","inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"A name that search_tools gave"},"arguments":{"type":"object","description":"Arguments that fit the schema describe_tool gives"}},"required":["name"]}}"#;

impl Default for Discovery {
    fn default() -> Self {
        Self::Above(DEFAULT_ABOVE)
    }
}

impl Discovery {
    /// Do agents that see this catalog get the three tools?
    pub(crate) const fn is_on(self, catalog: &Catalog) -> bool {
        match self {
            Self::All => false,
            Self::Search | Self::Code => true,
            Self::Above(bytes) => catalog.bytes > bytes,
        }
    }
}

/// The list of the three tools, and of `run_code` where it is offered.
pub(crate) fn list(discovery: Discovery, catalog: &Catalog) -> Pages {
    let own: &[&'static str] = if discovery == Discovery::Code { &[SEARCH] } else { &[SEARCH, DESCRIBE, CALL] };
    let run_code = catalog.tool(RUN_CODE).map(|tool| tool.definition().raw().clone());
    Pages::new("tools", own.iter().map(|own| RawJson::from_static(own)).chain(run_code))
}

/// What a model has to know about it. A number is told only where it will not grow while servers come.
pub(crate) fn instructions(discovery: Discovery, catalog: &Catalog, are_all_known: bool) -> Option<String> {
    let how = match discovery {
        Discovery::Code => "look for some, and call them in a program with run_code.",
        _ => "look for one, read it with describe_tool, call it with call_tool.",
    };
    match (discovery, discovery.is_on(catalog)) {
        (_, true) if are_all_known => Some(format!("There are {} tools behind search_tools: {how}", catalog.len())),
        (_, true) => Some(format!("There are tools behind search_tools: {how}")),
        (Discovery::Above(_), false) if !are_all_known => {
            Some(format!("If there is a tool search_tools, there are more behind it: {how}"))
        }
        _ => None,
    }
}

/// What a call means while discovery is on; `None`: what it says.
pub(crate) fn step(
    discovery: Discovery,
    shared: &Host,
    catalog: &Catalog,
    request: &Request,
) -> Option<Result<Step, RpcError>> {
    let arguments = || request.param("arguments").unwrap_or_else(RawJson::empty_object);
    match request.required("name").ok()?.as_str() {
        "search_tools" => Some(search::answer(discovery, shared, catalog, &arguments()).map(Step::Answered)),
        "describe_tool" => Some(describe(catalog, &arguments()).map(Step::Answered)),
        "call_tool" => Some(call(request, &arguments()).map(|meant| Step::Call(Box::new(meant)))),
        _ => None,
    }
}

fn describe(catalog: &Catalog, arguments: &RawJson) -> Result<RawJson, RpcError> {
    let name = arguments.member_str("name").unwrap_or_default();
    let tool = catalog.tool(&name).ok_or_else(|| invalid_params(format!("Unknown tool: {name}")))?;
    let definition = tool.definition().raw().replacing("name", &quoted(&name));
    Ok(Outcome::structured(&definition, definition.as_str()).raw().clone())
}

/// The call that is meant, with everything else the request says.
fn call(request: &Request, arguments: &RawJson) -> Result<Request, RpcError> {
    let name = arguments.member("name").filter(|name| name.as_str().starts_with('"'));
    let inner = arguments.member("arguments").unwrap_or_else(RawJson::empty_object);
    name.and_then(|name| request.meant(&name, &inner)).ok_or_else(|| invalid_params("`name` is missing, or no string"))
}
