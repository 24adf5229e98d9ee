//! `helve serve`: all servers as one MCP server, for any agent.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use helve::{Answerer, CallError, Host, Plan, ServerChanges, management_tools};
use helve_code::{Engine, Limits as CodeLimits, Runner};
use helve_config::{Configuration, Settings};
use helve_model::json::ObjectWriter;
use helve_model::{Action, Origin, Principal, ServerName};
use helve_serve::face::http::{Guard, HttpFace};
use helve_serve::{
    Authenticate, Discovery, Gateway, HostPurpose, HostSource, KnownTokens, LocalUsers, Naming, Options, Unlisted, face,
};
use helve_setup::store::approvals::ApprovalFile;
use helve_setup::{HubFollower, Lifetime, Recipe, Reloader, Wanted};
use helve_wire::BoxFuture;

use crate::context::Context;
use crate::door_keeper::{ApprovalKeeper, DoorKeeper};
use crate::failure::Failure;
use crate::options::duration;
use crate::reload;
use crate::running::{block_on, until_stopped};
use crate::{code_mode, listening, peer, stdio, token};

/// How often the configuration files are looked at.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(2);

/// How often it is looked whether the agent has come, where hubs wait to be listened to.
const HOST_LOOKED_FOR_EVERY: Duration = Duration::from_millis(50);

/// Agents know best how long they want to wait: without a word about it in any file, calls may take so long.
const CALL_TIME: Duration = Duration::from_secs(10 * 60);

/// What the management tools have for a server's name.
const MANAGEMENT: &str = "helve";

/// The variable that a token can be handed over in.
const TOKEN_VARIABLE: &str = helve_setup::environment::variable::HELVE_SERVE_TOKEN;

