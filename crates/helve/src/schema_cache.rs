//! What servers listed, kept on disk between runs, so that their tools can be shown without starting them.
//!
//! One file for each server and kind of asker, named by what would run and what the asker can do (`key`). It holds the definitions as the server sent them
//! and, in front of them, a compact index (`index`) that is read alone where names and one line each are enough.
//! One file rather than one for all servers: processes that write at once replace whole files, so that neither loses
//! what the other learned about another server, and an index never disagrees with its definitions.
//!
//! Nothing here is trusted: a file that is cut, damaged, foreign or of another version is as good as none.

mod format;
mod index;
mod key;
mod relative;

use std::fmt;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use helve_model::json::RawJson;
use helve_model::{Definition as _, ServerSpec, ToolDefinition};
use helve_wire::{CacheHint, ClientCapabilities, Greeting, NegotiatedVersion, OtherEra};

use crate::private_directory;
use format::{Header, Kind, Texts};
pub use index::{CachedIndex, IndexedTool};
pub use key::CacheKey;
pub(crate) use key::Salt;

/// Nothing older than this is used or kept, however long it would count as fresh.
const MAX_AGE: Duration = Duration::from_hours(30 * 24);
/// A larger file is neither written nor read.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// So many lists are remembered. A token that changes every hour makes a new server every hour.
const MAX_FILES: usize = 256;
/// So many of them may be one server's. Agents say what they can do in words of their own, and no agent's words shall cost
/// another server its list.
const MAX_ASKERS: usize = 16;
/// So many bytes are kept in all.
const MAX_TOTAL_BYTES: u64 = 256 << 20;
/// The part of a file that is read at first: header and index of most servers.
const FIRST_READ: u64 = 32 << 10;

/// How it is written that a server speaks the other era too, or does not.
const SPOKEN: &str = "spoken";
const NOT_SPOKEN: &str = "not spoken";

/// How the file of a server ends.
const FILE_SUFFIX: &str = ".list";
/// How a file begins that is still being written.
const UNFINISHED_PREFIX: &str = ".new-";

/// A directory in which the lists of servers are kept. Its functions block, shortly.
pub struct SchemaCache {
    directory: PathBuf,
    started_in: Option<PathBuf>,
    salt: Salt,
    /// Old files were looked for.
    pruned: AtomicBool,
}

/// What was kept about one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedServer {
    /// What it said about itself when it was last connected.
    pub greeting: Greeting,
    /// Its tools, in its order.
    pub tools: Vec<ToolDefinition>,
    /// How long it said that its list may be kept, and for whom.
    pub hint: Option<CacheHint>,
    /// When it was kept.
    pub stored_at: SystemTime,
    /// Neither the setting's nor the server's own time is over. A list that is not fresh may be shown while the
    /// server is asked again.
    pub is_fresh: bool,
}

impl SchemaCache {
    /// Opens the cache in a directory that belongs to it, and makes it if need be. Only its owner may look inside.
    /// Programs without a directory of their own are started in `started_in`.
    ///
    /// # Errors
    /// When the directory cannot be made, written to, or closed to others.
    pub fn open(directory: PathBuf, started_in: Option<PathBuf>) -> io::Result<Self> {
        private_directory::create(&directory)?;
        private_directory::close_to_others(&directory)?;
        let salt = Salt::open(&directory)?;
        Ok(Self { directory, started_in, salt, pruned: AtomicBool::new(false) })
    }

    /// What would run for a server, and for whom: two servers of one key list the same. See [`CacheKey`]. May look which
    /// files there are.
    #[must_use]
    pub fn key(&self, spec: &ServerSpec, asker: &ClientCapabilities) -> CacheKey {
        self.salt.list_key(spec, self.started_in.as_deref(), asker)
    }

    /// The names of a server's tools and a line about each, without the definitions.
    #[must_use]
    pub fn load_index(&self, key: &CacheKey, now: SystemTime, ttl: Duration) -> Option<CachedIndex> {
        let (file, _) = open_if_small(&self.path(key))?;
        let mut file = file.take(FIRST_READ);
        let mut start = Vec::with_capacity(FIRST_READ as usize);
        file.read_to_end(&mut start).ok()?;
        let header = Header::decode(&start)?;
        let place = header.find(Kind::ToolIndex)?;
        let missing = place.end.saturating_sub(start.len()) as u64;
        if missing > 0 {
            file.set_limit(missing);
            file.read_to_end(&mut start).ok()?;
        }
        let tools = Texts::decode(place.cut(&Bytes::from(start))?)?;
        let stored_at = header.stored_at(key, now)?;
        CachedIndex::new(tools, header.hint, stored_at, is_fresh(stored_at, header.hint, now, ttl))
    }

