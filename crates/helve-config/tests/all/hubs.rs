//! `[hubs.NAME]`: whose file may have it, which names and addresses it takes, and who gives way.

use helve_config::trust::NothingTrusted;
use helve_config::{CommandLine, Configuration, Dialect, merge, read_text};
use helve_model::Layer;

use crate::support::{environment, place};

fn merged(files: &[(Layer, &str)]) -> Configuration {
    let contents = files.iter().map(|(layer, text)| {
        let path =
            if *layer == Layer::Project { "/home/me/project/helve.toml" } else { "/home/me/.config/helve/helve.toml" };
        read_text(&place(Dialect::Helve, path, *layer), text, &environment())
    });
    merge(contents.collect(), CommandLine::default(), &NothingTrusted)
}

fn told(configuration: &Configuration) -> String {
    let hubs: Vec<String> =
        configuration.hubs.iter().map(|hub| format!("{} {} {}", hub.place, hub.url, hub.origin)).collect();
    let problems = configuration.diagnostics.iter().map(|diagnostic| diagnostic.message.clone());
    hubs.into_iter().chain(problems).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_hub_stands_in_a_persons_own_file() {
    let own = "[hubs.hub]\nurl = \"https://hub.example.com/\"\n";
    insta::assert_snapshot!(told(&merged(&[(Layer::User, own)])), @"hub https://hub.example.com /home/me/.config/helve/helve.toml:1:7");
    insta::assert_snapshot!(told(&merged(&[(Layer::Project, own)])), @"a project cannot join a hub for you");
}

#[test]
fn names_and_addresses_that_cannot_be_are_said() {
    let text = "[hubs.local]\nurl = \"https://a.example\"\n[hubs.\"a-b\"]\nurl = \"https://a.example\"\n[hubs.open]\nurl = \"http://a.example\"\n[hubs.none]\n[hubs.typo]\nurl = \"https://b.example\"\nurls = 1\n[hubs]\nflat = 1\n";
    insta::assert_snapshot!(told(&merged(&[(Layer::User, text)])), @"
    typo https://b.example /home/me/.config/helve/helve.toml:8:7
    `local` cannot be the name of a hub
    `a-b` cannot be the name of a hub
    `url` of the hub `open` cannot be used
    the hub `none` has no address
    unknown key `urls`
    `flat` must be a table, not a number
    ");
}

#[test]
fn a_local_server_keeps_its_name() {
    let text = "[hubs.hub]\nurl = \"https://hub.example.com\"\n[servers.hub]\ncommand = \"run\"\n";
    let configuration = merged(&[(Layer::User, text)]);
    assert!(configuration.hubs.is_empty() && configuration.server("hub").is_some());
    insta::assert_snapshot!(told(&configuration), @"the hub `hub` is left out: there is a server of that name");
    // One that nobody trusts takes nothing away.
    let own = "[hubs.hub]\nurl = \"https://hub.example.com\"\n";
    let project = "[servers.hub]\ncommand = \"run\"\n";
    assert_eq!(merged(&[(Layer::User, own), (Layer::Project, project)]).hubs.len(), 1);
}
