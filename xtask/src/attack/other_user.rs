//! Owns the attack of a neighbour: another user of the machine who comes to a `helve serve --http` without a token, and is
//! gone before anybody can see who it was.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use rustix::net::sockopt::set_socket_linger;
use rustix::process::{Uid, geteuid};
use rustix::thread::set_thread_uid;
use serde_json::json;

use super::Figure;
use super::arena::{Arena, PATIENCE, Place};
use crate::listening::Listening;

/// The user whose servers they are, and the neighbour. Neither need exist.
const OWNER: u32 = 12_001;
const NEIGHBOUR: u32 = 12_002;

/// How often the neighbour tries in each way, every day and where time does not matter.
const QUICK_TRIES: usize = 2_000;
const FULL_TRIES: usize = 10_000;

/// How often the owner comes, to see that the door is not shut for everybody.
const OWN_CALLS: usize = 20;

/// How the neighbour leaves after the request is written.
#[derive(Debug, Clone, Copy)]
enum Leaves {
    /// Closes at once: the socket is nobody's any more.
    Closing,
    /// Resets the connection: its address is free for others at once.
    Resetting,
    /// Says that nothing more comes, and closes a moment later.
    HalfClosing,
    /// Stays and reads the answer.
    Waiting,
}

pub(crate) fn run(arena: &Arena) -> Result<Vec<Figure>> {
    if !geteuid().is_root() {
        let skipped = "skipped: it takes the superuser to be two other users".to_owned();
        let what = "calls of another user".to_owned();
        return Ok(vec![Figure { what, wanted: "root".to_owned(), reached: skipped, holds: true }]);
    }
    let place = arena.place()?;
    let listening = serve(&place)?;
    let address = address(&listening.url)?;
    let tries = arena.tries(QUICK_TRIES, FULL_TRIES);
    let mut figures = Vec::new();
    for (leaves, what) in [
        (Leaves::Closing, "calls of another user who fires and closes"),
        (Leaves::Resetting, "calls of another user who fires and resets"),
        (Leaves::HalfClosing, "calls of another user who fires and half-closes"),
        (Leaves::Waiting, "calls of another user who waits"),
    ] {
        let tries = if matches!(leaves, Leaves::Waiting) { OWN_CALLS } else { tries };
        as_user(NEIGHBOUR, move || fire(address, "neighbour", tries, leaves))?;
        // Connections are taken in their order: what came before has been looked at when this is answered.
        as_user(OWNER, move || fire(address, "after", 1, Leaves::Waiting))?;
        figures.push(Figure::none_of(what, tries, written(&place, &format!("neighbour-{leaves:?}"))?));
    }
    as_user(OWNER, move || fire(address, "owner", OWN_CALLS, Leaves::Waiting))?;
    figures.push(Figure::all_of("calls of the user who runs it", OWN_CALLS, written(&place, "owner")?));
    listening.stop()?;
    // What was late would show now.
    let all = written(&place, "neighbour")?;
    figures.push(Figure::none_of("all of them, looked at after the end", 3 * tries + OWN_CALLS, all));
    Ok(figures)
}

/// `helve serve --http` of the owner, whose one server writes files.
fn serve(place: &Place) -> Result<Listening> {
    let files = place.root().join("home/files");
    fs_err::create_dir_all(&files)?;
    let roots = json!([files]);
    place.write(
        "home/.config/helve/helve.toml",
        &format!(
            "[servers.files]\nbuiltin = \"filesystem\"\nroots = {roots}\nwritable = true\n\n[[rules]]\ntool = \"*\"\naction = \"allow\"\n"
        ),
    )?;
    // Where the program was built may be closed to others.
    let own = place.root().join("program");
    fs_err::copy(place.command(&[]).get_program(), &own)?;
    for path in [place.root(), &own] {
        fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
    }
    give(&place.root().join("home"), OWNER)?;
    give(&place.root().join("project"), OWNER)?;
    let like = place.command(&[]);
    let mut command = std::process::Command::new(&own);
    command.args(["serve", "--http", "127.0.0.1:0", "--prefix", "none", "--wait", "30s"]);
    command.env_clear().envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(place.root().join("project")).uid(OWNER).gid(OWNER);
    Listening::start(&mut command)
}

/// Hands a directory and all that is in it to a user.
fn give(directory: &Path, user: u32) -> Result<()> {
    chown(directory, Some(user), Some(user))?;
    for entry in fs_err::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() { give(&path, user)? } else { chown(&path, Some(user), Some(user))? }
    }
    Ok(())
}

fn address(url: &str) -> Result<SocketAddr> {
    let host = url.strip_prefix("http://").and_then(|rest| rest.split('/').next());
    host.and_then(|host| host.parse().ok()).with_context(|| format!("no address: {url}"))
}

/// Does something as another user: in a thread of its own, which stays that user.
fn as_user(user: u32, work: impl FnOnce() -> Result<()> + Send + 'static) -> Result<()> {
    let done = thread::spawn(move || {
        set_thread_uid(Uid::from_raw(user))?;
        work()
    });
    done.join().map_err(|_| anyhow!("the attack panicked"))?
}

/// Calls `write_file` so many times, each for a file of its own.
fn fire(address: SocketAddr, name: &str, tries: usize, leaves: Leaves) -> Result<()> {
    for number in 0..tries {
        let request = request(address, &format!("{name}-{leaves:?}-{number}"));
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(request.as_bytes())?;
        match leaves {
            Leaves::Closing => drop(stream),
            Leaves::Resetting => {
                set_socket_linger(&stream, Some(Duration::ZERO))?;
                drop(stream);
            }
            Leaves::HalfClosing => {
                stream.shutdown(Shutdown::Write)?;
                drop(stream);
            }
            Leaves::Waiting => {
                stream.set_read_timeout(Some(PATIENCE))?;
                let mut answer = String::new();
                stream.read_to_string(&mut answer)?;
                ensure!(answer.starts_with("HTTP/1.1 "), "no answer: {answer:?}");
            }
        }
    }
    Ok(())
}

/// A request that needs no session: one message does it.
fn request(address: SocketAddr, file: &str) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let arguments = json!({"path": file, "content": "x"});
    let params = json!({"name": "write_file", "arguments": arguments, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: write_file\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// How many files of a name there are.
fn written(place: &Place, name: &str) -> Result<usize> {
    let entries = fs_err::read_dir(place.root().join("home/files"))?;
    Ok(entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(name)).count())
}