    /// All that was kept about a server.
    #[must_use]
    pub fn load(&self, key: &CacheKey, now: SystemTime, ttl: Duration) -> Option<CachedServer> {
        let (file, length) = open_if_small(&self.path(key))?;
        let mut whole = Vec::with_capacity(length);
        file.take(MAX_FILE_BYTES).read_to_end(&mut whole).ok()?;
        let whole = Bytes::from(whole);
        let header = Header::decode(&whole)?;
        if header.end() != whole.len() {
            return None;
        }
        let section = |kind| Texts::decode(header.find(kind)?.cut(&whole)?);
        let stored_at = header.stored_at(key, now)?;
        Some(CachedServer {
            greeting: read_greeting(&section(Kind::Greeting)?)?,
            tools: read_tools(&section(Kind::Tools)?)?,
            hint: header.hint,
            stored_at,
            is_fresh: is_fresh(stored_at, header.hint, now, ttl),
        })
    }

    /// Keeps what a server listed, in place of what was kept before. Lists that were cut short are not worth keeping.
    ///
    /// # Errors
    /// When it cannot be written, or is too large. What was kept before is still there then.
    pub fn store(
        &self,
        key: &CacheKey,
        greeting: &Greeting,
        tools: &[ToolDefinition],
        hint: Option<CacheHint>,
        now: SystemTime,
    ) -> io::Result<()> {
        let sections = [
            (Kind::ToolIndex, index::encode(tools)),
            (Kind::Greeting, greeting_texts(greeting)),
            (Kind::Tools, format::encode_texts(tools.iter().map(|tool| Some(tool.raw().as_str())))),
        ];
        let contents = format::encode(key, hint, now, &sections);
        if contents.len() as u64 > MAX_FILE_BYTES {
            let problem = format!("the server's list is {} bytes, more than the {MAX_FILE_BYTES} kept", contents.len());
            return Err(io::Error::new(ErrorKind::FileTooLarge, problem));
        }
        let path = self.path(key);
        if !path.exists() {
            self.make_room(key, now)?;
        }
        self.replace(&path, &contents, now)?;
        if !self.pruned.swap(true, Ordering::Relaxed) {
            self.prune(now)?;
        }
        Ok(())
    }

    /// Keeps nothing about a server any more.
    ///
    /// # Errors
    /// When its file cannot be removed.
    pub fn forget(&self, key: &CacheKey) -> io::Result<()> {
        remove(&self.path(key))
    }

    /// Removes what is too old or too much. The first [`SchemaCache::store`] does it too.
    ///
    /// # Errors
    /// When the directory cannot be read or a file not removed.
    pub fn prune(&self, now: SystemTime) -> io::Result<()> {
        let mut kept = Vec::new();
        for entry in fs_err::read_dir(&self.directory)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if !name.ends_with(FILE_SUFFIX) && !name.starts_with(UNFINISHED_PREFIX) {
                continue;
            }
            // Another process may prune at the same time.
            let Ok(about) = entry.metadata() else { continue };
            let age = now.duration_since(about.modified()?).unwrap_or_default();
            if age > MAX_AGE {
                remove(&entry.path())?;
            } else {
                kept.push((age, about.len(), entry.path()));
            }
        }
        kept.sort_unstable();
        let mut total = 0_u64;
        for (position, (_, length, path)) in kept.iter().enumerate() {
            total = total.saturating_add(*length);
            if position >= MAX_FILES || total > MAX_TOTAL_BYTES {
                remove(path)?;
            }
        }
        Ok(())
    }

    /// Makes room for a list of one more asker: of its server's lists the oldest go.
    fn make_room(&self, key: &CacheKey, now: SystemTime) -> io::Result<()> {
        let prefix = key.server_prefix();
        let mut theirs = Vec::new();
        for entry in fs_err::read_dir(&self.directory)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(&prefix)
                && let Ok(about) = entry.metadata()
            {
                theirs.push((now.duration_since(about.modified()?).unwrap_or_default(), entry.path()));
            }
        }
        theirs.sort_unstable();
        theirs.iter().skip(MAX_ASKERS - 1).try_for_each(|(_, path)| remove(path))
    }

    fn path(&self, key: &CacheKey) -> PathBuf {
        self.directory.join(format!("{}{key}{FILE_SUFFIX}", key.server_prefix()))
    }

    /// Whoever reads meanwhile gets the old file or the new one. Not synced: a file that a crash cuts is none.
    fn replace(&self, path: &Path, contents: &[u8], now: SystemTime) -> io::Result<()> {
        match self.try_replace(path, contents, now) {
            // Before it has its date, another process that prunes may take it for an old one.
            Err(error) if error.kind() == ErrorKind::NotFound => self.try_replace(path, contents, now),
            replaced => replaced,
        }
    }

    fn try_replace(&self, path: &Path, contents: &[u8], now: SystemTime) -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(UNFINISHED_PREFIX).tempfile_in(&self.directory)?;
        file.write_all(contents)?;
        // Pruning goes by this, and by the same clock.
        file.as_file().set_modified(now)?;
        file.persist(path)?;
        Ok(())
    }
}

