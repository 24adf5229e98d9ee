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

fn placed(place: &str, server: &str, tool: &str) -> QualifiedName {
    let place = PlaceName::new(place).unwrap();
    QualifiedName::new(ServerName::placed(&place, server).unwrap(), ToolName::new(tool))
}

#[test]
fn a_place_stands_in_front_in_every_spelling() {
    let names = [placed("hub", "github", "create_issue"), placed("hub", "io.github/x:y", "get-time")];
    let table = NameTable::new(names);
    let spelled = |identity: &QualifiedName| {
        let all: Vec<String> = Spelling::ALL.iter().map(|spelling| table.spell(identity, *spelling).unwrap()).collect();
        format!("{}  {}\n", all.join("  "), function_name(identity))
    };
    insta::assert_snapshot!(table.identities().iter().map(spelled).collect::<String>(), @"
    hub/github/create_issue  hub/github:create_issue  mcp__hub__github__create_issue  devices.hub.GithubMCP.create_issue  mcp__hub__github__create_issue
    hub/io.github%2Fx%3Ay/get-time  hub/io.github%2Fx%3Ay:get-time  mcp__hub__io_github_x_y__get-time  devices.hub.IoGithubXYMCP.get_u2d_time  mcp__hub__io_u2e_github_u2f_x_u3a_y__get_u2d_time
    ");
    let server = &table.identities()[0].server;
    assert_eq!((server.as_str(), server.place(), server.without_place()), ("hub/github", Some("hub"), "github"));
    for spelling in Spelling::ALL {
        assert!(begins_with_server(&spelling.render(&table.identities()[0]), server), "{spelling:?}");
    }
    assert!(!begins_with_server("device.hub.GithubMCP.create_issue", server), "`device` is never a hub's");
}

#[test]
fn a_place_is_a_plain_word() {
    for word in ["hub", "team_a", "h2"] {
        assert_eq!(PlaceName::new(word).unwrap().as_str(), word);
    }
    let long = "h".repeat(33);
    let others = ["", "Hub", "2h", "_h", "h_", "a__b", "a-b", "a/b", "a.b", "é", "local", "device", "class", &long];
    for text in others {
        assert_eq!(PlaceName::new(text), Err(NotAPlaceName), "{text:?}");
    }
}

#[test]
fn a_bare_name_is_a_local_one_where_there_is_one() {
    let (local, remote) = (name("git", "log"), placed("hub", "git", "log"));
    let table = NameTable::new([local.clone(), remote.clone(), placed("hub", "git", "only_there")]);
    assert_eq!(table.resolve("log"), Resolution::Found(&local));
    assert_eq!(table.resolve("only_there"), Resolution::Found(&placed("hub", "git", "only_there")));
    assert_eq!(table.resolve("device.GitMCP.log"), Resolution::Found(&local));
    assert_eq!(table.resolve("devices.hub.GitMCP.log"), Resolution::Found(&remote));
    assert!(matches!(table.resolve("device.GitMCP.only_there"), Resolution::Unknown(_)));
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
    fn places_are_injective_read_back_and_change_no_local_name(
        local in proptest::collection::vec((part(), part()), 0..8),
        remote in proptest::collection::vec((prop_oneof![Just("hub"), Just("a"), Just("b_c")], part(), part()), 1..8),
    ) {
        // As whoever puts a catalog together sees to: no local server has a place's name, nor that of one in it.
        let is_free = |server: &str| !["hub", "a", "b_c"].contains(&server.split('/').next().unwrap_or_default());
        let local: Vec<QualifiedName> = local
            .iter()
            .filter(|(server, _)| is_free(server))
            .filter_map(|(server, tool)| Some(QualifiedName::new(ServerName::new(server).ok()?, ToolName::new(tool))))
            .collect();
        let remote = remote.iter().filter_map(|(place, server, tool)| {
            let place = PlaceName::new(place).unwrap();
            Some(QualifiedName::new(ServerName::placed(&place, server).ok()?, ToolName::new(tool)))
        });
        let alone = NameTable::new(local.clone());
        let table = NameTable::new(local.into_iter().chain(remote));
        let mut seen = HashSet::new();
        for identity in table.identities() {
            for spelling in Spelling::ALL {
                let spelled = table.spell(identity, spelling).unwrap();
                prop_assert!(seen.insert(spelled.clone()), "{spelled} twice");
                prop_assert_eq!(table.resolve(&spelled), Resolution::Found(identity));
                if identity.server.place().is_none() {
                    prop_assert_eq!(alone.spell(identity, spelling), Some(spelled));
                } else if spelling == Spelling::Code {
                    prop_assert!(spelled.starts_with(PLACED_CODE_PREFIX));
                } else if spelling == Spelling::Slash {
                    let parsed = parse_placed(&spelled).unwrap();
                    prop_assert_eq!(&parsed, identity);
                    prop_assert_eq!(parsed.server.place(), identity.server.place());
                }
            }
        }
    }

    #[test]
    fn arbitrary_text_resolves_without_panic(text in any::<String>()) {
        let table = NameTable::new([name("a", "b"), name("c/d", "e:f")]);
        drop(table.resolve(&text));
        drop(parse_slash(&text));
        drop(parse_placed(&text));
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
