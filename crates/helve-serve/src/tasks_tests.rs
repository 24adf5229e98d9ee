//! Whose a task is, and for how long it is remembered.

use super::*;

const fn raw(text: &'static str) -> RawJson {
    RawJson::from_static(text)
}

fn owner(principal: usize, server: &str) -> Owner {
    Owner::new(Principal::token(principal), ServerName::new(server).unwrap())
}

#[test]
fn s19_a_name_is_one_principals_and_one_servers() {
    let tasks = Tasks::new(&Limits::default(), &GatewayKey::random());
    let name = tasks.made(&owner(0, "one"), "task-1").unwrap();
    let made = name.strip_prefix(NAME_VERSION).unwrap();
    assert!(made.len() == 32 && !name.contains("task"), "{name}");
    assert_eq!(tasks.made(&owner(0, "one"), "task-1").unwrap(), name, "one task has one name");
    for other in [owner(1, "one"), owner(0, "two"), owner(0, "onetask-")] {
        assert_ne!(tasks.made(&other, "task-1").unwrap(), name, "{other}");
    }
    assert_eq!(tasks.known.find(&Principal::token(0), &name).unwrap().0.as_str(), "one");
    assert!(tasks.known.find(&Principal::token(1), &name).is_none());
    assert!(tasks.known.find(&Principal::token(0), "task-1").is_none());
    assert_eq!(tasks.known(&owner(0, "one"), "task-2"), None);
    assert_ne!(Tasks::new(&Limits::default(), &GatewayKey::random()).made(&owner(0, "one"), "task-1").unwrap(), name);
}

#[test]
fn s19_many_tasks_of_one_and_large_names_cost_nobody_else() {
    let tasks = Tasks::new(&Limits::default(), &GatewayKey::random());
    let quiet = tasks.made(&owner(0, "one"), "quiet").unwrap();
    for number in 0..5_000 {
        tasks.made(&owner(1, "one"), &format!("loud {number}")).unwrap();
        tasks.made(&owner(0, "two"), &format!("loud {number}")).unwrap();
        tasks.made(&owner(0, "one"), "again and again").unwrap();
    }
    assert!(tasks.known.find(&Principal::token(0), &quiet).is_some());
    let error = tasks.made(&owner(0, "one"), &"x".repeat(1_025)).unwrap_err();
    insta::assert_snapshot!(error.message, @"the server's taskId has 1025 bytes: no more than 1024 are taken");
    assert!(tasks.made(&owner(0, "one"), &"x".repeat(1_024)).is_ok());
}

#[test]
fn s19_metadata_and_notices_speak_of_the_principals_own_tasks_alone() {
    let tasks = Tasks::new(&Limits::default(), &GatewayKey::random());
    let (ours, theirs) = (owner(0, "one"), owner(1, "one"));
    let name = tasks.made(&ours, "7").unwrap();
    let said = raw(r#"{"a":1,"_meta":{"b":2,"io.modelcontextprotocol/related-task":{"taskId":"7","c":3}}}"#);
    let told = tasks.for_agent(&ours, &said);
    assert_eq!(
        told.as_str(),
        format!(r#"{{"a":1,"_meta":{{"b":2,"io.modelcontextprotocol/related-task":{{"taskId":"{name}","c":3}}}}}}"#)
    );
    assert_eq!(tasks.for_server(&ours, &told), said);
    for cut in [tasks.for_agent(&theirs, &said), tasks.for_server(&theirs, &told), tasks.for_server(&ours, &said)] {
        assert_eq!(cut.as_str(), r#"{"a":1,"_meta":{"b":2}}"#);
    }
    let notice = |method: &str, principal: &Principal| {
        let params = raw(r#"{"taskId":"7","status":"working"}"#);
        let notification = Notification { server: ours.server.clone(), method: method.to_owned(), params };
        tasks.notice(principal, &notification).map(|params| params.as_str().to_owned())
    };
    for method in ["notifications/tasks", "notifications/tasks/status"] {
        let told = notice(method, &ours.principal).unwrap();
        assert_eq!(told, format!(r#"{{"taskId":"{name}","status":"working"}}"#));
        assert_eq!(notice(method, &theirs.principal), None);
    }
    assert!(notice("notifications/other", &theirs.principal).is_some());
}

#[test]
fn a_member_is_written_once() {
    let doubled = raw(r#"{"taskId":"victim","x":1,"task\u0049d":"mine"}"#);
    assert_eq!(with_only(&doubled, "taskId", Some("7")).as_str(), r#"{"taskId":7,"x":1}"#);
    assert_eq!(with_only(&doubled, "taskId", None).as_str(), r#"{"x":1}"#);
    assert_eq!(with_only(&raw("{}"), "a", Some("1")).as_str(), r#"{"a":1}"#);
    assert_eq!(with_only(&raw("{ }"), "a", None).as_str(), "{}");
}
