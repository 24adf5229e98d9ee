//! `helve hub`: all servers as one MCP server, with a page, an admin API and a record of every call, in one process.

mod asker;
pub(super) mod control_socket;
mod key;
mod notices;
mod page_threads;
mod reloads;
mod service;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use helve_hub::{
    AgentApprovers, ApprovalQueue, ApprovalTimes, BodySeal, CallRecorder, Hub, HubAuthenticate, HubOptions, Live,
    Metrics, Programs, Tokens, connect_lines,
};
use helve_model::{Action, SecretSet};
use helve_serve::face::http::{Guard, HttpFace};
use helve_serve::{Discovery, Gateway, Naming, Options, Unlisted};
use helve_setup::Recipe;
use helve_store::{Retention, Store};
use tokio_rustls::TlsAcceptor;

use super::serve::{
    ManyHosts, UnlistedCalls, address, discovery, follow_changes, programs, reachable, recipe, said_or_set, wait,
};
use crate::context::Context;
use crate::door_keeper::{ApprovalKeeper, DoorKeeper};
use crate::failure::Failure;
use crate::options::duration;
use crate::printer::Line;
use crate::running::{block_on, until_stopped};
use crate::{listening, peer};
use control_socket::Place;
use page_threads::PageThreads;
use reloads::HubReloads;
use service::HubService;

/// Where a hub listens that is told nothing else.
const USUAL_ADDRESS: &str = "127.0.0.1:7333";

/// The directory of the store, in the state directory.
const DIRECTORY: &str = "hub";

/// Serve all servers to agents, with a page for people, an admin API and a record of every call
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
The first line on stdout is a link that signs you in, once and within ten minutes; `helve hub link` gives another.
Agents of yours on this machine come to http://ADDRESS/mcp without a token; all others bring one that
`helve hub token make NAME` or the page makes. Beyond this machine the hub is reached by https alone: with a
certificate of its own (--tls-cert, --tls-key), or through a proxy (--public). Then everybody brings a token."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<control_socket::What>,

    #[command(flatten)]
    run: RunArgs,
}

#[derive(Debug, clap::Args)]
struct RunArgs {
    /// Listen here: an address, or a port of this machine
    #[arg(long, value_name = "ADDRESS", default_value = USUAL_ADDRESS, value_parser = address)]
    http: SocketAddr,

    /// The address that a proxy in front serves by https: https://hub.example.com
    #[arg(long, value_name = "URL")]
    public: Option<String>,

    /// The certificate by which it speaks https, in PEM, with those that it was signed by
    #[arg(long, value_name = "FILE", requires = "tls_key", conflicts_with = "public", value_hint = clap::ValueHint::FilePath)]
    tls_cert: Option<PathBuf>,

    /// The private key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert", value_hint = clap::ValueHint::FilePath)]
    tls_key: Option<PathBuf>,

    /// Print no link: for services, whose output others read
    #[arg(long)]
    no_link: bool,

    /// Do not open a browser
    #[arg(long)]
    no_browser: bool,

    /// Programs cannot be added, changed or tested on the page
    #[arg(long, conflicts_with = "allow_programs")]
    no_programs: bool,

    /// Programs can be, although the hub is reached from other machines
    #[arg(long)]
    allow_programs: bool,

    /// Names: server (server__tool), mcp (mcp__server__tool), none, or your own
    #[arg(long, value_name = "PREFIX", default_value = "server", value_parser = Naming::from_word)]
    prefix: Naming,

    /// How long the first answers wait for servers that are starting: 30s, 0
    #[arg(long, value_name = "TIME", value_parser = wait)]
    wait: Option<Duration>,

    /// What is listed: all, search (three tools), code (search and run_code), or all up to so many KB
    #[arg(long, value_name = "WAY", default_value = "128", value_parser = discovery)]
    discover: Discovery,

    /// Offer run_code, too: a program that calls tools, in your own Python, confined
    #[arg(long)]
    code: bool,

    /// What no rule mentions: ask you through the agent, allow (the agent asks you itself), or deny
    #[arg(long, value_enum, value_name = "WHAT")]
    unlisted: Option<UnlistedCalls>,

    /// Let `--unlisted allow` count for agents that bring a token, too
    #[arg(long)]
    unlisted_tokens: bool,

    /// Forget sessions that are not used for so long: 30m, 1h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    session_idle: Option<Duration>,

    /// Another host name under which agents and people may come
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,

    /// A web page's origin that may send requests to /mcp: https://app.example.com
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,

    /// `helve serve` has this; a hub makes its tokens itself
    #[arg(long, value_name = "FILE", hide = true)]
    token_file: Option<PathBuf>,
}

impl Args {
    /// True when this is the hub itself, and not a question to one.
    pub(crate) const fn runs(&self) -> bool {
        self.what.is_none()
    }
}

pub(crate) fn run(context: &Context, args: Args) -> Result<(), Failure> {
    let place = Place::of(context)?;
    match args.what {
        Some(what) => control_socket::ask(context, &place, what),
        None => start(context, args.run, place),
    }
}

