//! Documents that end with the process: for programs that bring servers of their own, about which nothing is to be remembered.

use std::collections::HashMap;
use std::sync::Mutex;

use helve_model::sync::lock;

use super::StateStore;
use crate::error::SetupError;

/// Documents in memory.
#[derive(Debug, Default)]
pub struct MemoryStateStore(Mutex<HashMap<String, Document>>);

#[derive(Debug, Default)]
struct Document {
    text: String,
    changes: u64,
}

impl StateStore for MemoryStateStore {
    fn read(&self, document: &str) -> Result<Option<String>, SetupError> {
        Ok(lock(&self.0).get(document).map(|document| document.text.clone()))
    }

    fn update(
        &self,
        document: &str,
        change: &mut dyn FnMut(Option<String>) -> Result<String, SetupError>,
    ) -> Result<(), SetupError> {
        let mut documents = lock(&self.0);
        let text = change(documents.get(document).map(|document| document.text.clone()))?;
        let kept = documents.entry(document.to_owned()).or_default();
        *kept = Document { text, changes: kept.changes + 1 };
        Ok(())
    }

    fn place(&self, document: &str) -> String {
        format!("{document} in memory")
    }

    fn mark(&self, document: &str) -> Option<String> {
        lock(&self.0).get(document).map(|document| document.changes.to_string())
    }
}
