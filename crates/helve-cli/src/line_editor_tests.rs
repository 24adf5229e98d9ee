//! Programs typed line by line, and what of earlier ones comes back.

use crate::questions::fake_screen::{typed, with_keys};

use super::*;

/// The programs that come of these keys, and what is on the terminal then.
fn programs(keys: &[Key]) -> (Vec<String>, String) {
    let mut editor = LineEditor::default();
    let (programs, pictures) = with_keys(keys, |terminal| {
        let mut programs = Vec::new();
        while let Some(program) = editor.read(terminal.keys, terminal.write, terminal.width) {
            programs.push(program);
        }
        programs
    });
    (programs, pictures.last().cloned().unwrap_or_default())
}

#[test]
fn a_block_ends_with_an_empty_line() {
    let (programs, seen) = programs(&typed("x = 1\nfor i in range(2):\n    print(i)\n\n"));
    assert_eq!(programs, ["x = 1\n", "for i in range(2):\n    print(i)\n\n"]);
    insta::assert_snapshot!(seen, @"
    >>> x = 1
    >>> for i in range(2):
    ...     print(i)
    ...
    >>>
    ");
}

#[test]
fn lines_come_back_with_the_arrows() {
    let mut keys = typed("a = 1\nb = 2\nc");
    keys.extend([Key::Up, Key::Up, Key::Down, Key::Backspace, Key::Character('3'), Key::Enter]);
    // What was being typed comes back, too.
    keys.extend(typed("half"));
    keys.extend([Key::Up, Key::Down]);
    keys.extend(typed(" + 1\n"));
    let (programs, _) = programs(&keys);
    assert_eq!(programs, ["a = 1\n", "b = 2\n", "b = 3\n", "half + 1\n"]);
}

#[test]
fn lines_are_edited_in_place() {
    let mut keys = typed("rint('x)");
    keys.extend([Key::Home, Key::Character('p'), Key::End, Key::Left, Key::Character('\''), Key::Enter]);
    keys.extend(typed("one two"));
    keys.extend([Key::EraseWord, Key::Tab, Key::EraseLine, Key::Character('y'), Key::Enter]);
    keys.extend(typed("if broken:\n"));
    keys.extend([Key::Interrupt, Key::Character('z'), Key::Left, Key::EndOfInput, Key::Character('w'), Key::Enter]);
    let (programs, seen) = programs(&keys);
    assert_eq!(programs, ["print('x')\n", "y\n", "w\n"]);
    insta::assert_snapshot!(seen, @"
    >>> print('x')
    >>> y
    >>> if broken:
    ... ^C
    >>> w
    >>>
    ");
}

#[test]
fn a_long_line_shows_what_is_around_the_cursor() {
    let mut keys = typed(&"0123456789".repeat(9));
    keys.push(Key::Other);
    keys.push(Key::Home);
    let mut editor = LineEditor::default();
    let (_, pictures) = with_keys(&keys, |terminal| editor.read(terminal.keys, terminal.write, terminal.width));
    assert!(pictures.iter().all(|picture| picture.len() < 60), "{pictures:?}");
    assert!(pictures[0].ends_with("789") && pictures[1].starts_with(">>> 0123"), "{pictures:?}");
}
