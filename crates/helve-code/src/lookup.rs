//! Owns what programs find out about tools: search, descriptions, names. The search itself is `helve-render`'s.

use std::collections::HashMap;

use helve::{QualifiedName, ToolQuery};
use helve_model::ErrorCode;
use helve_model::json::{ObjectWriter, RawJson, quoted};
use helve_model::name::{CODE_PREFIX, PLACED_CODE_PREFIX};
use helve_render::{Style, documented, first_line, signature};

use crate::frame;
use crate::review::Devices;
use crate::run::Lookup;

/// What a description and a signature may cost, in tokens.
const DESCRIPTION_TOKENS: usize = 800;
const SIGNATURE_TOKENS: usize = 120;
/// How many tools a search gives at most, and how many queries it takes.
const FOUND_AT_MOST: usize = 50;
const QUERIES_AT_MOST: usize = 8;
/// Characters of a description in a list.
const LINE: usize = 200;

/// The answer to a question about tools.
pub(crate) fn answer(devices: &Devices, lookup: &Lookup) -> String {
    match lookup {
        Lookup::Find(find) => {
            let limit = usize::try_from(find.limit).unwrap_or(1).clamp(1, FOUND_AT_MOST);
            frame::line(frame::answer(find.id).raw("ok", found(devices, &find.queries, limit)))
        }
        Lookup::Names(names) => {
            let prefix = names.server.as_ref().map(|server| match server.split('.').next() {
                Some("devices") => format!("{server}."),
                _ => format!("{CODE_PREFIX}{server}."),
            });
            let mut all: Vec<String> = devices
                .tools()
                .filter_map(|(name, _)| {
                    let rest = name.strip_prefix(prefix.as_deref().unwrap_or(CODE_PREFIX))?;
                    rest.split('.').next().map(ToOwned::to_owned)
                })
                .collect();
            all.dedup();
            frame::line(frame::answer(names.id).raw("ok", RawJson::array(all.iter().map(|name| quoted(name)))))
        }
        Lookup::Describe(describe) => {
            let name = describe
                .name
                .strip_prefix("devices.local.")
                .map_or_else(|| describe.name.clone(), |rest| format!("device.{rest}"));
            let parts = match name.strip_prefix(PLACED_CODE_PREFIX) {
                // `devices.hub.GithubMCP` is a server.
                Some(rest) if rest.matches('.').count() < 2 => None,
                Some(_) => name.rsplit_once('.'),
                None => name.strip_prefix(CODE_PREFIX).unwrap_or(&name).split_once('.'),
            };
            let found = match parts {
                Some((server, tool)) => devices.find(server, tool),
                None => return frame::line(frame::answer(describe.id).text("text", &of_server(devices, &name))),
            };
            match found {
                Ok(tool) => {
                    let text =
                        documented(&tool.schema_entry(tool.name().tool.as_str()), Style::Python, DESCRIPTION_TOKENS);
                    frame::line(frame::answer(describe.id).text("text", &text))
                }
                Err((code, message)) => frame::error(describe.id, code.as_str(), &message, (None, None), None),
            }
        }
    }
}

/// `[{"name": "device.GithubMCP.create_issue", "signature": …, "description": …}…]`, each tool once.
fn found(devices: &Devices, queries: &[String], limit: usize) -> RawJson {
    let seen: HashMap<QualifiedName, String> =
        devices.tools().map(|(name, tool)| (tool.name().clone(), name)).collect();
    let query = ToolQuery::new("").with(|query| {
        query.texts = queries.iter().take(QUERIES_AT_MOST).map(String::as_str).collect();
        query.limit = limit;
    });
    let matches = devices.snapshot.search().search(&query, &|name| seen.contains_key(name));
    let listed = matches.tools.iter().filter_map(|tool| {
        let name = seen.get(tool.name())?;
        let description = tool.view().description.as_deref().unwrap_or_default();
        let object = ObjectWriter::new()
            .text("name", name)
            .text(
                "signature",
                &signature(&tool.schema_entry(tool.name().tool.as_str()), Style::Python, SIGNATURE_TOKENS),
            )
            .text("description", &helve_model::text::cut(first_line(description), LINE));
        Some(object.into_text())
    });
    RawJson::array(listed)
}

/// The signatures of one server, or the servers there are.
fn of_server(devices: &Devices, name: &str) -> String {
    let server = name.strip_prefix(CODE_PREFIX).unwrap_or(name);
    let lines: Vec<String> = devices
        .tools()
        .filter(|(spelled, _)| {
            spelled
                .strip_prefix(CODE_PREFIX)
                .unwrap_or(spelled)
                .strip_prefix(server)
                .is_some_and(|rest| rest.starts_with('.'))
        })
        .map(|(_, tool)| signature(&tool.schema_entry(tool.name().tool.as_str()), Style::Python, SIGNATURE_TOKENS))
        .collect();
    if lines.is_empty() {
        format!("there is no server `{name}` ({})", ErrorCode::ServerNotFound)
    } else {
        lines.join("\n")
    }
}
