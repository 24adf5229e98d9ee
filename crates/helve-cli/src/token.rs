//! The tokens that agents have to bring to `helve serve --http`: read from a file or a variable, and refused where they
//! would protect nothing. What was meant as a token and is none must never be taken for "no token".

use std::ffi::OsStr;
use std::fs::Metadata;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use fs_err::os::unix::fs::OpenOptionsExt as _;
use rustix::fs::OFlags;
use secrecy::{SecretString, zeroize::Zeroizing};

use crate::failure::Failure;
use crate::redact;

/// A file that is longer holds something else.
const MAX_BYTES: u64 = 4 * 1024;
/// What the group and others must not be able to do with the file: read it, write it.
const OTHERS: u32 = 0o066;
/// The user whom nothing on the machine keeps out.
const SUPERUSER: u32 = 0;

/// The token in a file that only its owner can read.
pub(crate) fn from_file(path: &Path) -> Result<SecretString, Failure> {
    let unread = |error: std::io::Error| Failure::file(&error);
    let refused = |why: &str| Failure::usage(format!("the token file {} {why}", path.display()));
    // A pipe without a writer must not be waited for.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = fs_err::OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(unread)?;
    let about = file.metadata().map_err(unread)?;
    if !about.is_file() {
        return Err(refused("is not a regular file").hint("write the token into a file of its own"));
    }
    if let Some(why) = open_to_others(&about, rustix::process::geteuid().as_raw()) {
        return Err(refused(&why).hint(format!("`chmod 600 {}` keeps it to its owner", path.display())));
    }
    let mut bytes = Zeroizing::new(Vec::new());
    let mut bounded = file.take(MAX_BYTES + 1);
    bounded.read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(refused(&format!("has more than {MAX_BYTES} bytes")).hint("it holds one token and nothing else"));
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| refused("is not text"))?;
    token(text.trim()).map_err(|why| refused(why).hint(HOW))
}

/// The token in a variable.
pub(crate) fn from_variable(name: &str, value: &OsStr) -> Result<SecretString, Failure> {
    let refused = |why: &str| Failure::usage(format!("the variable {name} {why}")).hint(HOW);
    let text = value.to_str().ok_or_else(|| refused("is not text"))?;
    token(text).map_err(|why| refused(why).hint(format!("without a token, unset {name}")))
}

const HOW: &str = "a token is one long random word, such as `openssl rand -hex 32` prints";

fn token(text: &str) -> Result<SecretString, &'static str> {
    if text.is_empty() {
        return Err("is empty");
    }
    // What stands in a header after `Bearer `, as it is.
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("holds a blank, or something else that no token has");
    }
    redact::remember(text);
    Ok(SecretString::from(text))
}

/// Whether anybody besides `user` and the superuser can read or change the file.
fn open_to_others(about: &Metadata, user: u32) -> Option<String> {
    if about.uid() != user && about.uid() != SUPERUSER {
        return Some(format!("belongs to another user ({})", about.uid()));
    }
    let mode = about.mode() & 0o7777;
    (mode & OTHERS != 0).then(|| format!("is open to other users (mode {mode:04o})"))
}

#[cfg(test)]
#[path = "token_tests.rs"]
mod tests;
