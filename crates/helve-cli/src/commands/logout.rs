//! `helve logout`: a login is given back to the authorization server, and forgotten.

use helve::from_auth;
use serde_json::{Value, json};

use super::login::{credentials, not_signed_in_to};
use crate::context::Context;
use crate::failure::Failure;
use crate::inputs;
use crate::printer::Line;
use crate::running::{block_on, bounded};

/// Sign out of servers: revoke the login, then forget it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which ones
    #[arg(value_name = "SERVER", required_unless_present = "all")]
    servers: Vec<String>,

    /// All of them, and what is kept of servers that are configured no longer
    #[arg(long, conflicts_with = "servers")]
    all: bool,

    /// Keep the registration of helve with the authorization server
    #[arg(long)]
    keep_client: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let is_meant = |name: &str| args.all || args.servers.iter().any(|server| server == name);
    let configuration = inputs::load(context, |server| is_meant(server.as_str()))?;
    for name in &args.servers {
        context.server(&configuration, name)?;
    }
    let credentials = credentials(context)?;
    let mut ended: Vec<Value> = Vec::new();
    block_on(async {
        for server in configuration.servers.iter().filter(|server| is_meant(server.name.as_str())) {
            let Some(spec) = &server.spec else { continue };
            let Some(sign_in) = credentials.sign_ins.of(spec)? else {
                if args.all {
                    continue;
                }
                return Err(not_signed_in_to(spec));
            };
            if args.all && credentials.store.facts(sign_in.record())?.is_none() {
                continue;
            }
            let out = bounded(context, async {
                Ok(sign_in.logout(args.keep_client).await.map_err(|error| from_auth(error, spec))?)
            })
            .await?;
            let name = &spec.name;
            let words = match (out.was_signed_in, out.revoked) {
                (false, _) => format!("nobody was signed in to `{name}`"),
                (true, true) => format!("signed out of `{name}`"),
                (true, false) => format!("signed out of `{name}`; its authorization server could not be told"),
            };
            context.printer.say(&Line::plain(words));
            ended.push(json!({"server": name.as_str(), "wasSignedIn": out.was_signed_in, "revoked": out.revoked}));
        }
        Ok(())
    })?;
    if args.all {
        for (resource, _) in credentials.store.logins()? {
            credentials.store.forget(&resource)?;
            context.printer.say(&Line::plain(format!("forgot the login to {resource}")));
            ended.push(json!({"resource": resource, "wasSignedIn": true, "revoked": false}));
        }
    }
    if context.printer.is_json() { context.printer.json(&json!({ "signedOut": ended })) } else { Ok(()) }
}
