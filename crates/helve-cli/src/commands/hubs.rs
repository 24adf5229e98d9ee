//! `helve hubs`: the hubs that were joined, asked how they are doing.

use std::time::{Duration, UNIX_EPOCH};

use futures_util::future::join_all;
use helve_config::ConfiguredHub;
use helve_model::text::one_line;
use helve_setup::{HubList, SetupError};
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Failure;
use crate::printer::{Line, Style, Table};
use crate::running::block_on;

/// List the hubs that you joined, and ask each how it is doing
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(context: &Context, _args: &Args) -> Result<(), Failure> {
    let configuration = context.load()?;
    context.report_problems(&configuration);
    let hubs = &configuration.hubs;
    let heard = block_on(async { Ok(join_all(hubs.iter().map(|hub| context.setup.hear_hub(hub))).await) })?;
    if context.printer.is_json() {
        let all: Vec<Value> = hubs.iter().zip(&heard).map(|(hub, heard)| described(context, hub, heard)).collect();
        return context.printer.json(&all);
    }
    let mut table = Table::new(vec!["HUB", "ADDRESS", "SERVERS", "STATUS"]);
    for (hub, heard) in hubs.iter().zip(&heard) {
        let known = context.setup.kept_hub(hub);
        let servers = known.as_ref().map_or(0, |known| known.servers.len()).to_string();
        let status = match heard {
            Ok(_) => Line::styled(Style::Good, "there"),
            Err(error) => {
                let heard = known.as_ref().map(|known| known.heard).filter(|heard| *heard > 0);
                let since = heard.map_or_else(|| "never heard".to_owned(), |heard| last_heard(context, heard));
                Line::styled(Style::Bad, format!("away, {since}: {}", reason(error)))
            }
        };
        table.row(vec![
            Line::styled(Style::Name, hub.place.as_str()),
            Line::plain(hub.url.clone()),
            Line::plain(servers),
            status,
        ]);
    }
    context.printer.table(&table)?;
    for error in heard.iter().filter_map(|heard| heard.as_ref().err()) {
        for hint in error.hints() {
            context.printer.hint(context.printer.words.say(hint));
        }
    }
    if hubs.is_empty() {
        context.printer.hint("you have joined none: `helve join URL`");
    }
    Ok(())
}

fn reason(error: &SetupError) -> String {
    let causes = error.causes().iter().map(String::as_str);
    let words: Vec<&str> = std::iter::once(error.message()).chain(causes).collect();
    one_line(&words.join(": ")).into_owned()
}

fn last_heard(context: &Context, heard: u64) -> String {
    let age = context.env.now().duration_since(UNIX_EPOCH + Duration::from_secs(heard)).unwrap_or_default();
    match age.as_secs() {
        seconds @ 0..120 => format!("last heard {seconds} s ago"),
        seconds @ 120..7_200 => format!("last heard {} min ago", seconds / 60),
        seconds => format!("last heard {} h ago", seconds / 3_600),
    }
}

fn described(context: &Context, hub: &ConfiguredHub, heard: &Result<HubList, SetupError>) -> Value {
    let known = context.setup.kept_hub(hub);
    let servers = known.as_ref().map(|known| known.servers.iter().map(|server| server.name.clone()));
    json!({
        "name": hub.place.as_str(),
        "url": hub.url,
        "status": if heard.is_ok() { "there" } else { "away" },
        "reason": heard.as_ref().err().map(reason),
        "heard": known.as_ref().map(|known| known.heard).filter(|heard| *heard > 0),
        "servers": servers.map(Iterator::collect::<Vec<_>>).unwrap_or_default(),
    })
}
