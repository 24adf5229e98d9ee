//! `helve login`: a person signs in to a server, in a browser here, or anywhere by way of a pasted address.

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use helve::auth::ports::{BoxFuture, Person};
use helve::auth::{AuthError, DeviceCode, ErrorKind, Facts, LoginWish, Page, SignIn};
use helve::{Host, Plan, from_auth};
use helve_model::{DisabledReason, ErrorCode, ServerSpec, ServerStatus};
use helve_setup::{Credentials, Secrets};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::inputs;
use crate::printer::{Line, Style};
use crate::prompt;
use crate::questions::Browser;
use crate::running::{block_on, bounded};
use crate::sign_ins::{as_json, described};
use crate::tty;

/// How long a server may take to say what it wants.
const CHALLENGE_TIME: Duration = Duration::from_secs(15);
/// Longest text that is taken from stdin for an address.
const PASTED_BYTES: u64 = 16 << 10;

/// Sign in to a server
///
/// The login is yours: every agent that `helve serve` lets in may use the server with it, as far as your rules allow.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which one
    #[arg(value_name = "SERVER")]
    server: String,

    /// Print the page instead of opening it
    #[arg(long)]
    no_browser: bool,

    /// Show a code to type on a page, on this machine or another, where the server offers that
    #[arg(long, conflicts_with_all = ["start", "paste", "no_browser"])]
    device: bool,

    /// Ask for this scope and no others; can be repeated
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,

    /// Register helve anew with the authorization server
    #[arg(long)]
    fresh: bool,

    /// Print the page and end; `--paste` finishes the login within 10 minutes
    #[arg(long, conflicts_with_all = ["paste", "no_browser"])]
    start: bool,

    /// Finish a login: the address the browser was sent to, or `-` to read it from stdin
    #[arg(long, value_name = "URL", conflicts_with_all = ["scope", "fresh", "no_browser"])]
    paste: Option<String>,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let name = args.server.as_str();
    let configuration = inputs::load(context, |server| server.as_str() == name)?;
    let spec = spec_of(context, &configuration, name)?;
    let credentials = credentials(context)?;
    block_on(async {
        let secrets = Secrets::new(&context.setup);
        let filled = helve::fill(&spec, Some(&secrets)).await?;
        let spec = filled.unwrap_or(spec);
        let sign_in = credentials.sign_ins.of(&spec)?.ok_or_else(|| not_signed_in_to(&spec))?;
        if let Some(pasted) = &args.paste {
            let pasted = pasted_text(pasted)?;
            let facts = sign_in.finish(&pasted).await.map_err(|error| from_auth(error, &spec))?;
            return done(context, credentials, &spec, &facts);
        }
        let mut wish = LoginWish::default();
        wish.challenge = bounded(context, challenge(context, &spec)).await?;
        wish.scopes = (!args.scope.is_empty()).then(|| args.scope.clone());
        wish.fresh = args.fresh;
        wish.device = args.device;
        wish.time = context.options.timeout;
        if args.start {
            let page = sign_in.begin(&wish).await.map_err(|error| from_auth(error, &spec))?;
            return begun(context, &spec, &page);
        }
        let facts = Box::pin(bounded(context, signed_in(context, args, &spec, &sign_in, &wish))).await?;
        done(context, credentials, &spec, &facts)
    })
}

/// What came of the offer to sign in.
pub(super) enum Offered {
    SignedIn,
    /// It was not made, or not taken.
    Not(Failure),
}

/// Offers to sign in to the server that refused a call because nobody is. Only where somebody can be asked.
pub(super) fn offered(context: &Context, refused: Failure) -> Result<Offered, Failure> {
    let Some(server) = refused.wants_login().map(ToString::to_string) else { return Ok(Offered::Not(refused)) };
    if !prompt::confirm(context, &format!("`{server}` wants a login. Sign in now?"))? {
        return Ok(Offered::Not(refused));
    }
    let args =
        Args { server, no_browser: false, device: false, scope: Vec::new(), fresh: false, start: false, paste: None };
    run(context, &args)?;
    Ok(Offered::SignedIn)
}

