//! Columns line up whatever is in them, and are cut only to a terminal's width.

use unicode_width::UnicodeWidthStr as _;

use super::{Color, Line, Style, Table};

fn table() -> Table {
    let mut table = Table::new(["NAME", "STATE", "WHERE"]);
    table.row([Line::plain("files"), Line::styled(Style::Good, "on"), Line::plain("~/.config/helve/helve.toml:3")]);
    table.row([Line::plain("世界"), Line::styled(Style::Bad, "a rather long reason why not"), Line::plain("x")]);
    table.row([Line::plain("\u{1b}[31mred"), Line::default(), Line::plain("two\nlines")]);
    table
}

#[test]
fn columns_line_up() {
    insta::assert_snapshot!(table().render(Color::Off, None), @r#"
    NAME           STATE                         WHERE
    files          on                            ~/.config/helve/helve.toml:3
    世界           a rather long reason why not  x
    \u{1b}[31mred                                two\nlines
    "#);
}

#[test]
fn a_terminal_is_not_overrun() {
    let rendered = table().render(Color::Off, Some(50));
    assert!(rendered.lines().all(|line| line.width() <= 50), "{rendered}");
    insta::assert_snapshot!(rendered, @r#"
    NAME           STATE                WHERE
    files          on                   ~/.config/hel…
    世界           a rather long reas…  x
    \u{1b}[31mred                       two\nlines
    "#);
    insta::assert_snapshot!(table().render(Color::Off, Some(3)), @r#"
    NAME      STATE     WHERE
    files     on        ~/.conf…
    世界      a rathe…  x
    \u{1b}[…            two\nli…
    "#);
}

#[test]
fn colours_do_not_move_anything() {
    let colored = table().render(Color::On, Some(50));
    assert!(colored.contains("\u{1b}[32mon\u{1b}[0m"), "{colored:?}");
    let mut plain = String::new();
    let mut rest = colored.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.split_once('m').expect("the end of a code").1;
    }
    plain.push_str(rest);
    assert_eq!(plain, table().render(Color::Off, Some(50)));
}
