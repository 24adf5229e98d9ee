//! Tools whose names Python cannot write: by the spelling of signatures, by their own name, by what reads like it.

use helve::{ApprovalAnswer, FunctionTool, Toolbox};
use helve_code::Limits;
use serde_json::{Value, json};
use std::time::Duration;

use super::support::{Shop, engine_with};

#[tokio::test]
async fn a_tool_is_found_by_its_own_name_and_by_what_reads_like_it() {
    let limits = Limits::default();
    let Some(engine) = engine_with(None, &limits).await else { return };
    let shop = Shop::with_person(engine, limits, true, ApprovalAnswer::Unavailable, Duration::ZERO).await;
    let tool = |name: &str| {
        let said = name.to_owned();
        let schema = json!({"type": "object", "properties": {"self": {"type": "integer"}}});
        let say = move |_: Value, _| {
            let said = said.clone();
            async move { said }
        };
        FunctionTool::with_schema(name, "Says its name", schema, say).only_reads()
    };
    let odd = ["get-sum", "createIssue", "list-all", "list_all"].map(tool);
    let toolbox = odd.into_iter().fold(Toolbox::new("odd-names"), Toolbox::with);
    shop.host.put_toolbox(toolbox).expect("nobody else has the name");
    for (source, value) in [
        ("device.OddNamesMCP.get_u2d_sum()", "\"get-sum\""),
        ("device.OddNamesMCP.get_sum()", "\"get-sum\""),
        ("device.OddNamesMCP['get-sum']()", "\"get-sum\""),
        ("getattr(device.OddNamesMCP, 'get-sum')(self=1)", "\"get-sum\""),
        ("device['odd-names'].get_sum()", "\"get-sum\""),
        ("device.OddNamesMCP.create_issue()", "\"createIssue\""),
        // Two read alike: each by its own spelling, and no third.
        ("device.OddNamesMCP.list_all()", "\"list_all\""),
        ("device.OddNamesMCP['list-all']()", "\"list-all\""),
        ("'list' in device.describe('device.OddNamesMCP.get_sum')", "false"),
    ] {
        let report = shop.run(source).await;
        assert_eq!((report.error, report.value.as_str()), (None, value), "{source}");
    }
    let report = shop.run("device.OddNamesMCP.listAll()").await;
    assert!(report.error.is_some_and(|error| error.is_refusal), "two are meant");
}
