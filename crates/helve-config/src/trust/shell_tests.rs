//! How a shell's line falls apart.

use super::commands;

/// One command per line; `?` marks an open word, `<` one that is read.
fn check(line: &str) -> String {
    let known = |name: &str| match name {
        "HERE" => Some("./here.sh".to_owned()),
        "TWO" => Some("a b".to_owned()),
        _ => None,
    };
    let word = |word: &super::Word| {
        let open = if word.is_open { "?" } else { "" };
        let input = if word.is_input { "<" } else { "" };
        format!("{input}[{}]{open}", word.text)
    };
    let lines: Vec<String> =
        commands(line, known).iter().map(|words| words.iter().map(word).collect::<Vec<_>>().join(" ")).collect();
    lines.join("\n")
}

#[test]
fn words_and_commands() {
    insta::assert_snapshot!(check("./run.sh;true"), @r"
    [./run.sh]
    [true]
    ");
    insta::assert_snapshot!(check("cd sub && exec ./run.sh --fast|tee 'a b' & wait"), @r"
    [cd] [sub]
    [exec] [./run.sh] [--fast]
    [tee] [a b]
    [wait]
    ");
    insta::assert_snapshot!(check(r#"(cd "my dir"; ./a\ b) # ./not.sh"#), @r"
    [cd] [my dir]
    [./a b]
    ");
    insta::assert_snapshot!(check("sh < run.db > out.log; cat <<E"), @r"
    [sh] <[run.db] [out.log]
    [cat] <[E]
    ");
}

#[test]
fn what_the_shell_alone_knows_is_open() {
    insta::assert_snapshot!(check(r#"$HERE "$HERE" ${HERE} '$HERE' \$HERE $TWO "$TWO""#), @r"[./here.sh] [./here.sh] [./here.sh] [$HERE] [$HERE] [a] [b] [a b]");
    insta::assert_snapshot!(check(r#"sh "$1" $x "a$(./gen.sh --now)b" `./tick.sh`"#), @r"
    [./gen.sh] [--now]
    [sh] []? []? [ab]?
    [./tick.sh]
    ");
    insta::assert_snapshot!(check("echo $(./gen.sh)/x"), @r"
    [echo] []?
    [./gen.sh]
    [/x]
    ");
}
