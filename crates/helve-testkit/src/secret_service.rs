//! Owns a fake session bus with a keyring on it (the Secret Service), every fault on a switch. It knows nothing of helve's own
//! D-Bus: messages are written and read here once more.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What the keyring does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyringKind {
    /// It keeps what it is given.
    Working,
    /// Whoever connects hears nothing at all.
    SilentBus,
    /// The bus answers, the keyring does not.
    SilentKeyring,
    /// It sends its answers a byte at a time, each within any pause that somebody may allow.
    Trickling,
    /// There is a bus and no keyring.
    Absent,
    /// It wants to be unlocked first.
    Locked,
    /// New items are gone with the session.
    Volatile,
    /// It says that it kept an item, and has none.
    Forgetful,
    /// Its answers have another form than they should.
    Odd,
}

type Items = Arc<Mutex<Vec<(BTreeMap<String, String>, Vec<u8>)>>>;

/// A bus at a socket, until it is dropped.
#[derive(Debug)]
pub struct FakeKeyring {
    socket: PathBuf,
    items: Items,
    connections: Arc<AtomicUsize>,
}

impl FakeKeyring {
    /// Listens at a socket in this directory.
    pub fn start(directory: &Path, kind: KeyringKind) -> io::Result<Self> {
        let socket = directory.join("bus");
        let listener = UnixListener::bind(&socket)?;
        let (items, connections) = (Items::default(), Arc::new(AtomicUsize::new(0)));
        let (kept, counted) = (Arc::clone(&items), Arc::clone(&connections));
        // The thread ends with the process: a listener cannot be woken without more machinery than it is worth.
        drop(std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                counted.fetch_add(1, Ordering::SeqCst);
                let items = Arc::clone(&kept);
                drop(std::thread::spawn(move || Conversation { stream, kind, items }.run()));
            }
        }));
        Ok(Self { socket, items, connections })
    }

    /// As `DBUS_SESSION_BUS_ADDRESS` spells it.
    pub fn address(&self) -> String {
        format!("unix:path={},guid=0123456789abcdef0123456789abcdef", self.socket.display())
    }

    /// How many have connected.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Keeps an item, as another program would.
    pub fn keep(&self, attributes: &[(&str, &str)], value: &str) {
        let attributes = attributes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.items.lock().unwrap_or_else(PoisonError::into_inner).push((attributes, value.into()));
    }

    /// Forgets every item.
    pub fn clear(&self) {
        self.items.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// How many items there are.
    pub fn items(&self) -> usize {
        self.items.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

struct Conversation {
    stream: UnixStream,
    kind: KeyringKind,
    items: Items,
}

/// A call that came in.
struct Asked {
    serial: u32,
    path: String,
    member: String,
    body: Vec<u8>,
}

impl Conversation {
    /// Ends when the other side goes away: then nothing can be read any more.
    fn run(mut self) {
        drop(self.converse());
    }

    fn converse(&mut self) -> io::Result<()> {
        if self.kind == KeyringKind::SilentBus {
            return self.listen();
        }
        self.line()?;
        self.send(b"OK 0123456789abcdef0123456789abcdef\r\n")?;
        self.line()?;
        loop {
            let asked = self.message()?;
            self.answer(&asked)?;
        }
    }

    /// Hears whatever comes, and says nothing.
    fn listen(&mut self) -> io::Result<()> {
        loop {
            let mut heard = [0; 256];
            if self.stream.read(&mut heard)? == 0 {
                return Ok(());
            }
        }
    }

    fn answer(&mut self, asked: &Asked) -> io::Result<()> {
        if asked.member == "Hello" {
            // A bus tells whoever joins their name, by an answer and by a signal that nobody asked for.
            self.reply(asked, "s", Out::default().text(":1.1"))?;
            return self.write(4, 0, None, "s", Out::default().text(":1.1"));
        }
        match self.kind {
            KeyringKind::SilentKeyring => return self.listen(),
            KeyringKind::Absent => return self.refuse(asked, "org.freedesktop.DBus.Error.ServiceUnknown"),
            KeyringKind::Odd => return self.reply(asked, "i", Out::default().number(7)),
            _ => {}
        }
        let is_locked = self.kind == KeyringKind::Locked;
        let mut body = In { bytes: &asked.body, at: 0 };
        match asked.member.as_str() {
            "OpenSession" => self.reply(asked, "vo", Out::default().kind("s").text("").text("/session/1")),
            "ReadAlias" => {
                let name = if self.kind == KeyringKind::Volatile { "session" } else { "login" };
                self.reply(asked, "o", Out::default().text(&format!("/org/freedesktop/secrets/collection/{name}")))
            }
            "Unlock" if is_locked => self.reply(asked, "aoo", Out::default().texts(&[]).text("/prompt/1")),
            "Unlock" => {
                let open = body.texts()?;
                self.reply(asked, "aoo", Out::default().texts(&open).text("/"))
            }
            "SearchItems" => {
                let wanted = body.pairs()?;
                let items = self.items.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let fits =
                    |kept: &BTreeMap<String, String>| wanted.iter().all(|(name, value)| kept.get(name) == Some(value));
                let found: Vec<String> = items
                    .iter()
                    .enumerate()
                    .filter(|(_, item)| fits(&item.0))
                    .map(|(at, _)| format!("/item/{at}"))
                    .collect();
                let (open, locked) = if is_locked { (Vec::new(), found) } else { (found, Vec::new()) };
                self.reply(asked, "aoao", Out::default().texts(&open).texts(&locked))
            }
            "GetSecret" => {
                let at: usize = asked.path.strip_prefix("/item/").and_then(|at| at.parse().ok()).unwrap_or(usize::MAX);
                let item = self.items.lock().unwrap_or_else(PoisonError::into_inner).get(at).cloned();
                match item {
                    Some((_, value)) => {
                        let secret = Out::default().text("/session/1").bytes(&[]).bytes(&value).text("text/plain");
                        self.reply(asked, "(oayays)", secret)
                    }
                    None => self.refuse(asked, "org.freedesktop.Secret.Error.NoSuchObject"),
                }
            }
            "CreateItem" => {
                let (attributes, value) = body.item()?;
                if self.kind != KeyringKind::Forgetful {
                    let mut items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
                    items.retain(|(kept, _)| *kept != attributes);
                    items.push((attributes, value));
                }
                self.reply(asked, "oo", Out::default().text("/item/0").text("/"))
            }
            _ => self.refuse(asked, "org.freedesktop.DBus.Error.UnknownMethod"),
        }
    }

    fn reply(&mut self, asked: &Asked, signature: &str, body: Out) -> io::Result<()> {
        self.write(2, asked.serial, None, signature, body)
    }

    fn refuse(&mut self, asked: &Asked, error: &str) -> io::Result<()> {
        self.write(3, asked.serial, Some(error), "s", Out::default().text("no"))
    }

    fn write(&mut self, kind: u8, answers: u32, error: Option<&str>, signature: &str, body: Out) -> io::Result<()> {
        let mut fields = Out::default();
        if answers != 0 {
            fields = fields.padded(8).byte(5).kind("u").number(answers);
        } else {
            // What a signal is about.
            fields = fields.padded(8).byte(1).kind("o").text("/org/freedesktop/DBus");
            fields = fields.padded(8).byte(2).kind("s").text("org.freedesktop.DBus");
            fields = fields.padded(8).byte(3).kind("s").text("NameAcquired");
        }
        if let Some(error) = error {
            fields = fields.padded(8).byte(4).kind("s").text(error);
        }
        fields = fields.padded(8).byte(8).kind("g").kind(signature);
        let head = Out::default().byte(b'l').byte(kind).byte(1).byte(1).number(length(&body.0)).number(1);
        let mut message = head.number(length(&fields.0)).0;
        message.extend(fields.padded(8).0);
        message.extend(body.0);
        self.send(&message)
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.kind == KeyringKind::Trickling {
            for byte in bytes {
                std::thread::sleep(std::time::Duration::from_millis(100));
                self.stream.write_all(&[*byte])?;
            }
            return Ok(());
        }
        self.stream.write_all(bytes)
    }

    /// A line of the greeting.
    fn line(&mut self) -> io::Result<()> {
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            let mut byte = [0];
            self.stream.read_exact(&mut byte)?;
            line.extend(byte);
        }
        Ok(())
    }

    fn message(&mut self) -> io::Result<Asked> {
        let mut head = [0; 16];
        self.stream.read_exact(&mut head)?;
        let mut read = In { bytes: &head, at: 4 };
        let (body, serial, fields) = (read.number()? as usize, read.number()?, read.number()? as usize);
        let mut rest = vec![0; fields.next_multiple_of(8) + body];
        self.stream.read_exact(&mut rest)?;
        let body = rest.split_off(fields.next_multiple_of(8));
        let mut asked = Asked { serial, path: String::new(), member: String::new(), body };
        let mut read = In { bytes: &rest, at: 0 };
        while read.at < fields {
            read.pad(8);
            let code = read.byte()?;
            let kind = read.kind()?;
            match (code, kind.as_str()) {
                (1, _) => asked.path = read.text()?,
                (3, _) => asked.member = read.text()?,
                (_, "g") => drop(read.kind()?),
                (_, "u") => drop(read.number()?),
                _ => drop(read.text()?),
            }
        }
        Ok(asked)
    }
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

/// What goes out, value by value.
#[derive(Default)]
struct Out(Vec<u8>);

impl Out {
    fn padded(mut self, to: usize) -> Self {
        self.0.resize(self.0.len().next_multiple_of(to), 0);
        self
    }

    fn byte(mut self, byte: u8) -> Self {
        self.0.push(byte);
        self
    }

    fn number(self, number: u32) -> Self {
        let mut out = self.padded(4);
        out.0.extend(number.to_le_bytes());
        out
    }

    fn bytes(self, bytes: &[u8]) -> Self {
        let mut out = self.number(length(bytes));
        out.0.extend(bytes);
        out
    }

    fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes()).byte(0)
    }

    fn kind(mut self, kind: &str) -> Self {
        self.0.push(u8::try_from(kind.len()).unwrap_or(u8::MAX));
        self.0.extend(kind.as_bytes());
        self.byte(0)
    }

    fn texts(self, texts: &[String]) -> Self {
        // Each ends where the next may begin, but for the last.
        let inner = texts.iter().fold(Self::default(), |out, text| out.text(text));
        self.bytes(&inner.0)
    }
}

