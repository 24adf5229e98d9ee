//! Loading a large configuration: 200 servers from five files, each of another dialect. For information.

use std::fmt::Write;
use std::hint::black_box;

use anyhow::{Result, ensure};
use helve_config::{Environment, ExplicitFile, LoadRequest, load};

use super::{Work, rounds};
use crate::report::Line;
use crate::stats::median;

const SERVERS_PER_FILE: usize = 40;

pub(crate) fn measure(count: usize) -> Result<Vec<Line>> {
    let directory = tempfile::tempdir()?;
    let mut files = Vec::new();
    let mut bytes = 0;
    for (name, text) in texts()? {
        let path = directory.path().join(name);
        bytes += text.len();
        fs_err::write(&path, text)?;
        files.push(ExplicitFile { path, dialect: None });
    }
    let environment = Environment::new(directory.path()).with_variables([("TOKEN", "secret")]);
    let configuration =
        || load(LoadRequest { discover: false, files: files.clone(), ..LoadRequest::new(&environment) });

    let loaded = configuration();
    ensure!(!loaded.has_errors(), "our own files are refused: {:?}", loaded.diagnostics);
    let wanted = SERVERS_PER_FILE * files.len();
    ensure!(loaded.specs().count() == wanted, "{} of {wanted} servers are usable", loaded.specs().count());

    let [mut seconds] = rounds(count, [Work { times: 1, once: &mut || drop(black_box(configuration())) }]);
    let seen = format!("{} files, {:.0} kB, read, merged and hashed for trust", files.len(), bytes as f64 / 1e3);
    Ok(vec![Line::for_information("load 200 servers, ms", median(&mut seconds) * 1e3, seen)])
}

/// One file of each dialect, recognised by its name and content.
fn texts() -> Result<[(&'static str, String); 5]> {
    let mut own = String::new();
    let mut mcp_json = "{\"mcpServers\": {".to_owned();
    let mut codex = String::new();
    let mut vscode = "{\n  // Comments are part of this dialect.\n  \"servers\": {".to_owned();
    let mut strawberry =
        "defaults: &node\n  command: npx\n  enabled: true\n  timeout: 30\nmcp:\n  servers:\n".to_owned();
    for index in 0..SERVERS_PER_FILE {
        let comma = if index == 0 { "" } else { "," };
        writeln!(
            own,
            "[servers.own-{index}]\ncommand = \"npx\"\nargs = [\"-y\", \"@example/server-{index}\"]\nenv = {{ TOKEN = \"${{TOKEN}}\" }}\n"
        )?;
        write!(
            mcp_json,
            "{comma}\n  \"json-{index}\": {{\"type\": \"http\", \"url\": \"https://example.com/{index}/mcp\", \
             \"headers\": {{\"Authorization\": \"Bearer ${{TOKEN}}\"}}}}"
        )?;
        writeln!(
            codex,
            "[mcp_servers.codex-{index}]\ncommand = \"docs-server\"\nargs = [\"--stdio\", \"{index}\"]\n\
             startup_timeout_sec = 12.5\nenabled_tools = [\"search\", \"open\"]\n"
        )?;
        write!(
            vscode,
            "{comma}\n    \"code-{index}\": {{\n      \"type\": \"stdio\",\n      \"command\": \"node\",\n      \
             \"args\": [\"${{workspaceFolder}}/server.js\", \"{index}\"],\n      \"env\": {{ \"TOKEN\": \"${{env:TOKEN}}\" }},\n    }}"
        )?;
        writeln!(
            strawberry,
            "    - name: berry-{index}\n      <<: *node\n      args: [\"-y\", \"@example/server-{index}\"]\n      \
             env:\n        TOKEN: \"${{TOKEN}}\""
        )?;
    }
    mcp_json.push_str("\n}}\n");
    vscode.push_str("\n  },\n}\n");
    Ok([
        ("helve.toml", own),
        (".mcp.json", mcp_json),
        ("config.toml", codex),
        ("mcp.json", vscode),
        ("settings.yaml", strawberry),
    ])
}
