//! A connection to the session's bus: found by its address, greeted, asked one thing after the other until a given moment.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::KeyringProblem;
use super::message::{Call, Fields, Head, Reader, Writer};

/// Most messages that may come before the answer: a bus tells whoever joins a thing or two.
const MOST_STRANGERS: usize = 256;
/// Longest line of the greeting.
const LINE_BYTES: usize = 4_096;

/// A connection.
#[derive(Debug)]
pub(super) struct Bus {
    stream: UnixStream,
    serial: u32,
    end: Instant,
}

/// An answer: its signature and its body.
#[derive(Debug)]
pub(super) struct Answer {
    signature: String,
    body: Vec<u8>,
}

impl Answer {
    /// Reads the body if it has this form.
    pub(super) fn read<T>(
        &self,
        signature: &str,
        read: impl FnOnce(&mut Reader<'_>) -> Option<T>,
    ) -> Result<T, KeyringProblem> {
        let fits = self.signature == signature;
        let value = fits.then(|| read(&mut Reader::new(&self.body))).flatten();
        value.ok_or_else(|| KeyringProblem::Failed("answers in a form that nobody knows".to_owned()))
    }
}

impl Bus {
    /// Connects to the first of these addresses that takes connections.
    pub(super) fn connect(addresses: &str, end: Instant) -> Result<Self, KeyringProblem> {
        let sockets = addresses.split(';').filter_map(socket);
        let stream = sockets.into_iter().find_map(|socket| UnixStream::connect_addr(&socket).ok());
        let mut bus = Self { stream: stream.ok_or(KeyringProblem::NoBus)?, serial: 0, end };
        bus.greet()?;
        let hello = Call {
            destination: "org.freedesktop.DBus",
            path: "/org/freedesktop/DBus",
            interface: "org.freedesktop.DBus",
            member: "Hello",
            signature: "",
            body: Writer::default(),
        };
        bus.call(hello)?;
        Ok(bus)
    }

    /// Calls a method and waits for what it returns.
    pub(super) fn call(&mut self, call: Call<'_>) -> Result<Answer, KeyringProblem> {
        self.serial += 1;
        let serial = self.serial;
        self.send(&call.into_bytes(serial))?;
        for _ in 0..MOST_STRANGERS {
            let (kind, fields, body) = self.message()?;
            if fields.answers != Some(serial) {
                continue;
            }
            return match kind {
                2 => Ok(Answer { signature: fields.signature, body }),
                _ => Err(refusal(&fields, &body)),
            };
        }
        Err(KeyringProblem::Failed("cannot be heard: the bus is full of other messages".to_owned()))
    }

    /// The socket itself tells which user this is.
    fn greet(&mut self) -> Result<(), KeyringProblem> {
        let user: String =
            rustix::process::geteuid().as_raw().to_string().bytes().map(|digit| format!("{digit:02x}")).collect();
        self.send(format!("\0AUTH EXTERNAL {user}\r\n").as_bytes())?;
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            if line.len() > LINE_BYTES {
                return Err(KeyringProblem::NoBus);
            }
            let mut byte = [0];
            self.receive(&mut byte)?;
            line.extend(byte);
        }
        if !line.starts_with(b"OK ") {
            return Err(KeyringProblem::Failed("cannot be reached: the session's bus does not let us in".to_owned()));
        }
        self.send(b"BEGIN\r\n")
    }

    fn message(&mut self) -> Result<(u8, Fields, Vec<u8>), KeyringProblem> {
        let unreadable = || KeyringProblem::Failed("cannot be understood".to_owned());
        let mut head = [0; Head::BYTES];
        self.receive(&mut head)?;
        let head = Head::read(&head).ok_or_else(unreadable)?;
        let mut rest = vec![0; head.rest()];
        self.receive(&mut rest)?;
        let body = rest.split_off(rest.len() - head.body);
        let fields = Fields::read(&rest, head.fields).ok_or_else(unreadable)?;
        Ok((head.kind, fields, body))
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), KeyringProblem> {
        let left = self.left()?;
        let sent = self.stream.set_write_timeout(Some(left)).and_then(|()| self.stream.write_all(bytes));
        sent.map_err(|error| broken(&error))
    }

    /// A byte a second does not count as an answer either: the time is counted anew before each read.
    fn receive(&mut self, bytes: &mut [u8]) -> Result<(), KeyringProblem> {
        let mut done = 0;
        while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let left = self.left()?;
            let read = self.stream.set_read_timeout(Some(left)).and_then(|()| self.stream.read(rest));
            match read {
                Ok(0) => return Err(KeyringProblem::NoBus),
                Ok(read) => done += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(broken(&error)),
            }
        }
        Ok(())
    }

    fn left(&self) -> Result<Duration, KeyringProblem> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(KeyringProblem::Silent) } else { Ok(left) }
    }
}

fn broken(error: &std::io::Error) -> KeyringProblem {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => KeyringProblem::Silent,
        _ => KeyringProblem::NoBus,
    }
}

/// What an error means, by its name.
fn refusal(fields: &Fields, body: &[u8]) -> KeyringProblem {
    let name = fields.error.as_deref().unwrap_or_default();
    let is_absent = ["ServiceUnknown", "NameHasNoOwner", "UnknownMethod", "UnknownObject"]
        .iter()
        .any(|error| name.strip_prefix("org.freedesktop.DBus.Error.") == Some(error));
    if is_absent || name.starts_with("org.freedesktop.DBus.Error.Spawn.") {
        return KeyringProblem::NoService;
    }
    match name {
        "org.freedesktop.Secret.Error.IsLocked" => KeyringProblem::Locked,
        "org.freedesktop.DBus.Error.NoReply" | "org.freedesktop.DBus.Error.TimedOut" => KeyringProblem::Silent,
        _ => {
            let words = if fields.signature.starts_with('s') { Reader::new(body).string() } else { None };
            let words = helve_model::text::one_line(words.unwrap_or(name));
            KeyringProblem::Failed(format!("refuses: {words}"))
        }
    }
}

/// The socket of one address: `unix:path=…` or `unix:abstract=…`.
fn socket(address: &str) -> Option<SocketAddr> {
    let (transport, keys) = address.split_once(':')?;
    if transport != "unix" {
        return None;
    }
    let key = |name: &str| keys.split(',').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name);
    if let Some((_, path)) = key("path") {
        let path = PathBuf::from(std::ffi::OsString::from_vec(unescaped(path)?));
        return SocketAddr::from_pathname(path).ok();
    }
    #[cfg(target_os = "linux")]
    if let Some((_, name)) = key("abstract") {
        return <SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(unescaped(name)?).ok();
    }
    None
}

/// `%2F` and its like, undone.
fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    Some(bytes)
}
