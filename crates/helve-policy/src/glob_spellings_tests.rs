//! What a pattern means besides itself.

use super::*;

#[test]
fn spellings_of_globs() {
    let shown = |globs: Vec<String>| globs.join("  ");
    let restricting: Vec<String> = [
        "secrets/**",
        "./secrets//*",
        "**/secrets/*",
        "/srv/**/keys",
        "x/../Secrets/",
        "file:///srv/a%20b/**",
        "https://Me@H.example:443/x/*",
        "*",
        "*/*",
        "a\\*b",
        "{a,b}/**",
        "..",
        "../x",
        "broken[",
        "git *",
    ]
    .into_iter()
    .map(|glob| shown(restricting(glob)))
    .collect();
    insta::assert_snapshot!(restricting.join("\n"), @r"
    secrets/**  secrets
    ./secrets//*  secrets/*  secrets
    **/secrets/*  secrets/*  **/secrets  secrets
    /srv/**/keys  /srv/keys
    x/../Secrets/  secrets
    file:///srv/a%20b/**  /srv/a b/**  /srv/a b
    https://Me@H.example:443/x/*  https://h.example/x/*  https://h.example/x  https://me@h.example:443/x/*  https://me@h.example:443/x
    *
    */*
    a\*b
    {a,b}/**  {a,b}
    ..
    ../x
    broken[
    git *
    ");
    let allowing: Vec<String> = ["docs/**", "./run.sh *", "a//b/", "https://h//x/*", "re\\\\d*"]
        .into_iter()
        .map(|glob| shown(allowing(glob)))
        .collect();
    insta::assert_snapshot!(allowing.join("\n"), @r"
    docs/**
    ./run.sh *  run.sh *
    a//b/  a/b
    https://h//x/*  https://h/x/*
    re\\d*  re/d*
    ");
}
