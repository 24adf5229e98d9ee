//! A page that a server wants opened: where it leads is shown first, and it is opened after a yes alone, by the
//! person's browser and without a shell.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use helve::ElicitationAnswer;
use helve_schema::UrlRequest;
use helve_setup::Environment;
use helve_setup::environment::find_in;

use super::form::introduce;
use super::widget::{Choice, Choices, Step, Terminal};
use crate::printer::{Line, Style};

/// What opens a page in the person's browser.
#[cfg(target_os = "macos")]
const OPENERS: &[&str] = &["open"];
#[cfg(not(target_os = "macos"))]
const OPENERS: &[&str] = &["xdg-open", "wslview"];

/// The way to the person's browser.
#[derive(Debug, Clone)]
pub(crate) struct Browser {
    variables: Vec<(OsString, OsString)>,
}

impl Browser {
    pub(crate) fn new(env: &Environment) -> Self {
        Self { variables: env.variables() }
    }

    /// Opens a page, or says why it cannot.
    #[expect(clippy::disallowed_methods, reason = "a browser is the person's own and lives on after helve")]
    pub(crate) fn open(&self, url: &str) -> Result<(), String> {
        let path = self.variables.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value);
        let opener = path.and_then(|path| OPENERS.iter().find_map(|name| find_in(path, name)));
        let Some(opener) = opener else { return Err(format!("there is no {}", OPENERS.join(" and no "))) };
        let mut command = Command::new(&opener);
        command.arg(url).env_clear().envs(self.variables.iter().cloned());
        // Ctrl-C here is not meant for it.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        command.spawn().map(drop).map_err(|error| format!("{} cannot be started: {error}", opener.display()))
    }
}

/// Shows where a page leads, and asks before anything is opened.
pub(crate) fn ask(
    terminal: &mut Terminal<'_>,
    server: &str,
    request: &UrlRequest,
    browser: &Browser,
) -> ElicitationAnswer {
    introduce(terminal, server, &request.message());
    terminal.say(&Line::plain("  It wants you to open a page of ").then(Style::Name, request.host()));
    for warning in request.warnings() {
        terminal.say(&Line::styled(Style::Warning, "  warning:").then(Style::Plain, format!(" {warning}")));
    }
    // Whole, however long it is: it is there to be looked at and copied.
    terminal.say(&Line::plain(format!("  {}", request.url())));
    let labels = ["no", "open it in the browser", "yes, I open it myself"];
    let choices = labels.map(|label| Choice { label: label.to_owned(), value: label.to_owned() }).to_vec();
    let heading = [Line::plain("  Open ").then(Style::Name, request.host()).then(Style::Plain, "?")];
    let answer = terminal.choose(&heading, &Choices { choices, start: 0, marked: None }, |at, _| Ok(at));
    match answer {
        Step::Done(0) | Step::Decline => ElicitationAnswer::Decline,
        Step::Cancel => ElicitationAnswer::Cancel,
        Step::Done(1) => {
            match browser.open(request.url()) {
                Ok(()) => terminal.say(&Line::plain(format!("  opened {}", request.host()))),
                Err(problem) => {
                    let text = format!(" {problem}; open the address above yourself");
                    terminal.say(&Line::styled(Style::Warning, "  warning:").then(Style::Plain, text));
                }
            }
            ElicitationAnswer::Accept(None)
        }
        Step::Done(_) => ElicitationAnswer::Accept(None),
    }
}
