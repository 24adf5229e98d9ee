//! `helve join`: a hub's servers beside one's own, under the name of the hub.

use clap::ValueHint;
use helve_config::edit::{HubChange, edit_hub};
use helve_config::{ConfiguredHub, hub_address};
use helve_model::name::PlaceName;
use helve_model::{Layer, Origin};
use helve_setup::{HubList, hub_record};
use secrecy::SecretString;
use serde_json::json;

use super::login::credentials;
use super::secret::value_of;
use crate::context::Context;
use crate::failure::Failure;
use crate::place::{self, Scope};
use crate::printer::Line;
use crate::redact;
use crate::running::block_on;

/// Use the servers of a hub as your own, as `hub/server/tool`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The token is asked for, or read from stdin; make one on the hub's page, under Tokens, or there with
`helve hub token make NAME`. It is sealed in the vault and goes to this address alone.
What the hub's servers may do is decided twice: by your rules here, and by the hub's there.")]
pub(crate) struct Args {
    /// The hub's address: https://hub.example.com
    #[arg(value_name = "URL", value_hint = ValueHint::Url)]
    url: String,

    /// What to call the hub here
    #[arg(long = "as", value_name = "NAME", default_value = "hub")]
    name: String,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let url = hub_address(&args.url).map_err(|reason| Failure::usage(format!("`{}`: {reason}", args.url)))?;
    let place = PlaceName::new(&args.name).map_err(|error| Failure::usage(format!("`{}`: {error}", args.name)))?;
    check_name(context, &place)?;
    let file = place::own_file(context, Scope::User)?;
    let hub = ConfiguredHub { place: place.clone(), url: url.clone(), origin: Origin::CommandLine, layer: Layer::User };
    let token = value_of(context, &format!("token for {url}:"), false)?;
    redact::remember(&token);
    let token = SecretString::from(token);
    // Nothing is written before the hub has said that the token counts.
    let list = block_on(async { Ok(context.setup.try_hub(&hub, &token).await?) })?;
    let vault = &credentials(context)?.vault;
    let facts = json!({ "kind": "hub", "place": place.as_str(), "url": url });
    let made_key = vault.write(&hub_record(&place, &url), &token, facts)?;
    super::secret::tell_key(context, made_key)?;
    edit_hub(&file, place.as_str(), &HubChange::Join { url: url.clone() })
        .map_err(|error| Failure::other(format!("{} was not changed: {error}", context.env.shown(&file.path))))?;
    context.setup.keep_hub(&hub, &list);
    tell(context, &place, &url, &list, &context.env.shown(&file.path))
}

/// A hub is not called like a server: nothing of it hides something local.
fn check_name(context: &Context, place: &PlaceName) -> Result<(), Failure> {
    let configuration = context.load()?;
    let plan = context.setup.plan(&configuration)?;
    let mut servers = plan.servers.iter().map(|planned| &planned.spec).filter(|spec| spec.name.place().is_none());
    match servers.find(|spec| spec.name.as_str() == place.as_str()) {
        None => Ok(()),
        Some(spec) => {
            let origin = context.shown(&spec.origin);
            Err(Failure::usage(format!("there is a server `{place}` already, at {origin}"))
                .hint("`--as NAME` calls the hub something else"))
        }
    }
}

fn tell(context: &Context, place: &PlaceName, url: &str, list: &HubList, file: &str) -> Result<(), Failure> {
    let names: Vec<&str> = list.servers.iter().map(|server| server.name.as_str()).collect();
    if list.left_out > 0 {
        context.printer.warning(format!("{} of its servers have no name that can be taken", list.left_out));
    }
    let servers = if names.len() == 1 { "1 server".to_owned() } else { format!("{} servers", names.len()) };
    context.printer.say(&Line::plain(format!("joined {url} as `{place}`, in {file}: {servers}")));
    if context.printer.is_json() {
        return context.printer.json(&json!({ "joined": place.as_str(), "url": url, "servers": names }));
    }
    for name in names {
        context.printer.data(&format!("{place}/{name}\n"))?;
    }
    context.printer.hint(format!("`helve tools` lists what they have; `helve leave {place}` leaves the hub"));
    Ok(())
}
