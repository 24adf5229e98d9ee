//! Which server a kept list belongs to, and for whom it was listed: a hash over what would run and what the asker can do,
//! with a salt of this cache's own.
//!
//! The hash covers resolved values, since another token may see other tools. A hash alone would let whoever reads
//! the names of the files try out short tokens, or recognise one token on two machines; the salt, which only the
//! owner can read, prevents that. The values themselves are never written.

use std::fmt;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use helve_model::{ConfigText, HttpFlavour, ServerSpec, TransportSpec};
use helve_wire::ClientCapabilities;
use sha2::{Digest as _, Sha256};

use super::{UNFINISHED_PREFIX, relative};

const SALT_FILE: &str = "salt";
const SALT_BYTES: usize = 32;
/// So much of a server's own hash is in the keys of all its lists.
const SERVER_BYTES: usize = 8;

/// What would run for a server, and what whoever lists its tools can do, as a hash.
///
/// It covers the transport: program, arguments, variables, working directory; address, headers; the set of built-in
/// tools and its options; what is known about signing in; and the protocol version. It does not cover the server's
/// name, nor lists, rules and times, which change nothing about what the server offers. A server without a working
/// directory of its own is the same wherever helve runs, unless its program or an argument is a relative path: then
/// another directory is another server. A server may list other tools for those whom it can ask something: a list that
/// was made for somebody else is not theirs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CacheKey {
    /// What keys of one server have in common, whoever asks.
    server: [u8; SERVER_BYTES],
    hash: [u8; 32],
}

/// Random bytes, made once for each cache.
pub(crate) struct Salt([u8; SALT_BYTES]);

impl CacheKey {
    pub(crate) const fn as_bytes(&self) -> &[u8; 32] {
        &self.hash
    }

    /// How the files of one server begin, whoever asked for the list.
    pub(super) fn server_prefix(&self) -> String {
        let server: String = self.server.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{server}-")
    }

    fn of(hash: [u8; 32]) -> Self {
        let mut server = [0; SERVER_BYTES];
        server.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
        Self { server, hash }
    }
}

