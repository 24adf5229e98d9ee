//! What decides about colours.

use helve_setup::Environment;

use super::{Color, color};
use crate::options::ColorChoice;

#[test]
fn colours_follow_the_person_then_the_variables_then_the_terminal() {
    let shown = |choice, variables: &[(&str, &str)], is_terminal| {
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let env = Environment::new("/").with_variables(variables);
        color(&env, choice, is_terminal) == Color::On
    };
    use ColorChoice::{Always, Auto, Never};
    for (choice, variables, is_terminal, expected) in [
        (Auto, &[][..], true, true),
        (Auto, &[], false, false),
        (Auto, &[("NO_COLOR", "1")], true, false),
        (Auto, &[("NO_COLOR", "")], true, true),
        (Auto, &[("TERM", "dumb")], true, false),
        (Auto, &[("CLICOLOR_FORCE", "1")], false, true),
        (Auto, &[("CLICOLOR_FORCE", "0")], false, false),
        (Auto, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], true, false),
        (Always, &[("NO_COLOR", "1")], false, true),
        (Never, &[("CLICOLOR_FORCE", "1")], true, false),
    ] {
        assert_eq!(shown(choice, variables, is_terminal), expected, "{choice:?} {variables:?} {is_terminal}");
    }
}