/// Serve all servers as one MCP server, on standard input and output or over HTTP
#[derive(Debug, clap::Args)]
#[command(after_help = "\
For an agent that starts its servers itself:
  claude mcp add helve -- helve serve
  { \"mcpServers\": { \"helve\": { \"command\": \"helve\", \"args\": [\"serve\"] } } }

Over HTTP, agents come to http://ADDRESS/mcp, old ones to http://ADDRESS/sse. Beyond this machine a token
is needed: its agents send `Authorization: Bearer TOKEN`.

Agents see only what they may call. A tool that no rule or list mentions is asked for in a form, if the
agent can show one; else the call is refused and you are told here, with the command that lets it run.
An agent that asks you itself before each call (Claude Code, Codex, Gemini and most others do) is served
with --unlisted allow.

Servers are started in the background: the first answer does not wait for them. The first lists wait up
to five seconds for servers of which no list was kept, and what comes later is announced. --wait makes
every first answer wait so long; with 0 none does.")]
pub(crate) struct Args {
    /// Listen here instead: 127.0.0.1:7332, or a port of this machine
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    http: Option<SocketAddr>,

    /// Names: server (server__tool), mcp (mcp__server__tool), none, or your own
    #[arg(long, value_name = "PREFIX", default_value = "server", value_parser = Naming::from_word)]
    prefix: Naming,

    /// How long the first answers wait for servers that are starting: 30s, 0
    #[arg(long, value_name = "TIME", value_parser = wait)]
    wait: Option<Duration>,

    /// What is listed: all, search (three tools), code (search and run_code), or all up to so many KB
    #[arg(long, value_name = "WAY", default_value = "128", value_parser = discovery)]
    discover: Discovery,

    /// What no rule mentions: ask you through the agent, allow (the agent asks you itself), or deny
    #[arg(long, value_enum, value_name = "WHAT")]
    unlisted: Option<UnlistedCalls>,

    /// Let `--unlisted allow` count for agents that bring a token, too
    #[arg(long, requires = "http")]
    unlisted_tokens: bool,

    /// Offer run_code, too: a program that calls tools, in your own Python, confined
    #[arg(long)]
    code: bool,

    /// Offer tools to list, read and watch resources too; on standard streams
    #[arg(long, conflicts_with = "http")]
    manage: bool,

    /// Forget sessions that are not used for so long: 30m, 1h
    #[arg(long, value_name = "TIME", requires = "http", value_parser = duration)]
    session_idle: Option<Duration>,

    /// Only agents that bring the token in this file; HELVE_SERVE_TOKEN is one too
    #[arg(long, value_name = "FILE", requires = "http", value_hint = clap::ValueHint::FilePath)]
    token_file: Option<PathBuf>,

    /// Another host name under which agents may come
    #[arg(long, value_name = "NAME", requires = "http")]
    allow_host: Vec<String>,

    /// A web page's origin that may send requests: https://app.example.com
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    allow_origin: Vec<String>,
}

/// What happens to calls that no rule mentions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum UnlistedCalls {
    /// You are asked through the agent, or the call is refused
    Ask,
    /// They run: the agent asks you itself
    Allow,
    /// They are refused, and not listed
    Deny,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<(), Failure> {
    let configuration = context.load()?;
    context.report_problems(&configuration);
    let mut options = Options::default().with(|options| {
        options.naming = args.prefix.clone();
        options.discovery = args.discover;
    });
    if let Some(wait) = args.wait {
        options.wait = Some(wait).filter(|wait| !wait.is_zero());
        options.lists_wait = wait;
    }
    options.unlisted = unlisted(&configuration.settings, &args);
    options.keeps_approvals = ApprovalKeeper::new(context).can_keep();
    options.owner = Some(Principal::local_user(rustix::process::geteuid().as_raw()));
    options.observer = Some(Arc::new(DoorKeeper::new(context)));
    let denies_unlisted = unlisted_action(&configuration.settings, &args) == Action::Deny;
    if let Some(idle) = args.session_idle {
        options.limits.session_idle = idle;
    }
    let code = block_on(async { Ok(programs(context, &configuration, args.code, &mut options.discovery).await) })?;
    options.limits.private_idle = configuration.settings.private_idle.value;
    options.limits.connections = listening::connections_at_most(options.limits.connections);
    match args.http {
        None => {
            let mut recipe = recipe(context, &configuration)?;
            recipe.settings.denies_unlisted = denies_unlisted;
            let searches = code.is_some() || matches!(args.discover, Discovery::Search | Discovery::Code);
            let added = Added { manages: args.manage, searches, code };
            block_on(on_standard_streams(context, &configuration, recipe, added, options))
        }
        Some(address) => {
            let guard = guard(context, &args, address)?;
            block_on(over_http(context, &configuration, options, code, denies_unlisted, address, guard))
        }
    }
}

async fn on_standard_streams(
    context: &Context,
    configuration: &Configuration,
    recipe: Recipe,
    added: Added,
    options: Options,
) -> Result<(), Failure> {
    let broken = |error: std::io::Error| Failure::other("the agent cannot be served").cause(&error);
    let source = OneHost { context, recipe, added, started: OnceLock::new() };
    let (reader, writer) = (stdio::input().map_err(broken)?, stdio::output().map_err(broken)?);
    let served = tokio::select! {
        served = face::stream::serve_alone(&source, options, reader, writer) => match served {
            // An agent that has gone has got what it wanted.
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                // The host did not start, and says why.
                Err(error.downcast::<CallError>().map_or_else(broken, Failure::from))
            }
            _ => Ok(()),
        },
        stopped = until_stopped() => stopped,
        never = follow_changes(context, configuration, &source) => match never {},
    };
    if let Some(host) = source.started.get() {
        host.shutdown().await;
    }
    served
}