impl fmt::Debug for SchemaCache {
    /// Without the salt.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SchemaCache").field("directory", &self.directory).finish_non_exhaustive()
    }
}

fn is_fresh(stored_at: SystemTime, hint: Option<CacheHint>, now: SystemTime, ttl: Duration) -> bool {
    let ttl = hint.map_or(ttl, |hint| ttl.min(Duration::from_millis(hint.ttl_ms)));
    // A list from the future is from a clock that was set back: nobody knows how old it is.
    now.duration_since(stored_at).is_ok_and(|age| age < ttl)
}

fn greeting_texts(greeting: &Greeting) -> Vec<u8> {
    format::encode_texts([
        Some(greeting.negotiated.version.as_str()),
        Some(greeting.capabilities.as_str()),
        greeting.server_info.as_ref().map(RawJson::as_str),
        greeting.instructions.as_deref(),
        match greeting.negotiated.other {
            OtherEra::Unknown => None,
            OtherEra::Spoken => Some(SPOKEN),
            OtherEra::NotSpoken => Some(NOT_SPOKEN),
        },
    ])
}

fn read_greeting(texts: &Texts) -> Option<Greeting> {
    let mut parts = texts.iter();
    let mut next = || parts.next();
    // A version that this helve does not speak any more makes the whole file useless.
    let negotiated = NegotiatedVersion::of_version(next()??)?;
    let greeting = Greeting {
        negotiated,
        capabilities: raw(texts, next()??)?,
        server_info: match next()? {
            Some(info) => Some(raw(texts, info)?),
            None => None,
        },
        instructions: next()?.map(ToOwned::to_owned),
    };
    let other = match next()? {
        None => OtherEra::Unknown,
        Some(SPOKEN) => OtherEra::Spoken,
        Some(NOT_SPOKEN) => OtherEra::NotSpoken,
        Some(_) => return None,
    };
    Some(Greeting { negotiated: NegotiatedVersion { other, ..greeting.negotiated }, ..greeting })
}

fn read_tools(texts: &Texts) -> Option<Vec<ToolDefinition>> {
    texts.iter().map(|text| ToolDefinition::from_raw(RawJson::part_of(texts.shared(), text?)).ok()).collect()
}

/// What the server sent as an object; checked, since it is small and read by many.
fn raw(texts: &Texts, part: &str) -> Option<RawJson> {
    let raw = RawJson::part_of(texts.shared(), part);
    raw.check().ok()?;
    Some(raw)
}

/// The file, and how long it is at the moment.
fn open_if_small(path: &Path) -> Option<(fs_err::File, usize)> {
    let file = fs_err::File::open(path).ok()?;
    let about = file.metadata().ok()?;
    (about.is_file() && about.len() <= MAX_FILE_BYTES).then_some((file, about.len() as usize))
}

fn remove(path: &Path) -> io::Result<()> {
    match fs_err::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "schema_cache_tests.rs"]
mod tests;
