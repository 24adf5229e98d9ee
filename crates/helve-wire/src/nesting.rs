//! How many hosts stand above this one, so that hosts that lead to each other come to an end.
//!
//! A host tells every program it starts how deep it runs and through which servers it was reached, in variables, and every
//! server it asks over HTTP how deep, in a header. A gateway that is asked itself hears the header, and counts on from there.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::HeaderValue;
use tokio::time::Instant;

use crate::sync::lock;

/// How long a count that was heard is counted on from. Hosts that stand in a circle speak to each other more often; when
/// the circle was opened, it is forgotten.
const REMEMBERED: Duration = Duration::from_secs(120);

/// Servers of a trail that are looked at and passed on, the newest.
const MAX_TRAIL: usize = 8;

/// How deep a host runs below others of its kind. Clones are the same count.
#[derive(Debug, Clone, Default)]
pub struct Nesting(Arc<Count>);

#[derive(Debug, Default)]
struct Count {
    /// By the way this process was started.
    depth: u32,
    /// The servers it was started through, the first one first.
    trail: Vec<u64>,
    /// By what was heard last, and when.
    heard: Mutex<Option<(u32, Instant)>>,
}

impl Nesting {
    /// The variable that tells a program how deep it runs.
    pub const VARIABLE: &str = "HELVE_DEPTH";
    /// The variable that tells a program through which servers it was started.
    pub const TRAIL: &str = "HELVE_TRAIL";
    /// The header that tells a server the same about a request.
    pub const HEADER: &str = "helve-hops";
    /// The deepest host that starts servers or is answered. Deeper ones stand in a circle, most likely.
    pub const DEEPEST: u32 = 3;

    /// A host that was started at this depth, 0 by nobody of its kind, through the servers of this trail.
    #[must_use]
    pub fn new(depth: u32, trail: &str) -> Self {
        let mut trail: Vec<u64> = trail.split(',').filter_map(|id| u64::from_str_radix(id, 16).ok()).collect();
        trail.drain(..trail.len().saturating_sub(MAX_TRAIL));
        Self(Arc::new(Count { depth, trail, heard: Mutex::default() }))
    }

    /// True when this host was started through a server with this command line: started again, it would lead here again.
    #[must_use]
    pub fn came_through<'a>(&self, command_line: impl IntoIterator<Item = &'a str>) -> bool {
        !self.0.trail.is_empty() && self.0.trail.contains(&id_of(command_line))
    }

    /// What a server with this command line is told, by variable.
    pub fn variables<'a>(&self, command_line: impl IntoIterator<Item = &'a str>) -> [(&'static str, String); 2] {
        let ids = self.0.trail.iter().copied().chain([id_of(command_line)]);
        let trail: Vec<String> = ids.map(|id| format!("{id:016x}")).collect();
        [(Self::VARIABLE, self.below().to_string()), (Self::TRAIL, trail.join(","))]
    }

    /// What the servers of this host are told.
    #[must_use]
    pub fn below(&self) -> u32 {
        let heard = lock(&self.0.heard).filter(|(_, when)| when.elapsed() < REMEMBERED);
        heard.map_or(self.0.depth, |(hops, _)| hops.max(self.0.depth)).saturating_add(1)
    }

    /// A request came with this count. False: it has come too far, and must not be answered.
    #[must_use]
    pub fn hears(&self, hops: u32) -> bool {
        let mut heard = lock(&self.0.heard);
        let now = Instant::now();
        let known = heard.filter(|(_, when)| now.duration_since(*when) < REMEMBERED).map(|(hops, _)| hops);
        if hops > Self::DEEPEST {
            // The circle is still there: without this, the count would begin anew, and the circle with it.
            *heard = known.map(|known| (known, now));
            return false;
        }
        if known.is_none_or(|known| hops >= known) {
            *heard = Some((hops, now));
        }
        true
    }

    /// The same as [`Self::below`], as a header has it.
    pub(crate) fn header(&self) -> HeaderValue {
        match self.below() {
            1 => HeaderValue::from_static("1"),
            2 => HeaderValue::from_static("2"),
            more => HeaderValue::from(more),
        }
    }
}

/// A number for a command line as it is written (FNV-1a): nothing depends on it being hard to guess, and a file may hold no
/// secret that it could betray.
fn id_of<'a>(command_line: impl IntoIterator<Item = &'a str>) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let bytes = command_line.into_iter().flat_map(|word| word.bytes().chain([0]));
    bytes.fold(BASIS, |id, byte| (id ^ u64::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
#[path = "nesting_tests.rs"]
mod tests;
