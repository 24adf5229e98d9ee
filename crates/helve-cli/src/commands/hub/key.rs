//! The key that seals what the hub keeps for a while: made at the first start, in a file of its own beside the store's directory,
//! so that neither the store nor a backup of it holds what opens it.

use std::io::{self, Read as _, Write as _};
use std::path::Path;

use helve_store::SealKey;

use super::control_socket::Place;
use crate::failure::Failure;

/// The key of a hub.
pub(super) fn of(place: &Place) -> Result<SealKey, Failure> {
    let file = place.key_file();
    let broken = |error: io::Error| {
        Failure::other(format!("the hub's key {} cannot be used", file.display()))
            .cause(&error)
            .hint("it seals the arguments of calls that wait: without it they cannot be shown; delete it to begin with a new one")
    };
    let bytes = read(&file).and_then(|known| known.map_or_else(|| make(&file), Ok)).map_err(broken)?;
    SealKey::new(&bytes).ok_or_else(|| Failure::other("the hub's key is not a key"))
}

fn read(file: &Path) -> io::Result<Option<[u8; SealKey::BYTES]>> {
    let mut bytes = [0; SealKey::BYTES];
    let mut open = match fs_err::File::open(file) {
        Ok(open) => open,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    open.read_exact(&mut bytes)?;
    Ok(Some(bytes))
}

/// Written aside and named afterwards: there is never half a key.
fn make(file: &Path) -> io::Result<[u8; SealKey::BYTES]> {
    let mut bytes = [0; SealKey::BYTES];
    getrandom::fill(&mut bytes).map_err(|_| io::Error::other("the machine gives no random numbers"))?;
    let aside = file.with_extension("new");
    let mut options = fs_err::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    fs_err::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut open = options.open(&aside)?;
    open.write_all(&bytes)?;
    open.sync_all()?;
    fs_err::rename(&aside, file)?;
    Ok(bytes)
}
