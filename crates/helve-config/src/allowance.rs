//! How much one load takes of a project: bytes and time, values, servers, rules, inputs, references and texts.
//!
//! A project's files are read before anybody trusts them, so each thing that they can have many of has a number here, for
//! all files of the project together. What is beyond it is never read as if it were not there: whoever takes the last one
//! says so. The person's own files are only bounded where nobody can mean it.

use std::cell::Cell;
use std::time::Duration;

use helve_model::Layer;

use crate::reading::Budget;

/// The configuration files of a project, and the files they refer to, have no more bytes than this together.
const MAX_PROJECT_BYTES: u64 = 4 * 1024 * 1024;

/// Reading them takes no longer than this.
const MAX_PROJECT_TIME: Duration = Duration::from_millis(500);

/// The same for the person's own files, which some applications keep their history in.
const MAX_OWN_BYTES: u64 = 256 * 1024 * 1024;

/// Reading those takes no longer than this; a home directory may be far away.
const MAX_OWN_TIME: Duration = Duration::from_secs(30);

/// Characters that separate values. Every value costs memory, whether it means anything or not.
const MAX_PROJECT_MARKS: usize = 60_000;

/// Servers that a project's files configure.
pub(crate) const MAX_PROJECT_SERVERS: usize = 500;

/// Rules that a project's files hold.
pub(crate) const MAX_PROJECT_RULES: usize = 2_000;

/// Values that a project's files want to ask for.
pub(crate) const MAX_PROJECT_INPUTS: usize = 200;

/// References that are filled in.
pub(crate) const MAX_PROJECT_REFERENCES: usize = 4_000;

/// Bytes of all commands, arguments, variables, addresses and headers, as they are written and filled in.
const MAX_PROJECT_TEXT: usize = 1024 * 1024;

/// What is left. Each `take_…` says whether there was one left to take.
#[derive(Debug)]
pub(crate) struct Allowance {
    pub(crate) budget: Budget,
    marks: Cell<usize>,
    servers: Cell<usize>,
    rules: Cell<usize>,
    inputs: Cell<usize>,
    references: Cell<usize>,
    text: Cell<usize>,
}

impl Allowance {
    /// What the files of a layer may take together.
    pub(crate) const fn of(layer: Layer) -> Self {
        match layer {
            Layer::Project => Self {
                budget: Budget::new(MAX_PROJECT_BYTES, MAX_PROJECT_TIME),
                marks: Cell::new(MAX_PROJECT_MARKS),
                servers: Cell::new(MAX_PROJECT_SERVERS),
                rules: Cell::new(MAX_PROJECT_RULES),
                inputs: Cell::new(MAX_PROJECT_INPUTS),
                references: Cell::new(MAX_PROJECT_REFERENCES),
                text: Cell::new(MAX_PROJECT_TEXT),
            },
            _ => Self {
                budget: Budget::new(MAX_OWN_BYTES, MAX_OWN_TIME),
                marks: Cell::new(usize::MAX),
                servers: Cell::new(usize::MAX),
                rules: Cell::new(usize::MAX),
                inputs: Cell::new(usize::MAX),
                references: Cell::new(usize::MAX),
                text: Cell::new(usize::MAX),
            },
        }
    }

    /// How many marks are left.
    pub(crate) const fn marks(&self) -> usize {
        self.marks.get()
    }

    pub(crate) fn take_marks(&self, count: usize) {
        take(&self.marks, count);
    }

    pub(crate) fn take_server(&self) -> bool {
        take(&self.servers, 1)
    }

    pub(crate) fn take_rule(&self) -> bool {
        take(&self.rules, 1)
    }

    pub(crate) fn take_input(&self) -> bool {
        take(&self.inputs, 1)
    }

    pub(crate) fn take_reference(&self) -> bool {
        take(&self.references, 1)
    }

    /// True while there is text left to take: nobody goes on collecting what is not read.
    pub(crate) const fn has_text(&self) -> bool {
        self.text.get() > 0
    }

    pub(crate) fn take_text(&self, bytes: usize) -> bool {
        take(&self.text, bytes)
    }
}

fn take(left: &Cell<usize>, count: usize) -> bool {
    let before = left.get();
    left.set(before.saturating_sub(count));
    count <= before
}
