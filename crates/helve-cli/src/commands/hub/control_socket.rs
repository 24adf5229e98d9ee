//! What a running hub is asked from a shell, over a socket that only its own user and the superuser can reach: a link, its status,
//! tokens, its record, a backup.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use helve_hub::{Actor, ApprovalInfo, DefinitionStand, Hub, HubError, TokenRequest};
use helve_setup::keep::{hear, say};
use helve_store::{Moment, Token, TokenKind};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::net::{UnixListener, UnixStream};

use crate::context::Context;
use crate::failure::Failure;
use crate::running::block_on;

use super::asker;

/// How long whoever connects may take to say what it wants.
const ASKED_WITHIN: Duration = Duration::from_secs(5);

/// So many bytes of a path fit into the address of a socket, with the one that ends it.
const LONGEST_ADDRESS: usize = 107;

/// Ask the hub that runs
#[derive(Debug, clap::Subcommand)]
pub(super) enum What {
    /// Print a link that signs you in, once and within ten minutes
    Link,
    /// Show how the hub is doing
    Status,
    /// Make, list and revoke tokens
    #[command(subcommand)]
    Token(TokenVerb),
    /// Verify or export the record of calls
    #[command(subcommand)]
    Audit(AuditVerb),
    /// Copy the hub's store into a file
    Backup {
        /// A file that does not exist yet
        #[arg(value_hint = clap::ValueHint::FilePath)]
        file: PathBuf,
    },
}

#[derive(Debug, clap::Subcommand)]
pub(super) enum TokenVerb {
    /// Make a token; it is shown this once
    Make {
        /// Its name: letters, digits, `-`, `_` and `.`; never used twice
        name: String,
        /// For the admin API instead of agents
        #[arg(long)]
        admin: bool,
        /// It may answer approvals; with --admin
        #[arg(long, requires = "admin")]
        approver: bool,
        /// Only tools that are known to read
        #[arg(long)]
        read_only: bool,
        /// Only servers of this name or pattern
        #[arg(long = "server", value_name = "NAME")]
        servers: Vec<String>,
        /// Only tools of this name or pattern: server/tool
        #[arg(long = "tool", value_name = "TOOL")]
        tools: Vec<String>,
        /// How many days it counts
        #[arg(long, value_name = "DAYS", default_value_t = 90)]
        days: u32,
    },
    /// List all tokens
    List,
    /// Revoke a token, and cut off whoever uses it
    Revoke {
        /// Its name
        name: String,
    },
}

#[derive(Debug, clap::Subcommand)]
pub(super) enum AuditVerb {
    /// Look whether the chain of records holds
    Verify,
    /// Write all records into a file, one JSON object a line
    Export {
        /// A file that does not exist yet
        #[arg(value_hint = clap::ValueHint::FilePath)]
        file: PathBuf,
    },
}

/// A question, as it goes over the socket.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::commands) enum Question {
    Link,
    Status,
    Tokens,
    MakeToken {
        name: String,
        admin: bool,
        approver: bool,
        read_only: bool,
        servers: Vec<String>,
        tools: Vec<String>,
        days: u32,
    },
    RevokeToken(String),
    Verify,
    Export(PathBuf),
    Backup(PathBuf),
    Approvals,
    Approval(String),
    Allow(String),
    Deny {
        id: String,
        reason: Option<String>,
    },
}

/// The answer to it.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::commands) enum Answer {
    Done(Value),
    Failed { message: String, hints: Vec<String> },
}

/// Where the hub of this state directory is.
#[derive(Debug, Clone)]
pub(in crate::commands) struct Place {
    pub(super) directory: PathBuf,
    socket: PathBuf,
}

impl Place {
    pub(in crate::commands) fn of(context: &Context) -> Result<Self, Failure> {
        let state = context.env.directories().state.clone().ok_or_else(|| {
            Failure::other("there is no home directory for the hub's store").hint("set HOME or XDG_STATE_HOME")
        })?;
        let directory = state.join(super::DIRECTORY);
        Ok(Self { socket: directory.join("hub.sock"), directory })
    }

    /// Where the key is that seals what the store holds sealed.
    pub(super) fn key_file(&self) -> PathBuf {
        self.directory.with_extension("key")
    }

    /// Where the socket is.
    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Listens for questions. Whoever has the store open is the only one.
    pub(super) fn listen(&self) -> io::Result<UnixListener> {
        // Left behind by one that was killed.
        self.forget();
        let listener = {
            let address = Address::of(&self.socket)?;
            UnixListener::bind(&address.path)?
        };
        fs_err::set_permissions(&self.socket, std::fs::Permissions::from_mode(0o600))?;
        Ok(listener)
    }

