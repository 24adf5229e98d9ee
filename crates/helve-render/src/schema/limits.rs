//! Owns how much of a schema and of a call's arguments is looked at.

use super::json::{Caps, RepeatedKeys};

/// Bytes of one schema. The largest of the tools in common use has about 50 KB.
pub const MAX_SCHEMA_BYTES: usize = 256 * 1024;
/// Levels of arrays and objects in one schema.
pub const MAX_SCHEMA_DEPTH: usize = 64;

/// Bytes of the arguments of one call, unless said otherwise.
pub const MAX_ARGUMENT_BYTES: usize = 4 * 1024 * 1024;
/// Values in the arguments of one call, unless said otherwise: a long text is one value, a long list is many.
pub const MAX_ARGUMENT_VALUES: usize = 200_000;
/// Levels of arrays and objects in the arguments of one call, unless said otherwise.
pub const MAX_ARGUMENT_DEPTH: usize = 64;

/// The caps under which schemas are read.
pub const SCHEMA_CAPS: Caps = Caps {
    bytes: MAX_SCHEMA_BYTES,
    depth: MAX_SCHEMA_DEPTH,
    values: MAX_SCHEMA_BYTES,
    repeated_keys: RepeatedKeys::LastWins,
};

/// How much JSON of one call is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArgumentLimits {
    /// Bytes of text.
    pub bytes: usize,
    /// Values, whatever their size.
    pub values: usize,
    /// Levels of arrays and objects, 127 at most.
    pub depth: usize,
}

impl Default for ArgumentLimits {
    fn default() -> Self {
        Self { bytes: MAX_ARGUMENT_BYTES, values: MAX_ARGUMENT_VALUES, depth: MAX_ARGUMENT_DEPTH }
    }
}

impl ArgumentLimits {
    /// The same as caps: what is checked must be what the server reads, so no key may come twice.
    #[must_use]
    pub fn caps(self) -> Caps {
        Caps { bytes: self.bytes, depth: self.depth, values: self.values, repeated_keys: RepeatedKeys::Refused }
    }
}