fn start(context: &Context, args: RunArgs, place: Place) -> Result<(), Failure> {
    let variable = helve_setup::environment::variable::HELVE_SERVE_TOKEN;
    if args.token_file.is_some() || context.env.variable_os(variable).is_some() {
        return Err(Failure::usage(format!("--token-file and {variable} are for `helve serve`"))
            .hint("a hub makes its tokens itself: `helve hub token make NAME`"));
    }
    if let Some(public) = &args.public
        && !is_origin(public)
    {
        return Err(Failure::usage("--public is the address by which a proxy in front speaks https, without a path")
            .hint("write https://hub.example.com"));
    }
    if args.public.is_none() && args.tls_cert.is_none() && !args.http.ip().is_loopback() {
        return Err(Failure::usage(format!("{} can be reached from other machines, without https", args.http))
            .hint("give it a certificate with --tls-cert and --tls-key")
            .hint("or put a proxy with https in front, and name its address with --public")
            .hint("or listen at 127.0.0.1"));
    }
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(certificate), Some(key)) => {
            let here = |file: &PathBuf| context.env.working_directory().join(file);
            Some(listening::acceptor(&here(certificate), &here(key))?)
        }
        _ => None,
    };
    block_on(over_http(context, args, tls, place))
}

/// True for an address of the web by https, without anything behind the host and its port.
fn is_origin(text: &str) -> bool {
    let host = text.trim_end_matches('/').strip_prefix("https://");
    host.is_some_and(|host| {
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte))
    })
}

