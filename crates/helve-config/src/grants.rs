//! Variables that the person lets servers have, by the server's name: `[environment.NAME]`.
//!
//! Most applications' files have no key for it. A server of the person's own files gets them as it is; for a project's
//! they belong to what is trusted, so that nobody's variable reaches a program that was not named together with it.

use helve_model::{ConfigText, Layer, ServerSpec, TransportSpec};

use crate::diagnostic::{Code, Diagnostic, quoted};
use crate::document::{Node, TableEntry};
use crate::reader::{FileContent, FileReader, wrong_type};
use crate::server::ConfiguredServer;

/// The keys of `[environment.NAME]`.
pub(crate) const KEYS: &[&str] = &["pass"];

/// What one server may have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Grant {
    /// The server's name, as helve shows it.
    server: String,
    /// The variables, with their values where they are set.
    variables: Vec<(String, Option<ConfigText>)>,
}

/// Reads the table of grants.
pub(crate) fn read(reader: &mut FileReader<'_>, table: &TableEntry) {
    if reader.place.layer == Layer::Project {
        let message = "a project cannot say which of your variables a server gets";
        let hint = "put `[environment.NAME]` into your own helve.toml, or name the variable in `env` or `pass_env` of the server";
        reader.report(Diagnostic::warning(Code::BadValue, message).hint(hint), table.key_span);
        return;
    }
    // What cannot be understood is not passed on; nothing else depends on it, so that none of this is an error.
    if !table.node.is_table() {
        let message = wrong_type(&quoted(&table.key), "a table", &table.node);
        reader.report(Diagnostic::warning(Code::WrongType, message), table.node.span);
    }
    for server in table.node.entries() {
        if !server.node.is_table() {
            let message = wrong_type(&quoted(&server.key), "a table", &server.node);
            reader.report(Diagnostic::warning(Code::WrongType, message), server.node.span);
            continue;
        }
        reader.unknown_keys(&server.node, KEYS);
        let variables = variables(reader, &server.node);
        reader.content.grants.push(Grant { server: server.key.clone(), variables });
    }
}

fn variables(reader: &mut FileReader<'_>, server: &Node) -> Vec<(String, Option<ConfigText>)> {
    let Some(pass) = server.entry("pass") else { return Vec::new() };
    if !pass.node.is_array() {
        let message = wrong_type(&quoted("pass"), "a list of strings", &pass.node);
        reader.report(Diagnostic::warning(Code::WrongType, message), pass.node.span);
    }
    let mut variables = Vec::new();
    for element in pass.node.elements() {
        let name = element.as_str().filter(|name| !name.is_empty() && !name.contains(['=', '\0', '$', ' ']));
        let Some(name) = name else {
            let message = "this is not the name of a variable";
            let hint = "`pass` has names alone: the values are those of your environment";
            reader.report(Diagnostic::warning(Code::BadValue, message).hint(hint), element.span);
            continue;
        };
        let value = reader.scope.environment.variable(name);
        let value = value.map(|value| ConfigText::expanded(format!("${{{name}}}"), value));
        variables.push((name.to_owned(), value));
    }
    variables
}

/// All that the person's files grant.
pub(crate) fn of(contents: &[FileContent]) -> Vec<Grant> {
    contents.iter().flat_map(|content| content.grants.iter().cloned()).collect()
}

/// Gives a server what is granted to its name.
pub(crate) fn apply(grants: &[Grant], server: &mut ConfiguredServer) {
    for grant in grants.iter().filter(|grant| grant.server == server.name.as_str()) {
        let Some(ServerSpec { transport: TransportSpec::Stdio(stdio), .. }) = &mut server.spec else { return };
        for (name, value) in &grant.variables {
            if server.as_written.passed_variables.contains(name) {
                continue;
            }
            server.as_written.passed_variables.push(name.clone());
            if !server.variables.contains(name) {
                server.variables.push(name.clone());
            }
            if let Some(value) = value {
                // What the entry itself says about the variable stands.
                stdio.environment.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
    }
}
