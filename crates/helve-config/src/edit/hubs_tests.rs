//! A hub comes and goes, and nobody's comment moves.

use std::path::PathBuf;

use helve_model::Layer;

use super::{HubChange, edit_hub_text};
use crate::dialect::Dialect;
use crate::reader::FilePlace;

fn edited(text: &str, name: &str, change: &HubChange) -> String {
    let place = FilePlace {
        path: PathBuf::from("/home/a/.config/helve/helve.toml"),
        application: "helve",
        dialect: Dialect::Helve,
        layer: Layer::User,
        project: PathBuf::from("/home/a"),
    };
    edit_hub_text(&place, text, name, change).unwrap()
}

#[test]
fn a_hub_is_joined_moved_and_left() {
    let before =
        "# mine\n[servers.notes]\ncommand = \"notes\" # keep\n\n[[rules]]\ntool = \"notes/*\"\naction = \"allow\"\n";
    let join = |url: &str| HubChange::Join { url: url.to_owned() };
    let joined = edited(before, "hub", &join("https://hub.example.com"));
    insta::assert_snapshot!(joined, @r#"
    # mine
    [servers.notes]
    command = "notes" # keep

    [[rules]]
    tool = "notes/*"
    action = "allow"

    [hubs.hub]
    url = "https://hub.example.com"
    "#);
    let moved = edited(&joined, "hub", &join("https://other.example.com"));
    assert_eq!(moved, joined.replace("hub.example", "other.example"));
    assert_eq!(edited(&moved, "hub", &HubChange::Leave).trim_end(), before.trim_end());
    assert_eq!(edited(before, "hub", &HubChange::Leave), before);
    assert_eq!(edited("", "hub", &join("https://h.example")), "[hubs.hub]\nurl = \"https://h.example\"\n");
}
