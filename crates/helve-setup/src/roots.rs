//! The directories that servers are told to work in: those of the settings, and none without them.

use std::path::{Path, PathBuf};

use helve::{Root, RootsProvider};
use helve_model::ServerName;

/// The same directories for every server.
#[derive(Debug)]
pub struct ConfiguredRoots(pub Vec<PathBuf>);

impl RootsProvider for ConfiguredRoots {
    fn roots(&self, _: &ServerName) -> Vec<Root> {
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        self.0.iter().map(|path| Root { uri: file_uri(path), name: name(path) }).collect()
    }
}

/// The URI of an absolute path.
fn file_uri(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let mut uri = "file://".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(*byte)),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(file_uri(Path::new("/home/ada/a b#ü")), "file:///home/ada/a%20b%23%C3%BC");
    }
}
