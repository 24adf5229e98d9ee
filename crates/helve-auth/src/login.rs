//! The straight line of a login: find the authorization server, be a client of it, send the person to its page, take what
//! comes back, get the token.

use std::time::Duration;

use tokio::time::timeout;
use url::Url;

use crate::challenge::Challenge;
use crate::client::{self, BROWSER_GRANTS, Choice, Client, ClientOrigin, choose, register};
use crate::credential::{Credential, Facts, unix};
use crate::discovery::{Found, discover};
use crate::error::{Advice, AuthError, ErrorKind, Result};
use crate::grant::{DEVICE_GRANT, Pending, begin, begin_device, device_endpoint};
use crate::ports::{Person, Ports};
use crate::reception::{Reception, RedirectAnswer};
use crate::scopes::ScopeSources;
use crate::settings::Settings;

/// How long a person may take on the page.
const PERSON_TIME: Duration = Duration::from_secs(300);

/// How a login is wanted.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct LoginWish {
    /// What the server said when it refused (`WWW-Authenticate`).
    pub challenge: Option<String>,
    /// The scopes to ask for this time, exactly.
    pub scopes: Option<Vec<String>>,
    /// No registration that is kept counts.
    pub fresh: bool,
    /// How long the person may take; `None`: five minutes on a page, and as long as it is good with a code.
    pub time: Option<Duration>,
    /// Where the browser is sent back to, if whoever begins the login receives it there; `None`: at this machine. It counts
    /// for [`crate::SignIn::begin`] alone.
    pub redirect: Option<String>,
    /// By a code that the person types on a page elsewhere, where the authorization server offers that (RFC 8628).
    pub device: bool,
}

/// A page for the person to sign in on.
#[derive(Clone)]
#[non_exhaustive]
pub struct Page {
    /// The page. Its query holds the state of the login: it is for the person alone.
    pub url: Url,
    /// The issuer.
    pub issuer: String,
    /// Where the browser is sent back to.
    pub redirect: String,
    /// Something waits there; otherwise the person has to paste the address.
    pub is_awaited: bool,
}

/// A code for the person to type on a page.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceCode {
    /// What to type.
    pub code: String,
    /// Where.
    pub page: Url,
    /// The same page with the code in its address.
    pub whole_page: Option<Url>,
    /// The issuer.
    pub issuer: String,
    /// How long it is good.
    pub life: Duration,
}

/// What a login came to.
pub type Outcome = Facts;

/// A login on its way.
pub(crate) struct Begun {
    pub(crate) page: Page,
    pub(crate) pending: Pending,
    pub(crate) reception: Option<Reception>,
}

/// Where the answer comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// At a port of this machine.
    Listening,
    /// By hand, perhaps in another process.
    Pasting,
}

/// What is tried again, once, with something left out.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Without {
    pub(crate) scopes: bool,
    pub(crate) kept_client: bool,
}

/// One login from its beginning to its end, with a person.
pub(crate) async fn with_person(
    ports: &Ports,
    settings: &Settings,
    wish: &LoginWish,
    before: &[String],
    person: &dyn Person,
) -> Result<Credential> {
    let challenge = wish.challenge.as_deref().map(Challenge::read).unwrap_or_default();
    let found = discover(ports.http.as_ref(), settings, &challenge).await?;
    let mut without = Without { scopes: false, kept_client: wish.fresh };
    if wish.device {
        return by_code(ports, settings, wish, &challenge, &found, before, person).await;
    }
    loop {
        let begun = prepare(ports, settings, wish, &challenge, &found, before, without, Way::Listening).await?;
        let is_registered = begun.pending.client.origin == ClientOrigin::Registered;
        person.show(&begun.page).await?;
        let error = match receive(begun, wish, person).await {
            Ok((pending, code)) => match pending.redeem(ports, code).await {
                Ok(credential) => return Ok(credential),
                Err(error) => error,
            },
            Err(error) => error,
        };
        let ErrorKind::Refused(code) = error.kind() else {
            if *error.kind() == ErrorKind::TimedOut && is_registered {
                // Q9: an authorization server that forgot the client shows an error and sends nobody back. The next
                // login registers anew.
                client::forget(ports.store.as_ref(), &found.server.issuer).await?;
            }
            return Err(error);
        };
        match code.as_str() {
            // Q19: the scopes that a server lists are not always ones that its authorization server knows.
            "invalid_scope" if !without.scopes && wish.scopes.is_none() && settings.scopes.is_none() => {
                without.scopes = true;
            }
            // Q9: a kept registration that was forgotten.
            "invalid_client" | "unauthorized_client" if is_registered && !without.kept_client => {
                without.kept_client = true;
            }
            _ => return Err(error),
        }
    }
}