impl Salt {
    /// A new one.
    pub(crate) fn new() -> io::Result<Self> {
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt)?;
        Ok(Self(salt))
    }

    pub(crate) const fn from_bytes(bytes: [u8; SALT_BYTES]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn as_bytes(&self) -> &[u8; SALT_BYTES] {
        &self.0
    }

    /// The salt of the cache in this directory; a new one where there is none that can be used.
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        let path = directory.join(SALT_FILE);
        if let Some(salt) = Self::read(&path) {
            return Ok(salt);
        }
        let salt = Self::new()?;
        let mut file = tempfile::Builder::new().prefix(UNFINISHED_PREFIX).tempfile_in(directory)?;
        file.write_all(salt.as_bytes())?;
        match file.persist_noclobber(&path) {
            Ok(_) => {}
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => {
                // Another process was faster, or the one that is there cannot be used.
                if let Some(salt) = Self::read(&path) {
                    return Ok(salt);
                }
                error.file.persist(&path)?;
            }
            Err(error) => return Err(error.error),
        }
        Ok(salt)
    }

    fn read(path: &Path) -> Option<Self> {
        fs_err::read(path).ok()?.try_into().ok().map(Self)
    }

    /// The key of what a server lists for one who can do so much.
    pub(super) fn list_key(
        &self,
        spec: &ServerSpec,
        started_in: Option<&Path>,
        asker: &ClientCapabilities,
    ) -> CacheKey {
        let server = self.key(spec, started_in);
        let mut hash = Fed(Sha256::new());
        hash.bytes(&self.0);
        hash.text("helve list 1");
        hash.bytes(server.as_bytes());
        hash.text(&asker.to_json());
        CacheKey { hash: hash.0.finalize().into(), ..server }
    }

    /// The key of what would run. `started_in` is where programs run that have no directory of their own.
    pub(crate) fn key(&self, spec: &ServerSpec, started_in: Option<&Path>) -> CacheKey {
        let mut hash = Fed(Sha256::new());
        hash.bytes(&self.0);
        hash.text("helve server 1");
        hash.optional(spec.protocol_version.as_deref());
        match &spec.transport {
            TransportSpec::Stdio(stdio) => {
                hash.text("stdio");
                hash.config(&stdio.command);
                hash.list(&stdio.arguments);
                hash.named(stdio.environment.iter().map(|(name, value)| (name.clone(), value)).collect());
                hash.optional_bytes(stdio.working_directory.as_deref().map(|path| path.as_os_str().as_encoded_bytes()));
                hash.number(usize::from(spec.inherit_environment));
                if let Some(directory) = started_in.filter(|directory| relative::depends_on(stdio, directory)) {
                    hash.text("started in");
                    hash.bytes(directory.as_os_str().as_encoded_bytes());
                }
            }
            TransportSpec::Http(http) => {
                hash.text("http");
                hash.config(&http.url);
                hash.named(http.headers.iter().map(|(name, value)| (name.to_lowercase(), value)).collect());
                hash.text(match http.flavour {
                    HttpFlavour::Auto => "auto",
                    HttpFlavour::Streamable => "streamable",
                    HttpFlavour::Sse => "sse",
                });
            }
            TransportSpec::Builtin(builtin) => {
                hash.text("builtin");
                hash.text(&builtin.kind);
                hash.number(builtin.options.len());
                for (name, values) in &builtin.options {
                    hash.text(name);
                    hash.list(values);
                }
            }
        }
        // A server may offer other tools where it can reach less.
        if let Some(sandbox) = spec.sandbox.as_ref().filter(|sandbox| sandbox.is_on()) {
            hash.text("sandbox");
            hash.text(&format!("{sandbox:?}"));
        }
        if let Some(oauth) = &spec.oauth {
            hash.number(usize::from(oauth.enabled));
            let texts = [
                &oauth.client_id,
                &oauth.client_secret,
                &oauth.metadata_url,
                &oauth.resource,
                &oauth.issuer,
                &oauth.client_key,
                &oauth.assertion,
            ];
            for text in texts {
                hash.optional(text.as_ref().map(ConfigText::expose));
            }
            // Another login may see other tools.
            hash.optional(oauth.account.as_deref());
            hash.number(usize::from(oauth.client_credentials));
            hash.optional(oauth.identity.as_ref().map(|identity| identity.id_token.expose()));
            hash.number(oauth.scopes.len());
            oauth.scopes.iter().for_each(|scope| hash.text(scope));
        }
        CacheKey::of(hash.0.finalize().into())
    }
}

/// A hash that is fed parts, each after its length, so that no two sequences feed alike.
struct Fed(Sha256);

impl Fed {
    fn number(&mut self, number: usize) {
        self.0.update((number as u64).to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len());
        self.0.update(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn config(&mut self, text: &ConfigText) {
        self.text(text.expose());
    }

    fn optional(&mut self, text: Option<&str>) {
        self.optional_bytes(text.map(str::as_bytes));
    }

    fn optional_bytes(&mut self, bytes: Option<&[u8]>) {
        self.number(usize::from(bytes.is_some()));
        self.bytes(bytes.unwrap_or_default());
    }

    fn list(&mut self, texts: &[ConfigText]) {
        self.number(texts.len());
        texts.iter().for_each(|text| self.config(text));
    }

    /// The order in which variables or headers are written changes nothing.
    fn named(&mut self, mut texts: Vec<(String, &ConfigText)>) {
        texts.sort_by(|(left, _), (right, _)| left.cmp(right));
        self.number(texts.len());
        for (name, value) in texts {
            self.text(&name);
            self.config(value);
        }
    }
}

impl fmt::Display for CacheKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hash.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}