    pub(super) fn forget(&self) {
        drop(fs_err::remove_file(&self.socket));
    }
}

/// A path that fits into the address of a socket: its own, or by way of its directory, which is open as long as this is there.
struct Address {
    path: PathBuf,
    _directory: Option<fs_err::File>,
}

impl Address {
    fn of(socket: &Path) -> io::Result<Self> {
        let (Some(directory), Some(name)) = (socket.parent(), socket.file_name()) else {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        };
        if socket.as_os_str().len() <= LONGEST_ADDRESS {
            return Ok(Self { path: socket.to_owned(), _directory: None });
        }
        let directory = fs_err::File::open(directory)?;
        let path = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name);
        Ok(Self { path, _directory: Some(directory) })
    }
}

/// Answers questions, for ever.
pub(super) async fn answer(listener: UnixListener, hub: Arc<Hub>, bound: SocketAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let hub = Arc::clone(&hub);
                tokio::spawn(async move {
                    if let Err(error) = receive(stream, hub, bound).await {
                        tracing::debug!(%error, "a question broke off");
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "no question could be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn receive(mut stream: UnixStream, hub: Arc<Hub>, bound: SocketAddr) -> io::Result<()> {
    let peer = stream.peer_cred()?;
    // The superuser can read the store anyway, and is the one who asks the hub of a service.
    if peer.uid() != geteuid().as_raw() && peer.uid() != 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "another user came"));
    }
    let question: Question = tokio::time::timeout(ASKED_WITHIN, hear(&mut stream)).await??;
    let answered = tokio::task::spawn_blocking(move || {
        may_ask(peer.pid(), &question)?;
        answered(&hub, bound, question)
    })
    .await;
    let answer = match answered {
        Ok(Ok(value)) => Answer::Done(value),
        Ok(Err(error)) => Answer::Failed { message: error.message().to_owned(), hints: error.hints().to_vec() },
        Err(_) => Answer::Failed { message: "the work broke off".to_owned(), hints: Vec::new() },
    };
    say(&mut stream, &answer).await
}

/// Whether this process may ask this. What runs below the hub is a server of an agent's, never a person; and an answer about a
/// call needs a terminal behind it.
fn may_ask(process: Option<i32>, question: &Question) -> Result<(), HubError> {
    let answers = matches!(question, Question::Allow(_) | Question::Deny { .. });
    let Some(asker) = process.and_then(asker::look) else {
        return if answers { Err(HubError::forbidden("it cannot be told who answers")) } else { Ok(()) };
    };
    if asker.is_below_us {
        return Err(HubError::forbidden("a program that the hub runs may not ask it anything"));
    }
    if answers && !asker.has_terminal {
        return Err(HubError::forbidden("approvals are answered at a terminal, by a person"));
    }
    Ok(())
}

fn answered(hub: &Hub, bound: SocketAddr, question: Question) -> Result<Value, HubError> {
    let actor = Actor::Operator;
    match question {
        Question::Link => Ok(Value::String(hub.link()?)),
        Question::Status => {
            let status = helve_hub::status(hub, &actor)?;
            Ok(json!({
                "address": status.address,
                "listens": bound.to_string(),
                "version": status.version,
                "servers": { "connected": status.servers.0, "all": status.servers.1 },
                "agents": status.agents,
                "sessions": status.sessions,
                "calls": status.sizes.calls,
                "bytes": status.sizes.bytes,
                "not_recorded": status.health.lost,
                "trouble": status.health.trouble,
            }))
        }
        Question::Tokens => {
            let tokens = helve_hub::list_tokens(hub, &actor)?;
            Ok(tokens.iter().map(token).collect())
        }
        Question::MakeToken { name, admin, approver, read_only, servers, tools, days } => {
            let kind = if admin { TokenKind::Admin } else { TokenKind::Agent };
            let life = Some(Duration::from_secs(u64::from(days) * 24 * 3600));
            let request = TokenRequest { name, kind, approver, read_only, servers, tools, life };
            Ok(Value::String(helve_hub::make_token(hub, &actor, request)?.token))
        }
        Question::RevokeToken(name) => {
            helve_hub::revoke_token(hub, &actor, &name)?;
            Ok(Value::Null)
        }
        Question::Verify => {
            let report = helve_hub::verify(hub, &actor)?;
            Ok(json!({
                "calls": report.calls, "batches": report.batches, "head": report.head, "broken": report.broken,
            }))
        }
        Question::Export(file) => {
            let failed = |error: io::Error| HubError::failed(error.to_string());
            let created = std::fs::OpenOptions::new().write(true).create_new(true).open(&file);
            let mut output = io::BufWriter::new(created.map_err(failed)?);
            let calls = helve_hub::export(hub, &actor, &mut output)?;
            io::Write::flush(&mut output).map_err(failed)?;
            Ok(json!({ "calls": calls }))
        }
        Question::Backup(file) => {
            helve_hub::back_up(hub, &actor, &file)?;
            Ok(Value::Null)
        }
        Question::Approvals => {
            let list = helve_hub::list_approvals(hub, &actor)?;
            Ok(list.waiting.iter().map(approval).collect())
        }
        Question::Approval(id) => Ok(approval(&helve_hub::approval(hub, &actor, &id)?)),
        Question::Allow(id) => Ok(Value::String(helve_hub::allow_call(hub, &actor, &id)?.id)),
        Question::Deny { id, reason } => {
            Ok(Value::String(helve_hub::deny_call(hub, &actor, &id, reason.as_deref())?.id))
        }
    }
}

