//! Owns what is known about the person's Python: found out once for each interpreter, and kept until its file is another.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use helve_model::json::{ObjectWriter, quoted};
use helve_wire::launch::{ChildEnvironment, Launched, Launcher, ServerCommand};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::modules;

/// The worker: what runs programs inside of the sandbox.
pub(crate) const WORKER: &str = concat!(
    include_str!("worker/frames.py"),
    include_str!("worker/proxies.py"),
    include_str!("worker/tree.py"),
    include_str!("worker/main.py"),
);
const PROBE: &str = include_str!("probe.py");

/// Names that are looked for.
const NAMES: [&str; 2] = ["python3", "python"];
/// The oldest Python that programs run in.
const OLDEST: (u32, u32) = (3, 10);
/// How long an interpreter may take to tell about itself.
const PROBE_TIME: Duration = Duration::from_secs(20);
/// How much it may tell.
const PROBE_BYTES: u64 = 4 << 20;

/// What an interpreter told about itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Python {
    pub(crate) executable: PathBuf,
    pub(crate) version: (u32, u32, u32),
    pub(crate) stdlib: PathBuf,
    pub(crate) entries: Vec<PathBuf>,
    pub(crate) libraries: Vec<PathBuf>,
    pub(crate) extensions: Vec<PathBuf>,
    pub(crate) modules: Vec<String>,
    /// The worker, compiled by this interpreter, in base 64.
    pub(crate) worker: String,
}

/// What was found out, and about which file.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    path: PathBuf,
    modified: u64,
    size: u64,
    worker: String,
    python: Python,
}

/// Where Python is looked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Search {
    pub(crate) python: Option<PathBuf>,
    pub(crate) search_path: Option<OsString>,
    pub(crate) home: Option<PathBuf>,
    pub(crate) cache: Option<PathBuf>,
}

/// The first interpreter that will do; else a sentence that says what was found.
pub(crate) async fn find(search: &Search, launcher: &dyn Launcher) -> Result<Python, String> {
    let candidates = candidates(search);
    let mut last = None;
    for candidate in &candidates {
        match probe(candidate, search, launcher).await {
            Ok(python) if (python.version.0, python.version.1) >= OLDEST => return Ok(python),
            Ok(python) => {
                let (major, minor, patch) = python.version;
                last = Some(format!("`{}` is Python {major}.{minor}.{patch}", candidate.display()));
            }
            Err(why) => last = Some(format!("`{}` {why}", candidate.display())),
        }
    }
    let needs = "code mode needs Python 3.10 or newer";
    Err(match (last, &search.search_path) {
        (Some(last), _) => format!("{needs}: {last}"),
        (None, Some(path)) => format!("{needs}: there is no python3 on PATH (looked in {})", path.display()),
        (None, None) => format!("{needs}, and there is no PATH to look for it"),
    })
}

fn candidates(search: &Search) -> Vec<PathBuf> {
    if let Some(python) = &search.python {
        return vec![python.clone()];
    }
    let directories: Vec<PathBuf> =
        search.search_path.as_ref().map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
    let absolute = directories.iter().filter(|directory| directory.is_absolute());
    let named = |name: &'static str| absolute.clone().map(move |directory| directory.join(name));
    let mut found: Vec<PathBuf> = NAMES.into_iter().flat_map(named).filter(|path| path.is_file()).collect();
    found.truncate(4);
    found
}

