//! Live reload: which files a configuration was or could be read from, and what is to be when one of them changed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use helve::Plan;
use helve_config::Configuration;

use crate::error::SetupError;
use crate::recipe::Wanted;
use crate::setup::Setup;
use crate::store::file_mark;
use crate::store::pins::PinFile;
use crate::store::trust::TrustFile;

/// What is known, without reading it, of everything that a plan was or could be made from.
#[derive(Debug, Default, PartialEq, Eq)]
struct Marks {
    files: BTreeMap<PathBuf, Option<String>>,
    /// Of what the person accepted, and of what they trust.
    answers: [Option<String>; 2],
}

/// Looks whether any file changed that a configuration was or could be read from.
#[derive(Debug)]
pub struct Reloader {
    setup: Arc<Setup>,
    marks: Marks,
}

/// A configuration that changed.
#[derive(Debug)]
#[non_exhaustive]
pub struct Reload {
    /// What the files say now, with what is wrong in them.
    pub configuration: Configuration,
    /// False when a file that the person named cannot be used: the rest of what is wrong is of no interest then.
    pub is_usable: bool,
    /// What a host is to have now, for [`helve::Host::set_servers`]; servers that did not change keep running. A
    /// configuration that cannot be used changes nothing.
    pub plan: Result<Plan, SetupError>,
}

impl Reloader {
    /// Changes count from now on.
    #[must_use]
    pub fn new(setup: Arc<Setup>) -> Self {
        Self { marks: marks(&setup), setup }
    }

    /// One look; `None` when nothing changed. Files are looked at and read on another thread: whoever is served meanwhile
    /// does not wait for a disk, or for what somebody put on it.
    pub async fn look(&mut self) -> Option<Reload> {
        let (setup, known) = (Arc::clone(&self.setup), std::mem::take(&mut self.marks));
        let (marks, reload) = tokio::task::spawn_blocking(move || load_if_changed(&setup, &known)).await.ok()?;
        self.marks = marks;
        reload
    }
}

fn load_if_changed(setup: &Setup, known: &Marks) -> (Marks, Option<Reload>) {
    let marks = marks(setup);
    if marks == *known {
        return (marks, None);
    }
    let configuration = setup.read_configuration();
    let checked = setup.check_named_files(&configuration);
    let is_usable = checked.is_ok();
    let plan = checked.and_then(|()| {
        let mut plan = setup.host_plan(&configuration, Wanted::All)?;
        setup.hurry(&mut plan);
        Ok(plan)
    });
    (marks, Some(Reload { configuration, is_usable, plan }))
}

fn marks(setup: &Setup) -> Marks {
    // A hub whose servers are others is as good as a file that says so.
    let files = setup.candidate_files().into_iter().chain(setup.kept_hub_files()).map(|path| {
        let mark = file_mark(&path);
        (path, mark)
    });
    let files = files.collect();
    // A definition that the person accepted meanwhile is called and listed again, and a server they trusted is started.
    let answers = match setup.stores() {
        Ok(stores) => [stores.mark::<PinFile>(), stores.mark::<TrustFile>()],
        Err(_) => [None, None],
    };
    Marks { files, answers }
}
