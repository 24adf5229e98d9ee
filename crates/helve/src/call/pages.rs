//! Pages that a person has to visit before a call can go on: a server refuses the call and names them. The person is
//! asked as if the server had asked itself, and only a yes to all of them lets the call be made again.

use helve_model::json::RawJson;
use helve_model::{ErrorCode, ServerName};
use helve_schema::Elicitation;
use helve_wire::{PeerQuestion, QuestionKind};

use crate::error::CallError;
use crate::host_core::HostCore;

/// The code of an error that names pages.
const URL_ELICITATION_REQUIRED: i64 = helve_model::protocol::code::URL_ELICITATION_REQUIRED;
/// So many pages of one error are looked at; a server that wants more is refused.
const MAX_PAGES: usize = 4;

/// The questions that an error asks to be put to the person, as the server wrote them; `None` when it asks for nothing.
pub(super) fn wanted(error: &helve_wire::Error) -> Option<Vec<RawJson>> {
    let refusal = error.rpc().filter(|refusal| refusal.code == URL_ELICITATION_REQUIRED)?;
    let pages = refusal.data.as_ref()?.member("elicitations")?.elements()?;
    (!pages.is_empty()).then_some(pages)
}

/// Puts the questions to whoever answers for the host.
pub(super) async fn visit(host: &HostCore, server: &ServerName, pages: &[RawJson]) -> Result<(), CallError> {
    let refused = |what: String| {
        CallError::new(
            ErrorCode::Denied,
            format!("the server `{server}` does not go on before a page is visited: {what}"),
        )
    };
    if pages.len() > MAX_PAGES {
        return Err(refused(format!("it names {} pages, and no more than {MAX_PAGES} are looked at", pages.len())));
    }
    if !host.answerer.capabilities().elicitation_url {
        return Err(refused("nobody can be asked to open one".to_owned())
            .with_hint("make the call where a person can be asked"));
    }
    for params in pages {
        let page = match Elicitation::read(params.as_str()) {
            Ok(Elicitation::Url(page)) => page,
            Ok(_) => return Err(refused("it asks for something else than a page".to_owned())),
            Err(problem) => return Err(refused(format!("what it names cannot be put to a person: {problem}"))),
        };
        let question = PeerQuestion { kind: QuestionKind::Elicitation, params: Some(params.clone()), during: None };
        let answer = host.answerer.question(server, question).await;
        if answer.is_ok_and(|answer| answer.member_str("action").as_deref() == Some("accept")) {
            continue;
        }
        return Err(refused(format!("{} was not opened", page.host()))
            .with_hint(format!("run it at a terminal to be asked; the page is {}", page.url())));
    }
    Ok(())
}