async fn over_http(
    context: &Context,
    configuration: &Configuration,
    options: Options,
    code: Option<Engine>,
    denies_unlisted: bool,
    address: SocketAddr,
    mut guard: Guard,
) -> Result<(), Failure> {
    let deaf = |error: std::io::Error| {
        Failure::other(format!("cannot listen on {address}")).cause(&error).hint("`--http` takes another address")
    };
    let listener = listening::listen(address).map_err(deaf)?;
    let bound = listener.local_addr().map_err(deaf)?;
    if guard.authenticate.wants_user() && !peer::can_tell(bound.ip()).map_err(deaf)? {
        return Err(Failure::other("this system does not tell which user a connection comes from: a token is needed")
            .hint(format!("put one into a file for --token-file, or into {TOKEN_VARIABLE}")));
    }
    // Before the servers are known: one of them may be what listens here.
    context.setup.itself().listens_at(bound, &guard.hosts);
    let mut recipe = recipe(context, configuration)?;
    recipe.settings.denies_unlisted = denies_unlisted;
    guard.nesting = recipe.nesting().clone();
    let Some(context_of_hosts) = context.shared() else { return Ok(()) };
    let gateway = Gateway::shared(ManyHosts::new(context_of_hosts, recipe, code), options).await?;
    let host = gateway.host().clone();
    let face = Arc::new(HttpFace::new(Arc::clone(&gateway), guard));
    context.printer.data(&format!("http://{}/mcp\n", reachable(bound)))?;
    let mut listening = tokio::spawn(listening::serve(listener, None, face));
    let served = tokio::select! {
        _ = &mut listening => Ok(()),
        stopped = until_stopped() => stopped,
        never = follow_changes(context, configuration, &*gateway) => match never {},
    };
    listening.abort();
    host.shutdown().await;
    served
}

pub(super) fn recipe(context: &Context, configuration: &Configuration) -> Result<Recipe, Failure> {
    let mut recipe = Recipe::new(&context.setup, configuration, Wanted::All, Lifetime::Long)?;
    context.setup.hurry(&mut recipe.plan);
    if configuration.settings.call_timeout.origin == Origin::BuiltIn {
        recipe.settings.call_timeout = CALL_TIME;
    }
    Ok(recipe)
}

/// Starts the host of the only agent, and knows it from then on.
struct OneHost<'a> {
    context: &'a Context,
    recipe: Recipe,
    added: Added,
    started: OnceLock<Host>,
}

/// What is offered besides the servers' tools.
struct Added {
    manages: bool,
    searches: bool,
    code: Option<Engine>,
}

/// The engine for programs, where they are wanted. Without one they are not offered: the person is told why, and agents that
/// were to have programs alone have the search.
pub(super) async fn programs(
    context: &Context,
    configuration: &Configuration,
    is_wanted: bool,
    discovery: &mut Discovery,
) -> Option<Engine> {
    if !is_wanted && *discovery != Discovery::Code {
        return None;
    }
    match code_mode::engine(context, configuration, None, &CodeLimits::default()).await {
        Ok(engine) => Some(engine),
        Err(why) => {
            context.printer.warning(why.to_string());
            if *discovery == Discovery::Code {
                *discovery = Discovery::Search;
            }
            None
        }
    }
}

impl HostSource for OneHost<'_> {
    fn start(&self, answerer: Arc<dyn Answerer>, _purpose: HostPurpose) -> BoxFuture<'_, Result<Host, CallError>> {
        Box::pin(async move {
            let builder = self.recipe.builder().approver(ApprovalKeeper::new(self.context));
            let host = builder.answerer(Arc::clone(&answerer)).start().await?;
            if self.added.searches {
                host.prepare_search();
            }
            let runner = self.added.code.clone().map(|engine| Runner::new(&host, engine, CodeLimits::default()));
            if let Some(runner) = &runner {
                runner.offer(&host)?;
            }
            if self.added.manages {
                manage(&host, answerer, runner.as_ref())?;
            }
            Ok(self.started.get_or_init(|| host).clone())
        })
    }
}

/// Offers the management tools; what is watched with them is told as log messages.
fn manage(host: &Host, answerer: Arc<dyn Answerer>, runner: Option<&Runner>) -> Result<(), CallError> {
    let name = ServerName::new(MANAGEMENT)
        .map_err(|problem| CallError::new(helve_model::ErrorCode::Config, problem.to_string()))?;
    let watcher = host.watcher();
    let toolbox = management_tools(name, host, &watcher);
    host.put_toolbox(match runner {
        Some(runner) => toolbox.with(runner.tool(host)),
        None => toolbox,
    })?;
    drop(tokio::spawn(async move {
        loop {
            let event = watcher.next().await;
            let params = ObjectWriter::new().text("level", "notice").text("logger", "helve/watch");
            answerer.log(&event.server, &params.raw("data", event.to_json()).finish());
        }
    }));
    Ok(())
}

