//! `helve resources`: what can be read, on every server or on one.

use helve_model::json::RawJson;
use helve_model::{Definition as _, ResourceView};
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Failure;
use crate::offer_requests::{self, Troubles};
use crate::printer::{Line, Style, Table};

/// List resources and resource templates
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A template has variables in braces: `helve read SERVER 'demo://{id}' id=3` reads the resource it makes.
Servers that do not answer are named on stderr; the others are listed.")]
pub(crate) struct Args {
    /// Only those of this server
    #[arg(value_name = "SERVER")]
    server: Option<String>,
}

/// A resource, or a family of them.
struct Row {
    server: String,
    uri: String,
    is_template: bool,
    view: ResourceView,
    raw: RawJson,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let only = args.server.as_deref();
    let rows = offer_requests::ask(context, only, async |host| {
        let (resources, templates) = tokio::join!(host.resources(only), host.resource_templates(only));
        let mut troubles = Troubles::default();
        let resources = troubles.take(resources?).into_iter().map(|offered| Row {
            server: offered.server.to_string(),
            uri: offered.definition.uri().to_owned(),
            is_template: false,
            view: offered.definition.view(),
            raw: offered.definition.raw().clone(),
        });
        let templates = troubles.take(templates?).into_iter().map(|offered| Row {
            server: offered.server.to_string(),
            uri: offered.definition.uri_template().to_owned(),
            is_template: true,
            view: offered.definition.view(),
            raw: offered.definition.raw().clone(),
        });
        let mut rows: Vec<Row> = resources.chain(templates).collect();
        rows.sort_by(|left, right| left.server.cmp(&right.server));
        Ok((rows, troubles))
    })?;
    if context.printer.is_json() {
        return context.printer.json(&Value::Array(rows.iter().map(as_json).collect()));
    }
    let mut table = Table::new(["SERVER", "URI", "TYPE", "NAME"]);
    for row in &rows {
        table.row([
            Line::styled(Style::Name, row.server.as_str()),
            Line::styled(if row.is_template { Style::Dim } else { Style::Plain }, row.uri.as_str()),
            Line::plain(row.view.mime_type.as_deref().unwrap_or("-")),
            Line::plain(row.view.title.as_deref().or(row.view.name.as_deref()).unwrap_or_default()),
        ]);
    }
    context.printer.table(&table)?;
    if rows.is_empty() {
        let nothing = match only {
            Some(server) => format!("The server `{server}` has no resources."),
            None => "There are no resources.".to_owned(),
        };
        context.printer.say(&Line::plain(nothing));
    }
    Ok(())
}

fn as_json(row: &Row) -> Value {
    json!({"server": row.server, "uri": row.uri, "template": row.is_template, "definition": row.raw})
}
