//! What the program knows about the terminal it runs at, and the variables that steer how it shows things.

use helve_setup::Environment;

/// The variables that steer how helve shows things.
pub(crate) mod variable {
    /// Which log lines are shown, by target: `helve_wire=debug,helve=info`.
    pub(crate) const HELVE_LOG: &str = "HELVE_LOG";
    /// Not empty: no colours.
    pub(crate) const NO_COLOR: &str = "NO_COLOR";
    /// Neither empty nor `0`: colours even where there is no terminal.
    pub(crate) const CLICOLOR_FORCE: &str = "CLICOLOR_FORCE";
    /// `dumb` is a terminal without colours.
    pub(crate) const TERM: &str = "TERM";
    /// How wide the terminal is, where the person wants it otherwise.
    pub(crate) const COLUMNS: &str = "COLUMNS";
}

/// Narrower terminals are treated as if they were this wide: a table of three letters helps nobody.
const MIN_COLUMNS: usize = 40;

/// What `main` read about the terminal. Nobody is there by default.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Console {
    pub(crate) stdin_is_terminal: bool,
    /// The session has a terminal, whatever standard input is.
    pub(crate) has_terminal: bool,
    pub(crate) stdout_is_terminal: bool,
    pub(crate) stderr_is_terminal: bool,
    /// What the terminal says about its width.
    pub(crate) columns: Option<usize>,
}

impl Console {
    /// True when a person can be asked: they see the question and their answer is read, from their terminal where
    /// standard input is something else.
    pub(crate) const fn can_ask(&self) -> bool {
        self.stderr_is_terminal && (self.stdin_is_terminal || self.has_terminal)
    }

    /// How wide lines on stdout may be; `None` when it is not a terminal, and lines are as long as they are.
    pub(crate) fn width(&self, environment: &Environment) -> Option<usize> {
        if !self.stdout_is_terminal {
            return None;
        }
        let said = environment.variable(variable::COLUMNS).and_then(|columns| columns.parse().ok());
        said.or(self.columns).filter(|columns| *columns > 0).map(|columns| columns.max(MIN_COLUMNS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_is_the_terminals_or_what_the_person_says() {
        let width = |variables: &[(&str, &str)], stdout_is_terminal| {
            let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            let environment = Environment::new("/").with_variables(variables);
            Console { stdout_is_terminal, columns: Some(100), ..Console::default() }.width(&environment)
        };
        assert_eq!(width(&[], true), Some(100));
        assert_eq!(width(&[("COLUMNS", "60")], true), Some(60));
        assert_eq!(width(&[("COLUMNS", "3")], true), Some(40));
        assert_eq!(width(&[("COLUMNS", "wide")], true), Some(100));
        assert_eq!(width(&[("COLUMNS", "60")], false), None);
    }
}