async fn probe(path: &Path, search: &Search, launcher: &dyn Launcher) -> Result<Python, String> {
    let unreadable = |error: std::io::Error| format!("cannot be looked at: {error}");
    let real = fs_err::canonicalize(path).map_err(unreadable)?;
    let metadata = fs_err::metadata(&real).map_err(unreadable)?;
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = modified.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    let worker = hex(&Sha256::digest([WORKER, PROBE].concat()));
    let name =
        format!("python-{}.json", hex(&Sha256::digest(path.as_os_str().as_encoded_bytes())).get(..16).unwrap_or(""));
    let file = search.cache.as_ref().map(|cache| cache.join(name));
    let kept = file.as_ref().and_then(|file| serde_json::from_slice::<Kept>(&fs_err::read(file).ok()?).ok());
    let is_same = |kept: &Kept| {
        (&kept.path, kept.modified, kept.size, &kept.worker) == (&real, modified, metadata.len(), &worker)
            && kept.python.executable.is_file()
    };
    if let Some(kept) = kept.filter(is_same) {
        return Ok(kept.python);
    }
    let python = match tokio::time::timeout(PROBE_TIME, ask(path, search, launcher)).await {
        Ok(python) => python?,
        Err(_) => return Err(format!("did not tell about itself within {} s", PROBE_TIME.as_secs())),
    };
    let kept = Kept { path: real, modified, size: metadata.len(), worker, python };
    if let (Some(file), Ok(text)) = (file, serde_json::to_vec(&kept)) {
        keep(&file, &text);
    }
    Ok(kept.python)
}

/// Kept for the next run; where that cannot be, it is found out anew.
fn keep(file: &Path, text: &[u8]) {
    let written = file.parent().map_or(Ok(()), fs_err::create_dir_all).and_then(|()| {
        let fresh = file.with_extension(format!("{}.new", hex(&Sha256::digest(text)).get(..16).unwrap_or_default()));
        fs_err::write(&fresh, text)?;
        fs_err::rename(fresh, file)
    });
    if let Err(error) = written {
        tracing::debug!(%error, "what is known about Python could not be kept");
    }
}

/// Runs the probe. It is ours, and reads no program of anybody's: the interpreter is the person's own.
async fn ask(path: &Path, search: &Search, launcher: &dyn Launcher) -> Result<Python, String> {
    let mut environment = ChildEnvironment::default();
    // An interpreter may be a script that looks for the real one.
    if let Some(path) = &search.search_path {
        environment.set("PATH", path);
    }
    if let Some(home) = &search.home {
        environment.set("HOME", home);
    }
    let command = ServerCommand {
        program: path.into(),
        args: ["-I", "-S", "-E", "-B", "-W", "ignore", "-c", PROBE].into_iter().map(Into::into).collect(),
        environment,
        working_directory: Some("/".into()),
        ..ServerCommand::default()
    };
    let broken = |error: &dyn std::fmt::Display| format!("cannot be started: {error}");
    let Launched { mut stdin, stdout, mut stderr, process } =
        launcher.launch(&command).map_err(|error| broken(&error))?;
    let request = ObjectWriter::new()
        .array("modules", modules::ALLOWED.iter().map(|name| quoted(name)))
        .array("besides", modules::BESIDES.iter().map(|name| quoted(name)))
        .text("worker", WORKER)
        .finish();
    let (mut told, mut complained) = (Vec::new(), Vec::new());
    let mut stdout = stdout.take(PROBE_BYTES);
    let write = async {
        stdin.write_all(request.as_str().as_bytes()).await.ok();
        drop(stdin);
    };
    let complain = async { (&mut stderr).take(4096).read_to_end(&mut complained).await };
    let (_, read, _) = tokio::join!(write, stdout.read_to_end(&mut told), complain);
    read.map_err(|error| broken(&error))?;
    let exit = process.wait().await;
    serde_json::from_slice(&told).map_err(|_| {
        let complaint = String::from_utf8_lossy(&complained);
        let last = complaint.lines().last().unwrap_or_default();
        format!("did not tell about itself: {exit}: {}", helve_model::text::one_line(last))
    })
}

impl Python {
    /// The compiled worker, with its length in front.
    pub(crate) fn worker(&self) -> Result<Vec<u8>, String> {
        let code = STANDARD.decode(&self.worker).map_err(|error| error.to_string())?;
        let mut whole = format!("{:010}", code.len()).into_bytes();
        whole.extend(code);
        Ok(whole)
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