/// Everything up to the page.
#[expect(clippy::too_many_arguments, reason = "the line of a login is straight; these are its givens")]
pub(crate) async fn prepare(
    ports: &Ports,
    settings: &Settings,
    wish: &LoginWish,
    challenge: &Challenge,
    found: &Found,
    before: &[String],
    without: Without,
    way: Way,
) -> Result<Begun> {
    let scopes = if without.scopes { Vec::new() } else { scopes_for(settings, wish, challenge, found, before) };
    let choice = choose(ports.store.as_ref(), settings, &found.server, without.kept_client).await?;
    let elsewhere = wish.redirect.as_deref().filter(|_| way == Way::Pasting);
    let (client, reception, redirect) = match choice {
        // Q13 the other way round: a client that was registered for another address is refused there.
        Choice::Use(client)
            if client.origin == ClientOrigin::Registered
                && elsewhere.is_some_and(|address| client.redirect.as_deref() != Some(address)) =>
        {
            registered(ports, settings, found, &scopes, way, elsewhere).await?
        }
        Choice::Use(client) if elsewhere.is_some() => (client, None, elsewhere.unwrap_or_default().to_owned()),
        Choice::Use(client) => match place(settings, client.redirect.as_deref(), way).await {
            Ok((reception, redirect)) => (client, reception, redirect),
            // Q13: the port of the registration is taken; another port takes another registration.
            Err(_) if client.origin == ClientOrigin::Registered && settings.callback.port.is_none() => {
                registered(ports, settings, found, &scopes, way, None).await?
            }
            Err(error) => return Err(error),
        },
        Choice::Register => registered(ports, settings, found, &scopes, way, elsewhere).await?,
    };
    let now = unix((ports.clock)());
    let (url, pending) = begin(found, settings.pkce, client, &redirect, &scopes, now)?;
    let page = Page { url, issuer: pending.issuer.clone(), redirect, is_awaited: reception.is_some() };
    Ok(Begun { page, pending, reception })
}

fn scopes_for(
    settings: &Settings,
    wish: &LoginWish,
    challenge: &Challenge,
    found: &Found,
    before: &[String],
) -> Vec<String> {
    ScopeSources {
        configured: wish.scopes.as_deref().or(settings.scopes.as_deref()),
        challenge: challenge.scope.as_deref(),
        resource: found.resource_scopes.as_deref(),
        before,
        server: found.server.scopes.as_deref(),
    }
    .choose()
}

/// A login by a code. A kept registration may be one for browsers alone: where it is refused, one for both is made, once.
async fn by_code(
    ports: &Ports,
    settings: &Settings,
    wish: &LoginWish,
    challenge: &Challenge,
    found: &Found,
    before: &[String],
    person: &dyn Person,
) -> Result<Credential> {
    device_endpoint(found)?;
    let scopes = scopes_for(settings, wish, challenge, found, before);
    let mut kept_client = !wish.fresh;
    loop {
        let client = match choose(ports.store.as_ref(), settings, &found.server, !kept_client).await? {
            Choice::Use(client) => client,
            Choice::Register => {
                kept_client = false;
                let redirect = Reception::address_only(&settings.callback, None);
                let grants = [BROWSER_GRANTS, &[DEVICE_GRANT]].concat();
                register(ports, settings, &found.server, &redirect, &scopes, &grants).await?
            }
        };
        let may_register = kept_client && client.origin == ClientOrigin::Registered;
        let outcome = async {
            let device = begin_device(ports, found, client, scopes.clone()).await?;
            person.show_code(&device.shown).await?;
            device.wait(ports, wish.time).await
        };
        match outcome.await {
            Err(error) if may_register && is_unknown_client(&error) => kept_client = false,
            outcome => return outcome,
        }
    }
}

fn is_unknown_client(error: &AuthError) -> bool {
    matches!(error.kind(), ErrorKind::Refused(code) if matches!(code.as_str(), "invalid_client" | "unauthorized_client"))
}

async fn registered(
    ports: &Ports,
    settings: &Settings,
    found: &Found,
    scopes: &[String],
    way: Way,
    elsewhere: Option<&str>,
) -> Result<(Client, Option<Reception>, String)> {
    let (reception, redirect) = match elsewhere {
        Some(address) => (None, address.to_owned()),
        None => place(settings, None, way).await?,
    };
    let client = register(ports, settings, &found.server, &redirect, scopes, BROWSER_GRANTS).await?;
    Ok((client, reception, redirect))
}

/// Where the browser is sent back to.
async fn place(settings: &Settings, kept: Option<&str>, way: Way) -> Result<(Option<Reception>, String)> {
    match way {
        Way::Listening => {
            let reception = Reception::open(&settings.callback, kept).await?;
            let redirect = kept.map_or_else(|| reception.redirect.clone(), str::to_owned);
            Ok((Some(reception), redirect))
        }
        Way::Pasting => {
            let redirect = kept.map_or_else(|| Reception::address_only(&settings.callback, None), str::to_owned);
            Ok((None, redirect))
        }
    }
}

/// Waits for the browser and for the person's clipboard; the first right answer wins.
async fn receive(begun: Begun, wish: &LoginWish, person: &dyn Person) -> Result<(Pending, secrecy::SecretString)> {
    let Begun { pending, reception, .. } = begun;
    let by_browser = async {
        match &reception {
            Some(reception) => reception.wait(|answer| pending.is_mine(answer)).await,
            None => std::future::pending().await,
        }
    };
    let by_hand = async {
        loop {
            let pasted = person.pasted().await;
            if let Some(answer) = RedirectAnswer::from_pasted(&pasted)
                && pending.is_mine(&answer)
            {
                return answer;
            }
        }
    };
    let time = wish.time.unwrap_or(PERSON_TIME);
    let first = async {
        tokio::select! {
            answer = by_browser => answer,
            answer = by_hand => answer,
        }
    };
    let Ok(answer) = timeout(time, first).await else {
        return Err(AuthError::timed_out(format!(
            "timed out after {} s waiting for the browser to come back",
            time.as_secs()
        ))
        .with_advice(Advice::StartAfresh));
    };
    let code = pending.code(&answer)?;
    Ok((pending, code))
}

impl std::fmt::Debug for Page {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Page").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}
