//! What command lines come down to.

use super::{Invocation, invocations};

/// Every program with its arguments, one a line; options and words of wrappers are names too.
fn programs(words: &[&str]) -> Vec<Invocation> {
    let variable = |name: &str| match name {
        "HOME" => Some("/home/ada".to_owned()),
        "TOOLS" => Some("/opt".to_owned()),
        _ => None,
    };
    invocations(words.iter().map(|word| (*word).to_owned()).collect(), &variable)
}

fn comes_down_to(words: &[&str], program: &str) -> bool {
    programs(words).iter().any(|found| found.program == program && found.arguments == ["serve"])
}

#[test]
fn s0_through_wrappers_and_shells() {
    for words in [
        &["helve", "serve"][..],
        &["env", "A=b", "helve", "serve"],
        &["/usr/bin/env", "-i", "-u", "X", "helve", "serve"],
        &["env", "-S", "helve serve"],
        &["nice", "-n", "5", "nohup", "helve", "serve"],
        &["timeout", "--signal=KILL", "1h", "helve", "serve"],
        &["npx", "-y", "helve", "serve"],
        &["uvx", "--from", "other", "helve", "serve"],
        &["npm", "exec", "--", "helve", "serve"],
        &["npx", "-c", "helve serve"],
        &["sh", "-c", "helve serve"],
        &["/bin/bash", "-lc", "exec helve serve"],
        &["bash", "-c", "-e", "helve serve"],
        &["busybox", "sh", "-c", "helve serve"],
        &["env", "A=b", "sh", "-c", "helve serve"],
        &["sh", "-c", "cd /srv && A=b exec 'helve' \"serve\" 2>>/srv/log <&0"],
        &["sh", "-c", "sleep 1; helve serve &"],
        &["sh", "-c", "# first\nif true; then helve serve; fi"],
        &["sh", "-c", "true | (helve serve)"],
        &["sh", "-c", "exec \"$@\"", "sh", "helve", "serve"],
        &["sh", "-c", "$0 \"$1\"", "helve", "serve"],
        &["sh", "-c", "sh -c 'helve serve'"],
        &["sh", "-c", "env -S 'helve serve'"],
        &["sh", "-c", "hel\\\nve serve"],
    ] {
        assert!(comes_down_to(words, "helve"), "{words:?}: {:#?}", programs(words));
    }
    assert!(comes_down_to(&["sh", "-c", "~/bin/helve serve"], "/home/ada/bin/helve"));
    assert!(comes_down_to(&["sh", "-c", "\"${TOOLS}/helve\" serve"], "/opt/helve"));
}

#[test]
fn s0_not_through_what_leads_elsewhere() {
    for words in [
        &["ssh", "host", "helve", "serve"][..],
        &["docker", "run", "image", "helve", "serve"],
        &["sh", "-c", "ssh host helve serve"],
        &["sh", "-c", "echo 'helve serve'"],
        &["sh", "-c", "$UNKNOWN/helve serve"],
        &["sh", "-c", "${TOOLS:-/x}/helve serve"],
        &["sh", "-c", "`which helve` serve"],
        &["sh", "helve", "serve"],
        &["python3", "helve", "serve"],
    ] {
        assert!(!comes_down_to(words, "helve"), "{words:?}: {:#?}", programs(words));
        assert!(programs(words).iter().all(|found| !found.program.contains("/helve")), "{words:?}");
    }
}

#[test]
fn s0_where_a_command_looks_and_stands() {
    let of = |words: &[&str]| {
        let found = programs(words).into_iter().find(|found| found.program.ends_with("helve")).expect("found");
        (found.search_path, found.directory)
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(of(&["helve", "serve"]), (None, None));
    assert_eq!(of(&["env", "PATH=/a", "helve", "serve"]), (some("/a"), None));
    assert_eq!(of(&["sh", "-c", "PATH=/a helve serve"]), (some("/a"), None));
    assert_eq!(of(&["sh", "-c", "export PATH=/a; cd /b; ./helve serve"]), (some("/a"), some("/b")));
    assert_eq!(of(&["sh", "-c", "PATH=/a true; helve serve"]), (None, None));
}

#[test]
fn s0_long_texts_cost_little() {
    let text = "sh -c 'x y' ; ".repeat(100_000);
    assert!(programs(&["sh", "-c", &text]).len() <= 64 * 64);
    let many = vec!["env"; 100_000];
    assert!(programs(&many).len() <= 64 * 64);
    assert!(programs(&[]).is_empty() && programs(&["sh", "-c"]).len() == 1);
}
