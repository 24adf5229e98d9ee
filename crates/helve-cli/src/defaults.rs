//! The servers helve has when nobody configured any: the files around the person, to read, and the time.

use std::path::Path;

use helve_model::{BuiltinSpec, ConfigText, Layer, Origin, ServerName, ServerSpec, TransportSpec};
use indexmap::IndexMap;

/// The built-in servers for somebody who stands in `working_directory`.
pub(crate) fn default_servers(working_directory: &Path) -> Vec<ServerSpec> {
    let root = ConfigText::literal(working_directory.to_string_lossy());
    let roots = IndexMap::from([("roots".to_owned(), vec![root])]);
    [("filesystem", roots), ("time", IndexMap::new())]
        .into_iter()
        .filter_map(|(kind, options)| {
            let transport = TransportSpec::Builtin(BuiltinSpec { kind: kind.to_owned(), options });
            let mut spec = ServerSpec::new(ServerName::new(kind).ok()?, transport, Origin::BuiltIn, Layer::Defaults);
            spec.access.trust_annotations = true;
            Some(spec)
        })
        .collect()
}