/// What came in, value by value.
struct In<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl In<'_> {
    fn pad(&mut self, to: usize) {
        self.at = self.at.next_multiple_of(to);
    }

    fn take(&mut self, length: usize) -> io::Result<&[u8]> {
        let taken = self.bytes.get(self.at..self.at.saturating_add(length));
        self.at += length;
        taken.ok_or_else(|| io::Error::other("a message is shorter than it says"))
    }

    fn byte(&mut self) -> io::Result<u8> {
        Ok(self.take(1)?.first().copied().unwrap_or_default())
    }

    fn number(&mut self) -> io::Result<u32> {
        self.pad(4);
        Ok(self.take(4)?.try_into().map_or(0, u32::from_le_bytes))
    }

    fn blob(&mut self) -> io::Result<Vec<u8>> {
        let length = self.number()? as usize;
        Ok(self.take(length)?.to_vec())
    }

    fn text(&mut self) -> io::Result<String> {
        let text = String::from_utf8(self.blob()?).map_err(io::Error::other)?;
        self.byte()?;
        Ok(text)
    }

    fn kind(&mut self) -> io::Result<String> {
        let length = usize::from(self.byte()?);
        let kind = String::from_utf8(self.take(length)?.to_vec()).map_err(io::Error::other)?;
        self.byte()?;
        Ok(kind)
    }

    fn texts(&mut self) -> io::Result<Vec<String>> {
        let end = self.number()? as usize + self.at;
        let mut texts = Vec::new();
        while self.at < end {
            texts.push(self.text()?);
        }
        Ok(texts)
    }

    fn pairs(&mut self) -> io::Result<BTreeMap<String, String>> {
        let length = self.number()? as usize;
        self.pad(8);
        let end = self.at + length;
        let mut pairs = BTreeMap::new();
        while self.at < end {
            self.pad(8);
            let name = self.text()?;
            pairs.insert(name, self.text()?);
        }
        Ok(pairs)
    }

    /// The attributes and the value of an item that is to be kept.
    fn item(&mut self) -> io::Result<(BTreeMap<String, String>, Vec<u8>)> {
        let length = self.number()? as usize;
        self.pad(8);
        let end = self.at + length;
        let mut attributes = BTreeMap::new();
        while self.at < end {
            self.pad(8);
            self.text()?;
            match self.kind()?.as_str() {
                "a{ss}" => attributes = self.pairs()?,
                _ => drop(self.text()?),
            }
        }
        self.pad(8);
        self.text()?;
        self.blob()?;
        Ok((attributes, self.blob()?))
    }
}