/// Starts the host that all agents share, and hosts for agents that need servers of their own.
pub(super) struct ManyHosts {
    context: Arc<Context>,
    recipe: Recipe,
    code: Option<Programs>,
}

/// What programs of all agents run in: however many hosts there are, they share its places and its spare.
struct Programs {
    engine: Engine,
    first: OnceLock<Runner>,
}

impl Programs {
    /// Offers them at one more host.
    fn offer(&self, host: &Host) -> Result<(), CallError> {
        host.prepare_search();
        let first = self.first.get_or_init(|| Runner::new(host, self.engine.clone(), CodeLimits::default()));
        first.at(host).offer(host)
    }
}

impl ManyHosts {
    pub(super) fn new(context: Arc<Context>, recipe: Recipe, code: Option<Engine>) -> Arc<Self> {
        let code = code.map(|engine| Programs { engine, first: OnceLock::new() });
        Arc::new(Self { context, recipe, code })
    }
}

impl HostSource for ManyHosts {
    fn start(&self, answerer: Arc<dyn Answerer>, purpose: HostPurpose) -> BoxFuture<'_, Result<Host, CallError>> {
        let builder = match purpose {
            HostPurpose::Everything => self.recipe.builder(),
            HostPurpose::OneAgent => self.recipe.clone().on_demand().builder(),
        };
        // What was approved for good since this program started counts for new ones, too.
        let kept = self.context.setup.stores().and_then(|stores| stores.read::<ApprovalFile>()).ok();
        let builder = match kept {
            Some(kept) => builder.approvals(kept.approvals().collect()),
            None => builder,
        };
        let builder = builder.approver(ApprovalKeeper::new(&self.context)).answerer(answerer);
        Box::pin(async move {
            let host = builder.start().await?;
            if let Some(programs) = &self.code {
                programs.offer(&host)?;
            }
            Ok(host)
        })
    }
}

/// The guard of the listener. Beyond this machine nobody comes in without a token.
fn guard(context: &Context, args: &Args, address: SocketAddr) -> Result<Guard, Failure> {
    let mut tokens = Vec::new();
    if let Some(file) = &args.token_file {
        tokens.push(("file", token::from_file(&context.env.working_directory().join(file))?));
    }
    if let Some(value) = context.env.variable_os(TOKEN_VARIABLE) {
        tokens.push(("variable", token::from_variable(TOKEN_VARIABLE, value)?));
    }
    if tokens.is_empty() && !address.ip().is_loopback() {
        return Err(Failure::usage(format!("{address} can be reached from other machines: a token is needed"))
            .hint(format!("put one into a file for --token-file, or into {TOKEN_VARIABLE}"))
            .hint("or listen at 127.0.0.1"));
    }
    let mut hosts = args.allow_host.clone();
    if !address.ip().is_unspecified() {
        hosts.push(match address {
            SocketAddr::V4(address) => address.ip().to_string(),
            SocketAddr::V6(address) => format!("[{}]", address.ip()),
        });
    }
    // Without a token the person whose servers these are comes in, and the superuser, whom nothing keeps out.
    let authenticate: Arc<dyn Authenticate> = if tokens.is_empty() {
        Arc::new(LocalUsers { only: Some(rustix::process::geteuid().as_raw()) })
    } else {
        Arc::new(KnownTokens::new(tokens))
    };
    Ok(Guard::default().with(|guard| {
        guard.hosts = hosts;
        guard.any_address = address.ip().is_unspecified();
        guard.origins = args.allow_origin.clone();
        guard.authenticate = authenticate;
    }))
}

/// An address that leads here: who listens at all of them is reached at none of that name.
pub(super) fn reachable(bound: SocketAddr) -> SocketAddr {
    match bound.ip() {
        IpAddr::V4(address) if address.is_unspecified() => (Ipv4Addr::LOCALHOST, bound.port()).into(),
        IpAddr::V6(address) if address.is_unspecified() => (Ipv6Addr::LOCALHOST, bound.port()).into(),
        _ => bound,
    }
}

/// What calls meet that no rule mentions: as the command line says, else as the person's settings do.
fn unlisted_action(settings: &Settings, args: &Args) -> Action {
    said_or_set(settings, args.unlisted)
}

