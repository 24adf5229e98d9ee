//! Every spelling splits where its server ends.

use super::*;

fn shown(text: &str) -> String {
    match split(text) {
        Named::Bare => "bare".to_owned(),
        Named::Unsplittable => "unsplittable".to_owned(),
        Named::Tools(globs) => globs
            .iter()
            .map(|globs| format!("{:?} {} {}", globs.view, globs.server, globs.tool))
            .collect::<Vec<_>>()
            .join(" | "),
    }
}

#[test]
fn rules_split_into_a_server_and_a_tool() {
    let all = [
        "github/*",
        "github:create_*",
        "mcp__github__*",
        "mcp__github",
        "mcp__*",
        "mcp__a__b__c",
        "mcp__a___b",
        "mcp____a_b",
        "mcp____",
        "device.GithubMCP.*",
        "device.GithubMCP",
        "device.*",
        "*",
        "**",
        "*/delete_*",
        "a%2Fb%3Ac%25/x/y:z",
        "mcp__x/y",
        "{a,b}/x",
        "[ab]:x",
        "a\\/b/c",
        "read_file",
        "*delete*",
        "{a/x,b/y}",
        "{mcp__a__b,mcp__c__d}",
        "mcp__{a__b,c__d}",
        "/x",
        "mcp__",
        "device.",
        "github/repo://docs/*",
        "",
    ];
    let table: Vec<String> = all.iter().map(|text| format!("{text}  =>  {}", shown(text))).collect();
    insta::assert_snapshot!(table.join("\n"), @r"
    github/*  =>  Identity github *
    github:create_*  =>  Identity github create_*
    mcp__github__*  =>  Provider github *
    mcp__github  =>  Provider github *
    mcp__*  =>  Provider * *
    mcp__a__b__c  =>  Provider a b__c | Provider a__b c
    mcp__a___b  =>  Provider a _b | Provider a_ b
    mcp____a_b  =>  Provider __a_b *
    mcp____  =>  unsplittable
    device.GithubMCP.*  =>  Code GithubMCP *
    device.GithubMCP  =>  Code GithubMCP *
    device.*  =>  Code * *
    *  =>  Identity * *
    **  =>  Identity * *
    */delete_*  =>  Identity * delete_*
    a%2Fb%3Ac%25/x/y:z  =>  Identity a/b:c% x/y:z
    mcp__x/y  =>  Identity mcp__x y
    {a,b}/x  =>  Identity {a,b} x
    [ab]:x  =>  Identity [ab] x
    a\/b/c  =>  Identity a\/b c
    read_file  =>  bare
    *delete*  =>  bare
    {a/x,b/y}  =>  unsplittable
    {mcp__a__b,mcp__c__d}  =>  unsplittable
    mcp__{a__b,c__d}  =>  unsplittable
    /x  =>  unsplittable
    mcp__  =>  unsplittable
    device.  =>  unsplittable
    github/repo://docs/*  =>  Identity github repo://docs/*
      =>  bare
    ");
}

#[test]
fn patterns_name_an_argument_or_none() {
    let shown = |pattern| {
        let parsed = argument_glob(pattern);
        format!("{:?} {}", parsed.key, parsed.glob)
    };
    insta::assert_snapshot!(shown("path=/etc/*"), @r#"Some("path") /etc/*"#);
    insta::assert_snapshot!(shown("*password*"), @"None *password*");
    insta::assert_snapshot!(shown("https://x/?a=b"), @"None https://x/?a=b");
    insta::assert_snapshot!(shown("=x"), @"None =x");
    insta::assert_snapshot!(shown("a.b-c=x=y"), @r#"Some("a.b-c") x=y"#);
}
