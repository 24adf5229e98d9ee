//! Columns line up whatever is in them, and are cut only to a terminal's width.

use unicode_width::UnicodeWidthStr as _;

use super::{Color, Line, Style, Table, render_long};

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
    files
      STATE  on
      WHERE  ~/.conf…
    世界
      STATE  a rathe…
      WHERE  x
    \u{1b}[31mred
      WHERE  two\nli…
    "#);
}

#[test]
fn every_width_is_that_of_the_whole_text() {
    for text in
        ["", "plain", "世界", "cut…", "1\u{fe0f}\u{20e3} keys", "a\u{301}b", "👩\u{200d}👩 x", "tab\there", "#\u{fe0f}"]
    {
        let line = Line::plain(text);
        assert_eq!(line.width(), line.text().width(), "{text:?}");
        assert_eq!(Line::plain("a ").then(Style::Good, text).width(), format!("a {}", line.text()).width(), "{text:?}");
    }
}

#[test]
fn a_long_table_looks_like_a_short_one() {
    let rows = |count: usize| {
        (0..count).map(|row| {
            [
                Line::borrowed(Style::Name, format!("tool {row}")),
                Line::borrowed(Style::Plain, "does…\n".repeat(row % 3)),
            ]
        })
    };
    for count in [1, 2, 20_000] {
        let mut table = Table::new(["TOOL", "WHAT"]);
        for row in 0..count {
            table.row([Line::styled(Style::Name, format!("tool {row}")), Line::plain("does…\n".repeat(row % 3))]);
        }
        for look in [(Color::Off, None), (Color::On, Some(20))] {
            let mut long = String::new();
            let write = |portion: &str| {
                long.push_str(portion);
                Ok::<(), ()>(())
            };
            assert_eq!(render_long(["TOOL", "WHAT"], || rows(count), look, write), Ok(()));
            assert!(long == table.render(look.0, look.1), "{count} {look:?}");
        }
    }
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