/// The same for whoever has that option too.
pub(super) const fn said_or_set(settings: &Settings, said: Option<UnlistedCalls>) -> Action {
    match said {
        Some(UnlistedCalls::Ask) => Action::Ask,
        Some(UnlistedCalls::Allow) => Action::Allow,
        Some(UnlistedCalls::Deny) => Action::Deny,
        None => settings.unlisted.value,
    }
}

fn unlisted(settings: &Settings, args: &Args) -> Unlisted {
    match unlisted_action(settings, args) {
        Action::Allow if args.unlisted_tokens || settings.unlisted_tokens.value => Unlisted::LeftToTokens,
        Action::Allow => Unlisted::LeftToAgents,
        Action::Ask | Action::Deny => Unlisted::Asked,
    }
}

/// Whom a changed configuration is handed to.
pub(super) trait Reloads {
    /// The host to hand it to, once there is one.
    fn started(&self) -> Option<Host>;
    /// Takes the servers and rules that there are now.
    async fn apply(&self, plan: Plan) -> ServerChanges;
    /// Waits until somebody knows that a file has changed.
    async fn changed(&self) {
        std::future::pending().await
    }
    /// Is told of every look at the files.
    async fn looking<T>(&self, look: impl Future<Output = T>) -> T {
        look.await
    }
}

impl Reloads for OneHost<'_> {
    fn started(&self) -> Option<Host> {
        self.started.get().cloned()
    }

    async fn apply(&self, plan: Plan) -> ServerChanges {
        match self.started.get() {
            Some(host) => host.set_servers(plan).await,
            None => ServerChanges::default(),
        }
    }
}

impl Reloads for Gateway {
    fn started(&self) -> Option<Host> {
        Some(self.host().clone())
    }

    async fn apply(&self, plan: Plan) -> ServerChanges {
        self.set_servers(plan).await
    }
}

/// Follows what may change while somebody is served: files, unless nobody wants that, and the hubs that were joined.
pub(super) async fn follow_changes(
    context: &Context,
    configuration: &Configuration,
    reloads: &impl Reloads,
) -> Infallible {
    let mut reloader = Reloader::new(Arc::clone(&context.setup));
    let mut follower: Option<HubFollower> = None;
    let (watches, mut hubs) = (configuration.settings.watch.value, configuration.hubs.clone());
    loop {
        // A hub is listened to as soon as there is a host that has its servers.
        let is_soon = follower.is_none() && !hubs.is_empty();
        tokio::select! {
            () = tokio::time::sleep(if is_soon { HOST_LOOKED_FOR_EVERY } else { LOOK_EVERY }) => {}
            () = reloads.changed() => {}
        }
        let Some(host) = reloads.started() else { continue };
        if watches {
            let look = reload::look(context, &mut reloader, async |plan| reloads.apply(plan).await);
            if let Some(changed) = reloads.looking(look).await {
                hubs = changed;
            }
        }
        if follower.is_some() || !hubs.is_empty() {
            follower.get_or_insert_with(|| HubFollower::new(Arc::clone(&context.setup), &host)).follow(&hubs);
        }
    }
}

/// A time, or none at all.
pub(super) fn wait(text: &str) -> Result<Duration, String> {
    if text == "0" { Ok(Duration::ZERO) } else { duration(text) }
}

/// When agents get the three tools of discovery instead of all.
pub(super) fn discovery(text: &str) -> Result<Discovery, String> {
    match text {
        "all" => Ok(Discovery::All),
        "search" => Ok(Discovery::Search),
        "code" => Ok(Discovery::Code),
        size => size
            .parse::<usize>()
            .map(|kilobytes| Discovery::Above(kilobytes.saturating_mul(1 << 10)))
            .map_err(|_| "write all, search, code, or a number of kilobytes".to_owned()),
    }
}

/// An address with its port, or a port of this machine.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let whole =
        if text.bytes().all(|byte| byte.is_ascii_digit()) { format!("127.0.0.1:{text}") } else { text.to_owned() };
    let whole = whole.replacen("localhost:", "127.0.0.1:", 1);
    whole.parse().map_err(|_| "write an address and a port, like 127.0.0.1:7332".to_owned())
}