fn approval(info: &ApprovalInfo) -> Value {
    let (approval, asked) = (&info.approval, &info.approval.asked);
    json!({
        "id": approval.id,
        "state": approval.state.word(),
        "principal": asked.principal,
        "agent": asked.agent,
        "tool": format!("{}/{}", asked.server, asked.tool),
        "risk": asked.risk,
        "rule": asked.rule,
        "place": asked.place,
        "arguments": info.arguments,
        "callers": info.callers,
        "changed": matches!(info.definition, DefinitionStand::Changed | DefinitionStand::Outdated),
        "asked": asked.asked.seconds(),
        "ends": asked.ends.seconds(),
    })
}

fn token(token: &Token) -> Value {
    let kept = &token.token;
    json!({
        "name": kept.name,
        "kind": kept.kind,
        "read_only": kept.read_only,
        "servers": kept.servers,
        "tools": kept.tools,
        "expires": kept.expires.map(Moment::seconds),
        "revoked": token.revoked.map(Moment::seconds),
    })
}

/// Asks the hub that runs, and prints what it says.
pub(super) fn ask(context: &Context, place: &Place, what: What) -> Result<(), Failure> {
    let absolute = |file: &Path| context.env.working_directory().join(file);
    let question = match &what {
        What::Link => Question::Link,
        What::Status => Question::Status,
        What::Token(TokenVerb::List) => Question::Tokens,
        What::Token(TokenVerb::Make { name, admin, approver, read_only, servers, tools, days }) => {
            Question::MakeToken {
                name: name.clone(),
                admin: *admin,
                approver: *approver,
                read_only: *read_only,
                servers: servers.clone(),
                tools: tools.clone(),
                days: *days,
            }
        }
        What::Token(TokenVerb::Revoke { name }) => Question::RevokeToken(name.clone()),
        What::Audit(AuditVerb::Verify) => Question::Verify,
        What::Audit(AuditVerb::Export { file }) => Question::Export(absolute(file)),
        What::Backup { file } => Question::Backup(absolute(file)),
    };
    match block_on(put(place, &question))? {
        Answer::Failed { message, hints } => {
            Err(hints.into_iter().fold(Failure::other(message), |failure, hint| failure.hint(hint)))
        }
        Answer::Done(Value::Null) => Ok(()),
        Answer::Done(Value::String(text)) => context.printer.data(&format!("{text}\n")),
        Answer::Done(value) => {
            let is_broken = value.get("broken").is_some_and(|broken| !broken.is_null());
            context.printer.json(&value)?;
            if is_broken { Err(Failure::other("the chain of records does not hold")) } else { Ok(()) }
        }
    }
}

pub(in crate::commands) async fn put(place: &Place, question: &Question) -> Result<Answer, Failure> {
    let none = |error: io::Error| {
        Failure::other("no hub runs for this user").cause(&error).hint("`helve hub` starts one, in the foreground")
    };
    let address = Address::of(&place.socket).map_err(none)?;
    let mut stream = UnixStream::connect(&address.path).await.map_err(none)?;
    if stream.peer_cred().map_err(none)?.uid() != geteuid().as_raw() && !geteuid().is_root() {
        return Err(Failure::other("another user listens where the hub would"));
    }
    let broke = |error: io::Error| Failure::other("the hub did not answer").cause(&error);
    say(&mut stream, question).await.map_err(broke)?;
    hear(&mut stream).await.map_err(broke)
}
