//! Names that were nearly right, and a machine without a home.

use helve_model::text::nearest;
use helve_setup::Environment;

use super::Context;
use crate::console::Console;
use crate::options::GlobalOptions;

#[test]
fn the_nearest_name_is_suggested_if_it_is_near() {
    let names = ["github", "gitlab", "files"];
    assert_eq!(nearest("githup", names.iter().copied()), Some("github"));
    assert_eq!(nearest("GITLAB", names.iter().copied()), Some("gitlab"));
    assert_eq!(nearest("zzz", names.iter().copied()), None);
    assert_eq!(nearest("x", []), None);
}

#[test]
fn without_a_home_nothing_can_be_remembered() {
    let context = Context::new(Environment::new("/"), Console::default(), GlobalOptions::default());
    let failure = context.stores().expect_err("nowhere to keep it");
    insta::assert_snapshot!(format!("{} ({})", failure.message(), context.printer.words.say_all(failure.hints()).join("; ")), @"there is no home directory to remember anything in (set HOME or XDG_STATE_HOME)");
}
