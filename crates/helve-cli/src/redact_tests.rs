//! What is remembered for the whole program; the forms are tested where they are made.

use super::*;

#[test]
fn what_was_remembered_is_not_said_and_paths_are() {
    remember("tok-of-redact-tests-1");
    remember("/usr/bin");
    assert_eq!(hide("a tok-of-redact-tests-1 in /usr/bin"), "a (hidden) in /usr/bin");
}