/// The server a person means, if it may be talked to.
pub(crate) fn spec_of(
    context: &Context,
    configuration: &helve_config::Configuration,
    name: &str,
) -> Result<ServerSpec, Failure> {
    let server = context.server(configuration, name)?;
    let planned =
        context.setup.plan(configuration)?.servers.into_iter().find(|planned| planned.spec.name == server.name);
    match planned {
        Some(planned) => match planned.held {
            Some(DisabledReason::Untrusted) => {
                let message = format!("the server `{name}` comes from a project that nobody has trusted yet");
                Err(Failure::new(ErrorCode::Untrusted, message)
                    .at_server(name)
                    .hint("`helve trust` shows what would run, and asks"))
            }
            // One that is switched off can be signed in to all the same.
            Some(DisabledReason::Configured | DisabledReason::Toggled) | None => Ok(planned.spec),
            Some(held) => {
                Err(Failure::new(ErrorCode::Config, format!("the server `{name}` cannot be used: {held}"))
                    .at_server(name))
            }
        },
        None => Err(Failure::new(ErrorCode::Config, format!("the entry of the server `{name}` cannot be understood"))
            .at_server(name)
            .hint("`helve doctor` says what is wrong with it")),
    }
}

pub(crate) fn credentials(context: &Context) -> Result<&Credentials, Failure> {
    context.credentials().ok_or_else(|| {
        Failure::other("there is no home directory to keep a login in")
            .hint("set HOME, or XDG_STATE_HOME and XDG_CONFIG_HOME")
    })
}

pub(crate) fn not_signed_in_to(spec: &ServerSpec) -> Failure {
    Failure::new(ErrorCode::Config, format!("the server `{}` is not one that is signed in to", spec.name))
        .at_server(spec.name.as_str())
        .hint("only servers over HTTP are, without an `Authorization` header of their own and without `oauth = false`")
}

/// What the server says to somebody who is not signed in.
async fn challenge(context: &Context, spec: &ServerSpec) -> Result<Option<String>, Failure> {
    let mut alone = spec.clone();
    alone.lazy = false;
    alone.required = false;
    alone.startup_timeout = Some(CHALLENGE_TIME);
    let host = Host::builder().plan(Plan::from(vec![alone])).start().await?;
    host.settled(CHALLENGE_TIME).await;
    let report = host.server_status(spec.name.as_str());
    host.shutdown().await;
    match report.map(|report| (report.status, report.hints)) {
        Some((ServerStatus::NeedsAuth { challenge }, _)) => Ok(challenge),
        Some((ServerStatus::Connected, _)) => {
            context
                .printer
                .warning(format!("the server `{}` lets everybody in; it may show more to who is signed in", spec.name));
            Ok(None)
        }
        Some((ServerStatus::Failed(failure), hints)) => {
            let failed = Failure::new(failure.code, failure.message).at_server(spec.name.as_str());
            Err(hints.into_iter().fold(failed, Failure::hint))
        }
        _ => Ok(None),
    }
}

async fn signed_in(
    context: &Context,
    args: &Args,
    spec: &ServerSpec,
    sign_in: &Arc<SignIn>,
    wish: &LoginWish,
) -> Result<Facts, Failure> {
    let is_remote = context.env.variable("SSH_CONNECTION").is_some_and(|connection| !connection.is_empty());
    let person = AtTerminal {
        context,
        server: spec.name.as_str(),
        browser: (!args.no_browser && !is_remote).then(|| Browser::new(&context.env)),
    };
    sign_in.login(wish, &person).await.map_err(|error| {
        let has_no_codes = args.device && *error.kind() == ErrorKind::ClientNeeded;
        let failure = Failure::from(from_auth(error, spec));
        if has_no_codes { failure.hint("leave `--device` away: then the login goes by a browser") } else { failure }
    })
}

/// A person in front of a terminal, or beside a script that prints the page.
struct AtTerminal<'a> {
    context: &'a Context,
    server: &'a str,
    browser: Option<Browser>,
}

