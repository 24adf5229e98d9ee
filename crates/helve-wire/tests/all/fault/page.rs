//! Lists that are wrong or too long: what is good is kept, what is lost is told.

use helve_model::ErrorCode;
use helve_testkit::{ListFault, Scenario};
use helve_wire::Limits;

use crate::support::*;

/// A whole list in one frame.
fn listing(items: &str) -> Scenario {
    let frame = format!("{{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{{\"tools\":[{items}]}}}}\n");
    Scenario::legacy().scripted("tools/list", &frame)
}

#[tokio::test]
async fn endless_lists_as_a_person_reads_them() {
    let scenario = Scenario::modern().generated_tools(25, 300).hide_builtin_tools().page_size(10);
    let limits = Limits { pages: 4, ..Limits::default() };
    let listed = async |fault: ListFault, limits: &Limits| {
        let options = options().with(|options| options.limits = limits.clone());
        let session = in_process(&scenario.clone().list_fault(fault), options).await.unwrap();
        shown(&session.list_tools(times()).await.unwrap().incomplete.unwrap())
    };
    insta::assert_snapshot!(listed(ListFault::RepeatedCursor, &limits).await, @r"
    PROTOCOL_ERROR: the server gives the same page cursor twice
      hint: its pages go in a circle; report it to its authors
    ");
    insta::assert_snapshot!(listed(ListFault::EndlessPages, &limits).await, @r"
    LIMIT_EXCEEDED: the server's list has more than 4 pages
      hint: raise the limit `pages` if this is meant
    ");
    insta::assert_snapshot!(listed(ListFault::HugeCursor, &limits).await, @r"
    LIMIT_EXCEEDED: the server's page cursor is larger than 65536 bytes
      hint: raise the limit `cursor_bytes` if this is meant
    ");
    let limits = Limits { items: 15, ..Limits::default() };
    insta::assert_snapshot!(listed(ListFault::EndlessPages, &limits).await, @r"
    LIMIT_EXCEEDED: the server lists more than 15 items
      hint: raise the limit `items` if this is meant
    ");
}

/// The limit holds within a page as well.
#[tokio::test]
async fn one_page_with_too_many_items() {
    let tools: Vec<String> = (0..50).map(|n| format!(r#"{{"name":"t{n}","inputSchema":{{}}}}"#)).collect();
    let limits = Limits { items: 20, ..Limits::default() };
    let options = options().with(|options| options.limits = limits);
    let session = in_process(&listing(&tools.join(",")), options.clone()).await.unwrap();
    let listed = session.list_tools(times()).await.unwrap();
    assert_eq!(listed.items.len(), 20);
    assert_eq!(listed.incomplete.unwrap().code(), ErrorCode::LimitExceeded);
    // Broken items count as well: each costs a warning.
    let session = in_process(&listing(&["7"; 50_000].join(",")), options).await.unwrap();
    let listed = session.list_tools(times()).await.unwrap();
    assert_eq!((listed.items.len(), listed.warnings.len()), (0, 20));
    assert_eq!(listed.incomplete.unwrap().code(), ErrorCode::LimitExceeded);
}

#[tokio::test]
async fn broken_items_among_good_ones() {
    let good = r#"{"name":"good","inputSchema":{"type":"object"}}"#;
    let items = [good, "7", "{}", r#"{"name":7}"#, "nonsense", r#"{"name":"","inputSchema":{}}"#, good].join(",");
    let session = in_process(&listing(&items), options()).await.unwrap();
    let listed = session.list_tools(times()).await.unwrap();
    assert!(listed.incomplete.is_none());
    assert!(listed.items.iter().filter(|tool| tool.name().as_str() == "good").count() == 2);
    insta::assert_snapshot!(listed.warnings.join("\n"), @r"
    tools[1] left out: not an object
    tools[2] left out: no `name`
    tools[3] left out: `name` is not a string: invalid type: integer `7`, expected a string at line 1 column 1
    tools[4] left out: not an object
    ");
}

/// What came before the break is good.
#[tokio::test]
async fn a_list_that_breaks_off() {
    let session = in_process(&listing(r#"{"name":"good","inputSchema":{}} {"name":"lost"}"#), options()).await.unwrap();
    let listed = session.list_tools(times()).await.unwrap();
    assert_eq!(listed.items.len(), 1);
    insta::assert_snapshot!(shown(&listed.incomplete.unwrap()), @r"
    PROTOCOL_ERROR: the server's list of `tools` is not valid JSON: broken syntax at byte 34
      hint: the server does not follow the protocol; report it to its authors
    ");
}

#[tokio::test]
async fn no_list_at_all() {
    let result = async |result: &str| {
        let frame = format!("{{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{result}}}\n");
        let session = in_process(&Scenario::legacy().scripted("tools/list", &frame), options()).await.unwrap();
        shown(&session.list_tools(times()).await.unwrap_err())
    };
    insta::assert_snapshot!(result("{}").await, @r"
    PROTOCOL_ERROR: the answer to `tools/list` has no list of `tools`
      hint: the server does not follow the protocol; report it to its authors
    ");
    assert_eq!(result(r#"{"tools":{}}"#).await, result("{}").await);
    assert_eq!(result(r#"{"tools":null}"#).await, result("{}").await);
}
