//! Lines that are typed and lists that are chosen from, key by key.

use super::super::fake_screen::{typed, with_keys};
use super::*;

fn line(keys: &[Key]) -> (Step<String>, Vec<String>) {
    with_keys(keys, |terminal| {
        terminal.text(&[Line::plain("  Name")], "", |text| {
            if text.is_empty() { Err("an answer is required".to_owned()) } else { Ok(text.to_owned()) }
        })
    })
}

fn chosen(labels: &[&str], marked: Option<Vec<bool>>, keys: &[Key]) -> (Step<(usize, Vec<bool>)>, Vec<String>) {
    let choices = labels.iter().map(|label| Choice { label: (*label).to_owned(), value: label.to_uppercase() });
    let choices = Choices { choices: choices.collect(), start: 0, marked };
    with_keys(keys, |terminal| {
        terminal.choose(&[Line::plain("  Colour")], &choices, |at, marked| Ok((at, marked.to_vec())))
    })
}

#[test]
fn a_line_can_be_edited() {
    let keys = [
        typed("one twox"),
        vec![Key::Left, Key::Delete, Key::Home, Key::Character('>'), Key::End, Key::Backspace, Key::Other],
        vec![Key::EraseWord, Key::Character('2'), Key::Enter],
    ]
    .concat();
    let (step, pictures) = line(&keys);
    assert_eq!(step, Step::Done(">one 2".to_owned()));
    assert_eq!(pictures, ["  Name\n  > >one tw", ""]);
    assert_eq!(
        line(&[typed("abc"), vec![Key::Left, Key::EraseLine, Key::Enter]].concat()).0,
        Step::Done("c".to_owned())
    );
}

#[test]
fn what_does_not_fit_is_said_in_place() {
    let (step, pictures) = line(&[vec![Key::Enter, Key::Other], typed("x\n")].concat());
    assert_eq!(step, Step::Done("x".to_owned()));
    assert_eq!(pictures[0], "  Name\n  ! an answer is required\n  >");
}

#[test]
fn who_goes_away_and_who_declines() {
    for (key, step) in [
        (Key::Escape, Step::Cancel),
        (Key::Interrupt, Step::Cancel),
        (Key::Gone, Step::Cancel),
        (Key::EndOfInput, Step::Decline),
    ] {
        assert_eq!(line(&[Key::Character('x'), key]).0, step);
    }
    assert_eq!(chosen(&["a"], None, &[Key::Escape]).0, Step::Cancel);
    assert_eq!(chosen(&["a"], None, &[Key::EndOfInput]).0, Step::Decline);
}

#[test]
fn a_long_line_shows_where_the_cursor_is() {
    let long: String = ('a'..='z').cycle().take(100).collect();
    let (_, pictures) = line(&[typed(&long), vec![Key::Other, Key::Home, Key::Other]].concat());
    assert_eq!(pictures[0].lines().last(), Some("  > uvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuv"));
    assert_eq!(pictures[1].lines().last(), Some("  > abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzab"));
}

#[test]
fn lists_are_chosen_from_by_arrows_and_by_typing() {
    let colours = ["red", "green", "blue"];
    let at = |keys: &[Key]| chosen(&colours, None, keys).0;
    let done = |at: usize| Step::Done((at, vec![false; 3]));
    assert_eq!(at(&[Key::Down, Key::Down, Key::Enter]), done(2));
    assert_eq!(at(&[Key::Up, Key::Enter]), done(2));
    assert_eq!(at(&typed("gr\n")), done(1));
    assert_eq!(at(&typed("BLUE\n")), done(2));
    let (step, pictures) =
        chosen(&colours, None, &[typed("pink\n"), vec![Key::Other, Key::EraseLine, Key::Enter]].concat());
    assert_eq!(step, done(0));
    insta::assert_snapshot!(pictures[0], @"
      Colour
      > red
        green
        blue
      ! there is no choice `pink`
      / pink
    ");
}

#[test]
fn several_are_marked() {
    let keys = [Key::Down, Key::Character(' '), Key::Other, Key::Enter];
    let (step, pictures) = chosen(&["red", "green"], Some(vec![true, false]), &keys);
    assert_eq!(step, Step::Done((1, vec![true, true])));
    insta::assert_snapshot!(pictures[0], @"
      Colour
        [x] red
      > [x] green
    ");
}

#[test]
fn a_long_list_is_seen_in_part() {
    let names: Vec<String> = (0..30).map(|number| format!("n{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (_, pictures) = chosen(&names, None, &[typed("n17"), vec![Key::Other]].concat());
    insta::assert_snapshot!(pictures[0], @"
      Colour
        … 12 more
        n12
        n13
        n14
        n15
        n16
      > n17
        n18
        n19
        n20
        n21
        … 8 more
      / n17
    ");
}

#[test]
fn nothing_a_server_says_steers_the_terminal() {
    let (_, pictures) = chosen(&["a\u{1b}[2Jb"], None, &[Key::Other]);
    assert_eq!(pictures[0], "  Colour\n  > a\\u{1b}[2Jb");
}