impl Person for AtTerminal<'_> {
    fn show<'a>(&'a self, page: &'a Page) -> BoxFuture<'a, Result<(), AuthError>> {
        let printer = &self.context.printer;
        let host = page.url.host_str().unwrap_or_default();
        printer.say(&Line::plain(format!("sign in to `{}` at ", self.server)).then(Style::Name, host));
        // Whole, however long it is: it is there to be looked at and copied.
        printer.say(&Line::plain(format!("  {}", page.url)));
        if let Some(browser) = &self.browser
            && let Err(problem) = browser.open(page.url.as_str())
        {
            printer.warning(format!("{problem}; open the address above yourself"));
        }
        if self.context.console.can_ask() {
            printer.say(&Line::plain(
                "waiting for the browser; if it cannot come back here, paste the address it ended at",
            ));
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn show_code<'a>(&'a self, code: &'a DeviceCode) -> BoxFuture<'a, Result<(), AuthError>> {
        let printer = &self.context.printer;
        let minutes = code.life.as_secs().div_ceil(60);
        printer.say(&Line::plain(format!("sign in to `{}`: on any device, open", self.server)));
        printer.say(&Line::plain(format!("  {}", code.page)));
        printer.say(&Line::plain("and type the code ").then(Style::Name, code.code.as_str()));
        if let Some(page) = &code.whole_page {
            printer.say(&Line::plain(format!("or open {page}")));
        }
        printer.say(&Line::plain(format!("waiting for up to {minutes} min; Ctrl-C gives up")));
        Box::pin(std::future::ready(Ok(())))
    }

    fn pasted(&self) -> BoxFuture<'_, String> {
        if !self.context.console.can_ask() {
            return Box::pin(std::future::pending());
        }
        let (sender, receiver) = tokio::sync::oneshot::channel();
        // A thread of its own that nobody waits for: reading a terminal cannot be taken back.
        let reading = std::thread::Builder::new().spawn(move || {
            if let Ok(line) = tty::line() {
                drop(sender.send(line));
            }
        });
        Box::pin(async move {
            match (reading, receiver.await) {
                (Ok(_), Ok(line)) if !line.is_empty() => line,
                _ => std::future::pending().await,
            }
        })
    }
}

fn begun(context: &Context, spec: &ServerSpec, page: &Page) -> Result<(), Failure> {
    let server = spec.name.as_str();
    if context.printer.is_json() {
        return context.printer.json(&json!({
            "server": server,
            "page": page.url.as_str(),
            "issuer": page.issuer,
            "redirect": page.redirect,
            "minutes": 10,
        }));
    }
    context.printer.line(&Line::plain(page.url.as_str()))?;
    let word = shell_words::quote(server);
    context.printer.hint(format!(
        "sign in there; the browser ends at an address that cannot be opened: `helve login {word} --paste ADDRESS`"
    ));
    Ok(())
}

fn done(context: &Context, credentials: &Credentials, spec: &ServerSpec, facts: &Facts) -> Result<(), Failure> {
    if credentials.store.has_made_key() {
        tell_key_file(context, credentials, "logins are", "use them");
    }
    if context.printer.is_json() {
        let mut value = as_json(facts);
        if let Some(object) = value.as_object_mut() {
            object.insert("server".to_owned(), json!(spec.name.as_str()));
        }
        return context.printer.json(&value);
    }
    let words = described(context, facts);
    context.printer.say(&Line::plain(format!("signed in to `{}` {words}", spec.name)));
    Ok(())
}

/// Says, once, that the vault's key is a file, and why it is not in the system's keyring.
pub(super) fn tell_key_file(context: &Context, credentials: &Credentials, what: &str, use_of_it: &str) {
    let Some(key) = credentials.vault.key_file() else { return };
    let key = context.env.shown(key);
    let why = credentials.vault.no_keyring().map(|why| format!(" (the system's keyring {why})")).unwrap_or_default();
    let printer = &context.printer;
    printer.warning(format!("{what} sealed with the key in {key}{why}: whoever can read your files can {use_of_it}"));
    printer.hint("HELVE_VAULT_KEY keeps the key elsewhere: set it before anything is kept");
}

/// An address from the command line or from stdin.
fn pasted_text(argument: &str) -> Result<String, Failure> {
    if argument != "-" {
        return Ok(argument.to_owned());
    }
    let mut text = String::new();
    std::io::stdin().take(PASTED_BYTES).read_to_string(&mut text).map_err(|error| Failure::file(&error))?;
    Ok(text)
}
