//! A verb read by itself is read as among all others.

use super::*;

fn words(line: &str) -> Vec<OsString> {
    ["helve"].into_iter().chain(line.split_whitespace()).map(OsString::from).collect()
}

#[test]
fn a_verb_alone_is_the_same_verb() {
    for line in [
        "call files/read path=a --json",
        "call -v files/read --args {} --yes --timeout 5s -v",
        "call files/read path=-x -- --help",
        "tools",
        "tools files --format python --color never",
        "serve --http 7332 --prefix none --config a.toml --config b.toml",
    ] {
        let arguments = words(line);
        let whole = Cli::try_parse_from(&arguments).map(|cli| format!("{cli:?}"));
        assert_eq!(parse(&arguments).map(|cli| format!("{cli:?}")).ok(), whole.ok(), "{line}");
    }
}

#[test]
fn what_is_wrong_is_told_by_the_whole() {
    for line in ["call", "call --help", "call x --nonsense", "call --version", "tools --jsn", "serve --manage --http 1"]
    {
        let arguments = words(line);
        let whole = Cli::try_parse_from(&arguments).unwrap_err().to_string();
        assert_eq!(parse(&arguments).unwrap_err().to_string(), whole, "{line}");
    }
}
