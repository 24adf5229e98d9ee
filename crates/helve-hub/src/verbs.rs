//! Everything that can be done at the hub: one function each, for page, API and command line alike. The right to do it is
//! checked in that function and nowhere else.

pub(crate) mod add;
pub(crate) mod always;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod calls;
pub(crate) mod changes;
pub(crate) mod draft;
pub(crate) mod files;
mod followed;
pub(crate) mod pins;
pub(crate) mod redaction;
pub(crate) mod rules;
pub(crate) mod sealing;
pub(crate) mod servers;
pub(crate) mod settings;
pub(crate) mod sign_in;
pub(crate) mod status;
pub(crate) mod tokens;
pub(crate) mod tools;
pub(crate) mod trial_steps;
pub(crate) mod trials;
pub(crate) mod trust;
