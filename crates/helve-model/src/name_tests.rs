//! Every spelling is injective within a catalog, and every spelling reads back.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

fn name(server: &str, tool: &str) -> QualifiedName {
    QualifiedName::new(ServerName::new(server).unwrap(), ToolName::new(tool))
}

fn spell_all(names: &[(&str, &str)]) -> String {
    let table = NameTable::new(names.iter().map(|(server, tool)| name(server, tool)));
    let mut text = String::new();
    for identity in table.identities() {
        for spelling in Spelling::ALL {
            text.push_str(&table.spell(identity, spelling).unwrap());
            text.push_str("  ");
        }
        text.push('\n');
    }
    text
}

#[test]
fn the_four_spellings() {
    insta::assert_snapshot!(spell_all(&[("brave-search", "search")]), @"brave-search/search  brave-search:search  mcp__brave-search__search  device.BraveSearchMCP.search");
}

#[test]
fn odd_names() {
    insta::assert_snapshot!(spell_all(&[("a/b:c%", "x/y:z"), ("1st", "get-time"), ("é", ""), ("py", "class"), ("py", "_u2d_")]), @"
    1st/get-time  1st:get-time  mcp__1st__get-time  device._1stMCP.get_u2d_time  
    a%2Fb%3Ac%25/x/y:z  a%2Fb%3Ac%25:x/y:z  mcp__a_b_c___x_y_z  device.ABCMCP.x_u2f_y_u3a_z  
    py/_u2d_  py:_u2d_  mcp__py___u2d_  device.PyMCP._u5f_u2d_u5f_  
    py/class  py:class  mcp__py__class  device.PyMCP._u63_lass  
    é/  é:  mcp_____  device.MCP._u_
    ");
}

#[test]
fn clashing_and_long_names_get_a_hash() {
    let long = "a_tool_with_a_name_that_is_far_too_long_for_any_model_provider_to_take";
    insta::assert_snapshot!(spell_all(&[("a", "b c"), ("a", "b_c"), ("a__b", "c"), ("a", "b__c"), ("s", long)]), @"
    a/b c  a:b c  mcp__a__b_c_aiu3pmqfyv  device.AMCP.b_u20_c  
    a/b__c  a:b__c  mcp__a__b__c_eufobab6ss  device.AMCP.b__c  
    a/b_c  a:b_c  mcp__a__b_c  device.AMCP.b_c  
    a__b/c  a__b:c  mcp__a__b__c_klwh36aods  device.ABMCP.c  
    s/a_tool_with_a_name_that_is_far_too_long_for_any_model_provider_to_take  s:a_tool_with_a_name_that_is_far_too_long_for_any_model_provider_to_take  mcp__s__a_tool_with_a_name_that_is_far_too_long_for_a_mcl7zbw4oe  device.SMCP.a_tool_with_a_name_that_is_far_too_long_for_any_model_provider_to_take
    ");
}

#[test]
fn the_hashed_form_needs_no_table() {
    let (spaced, plain) = (name("a", "b c"), name("a", "b_c"));
    let table = NameTable::new([spaced.clone(), plain.clone()]);
    assert_eq!(table.spell(&spaced, Spelling::Provider), Some(Spelling::Provider.render_hashed(&spaced)));
    assert_eq!(table.spell(&plain, Spelling::Provider), Some(Spelling::Provider.render(&plain)));
    assert_eq!(Spelling::Slash.render_hashed(&spaced), "a/b c");
}

#[test]
fn bare_names_resolve_where_only_one_server_has_them() {
    let table = NameTable::new([name("git", "log"), name("time", "now"), name("clock", "now")]);
    assert_eq!(table.resolve("log"), Resolution::Found(&name("git", "log")));
    assert_eq!(table.resolve("now"), Resolution::Ambiguous(vec![&name("clock", "now"), &name("time", "now")]));
    assert_eq!(table.resolve("git/lgo"), Resolution::Unknown(vec![&name("git", "log")]));
    assert_eq!(table.resolve("entirely different"), Resolution::Unknown(vec![]));
}

/// Names as hostile servers would choose them: separators, escapes, hash look-alikes, any unicode.
fn part() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c_/:%.-]{0,6}", "(a|b|_|__|/|:|%2F|%|_u2d_|_u_|class|é| ){0,6}", "[a-z_]{50,80}", any::<String>(),]
}

#[test]
fn c5_a_spelling_that_two_tools_would_have_is_ambiguous() {
    let (dash, line) = (name("brave-search", "search"), name("brave_search", "search"));
    let table = NameTable::new([dash.clone(), line.clone()]);
    assert_eq!(table.resolve("device.BraveSearchMCP.search"), Resolution::Ambiguous(vec![&dash, &line]));
    assert_eq!(table.resolve("mcp__brave_search__search"), Resolution::Found(&line));
}

#[test]
fn c5_the_name_of_a_function_names_its_tool() {
    let tool = name("brave-search", "get-sum");
    let table = NameTable::new([tool.clone(), name("brave_search", "get-sum")]);
    assert_eq!(function_name(&tool), "mcp__brave_u2d_search__get_u2d_sum");
    assert_eq!(table.resolve("mcp__brave_u2d_search__get_u2d_sum"), Resolution::Found(&tool));
    assert!(begins_with_server("mcp__brave_u2d_search__get_u2d_sum", &tool.server));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn spellings_are_injective_and_read_back(pairs in proptest::collection::vec((part(), part()), 1..12)) {
        let identities: Vec<QualifiedName> = pairs
            .iter()
            .filter_map(|(server, tool)| Some(QualifiedName::new(ServerName::new(server).ok()?, ToolName::new(tool))))
            .collect();
        let table = NameTable::new(identities.clone());
        let mut seen = HashSet::new();
        for identity in table.identities() {
            for spelling in Spelling::ALL {
                let spelled = table.spell(identity, spelling).unwrap();
                prop_assert!(seen.insert(spelled.clone()), "{spelled} twice");
                prop_assert_eq!(table.resolve(&spelled), Resolution::Found(identity));
                if spelling == Spelling::Provider {
                    prop_assert!(spelled.len() <= MAX_PROVIDER_NAME);
                    prop_assert!(spelled.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')));
                }
            }
            let slash = Spelling::Slash.render(identity);
            let parsed = parse_slash(&slash);
            prop_assert_eq!(parsed.as_ref(), Some(identity));
        }
        let mut reversed = identities;
        reversed.reverse();
        let again = NameTable::new(reversed);
        for identity in table.identities() {
            for spelling in Spelling::ALL {
                prop_assert_eq!(again.spell(identity, spelling), table.spell(identity, spelling));
            }
        }
    }

    #[test]
    fn arbitrary_text_resolves_without_panic(text in any::<String>()) {
        let table = NameTable::new([name("a", "b"), name("c/d", "e:f")]);
        drop(table.resolve(&text));
        drop(parse_slash(&text));
    }
}

#[test]
fn the_server_is_seen_at_the_beginning_of_every_spelling() {
    let server = ServerName::new("brave-search").unwrap();
    let name = QualifiedName::new(server.clone(), ToolName::new("search"));
    for spelling in Spelling::ALL {
        assert!(begins_with_server(&spelling.render(&name), &server), "{spelling:?}");
    }
    assert!(!begins_with_server("brave-searches/search", &server));
    assert!(!begins_with_server("search", &server));
}
