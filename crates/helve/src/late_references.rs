//! Late references: filled when a server is connected to, from a source the embedding program gives. One that cannot be
//! filled keeps that one server off.

use helve_model::{ConfigText, ErrorCode, IdentitySpec, LateSource, SecretSet, ServerSpec, TransportSpec};
use helve_wire::BoxFuture;
use secrecy::{ExposeSecret as _, SecretString};

use crate::error::CallError;

/// Gives the values of late references.
pub trait SecretSource: Send + Sync + 'static {
    /// The value of a reference, for a server that is about to be connected to.
    fn value<'a>(&'a self, source: &'a LateSource) -> BoxFuture<'a, Result<SecretString, CallError>>;

    /// What else of a server's entry is secret, by its name or place: it is taken out of what the server says.
    fn own_values(&self, spec: &ServerSpec) -> Vec<SecretString> {
        let _: &ServerSpec = spec;
        Vec::new()
    }
}

/// The same server with every late reference filled; `None` when it has none.
///
/// # Errors
/// `CONFIG` when one cannot be filled.
pub async fn fill(spec: &ServerSpec, secrets: Option<&dyn SecretSource>) -> Result<Option<ServerSpec>, CallError> {
    fill_and_hide(spec, secrets, &SecretSet::new()).await
}

/// The same, and every secret of the server is put into a set.
pub(crate) async fn fill_and_hide(
    spec: &ServerSpec,
    secrets: Option<&dyn SecretSource>,
    hidden: &SecretSet,
) -> Result<Option<ServerSpec>, CallError> {
    let filled = filled(spec, secrets, hidden).await?;
    let own = secrets.map(|secrets| secrets.own_values(filled.as_ref().unwrap_or(spec))).unwrap_or_default();
    own.iter().for_each(|value| hidden.add(value.expose_secret()));
    Ok(filled)
}

async fn filled(
    spec: &ServerSpec,
    secrets: Option<&dyn SecretSource>,
    hidden: &SecretSet,
) -> Result<Option<ServerSpec>, CallError> {
    if !texts(&mut spec.clone()).iter().any(|text| !text.late_references().is_empty()) {
        return Ok(None);
    }
    let mut filled = spec.clone();
    for text in texts(&mut filled) {
        let mut values = Vec::new();
        for reference in text.late_references() {
            let value = match secrets {
                Some(secrets) => secrets.value(&reference.source).await,
                None => Err(CallError::new(ErrorCode::Config, "there is nothing here to take secrets from")),
            };
            values.push(value.map_err(|error| {
                let message = format!("the server `{}` is off: {} cannot be filled", spec.name, reference.source);
                let hints = error.hints().to_vec();
                let ours = CallError::new(error.code(), message).at_server(&spec.name).with_source(error.chain());
                hints.into_iter().fold(ours, CallError::with_hint)
            })?);
        }
        values.iter().for_each(|value| hidden.add(value.expose_secret()));
        if !values.is_empty() {
            *text = text.filled(&values);
        }
    }
    Ok(Some(filled))
}

/// What filling the late references of a server would ask for.
#[must_use]
pub fn late_sources(spec: &ServerSpec) -> Vec<LateSource> {
    let mut spec = spec.clone();
    let references = texts(&mut spec).into_iter().flat_map(|text| text.late_references().to_vec());
    references.map(|reference| reference.source).collect()
}

/// Every text of a spec that may hold a secret.
fn texts(spec: &mut ServerSpec) -> Vec<&mut ConfigText> {
    let mut texts: Vec<&mut ConfigText> = Vec::new();
    match &mut spec.transport {
        TransportSpec::Stdio(stdio) => {
            texts.push(&mut stdio.command);
            texts.extend(&mut stdio.arguments);
            texts.extend(stdio.environment.values_mut());
        }
        TransportSpec::Http(http) => {
            texts.push(&mut http.url);
            texts.extend(http.headers.values_mut());
        }
        TransportSpec::Builtin(builtin) => texts.extend(builtin.options.values_mut().flatten()),
    }
    if let Some(oauth) = &mut spec.oauth {
        let some = [
            &mut oauth.client_id,
            &mut oauth.client_secret,
            &mut oauth.client_key,
            &mut oauth.metadata_url,
            &mut oauth.resource,
            &mut oauth.issuer,
            &mut oauth.client_document,
            &mut oauth.assertion,
        ];
        texts.extend(some.into_iter().flatten());
        if let Some(IdentitySpec { token_endpoint, client_id, client_secret, id_token }) = &mut oauth.identity {
            texts.extend([token_endpoint, client_id, id_token]);
            texts.extend(client_secret);
        }
    }
    texts
}
