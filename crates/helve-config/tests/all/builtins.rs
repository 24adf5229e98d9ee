//! Servers that ship inside helve, as `helve.toml` writes them.

use helve_config::edit::{Change, NewServer, NewTransport, edit_text};
use helve_config::trust::NothingTrusted;
use helve_config::{CommandLine, Dialect, Environment, FilePlace, merge, read_text};
use helve_model::{HttpFlavour, Layer};

use crate::support::{PROJECT, describe};

/// What a file of this layer says, with a few variables set.
fn read(layer: Layer, text: &str) -> String {
    let place = place(layer);
    let variables = [("NOTES", "elsewhere/notes"), ("EMPTY", "")];
    let environment = Environment::new(PROJECT).with_home("/home/me").with_variables(variables);
    describe(&read_text(&place, text, &environment))
}

fn place(layer: Layer) -> FilePlace {
    let path = match layer {
        Layer::Project => format!("{PROJECT}/helve.toml"),
        _ => "/home/me/.config/helve/helve.toml".to_owned(),
    };
    FilePlace { path: path.into(), application: "helve", dialect: Dialect::Helve, layer, project: PROJECT.into() }
}

const ALL: &str = r#"
[servers.notes]
builtin = "filesystem"
max_file_bytes = 1000
roots = ["docs", "/srv/data", "~/notes", "${NOTES}", "."]
writable = true

[servers.db]
builtin = "sqlite"
database = "${NOTES}/x.db"
max_rows = 5
max_bytes = 6
max_steps = 7
writable = false
lazy = true
tools = ["query"]

[servers.clock]
builtin = "time"

[servers.here]
builtin = "filesystem"
"#;

