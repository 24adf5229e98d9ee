//! A call that its server refuses because nobody is signed in: where the caller's person can be asked, they sign in, the server
//! is connected to anew, and the same call is made once more.

use helve_auth::LoginWish;
use helve_auth::ports::Person;
use helve_model::{ErrorCode, ServerName};
use tokio::sync::oneshot;

use crate::catalog::ToolEntry;
use crate::error::CallError;
use crate::host_core::HostCore;
use crate::late_references::fill;
use crate::server_handle::Command;
use crate::sign_in::from_auth;

/// The person behind a caller, as far as signing in goes.
pub trait SignsIn: Send + Sync {
    /// The person, if they may be asked to sign in to this server now. Whoever gives one is told how it ended.
    fn person(&self, server: &ServerName) -> Option<Box<dyn Person>>;

    /// How it ended.
    fn ended(&self, server: &ServerName, is_signed_in: bool);
}

/// Has the person sign in. Gives the refusal back where nobody can be asked.
pub(super) async fn sign_in(
    host: &HostCore,
    tool: &ToolEntry,
    signs_in: &dyn SignsIn,
    refusal: CallError,
) -> Result<(), CallError> {
    let server = &tool.name().server;
    let (Some(handle), Some(sign_ins)) = (&tool.handle, &host.surroundings.sign_ins) else { return Err(refusal) };
    let filled = fill(handle.spec(), host.surroundings.secrets.as_deref()).await?;
    let spec = filled.as_ref().unwrap_or_else(|| handle.spec());
    let Some(sign_in) = sign_ins.of(spec)? else { return Err(refusal) };
    let Some(person) = signs_in.person(server) else { return Err(refusal) };
    let mut wish = LoginWish::default();
    wish.challenge = refusal.challenge().map(ToOwned::to_owned);
    let signed_in = sign_in.login(&wish, person.as_ref()).await;
    signs_in.ended(server, signed_in.is_ok());
    signed_in.map_err(|error| from_auth(error, spec).at(tool.name()))?;
    let (answer, answered) = oneshot::channel();
    handle.tell(Command::Reconnect(answer));
    match answered.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(CallError::again(&error).at(tool.name())),
        Err(_) => Err(CallError::new(ErrorCode::ServerUnavailable, "the host has ended").at(tool.name())),
    }
}
