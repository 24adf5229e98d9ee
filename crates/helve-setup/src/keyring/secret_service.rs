//! The few calls of the Secret Service that keep an item and find one. No question is put to the person by it: a keyring that
//! wants to be unlocked first is locked.

use std::time::Instant;

use secrecy::{ExposeSecret as _, SecretString};

use super::bus::{Answer, Bus};
use super::message::{Call, Reader, Writer};
use super::{Attributes, KeyringProblem};

const SERVICE: &str = "org.freedesktop.secrets";
const ROOT: &str = "/org/freedesktop/secrets";
/// The path that stands for no object.
const NOTHING: &str = "/";
/// The collection that ends with the session.
const VOLATILE: &str = "/org/freedesktop/secrets/collection/session";

/// The service, with a session in which values travel as they are: on a socket that is the person's alone.
#[derive(Debug)]
pub(super) struct SecretService {
    bus: Bus,
    session: String,
}

impl SecretService {
    pub(super) fn open(bus: &str, end: Instant) -> Result<Self, KeyringProblem> {
        let mut service = Self { bus: Bus::connect(bus, end)?, session: String::new() };
        let mut body = Writer::default();
        body.string("plain").signature("s").string("");
        let answer = service.call(ROOT, "Service", "OpenSession", "sv", body)?;
        service.session = answer.read("vo", |reader| {
            (reader.signature()? == "s").then_some(())?;
            reader.string()?;
            reader.string().map(str::to_owned)
        })?;
        Ok(service)
    }

    /// The value of the first item that has these attributes.
    pub(super) fn find(&mut self, attributes: &Attributes) -> Result<Option<SecretString>, KeyringProblem> {
        let mut body = Writer::default();
        body.texts(attributes);
        let answer = self.call(ROOT, "Service", "SearchItems", "a{ss}", body)?;
        let (open, locked) = answer.read("aoao", |reader| Some((reader.paths()?, reader.paths()?)))?;
        let item = match (open.into_iter().next(), locked.into_iter().next()) {
            (Some(item), _) => item,
            (None, Some(item)) => self.unlock(item)?,
            (None, None) => return Ok(None),
        };
        let mut body = Writer::default();
        body.string(&self.session);
        let answer = self.call(&item, "Item", "GetSecret", "o", body)?;
        let value = answer.read("(oayays)", |reader: &mut Reader<'_>| {
            reader.string()?;
            reader.bytes()?;
            String::from_utf8(reader.bytes()?.to_vec()).ok()
        })?;
        Ok(Some(SecretString::from(value)))
    }

    /// Keeps an item in the collection where new ones go.
    pub(super) fn keep(
        &mut self,
        label: &str,
        attributes: &Attributes,
        value: &SecretString,
    ) -> Result<(), KeyringProblem> {
        let mut body = Writer::default();
        body.string("default");
        let answer = self.call(ROOT, "Service", "ReadAlias", "s", body)?;
        let collection = answer.read("o", |reader| reader.string().map(str::to_owned))?;
        match collection.as_str() {
            NOTHING => return Err(KeyringProblem::Failed("has no place for new items".to_owned())),
            VOLATILE => return Err(KeyringProblem::Volatile),
            _ => {}
        }
        let collection = self.unlock(collection)?;
        let mut body = Writer::default();
        body.array(8, |writer| {
            writer.align(8);
            writer.string("org.freedesktop.Secret.Item.Label").signature("s").string(label);
            writer.align(8);
            writer.string("org.freedesktop.Secret.Item.Attributes").signature("a{ss}").texts(attributes);
        });
        body.align(8);
        body.string(&self.session).bytes(&[]).bytes(value.expose_secret().as_bytes()).string("text/plain");
        // One with the same attributes is replaced.
        body.number(1);
        let answer = self.call(&collection, "Collection", "CreateItem", "a{sv}(oayays)b", body)?;
        let item = answer.read("oo", |reader| reader.string().map(str::to_owned))?;
        if item == NOTHING { Err(KeyringProblem::Locked) } else { Ok(()) }
    }

    /// An object that is open, if that takes nobody.
    fn unlock(&mut self, object: String) -> Result<String, KeyringProblem> {
        let mut body = Writer::default();
        body.array(4, |writer| {
            writer.string(&object);
        });
        let answer = self.call(ROOT, "Service", "Unlock", "ao", body)?;
        let open = answer.read("aoo", |reader| reader.paths())?;
        if open.contains(&object) { Ok(object) } else { Err(KeyringProblem::Locked) }
    }

    fn call(
        &mut self,
        path: &str,
        interface: &str,
        member: &str,
        signature: &str,
        body: Writer,
    ) -> Result<Answer, KeyringProblem> {
        let interface = format!("org.freedesktop.Secret.{interface}");
        self.bus.call(Call { destination: SERVICE, path, interface: &interface, member, signature, body })
    }
}