#[test]
fn in_a_project_paths_start_in_the_project() {
    insta::assert_snapshot!(read(Layer::Project, ALL), @r#"
    notes at 2:10
      builtin filesystem
      option roots: /home/me/project/docs | /srv/data | /home/me/notes | /home/me/project/elsewhere/notes | /home/me/project/.
      option writable: true
      option max_file_bytes: 1000
      trusts annotations
    db at 8:10
      builtin sqlite
      option database: /home/me/project/elsewhere/notes/x.db
      option writable: false
      option max_rows: 5
      option max_bytes: 6
      option max_steps: 7
      lazy
      trusts annotations
      tools ["query"]
    clock at 18:10
      builtin time
      trusts annotations
    here at 21:10
      builtin filesystem
      option roots: /home/me/project
      trusts annotations
    "#);
}

#[test]
fn in_a_persons_own_file_paths_start_beside_it() {
    insta::assert_snapshot!(read(Layer::User, ALL), @r#"
    notes at 2:10
      builtin filesystem
      option roots: /home/me/.config/helve/docs | /srv/data | /home/me/notes | /home/me/.config/helve/elsewhere/notes | /home/me/.config/helve/.
      option writable: true
      option max_file_bytes: 1000
      trusts annotations
    db at 8:10
      builtin sqlite
      option database: /home/me/.config/helve/elsewhere/notes/x.db
      option writable: false
      option max_rows: 5
      option max_bytes: 6
      option max_steps: 7
      lazy
      trusts annotations
      tools ["query"]
    clock at 18:10
      builtin time
      trusts annotations
    here at 21:10
      builtin filesystem
      trusts annotations
    "#);
}

#[test]
fn mistakes() {
    let mistakes = r#"
[servers.a]
builtin = "filesytem"
[servers.b]
builtin = "memory"
[servers.c]
builtin = 7
[servers.d]
builtin = "time"
roots = ["."]
[servers.e]
builtin = "filesystem"
database = "x.db"
command = "npx"
[servers.f]
builtin = "filesystem"
roots = []
[servers.g]
builtin = "filesystem"
roots = "."
[servers.h]
builtin = "filesystem"
roots = [".", 7]
[servers.i]
builtin = "filesystem"
roots = ["${EMPTY}"]
[servers.j]
builtin = "filesystem"
roots = ["${UNSET}"]
[servers.k]
builtin = "sqlite"
[servers.l]
builtin = "sqlite"
database = ""
max_rows = 0
writable = "yes"
[servers.m]
roots = ["."]
[servers.n]
command = "npx"
database = "x.db"
[servers.o]
builtin = "filesystem"
root = ["docs"]
[servers.p]
builtin = "time"
url = "https://example.com/mcp"
type = "http"
"#;
    insta::assert_snapshot!(read(Layer::User, mistakes), @"
    a at 2:10
      blocked: Invalid
      /home/me/.config/helve/helve.toml:3:11: error: there is no built-in server `filesytem`
    b at 4:10
      blocked: Invalid
      /home/me/.config/helve/helve.toml:5:11: error: there is no built-in server `memory`
    c at 6:10
      blocked: Invalid
      /home/me/.config/helve/helve.toml:7:11: error: `builtin` must be a string, not a number
    d at 8:10
      builtin time
      trusts annotations
      blocked: Invalid
      /home/me/.config/helve/helve.toml:10:1: error: the built-in server `time` has no `roots`
    e at 11:10
      builtin filesystem
      trusts annotations
      blocked: Invalid
      /home/me/.config/helve/helve.toml:13:1: error: the built-in server `filesystem` has no `database`
      /home/me/.config/helve/helve.toml:14:1: error: a built-in server has no `command`
    f at 15:10
      builtin filesystem
      trusts annotations
      blocked: Invalid
      /home/me/.config/helve/helve.toml:17:9: error: `roots` is empty
    g at 18:10
      builtin filesystem
      trusts annotations
      blocked: Invalid
      /home/me/.config/helve/helve.toml:20:9: error: `roots` must be a list of strings, not a string
    h at 21:10
      builtin filesystem
      trusts annotations
      blocked: Invalid
      /home/me/.config/helve/helve.toml:23:15: error: `roots[1]` must be a string, not a number
    i at 24:10
      builtin filesystem
      trusts annotations
      blocked: Invalid
      /home/me/.config/helve/helve.toml:26:10: error: `roots[0]` is empty
    j at 27:10
      builtin filesystem
      option roots: /home/me/.config/helve/${UNSET}
      trusts annotations
      blocked: roots[0] at 29:10 needs UNSET
      /home/me/.config/helve/helve.toml:29:10: error: server `j` is off: `roots[0]` needs the variable UNSET, which is not set
    k at 30:10
      builtin sqlite
      trusts annotations
      blocked: Invalid
      /home/me/.config/helve/helve.toml:30:10: error: server `k` needs a `database`
    l at 32:10
      builtin sqlite
      trusts annotations
      blocked: Invalid
      /home/me/.config/helve/helve.toml:34:12: error: `database` is empty
      /home/me/.config/helve/helve.toml:36:12: error: `writable` must be true or false, not a string
      /home/me/.config/helve/helve.toml:35:12: error: `max_rows` must be a whole number from 1
    m at 37:10
      blocked: Invalid
      /home/me/.config/helve/helve.toml:38:1: error: `roots` is for built-in servers
      /home/me/.config/helve/helve.toml:37:10: error: server `m` does not say how it is reached
    n at 39:10
      runs npx
      blocked: Invalid
      /home/me/.config/helve/helve.toml:41:1: error: `database` is for built-in servers
    o at 42:10
      builtin filesystem
      trusts annotations
      blocked: Invalid
      /home/me/.config/helve/helve.toml:44:1: error: unknown key `root`
    p at 45:10
      builtin time
      trusts annotations
      blocked: Invalid
      /home/me/.config/helve/helve.toml:47:1: error: a built-in server has no `url`
      /home/me/.config/helve/helve.toml:48:1: error: a built-in server has no `type`
    ");
}

#[test]
fn a_mistake_shows_the_line() {
    let content = read_text(&place(Layer::Project), "[servers.a]\nbuiltin = \"filesytem\"\n", &Environment::new("/"));
    insta::assert_snapshot!(content.servers[0].diagnostics[0].render(), @r#"
    error: there is no built-in server `filesytem`
     --> /home/me/project/helve.toml:2:11
      |
    2 | builtin = "filesytem"
      |           ^^^^^^^^^^^
      = help: did you mean `filesystem`?
    "#);
}

#[test]
fn what_a_project_may_do_is_in_its_hash() {
    let hash = |text: &str| {
        let text = format!("[servers.a]\n{text}");
        let content = read_text(&place(Layer::Project), &text, &Environment::new("/home/me"));
        let requests = merge(vec![content], CommandLine::default(), &NothingTrusted).untrusted;
        requests.into_iter().next().expect("a request").hash
    };
    let variants = [
        "builtin = \"time\"",
        "builtin = \"filesystem\"",
        "builtin = \"filesystem\"\nwritable = true",
        "builtin = \"filesystem\"\nroots = [\"docs\"]",
        "builtin = \"filesystem\"\nroots = [\"/\"]",
        "builtin = \"filesystem\"\nroots = [\"docs\", \"/\"]",
        "builtin = \"sqlite\"\ndatabase = \"a.db\"",
        "builtin = \"sqlite\"\ndatabase = \"b.db\"",
        "builtin = \"sqlite\"\ndatabase = \"a.db\"\nwritable = true",
    ];
    let hashes: Vec<_> = variants.iter().map(|text| hash(text)).collect();
    for (index, one) in hashes.iter().enumerate() {
        assert!(hashes.iter().skip(index + 1).all(|other| other != one), "{}", variants[index]);
    }
    // The order of the keys means nothing.
    assert_eq!(
        hash("writable = true\nroots = [\"docs\"]\nbuiltin = \"filesystem\""),
        hash("builtin = \"filesystem\"\nroots = [\"docs\"]\nwritable = true")
    );
}

/// Options that would be left over would keep the new server from running.
#[test]
fn a_built_in_server_can_become_another() {
    let text = "[servers.a]\nbuiltin = \"filesystem\" # mine\nroots = [\"docs\"]\nwritable = true\nlazy = true\n";
    let transport =
        NewTransport::Address { url: "https://a.example.com".into(), headers: Vec::new(), flavour: HttpFlavour::Auto };
    let new =
        NewServer { transport, enabled: None, tools: None, disabled_tools: None, call_timeout: None, sandbox: None };
    let edited = edit_text(&place(Layer::User), text, "a", &Change::Update(new)).expect("edited");
    insta::assert_snapshot!(edited, @r#"
    [servers.a]
    lazy = true
    url = "https://a.example.com"
    "#);
    let off = edit_text(&place(Layer::User), text, "a", &Change::Disable).expect("edited");
    insta::assert_snapshot!(off, @r#"
    [servers.a]
    builtin = "filesystem" # mine
    roots = ["docs"]
    writable = true
    lazy = true
    enabled = false
    "#);
}
