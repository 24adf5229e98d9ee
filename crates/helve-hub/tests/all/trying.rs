//! Trying a tool: its form, a question that is answered here, what comes back.

use http::StatusCode;

use crate::world::{Brings, World, value_of};

const OWN: &str = "[servers.clock]\nbuiltin = \"time\"\n\n[[rules]]\ntool = \"clock/*\"\naction = \"ask\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_called_once_its_question_is_answered() {
    let world = World::of(OWN).await;
    let path = "/servers/clock/tools/now";
    let page = world.page(path).await;
    assert!(page.contains("name=\"a/timezone\"") && page.contains("helve call clock/now"), "{page}");
    let (status, page) = world.post(path, &[("a/timezone", "Europe/Berlin"), ("do", "call")]).await;
    assert_eq!(status, StatusCode::OK);
    assert!(page.contains("A rule asks first.") && page.contains("timezone=Europe/Berlin"), "{page}");
    let question = value_of(&page, "question");
    // A yes is to these arguments and no others.
    let (_, other) = world.post(path, &[("a/timezone", "Asia/Tokyo"), ("question", &question), ("do", "yes")]).await;
    assert!(other.contains("A rule asks first."), "{other}");
    let (_, no) = world.post(path, &[("a/timezone", "Europe/Berlin"), ("question", &question), ("do", "no")]).await;
    assert!(no.contains("Nothing was called yet."), "{no}");
    let (_, page) = world.post(path, &[("a/timezone", "Europe/Berlin"), ("question", &question), ("do", "yes")]).await;
    assert!(page.contains(">answered<") && page.contains("Europe/Berlin"), "{page}");
    let (_, page) = world.post(path, &[("a/timezone", "Nowhere/<b>"), ("do", "call")]).await;
    assert!(!page.contains("Nowhere/<b>"), "{page}");
    assert_eq!(world.ask("GET", "/servers/clock/tools/none", Brings::Cookie, None, "").await.0, StatusCode::NOT_FOUND);
}
