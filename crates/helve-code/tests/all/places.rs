//! The servers of a hub in programs: `devices.hub`, and `device` for this machine alone.

use helve::{CallContext, Caller, FunctionTool, Host, ServerName, Toolbox};
use helve_code::{Limits, Runner};
use helve_model::name::PlaceName;
use serde_json::{Value, json};

use super::support::engine_with;

/// A server that says where it is.
fn shop(name: ServerName, says: &'static str) -> Toolbox {
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let tool = |name: &'static str| {
        FunctionTool::with_schema(
            name,
            "Where it is",
            schema.clone(),
            move |_: Value, _| async move { says.to_owned() },
        )
    };
    let common = Toolbox::new(name).with(tool("where").only_reads());
    if says == "here" { common } else { common.with(tool("only-there").only_reads()) }
}

async fn said(source: &str) -> Option<(String, Vec<String>)> {
    let limits = Limits::default();
    let engine = engine_with(None, &limits).await?;
    let hub = PlaceName::new("hub").unwrap();
    let placed = |name: &str| ServerName::placed(&hub, name).unwrap();
    let host = Host::builder()
        .toolbox(shop(ServerName::from("shop"), "here"))
        .toolbox(shop(placed("shop"), "there"))
        .toolbox(shop(placed("brave-search"), "searched"))
        .start()
        .await
        .expect("a host of native tools starts");
    let runner = Runner::new(&host, engine, limits);
    let report = runner.run(source, CallContext::new(Caller::Agent)).await.expect("the program is run");
    let calls = report.calls.iter().map(|call| call.tool.clone()).collect();
    Some((report.to_text(4_000), calls))
}

#[tokio::test]
async fn devices_names_the_place_and_device_is_this_machine() {
    let source = "gh = devices.hub.ShopMCP\n[device.ShopMCP.where(), devices.local.ShopMCP.where(), gh.where(), \
                  devices.hub.BraveSearchMCP.where(), devices.hub['brave-search'].where(), \
                  devices['hub']['shop'].only_u2d_there()]\n";
    let Some((told, calls)) = said(source).await else { return };
    assert!(told.contains(r#"["here","here","there","searched","searched","there"]"#), "{told}");
    assert_eq!(
        calls,
        [
            "shop/where",
            "shop/where",
            "hub/shop/where",
            "hub/brave-search/where",
            "hub/brave-search/where",
            "hub/shop/only-there",
        ]
    );
}

#[tokio::test]
async fn what_is_not_there_is_told_before_anything_runs() {
    let source = "device.ShopMCP.only_u2d_there()\ndevices.hub.ShopMCP.whre()\ndevices.hub.ShpMCP.where()\ndevices.elsewhere.ShopMCP.where()\n";
    let Some((told, calls)) = said(source).await else { return };
    assert!(calls.is_empty(), "{told}");
    for part in [
        "`device.ShopMCP` has no tool `only_u2d_there`",
        "`devices.hub.ShopMCP` has no tool `whre`: did you mean `where`?",
        "there is no server `devices.hub.ShpMCP`: did you mean `devices.hub.ShopMCP`?",
        "there is no server `devices.elsewhere.ShopMCP`",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[tokio::test]
async fn device_never_means_a_hubs_server() {
    for source in [
        "device['hub/shop'].where()\n",
        "device['devices.hub.ShopMCP'].where()\n",
        "device['brave-search'].where()\n",
        "getattr(device, 'hub.ShopMCP').where()\n",
    ] {
        let Some((told, calls)) = said(source).await else { return };
        assert!(!told.contains("there\"") && !told.contains("searched\""), "{source}: {told}");
        assert!(calls.iter().all(|call| !call.starts_with("hub/")), "{source}: {calls:?}");
    }
}

#[tokio::test]
async fn names_descriptions_and_search_know_places() {
    let source = "[dir(devices), dir(devices.hub), dir(devices.hub.ShopMCP), dir(device), \
                  'where' in device.describe('devices.hub.ShopMCP.where'), \
                  sorted(found['name'] for found in search_skills('where', 10))]\n";
    let Some((told, _)) = said(source).await else { return };
    for part in [
        r#"["hub","local"]"#,
        r#"["BraveSearchMCP","ShopMCP"]"#,
        r#"["only_u2d_there","where"]"#,
        "devices.hub.ShopMCP.where",
        "device.ShopMCP.where",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}
