//! What is told of a server that the host has let go.

use helve_model::{ConfigText, Layer, Origin, StdioSpec};

use super::*;

fn handle() -> ServerHandle {
    let stdio = StdioSpec {
        command: ConfigText::literal("server"),
        arguments: Vec::new(),
        environment: [].into_iter().collect(),
        working_directory: None,
    };
    let name = ServerName::new("peer").unwrap();
    let spec = ServerSpec::new(name, TransportSpec::Stdio(stdio), Origin::Program, Layer::CommandLine);
    ServerHandle::new(Arc::new(spec), ServerStatus::Pending(PendingReason::Connecting), 1, Duration::from_secs(5)).0
}

/// Nobody switched it off in a configuration.
#[test]
fn a_server_that_is_gone_is_not_said_to_be_switched_off() {
    for (why, told) in [
        (Retired::Removed, "disabled (no longer configured)"),
        (Retired::Replaced, "disabled (no longer configured)"),
        (Retired::HostEnded, "disabled (MCP is off)"),
    ] {
        let handle = handle();
        let watched = handle.watch();
        handle.retire(why);
        assert_eq!(watched.borrow().to_string(), told);
        // The first reason stays.
        handle.let_go();
        assert_eq!(handle.status().to_string(), told);
    }
}
