//! What a person should hear although nothing failed, as data: whoever has a person in front says it.

use std::fmt;

use helve_model::Hint;
use helve_model::name::PlaceName;
use helve_model::text::one_line;

use crate::error::SetupError;
use crate::hubs::HubAway;

/// Something that a person should hear.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notice {
    /// What was trusted cannot be read, so nothing of the project is.
    TrustUnreadable(SetupError),
    /// What was trusted under rules of an earlier version has ended: these projects.
    TrustEnded(Vec<String>),
    /// What was approved under rules of an earlier version has ended: these tools.
    ApprovalsEnded(Vec<String>),
    /// helve was started by itself again and again, so many times: it starts nothing.
    TooDeep(u32),
    /// A setting names something as a tool that is none.
    NotATool {
        /// Which setting.
        setting: &'static str,
        /// What it says.
        text: String,
    },
    /// Servers should have been kept in the background, and are not.
    NotKept(SetupError),
    /// A hub does not answer: what is shown of its servers is as it was.
    HubAway {
        /// The place of its servers.
        place: PlaceName,
        /// Since when, and why.
        away: HubAway,
    },
}

/// Whoever hears notices. The default writes them as log lines.
pub trait NoticeSink: fmt::Debug + Send + Sync {
    /// Hears one.
    fn hear(&self, notice: Notice);
}

/// Writes notices as log lines.
#[derive(Debug, Default)]
pub(crate) struct LoggedNotices;

impl NoticeSink for LoggedNotices {
    fn hear(&self, notice: Notice) {
        tracing::warn!("{notice}");
    }
}

impl Notice {
    /// What somebody can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::HubAway { .. } => Some(Hint::ShowHubs),
            Self::TooDeep(_) => Some(Hint::text("one of the servers leads back to helve: remove it, or switch it off")),
            _ => None,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TrustUnreadable(error) => write!(formatter, "{error}; nothing of this project counts as trusted"),
            Self::TrustEnded(projects) => {
                let projects = projects.join(", ");
                write!(
                    formatter,
                    "trust covers more than it did, so what you trusted before is asked again: {projects}"
                )
            }
            Self::ApprovalsEnded(tools) => {
                let tools = tools.join(", ");
                write!(
                    formatter,
                    "approvals are for one server and no longer for its name, so these are asked again: {tools}"
                )
            }
            Self::TooDeep(depth) => {
                write!(formatter, "nothing is started: helve runs as a server of helve, {depth} deep")
            }
            Self::NotATool { setting, text } => {
                write!(formatter, "`{text}` in `{setting}` is not a tool: write server/tool")
            }
            Self::HubAway { place, away } => {
                let why = one_line(&away.why);
                write!(formatter, "the hub `{place}` is away ({why}): what is known of its servers is as it was")
            }
            Self::NotKept(error) => write!(formatter, "servers are not kept running: {error}"),
        }
    }
}
