//! What is remembered can be kept elsewhere than in the person's directory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use helve_model::{QualifiedName, ServerName, ToolName};
use helve_setup::store::pins::PinFile;
use helve_setup::store::{StateStore, Stores};
use helve_setup::{Environment, Reloader, Setup, SetupError};

use crate::support::Person;

/// Documents in memory.
#[derive(Debug, Default)]
struct MemoryStateStore(Mutex<BTreeMap<String, String>>);

impl StateStore for MemoryStateStore {
    fn read(&self, document: &str) -> Result<Option<String>, SetupError> {
        Ok(self.0.lock().unwrap().get(document).cloned())
    }

    fn update(
        &self,
        document: &str,
        change: &mut dyn FnMut(Option<String>) -> Result<String, SetupError>,
    ) -> Result<(), SetupError> {
        let mut documents = self.0.lock().unwrap();
        let text = change(documents.get(document).cloned())?;
        documents.insert(document.to_owned(), text);
        Ok(())
    }

    fn place(&self, document: &str) -> String {
        format!("memory:{document}")
    }

    fn mark(&self, document: &str) -> Option<String> {
        self.0.lock().unwrap().get(document).cloned()
    }
}

fn tool() -> QualifiedName {
    QualifiedName::new(ServerName::new("files").unwrap(), ToolName::new("read"))
}

#[test]
fn a_store_of_ones_own_needs_no_home() {
    let setup = || Setup::new(Environment::new("/"));
    assert_eq!(setup().stores().unwrap_err().message(), "there is no home directory to remember anything in");
    let documents: Arc<dyn StateStore> = Arc::new(MemoryStateStore::default());
    let stores = setup().with_state_store(Arc::clone(&documents)).stores().unwrap();
    stores.update(|file: &mut PinFile| file.accept(None, &tool(), "{}")).unwrap();
    let again: PinFile = Stores::new(Arc::clone(&documents)).read().unwrap();
    assert!(again.get(None, &tool()).is_some());

    documents.update("pins.json", &mut |_| Ok("{".to_owned())).unwrap();
    let error = stores.read::<PinFile>().unwrap_err();
    assert_eq!(error.message(), "memory:pins.json cannot be understood");
}

#[tokio::test]
async fn what_changes_in_a_store_is_seen_by_who_reloads() {
    let person = Person::new("");
    let documents: Arc<dyn StateStore> = Arc::new(MemoryStateStore::default());
    let setup = Arc::new(Setup::new(person.environment()).with_state_store(Arc::clone(&documents)));
    let mut reloader = Reloader::new(Arc::clone(&setup));
    assert!(reloader.look().await.is_none(), "nothing changed");
    setup.stores().unwrap().update(|file: &mut PinFile| file.accept(None, &tool(), "{}")).unwrap();
    assert!(reloader.look().await.is_some_and(|reload| reload.plan.is_ok()), "a definition was accepted");
    person.write("home/.config/helve/helve.toml", "[servers.one]\ncommand = \"one\"\n");
    let reload = reloader.look().await.unwrap();
    assert_eq!(reload.plan.unwrap().servers.len(), 1);
    assert!(reloader.look().await.is_none(), "nothing changed since");
}
