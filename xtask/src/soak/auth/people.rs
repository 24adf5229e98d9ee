//! Owns what a person waits for: a login with a browser that answers at once, and one that is given up.

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use helve_testkit::authority::visit;

use super::world::World;
use crate::attack::Figure;

/// What a login may take above the authorization server's own time.
const OWN_TIME: Duration = Duration::from_millis(30);
/// How long a login may live after Ctrl-C.
const LAST_MOMENTS: Duration = Duration::from_millis(100);
/// Most requests of a first login, beside the page.
const REQUESTS: usize = 5;

pub(super) fn run(helve: &Path, logins: usize) -> Result<Vec<Figure>> {
    let (mut own, mut requests) = (Vec::new(), 0);
    for _ in 0..logins {
        let world = World::new(helve)?;
        let started = Instant::now();
        let (mut child, page) = begin(&world)?;
        let visited = Instant::now();
        world.runtime.block_on(visit(&page))?;
        let page_time = visited.elapsed();
        ensure!(child.wait()?.success(), "the login failed");
        let took = started.elapsed();
        requests = world.authority.seen().iter().filter(|seen| seen.path != "/authorize").count();
        own.push(took.saturating_sub(page_time).saturating_sub(alone(&world)?).saturating_sub(a_start(&world)?));
    }
    own.sort();
    let median = own.get(own.len() / 2).copied().unwrap_or_default();
    let (ended, is_closed) = given_up(&World::new(helve)?)?;
    let milliseconds = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1_000.0);
    Ok(vec![
        Figure {
            what: "a first login: requests beside the page".to_owned(),
            wanted: format!("at most {REQUESTS}"),
            reached: requests.to_string(),
            holds: requests > 0 && requests <= REQUESTS,
        },
        Figure {
            what: "a first login: above the same requests alone and a start of the program (median)".to_owned(),
            wanted: format!("at most {}", milliseconds(OWN_TIME)),
            reached: milliseconds(median),
            holds: median <= OWN_TIME,
        },
        Figure {
            what: "a login that is given up: from Ctrl-C to its end".to_owned(),
            wanted: format!("at most {}", milliseconds(LAST_MOMENTS)),
            reached: milliseconds(ended),
            holds: ended <= LAST_MOMENTS,
        },
        Figure::none_of("a login that is given up: ports left open", 1, usize::from(!is_closed)),
    ])
}

/// Starts a login and waits for the page.
fn begin(world: &World) -> Result<(Child, String)> {
    let mut child = world.command(&["login", "far", "--no-browser"]).spawn()?;
    let lines = BufReader::new(child.stderr.take().context("no stderr")?).lines();
    let mut lines = lines.map_while(Result::ok);
    let page = lines.find_map(|line| line.strip_prefix("  http").map(|rest| format!("http{rest}")));
    let page = page.context("no page was shown")?;
    // Somebody reads what else it says, so that it is never kept waiting.
    drop(std::thread::spawn(move || lines.count()));
    Ok((child, page))
}

/// What the same requests take with nothing of ours around them.
fn alone(world: &World) -> Result<Duration> {
    let seen = world.authority.seen();
    let started = Instant::now();
    for request in seen.iter().filter(|seen| seen.path != "/authorize") {
        world.runtime.block_on(visit(&format!("{}{}", world.authority.base(), request.path)))?;
    }
    Ok(started.elapsed())
}

/// What starting the program and reading its files takes.
fn a_start(world: &World) -> Result<Duration> {
    let started = Instant::now();
    world.command(&["rules"]).output()?;
    Ok(started.elapsed())
}

/// How long a login lives after Ctrl-C, and whether its port is closed then.
fn given_up(world: &World) -> Result<(Duration, bool)> {
    let (mut child, page) = begin(world)?;
    let port = page.split("127.0.0.1%3A").nth(1).and_then(|rest| rest.split('%').next());
    let port: u16 = port.context("the page names no port")?.parse()?;
    ensure!(TcpStream::connect(("127.0.0.1", port)).is_ok(), "nobody listens for the answer");
    let started = Instant::now();
    let told = Command::new("kill").args(["-INT", &child.id().to_string()]).status()?;
    ensure!(told.success(), "the program cannot be interrupted");
    child.wait()?;
    let ended = started.elapsed();
    Ok((ended, TcpStream::connect(("127.0.0.1", port)).is_err()))
}
