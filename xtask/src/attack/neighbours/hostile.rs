//! Owns what the hostile one does: what it holds, and what it floods with.

use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::attack::client::Client;

use super::{HOSTILE, Target, modern};

/// Threads that flood.
pub(super) const THREADS: usize = 2;

/// Connections of each.
const CONNECTIONS: usize = 32;

/// What is held until this is dropped: connections, mostly.
pub(super) type Held = Vec<Client>;

/// Tells floods that it is enough.
#[derive(Debug, Default)]
pub(super) struct Stop(AtomicBool);

impl Stop {
    pub(super) fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Five sessions with twenty calls each that do not end.
pub(super) fn hanging(target: &Target) -> Result<Held> {
    let mut held = Vec::new();
    for _ in 0..5 {
        let mut session = target.come(HOSTILE)?;
        session.initialize()?;
        for id in 1..=20 {
            let mut connection = session.again()?;
            let params = json!({"name": "own__sleep", "arguments": {"ms": 600_000}});
            connection.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}), &[])?;
            held.push(connection);
        }
    }
    Ok(held)
}

/// Calls that wait for an answer which does not come.
pub(super) fn parked(target: &Target) -> Result<Held> {
    let mut agent = target.come(HOSTILE)?;
    let params =
        modern(&json!({"name": "own__fail", "arguments": {"message": "x"}}), &json!({"elicitation": {"form": {}}}));
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "own__fail")];
    let mut parked = 0;
    for id in 0..300 {
        agent.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}), &headers)?;
        // Beyond its limit each waits for a second, which is not worth waiting for.
        if parked >= 256 {
            break;
        }
        let reply = agent.reply()?;
        parked += usize::from(reply.body.contains("input_required"));
    }
    ensure!(parked > 100, "no calls were parked: {parked}");
    Ok(vec![agent])
}

/// Sessions that never do anything.
pub(super) fn sessions(target: &Target, count: usize) -> Result<Held> {
    let mut agent = target.come(HOSTILE)?;
    for _ in 0..count {
        agent.initialize()?;
    }
    Ok(vec![agent])
}

/// Large answers that are never read.
pub(super) fn unread(target: &Target) -> Result<Held> {
    let mut session = target.come(HOSTILE)?;
    session.initialize()?;
    let params = json!({"name": "own__echo", "arguments": {"x": "x".repeat(300_000)}});
    let mut held = Vec::new();
    for id in 1..=200 {
        let mut connection = session.again()?;
        connection.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}), &[])?;
        held.push(connection);
    }
    // All of them were asked for when this is answered.
    session.request("ping", &json!({}))?;
    held.push(session);
    Ok(held)
}

/// Calls and pings on many connections, each sent as soon as the last one is answered.
pub(super) fn messages(address: &str, stop: &Stop) -> u64 {
    let call = json!({"name": "own__echo", "arguments": {"x": 1}});
    repeated(address, stop, |number| {
        let (method, params) = if number % 2 == 0 { ("ping", json!({})) } else { ("tools/call", call.clone()) };
        json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    })
}

/// Notifications on many connections.
pub(super) fn notifications(address: &str, stop: &Stop) -> u64 {
    repeated(address, stop, |number| {
        let method = if number % 2 == 0 { "notifications/roots/list_changed" } else { "notifications/cancelled" };
        json!({"jsonrpc": "2.0", "method": method, "params": {"requestId": number}})
    })
}

/// Connections that come and go: with a request nobody reads the answer of, with a wrong token, and with nothing.
pub(super) fn connections(address: &str, stop: &Stop) -> u64 {
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let mut sent = 0;
    let mut silent = std::collections::VecDeque::new();
    while !stop.is_over() {
        let came = match sent % 3 {
            0 => Client::connect(address, HOSTILE).and_then(|mut client| client.send(&ping, &[])),
            1 => Client::connect(address, "wrong-token").and_then(|mut client| client.send(&ping, &[])),
            _ => TcpStream::connect(address).map(|stream| silent.push_back(stream)).map_err(Into::into),
        };
        if silent.len() > 300 {
            silent.pop_front();
        }
        sent += u64::from(came.is_ok());
    }
    sent
}

/// Sends one message after another on each of many connections, for as long as it may.
fn repeated(address: &str, stop: &Stop, message: impl Fn(u64) -> Value) -> u64 {
    let mut sent = 0;
    let mut flood = || -> Result<()> {
        let mut session = Client::connect(address, HOSTILE)?;
        session.initialize()?;
        let mut connections = Vec::new();
        for number in 0..CONNECTIONS {
            let connection = session.again()?;
            let text = connection.written(&message(number as u64), &[]);
            connections.push((connection, text));
        }
        while !stop.is_over() {
            for (connection, text) in &mut connections {
                connection.send_text(text)?;
            }
            for (connection, _) in &mut connections {
                connection.reply()?;
                sent += 1;
            }
        }
        Ok(())
    };
    // A flood that breaks off has sent what it has sent.
    drop(flood());
    sent
}