async fn over_http(context: &Context, args: RunArgs, tls: Option<TlsAcceptor>, place: Place) -> Result<(), Failure> {
    let configuration = context.load()?;
    context.report_problems(&configuration);
    let listening_address = args.http;
    let deaf = |error: std::io::Error| {
        Failure::other(format!("cannot listen on {listening_address}"))
            .cause(&error)
            .hint("`--http` takes another address")
    };
    // The store first: it says that another hub runs, and why this one cannot.
    let live = Arc::new(Live::default());
    let told = Arc::clone(&live);
    let directory = place.directory.clone();
    let store = Store::open(&directory, move |_| told.touch())
        .map_err(|error| Failure::other("the hub's store cannot be opened").cause(&error))?;
    let store = Arc::new(store);
    let tokens: Arc<Tokens> = Arc::default();
    let broken = |error: helve_store::StoreError| Failure::other("the hub's store cannot be read").cause(&error);
    tokens.load(&store).map_err(broken)?;
    let listener = listening::listen(args.http).map_err(deaf)?;
    let bound = listener.local_addr().map_err(deaf)?;
    // Behind a proxy whoever connects is the proxy: the machine's word counts for nothing.
    let owner = (args.public.is_none() && bound.ip().is_loopback() && peer::can_tell(bound.ip()).map_err(deaf)?)
        .then(|| rustix::process::geteuid().as_raw());
    let clock = context.env.clock();
    let guard = guard(&args, bound, &tokens, owner, clock);
    context.setup.itself().listens_at(bound, &guard.hosts);
    let metrics: Arc<Metrics> = Arc::default();
    let seal = Arc::new(BodySeal::new(Arc::clone(&context.setup)));
    let recorder = Arc::new(CallRecorder::new(Arc::clone(&store), Arc::clone(&metrics)).sealing(seal));
    let secrets: Arc<SecretSet> = Arc::default();
    let recipe = recipe(context, &configuration)?.with_recorder(recorder);
    let mut recipe: Recipe = recipe.with_known_secrets(Arc::clone(&secrets));
    recipe.settings.denies_unlisted = said_or_set(&configuration.settings, args.unlisted) == Action::Deny;
    let guard = guard.with(|guard| guard.nesting = recipe.nesting().clone());
    let public_address = own_address(&args, bound);
    let approvals = ApprovalQueue::new(
        Arc::clone(&store),
        key::of(&place)?,
        Arc::clone(&live),
        secrets,
        public_address.clone(),
        ApprovalTimes::default(),
        clock,
    )
    .map_err(broken)?;
    let mut options = options(context, &configuration.settings, &args);
    options.approvals = Some(Arc::new(AgentApprovers(Arc::clone(&approvals))));
    let code = programs(context, &configuration, args.code, &mut options.discovery).await;
    let Some(context_of_hosts) = context.shared() else { return Ok(()) };
    let gateway = Gateway::shared(ManyHosts::new(context_of_hosts, recipe, code), options).await?;
    let host = gateway.host().clone();
    let face = Arc::new(HttpFace::new(Arc::clone(&gateway), guard));
    let is_open = args.public.is_some() || !bound.ip().is_loopback();
    let hub_options = HubOptions {
        address: public_address,
        is_secure: args.public.is_some() || tls.is_some(),
        owner,
        programs: if args.no_programs || (is_open && !args.allow_programs) {
            Programs::Refused
        } else {
            Programs::Allowed
        },
        retention: Retention::default(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let hub = Hub::new(
        hub_options,
        store,
        tokens,
        metrics,
        live,
        Arc::clone(&context.setup),
        Arc::clone(&gateway),
        Arc::clone(&face),
        Arc::clone(&approvals),
        clock,
    );
    let asked = place.listen().map_err(|error| {
        Failure::other(format!("the hub's socket {} cannot be had", place.socket().display())).cause(&error)
    })?;
    let pages = PageThreads::start()?;
    pages.handle().spawn(Arc::clone(&hub).look_after());
    notices::begin(context, &approvals, &configuration.settings.notify.value, pages.handle());
    pages.handle().spawn(control_socket::answer(asked, Arc::clone(&hub), bound));
    tell(context, &args, &hub)?;
    let service = Arc::new(HubService::new(Arc::clone(&hub), Arc::clone(&face), pages.handle().clone()));
    let mut listening = tokio::spawn(listening::serve(listener, tls, service));
    let reloads = HubReloads { gateway: &gateway, hub: &hub };
    let served = tokio::select! {
        _ = &mut listening => Ok(()),
        stopped = until_stopped() => stopped,
        never = follow_changes(context, &configuration, &reloads) => match never {},
    };
    listening.abort();
    place.forget();
    drop(pages);
    host.shutdown().await;
    served
}

/// The address as people know it.
fn own_address(args: &RunArgs, bound: SocketAddr) -> String {
    match (&args.public, &args.tls_cert, args.allow_host.first()) {
        (Some(public), _, _) => public.trim_end_matches('/').to_owned(),
        // A certificate is for a name.
        (None, Some(_), Some(name)) => format!("https://{name}:{}", bound.port()),
        (None, Some(_), None) => format!("https://{}", reachable(bound)),
        (None, None, _) => format!("http://{}", reachable(bound)),
    }
}

/// The link, and how agents are connected. Nothing with an address goes to stderr before the link is out.
fn tell(context: &Context, args: &RunArgs, hub: &Hub) -> Result<(), Failure> {
    let failed = |error: helve_hub::HubError| Failure::other(error.to_string());
    if args.no_link {
        context.printer.data(&format!("{}\n", hub.address()))?;
    } else {
        let link = hub.link().map_err(failed)?;
        context.printer.data(&format!("{link}\n"))?;
        let can_open = context.console.stdout_is_terminal && !args.no_browser;
        if can_open && let Err(problem) = crate::questions::Browser::new(&context.env).open(&link) {
            tracing::debug!(%problem, "no browser could be opened");
        }
    }
    context.printer.say(&Line::plain("connect an agent:".to_owned()));
    for connect in connect_lines(hub.address(), None) {
        context.printer.say(&Line::plain(format!("  {} ({}):", connect.application, connect.place)));
        for line in connect.line.lines() {
            context.printer.say(&Line::plain(format!("    {line}")));
        }
    }
    Ok(())
}

fn guard(
    args: &RunArgs,
    bound: SocketAddr,
    tokens: &Arc<Tokens>,
    owner: Option<u32>,
    clock: fn() -> std::time::SystemTime,
) -> Guard {
    let mut hosts = args.allow_host.clone();
    let mut origins = args.allow_origin.clone();
    if let Some(public) = &args.public {
        let origin = public.trim_end_matches('/').to_owned();
        hosts.extend(origin.strip_prefix("https://").map(|host| host.split(':').next().unwrap_or(host).to_owned()));
        origins.push(origin);
    }
    if !bound.ip().is_unspecified() {
        hosts.push(match bound {
            SocketAddr::V4(address) => address.ip().to_string(),
            SocketAddr::V6(address) => format!("[{}]", address.ip()),
        });
    }
    let authenticate = Arc::new(HubAuthenticate::new(Arc::clone(tokens), owner, clock));
    Guard::default().with(|guard| {
        guard.hosts = hosts;
        guard.any_address = bound.ip().is_unspecified();
        guard.origins = origins;
        guard.authenticate = authenticate;
    })
}

fn options(context: &Context, settings: &helve_config::Settings, args: &RunArgs) -> Options {
    let unlisted = match said_or_set(settings, args.unlisted) {
        Action::Allow if args.unlisted_tokens || settings.unlisted_tokens.value => Unlisted::LeftToTokens,
        Action::Allow => Unlisted::LeftToAgents,
        Action::Ask | Action::Deny => Unlisted::Asked,
    };
    let mut options = Options::default().with(|options| {
        options.naming = args.prefix.clone();
        options.discovery = args.discover;
        options.unlisted = unlisted;
        options.keeps_approvals = ApprovalKeeper::new(context).can_keep();
        options.observer = Some(Arc::new(DoorKeeper::new(context)));
        options.clock = context.env.clock();
        options.limits.private_idle = settings.private_idle.value;
    });
    if let Some(wait) = args.wait {
        options.wait = Some(wait).filter(|wait| !wait.is_zero());
        options.lists_wait = wait;
    }
    if let Some(idle) = args.session_idle {
        options.limits.session_idle = idle;
    }
    options.limits.connections = listening::connections_at_most(options.limits.connections);
    options
}
