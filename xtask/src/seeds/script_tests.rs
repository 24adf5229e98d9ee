//! What a `.seed` file says, and what it may not say.

use super::*;

const TEXT: &str = "\
# A comment
== a scene
@ project/a.txt
    one
      two
$ helve trust --yes

-- an item
$ helve call a/b
= 7
+ DENIED
- done
< 500
! broker
-- another
later: the sandbox
-- a third
better: stricter
$ helve
";

#[test]
fn a_scene_has_a_preparation_and_items() {
    let seed = Seed::read(TEXT).unwrap();
    let scene = &seed.scenes[0];
    assert_eq!(scene.preparation[0], Step::File { path: "project/a.txt".to_owned(), text: "one\n  two\n".to_owned() });
    let run = Run {
        line: 9,
        command: "helve call a/b".to_owned(),
        status: 7,
        says: vec!["DENIED".to_owned()],
        never_says: vec!["done".to_owned()],
        milliseconds: Some(500),
    };
    assert_eq!(scene.items[0].steps, [Step::Run(run), Step::Check("broker".to_owned())]);
    let told: Vec<String> = scene
        .items
        .iter()
        .map(|item| format!("{}: {}: {}", item.title, item.verdict().words(), item.evidence()))
        .collect();
    insta::assert_snapshot!(told.join("\n"), @"
    an item: WORKS: `helve call a/b` -> DENIED; library: broker
    another: LATER: the sandbox
    a third: DIFFERS (better): stricter; `helve`
    ");
}

#[test]
fn a_mistake_is_told_with_its_line() {
    let told = |text: &str| format!("{:#}", Seed::read(text).unwrap_err());
    insta::assert_snapshot!(told("-- an item"), @"line 1: -- an item: it stands before the first scene");
    insta::assert_snapshot!(told("== a\n= 3"), @"line 2: = 3: it follows no command");
    insta::assert_snapshot!(told("== a\n? what"), @"line 2: ? what: no such mark: ?");
    insta::assert_snapshot!(told("== a\n    text"), @"line 2:     text: text that belongs to no file");
}
