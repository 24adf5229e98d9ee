//! What is told of a server that the host has let go, and of one that does not come in time.

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

/// Whoever waited in vain for a slow start is told what would give it more time.
#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_come_in_time_leads_to_more_time() {
    let handle = handle();
    let error = handle.session(Instant::now() + Duration::from_millis(4_990)).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Timeout);
    let had = error.hints().iter().find_map(|hint| match hint {
        Hint::RaiseTimeout { key: ServerKey::CallTimeout, had, .. } => Some(*had),
        _ => None,
    });
    assert_eq!(had, Some(Duration::from_secs(5)), "{error:?}");
}
