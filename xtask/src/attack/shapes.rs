//! Owns the hostile directories: what a project can hold that costs whoever reads it, one line each.

use std::fmt::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::json;

/// Plants one directory's content.
pub(crate) type Shape = fn(&Path) -> Result<()>;

/// What a large file is here: just below what is read of one.
const LARGE: usize = 1_000 * 1024;

/// Every shape, with what is hostile about it.
pub(crate) const SHAPES: &[(&str, Shape)] = &[
    ("a script that is a file of the kernel", |at| script(at, |path| symlink("/proc/kallsyms", path))),
    ("16,000 servers on one line", |at| {
        let servers: Vec<String> = (0..16_000).map(|index| format!("\"s{index}\":{{\"command\":\"x\"}}")).collect();
        put(at, ".mcp.json", &format!("{{\"mcpServers\":{{{}}}}}", servers.join(",")))
    }),
    ("a dotted key of 2 MB", |at| put(at, "helve.toml", &format!("{}a = 1\n", "a.".repeat(1_000_000)))),
    ("a script that is sparse", |at| script(at, sparse)),
    ("500 servers on one line", |at| {
        let servers: Vec<String> = (0..500).map(|index| format!("\"s{index}\":{{\"command\":\"x{index}\"}}")).collect();
        put(at, ".mcp.json", &format!("{{\"mcpServers\":{{{}}}}}", servers.join(",")))
    }),
    ("16,000 servers in helve.toml", |at| {
        let text: String = (0..16_000).map(|index| format!("[servers.s{index}]\ncommand = \"x\"\n")).collect();
        put(at, "helve.toml", &text)
    }),
    ("16,000 servers of one name", |at| {
        put(at, ".mcp.json", &format!("{{\"mcpServers\":{{{}}}}}", repeated("\"a\":{\"command\":\"x\"}", 16_000)))
    }),
    ("a dotted key below the limit of a file", |at| put(at, "helve.toml", &format!("{}a = 1\n", "a.".repeat(500_000)))),
    ("dotted keys of allowed length", |at| {
        let text: String = (0..700).map(|index| format!("k{index}.{}a = 1\n", "a.".repeat(70))).collect();
        put(at, "helve.toml", &text)
    }),
    ("lists in lists", |at| put(at, ".mcp.json", &"[".repeat(LARGE))),
    ("objects in objects", |at| put(at, ".mcp.json", &"{\"a\":".repeat(LARGE / 5))),
    ("lists in lists, TOML", |at| put(at, "helve.toml", &format!("a = {}", "[".repeat(LARGE)))),
    ("tables in tables, TOML", |at| put(at, "helve.toml", &format!("a = {}", "{a=".repeat(LARGE / 3)))),
    ("lists in lists, YAML", |at| put(at, "config/settings.yaml", &format!("mcp: {}", "[".repeat(LARGE)))),
    ("blocks in blocks, YAML", |at| {
        let text: String = (0..1_400).map(|depth| format!("{}mcp:\n", " ".repeat(depth))).collect();
        put(at, "config/settings.yaml", &text)
    }),
    ("dashes, YAML", |at| put(at, "config/settings.yaml", &format!("mcp:\n  {}", "- ".repeat(LARGE / 2)))),
    ("question marks, YAML", |at| put(at, "config/settings.yaml", &format!("mcp:\n  {}", "? ".repeat(LARGE / 2)))),
    ("anchors, YAML", |at| {
        let text: String = (0..14_000).map(|index| format!("k{index}: &a{index} [mcp]\n")).collect();
        put(at, "config/settings.yaml", &text)
    }),
    ("aliases of aliases, YAML", |at| {
        let mut text = String::from("mcp: 1\na0: &a0 [x]\n");
        for level in 1..60 {
            let before = level - 1;
            writeln!(text, "a{level}: &a{level} [*a{before}, *a{before}, *a{before}, *a{before}]")?;
        }
        put(at, "config/settings.yaml", &text)
    }),
    ("aliases of a long text, YAML", |at| {
        let text = format!("mcp: &a {}\nb:\n{}", "x".repeat(LARGE / 2), "- *a\n".repeat(20_000));
        put(at, "config/settings.yaml", &text)
    }),
    ("merge keys, YAML", |at| {
        let base: String = (0..5_000).map(|index| format!("  k{index}: 1\n")).collect();
        let text = format!("mcp: 1\nbase: &base\n{base}all:\n{}", "  <<: *base\n".repeat(8_000));
        put(at, "config/settings.yaml", &text)
    }),
    ("a long line of YAML words", |at| put(at, "config/settings.yaml", &format!("mcp: {}", "a ".repeat(LARGE / 2)))),
    ("keys without end, YAML", |at| {
        let text: String = (0..25_000).map(|index| format!("k{index}: 1\n")).collect();
        put(at, "config/settings.yaml", &format!("mcp: 1\n{text}"))
    }),
    ("20,000 rules", |at| put(at, "helve.toml", &"[[rules]]\ntool = \"a/*\"\naction = \"deny\"\n".repeat(20_000))),
    ("2,000 rules with patterns", |at| {
        let rule =
            |index| format!("[[rules]]\ntool = \"a*{index}/b*c\"\npattern = \"*{index}*x*\"\naction = \"ask\"\n");
        let text: String = (0..2_000).map(rule).collect();
        put(at, "helve.toml", &text)
    }),
    ("20,000 rules that are wrong", |at| {
        put(at, "helve.toml", &"[[rules]]\ntool = \"a\"\nactoin = 1\n".repeat(20_000))
    }),
    ("20,000 inputs", |at| put(at, "helve.toml", &"[[inputs]]\nid = \"a\"\n".repeat(20_000))),
    ("a list of numbers", |at| put(at, ".mcp.json", &format!("[{}0]", "0,".repeat(LARGE / 2)))),
    ("a list of numbers, TOML", |at| put(at, "helve.toml", &format!("a = [{}0]", "0,".repeat(LARGE / 2)))),
    ("empty lines, TOML", |at| put(at, "helve.toml", &"\n".repeat(LARGE))),
    ("comments", |at| put(at, ".mcp.json", &"//\n".repeat(LARGE / 3))),
    ("a comment without end", |at| put(at, ".mcp.json", &format!("{{/*{}", "*".repeat(LARGE)))),
    ("a text without end", |at| put(at, ".mcp.json", &format!("{{\"{}", "\\\"".repeat(LARGE / 2)))),
    ("a key of a megabyte", |at| {
        put(at, ".mcp.json", &format!("{{\"mcpServers\":{{\"a\":{{\"{}\":1}}}}}}", "k".repeat(LARGE)))
    }),
    ("a name of a megabyte", |at| {
        put(at, ".mcp.json", &format!("{{\"mcpServers\":{{\"{}\":{{\"command\":\"x\"}}}}}}", "n".repeat(LARGE)))
    }),
    ("15,000 unknown keys of a server", |at| {
        let keys: Vec<String> = (0..15_000).map(|index| format!("\"disabledTool{index}\":1")).collect();
        put(at, ".mcp.json", &format!("{{\"mcpServers\":{{\"a\":{{{}}}}}}}", keys.join(",")))
    }),
    ("15,000 unknown keys of a file", |at| {
        let text: String = (0..15_000).map(|index| format!("rule{index} = 1\n")).collect();
        put(at, "helve.toml", &text)
    }),
    ("30,000 arguments", |at| {
        put(at, ".mcp.json", &entry(&format!("\"command\":\"x\",\"args\":[{}]", repeated("\"y\"", 30_000))))
    }),
    ("30,000 arguments that are one file", |at| {
        put(at, "y", "text")?;
        put(at, ".mcp.json", &entry(&format!("\"command\":\"x\",\"args\":[{}]", repeated("\"y\"", 30_000))))
    }),
    ("5,000 arguments that are files", |at| {
        let names: Vec<String> = (0..5_000).map(|index| format!("\"f{index}.sh\"")).collect();
        for index in 0..5_000 {
            fs_err::write(at.join(format!("f{index}.sh")), "text")?;
        }
        put(at, ".mcp.json", &entry(&format!("\"command\":\"sh\",\"args\":[{}]", names.join(","))))
    }),
    ("400 servers of one large script", |at| {
        fs_err::write(at.join("run.sh"), vec![b'#'; 4 * 1024 * 1024])?;
        let servers: Vec<String> =
            (0..400).map(|index| format!("\"s{index}\":{{\"command\":\"sh\",\"args\":[\"run.sh\"]}}")).collect();
        put(at, ".mcp.json", &format!("{{\"mcpServers\":{{{}}}}}", servers.join(",")))
    }),
    ("a shell line of a megabyte", |at| {
        let line = "a;".repeat(LARGE / 2);
        put(at, ".mcp.json", &entry(&format!("\"command\":\"sh\",\"args\":[\"-c\",\"{line}\"]")))
    }),
    ("a shell line of files", |at| {
        put(at, "y", "text")?;
        let line = "./y ".repeat(LARGE / 8);
        put(at, ".mcp.json", &entry(&format!("\"command\":\"sh\",\"args\":[\"-c\",\"{line}\"]")))
    }),
    ("links to links", |at| {
        for index in 0..39 {
            symlink(format!("l{}", index + 1), at.join(format!("l{index}")))?;
        }
        put(at, "l39", "text")?;
        put(at, ".mcp.json", &entry(&format!("\"command\":\"sh\",\"args\":[{}]", repeated("\"l0\"", 20_000))))
    }),
    ("200,000 references", |at| {
        put(at, ".mcp.json", &entry(&format!("\"command\":\"x\",\"args\":[\"{}\"]", "${A}".repeat(LARGE / 4))))
    }),
    ("100,000 different references", |at| {
        let text: String = (0..100_000).map(|index| format!("${{A{index}}}")).collect();
        put(at, ".mcp.json", &entry(&format!("\"command\":\"x\",\"args\":[\"{text}\"]")))
    }),
    ("references without an end", |at| {
        put(at, ".mcp.json", &entry(&format!("\"command\":\"x\",\"args\":[\"{}\"]", "${A:-".repeat(LARGE / 5))))
    }),
    ("defaults in defaults", |at| {
        let text = format!("{}x{}", "${A:-".repeat(60_000), "}".repeat(60_000));
        put(at, ".mcp.json", &entry(&format!("\"command\":\"x\",\"args\":[\"{text}\"]")))
    }),
    ("90,000 references to a file", |at| {
        put(at, "f", &"x".repeat(60 * 1024))?;
        put(at, ".mcp.json", &entry(&format!("\"command\":\"x\",\"args\":[\"{}\"]", "${file:f}".repeat(90_000))))
    }),
    ("a reference to a file of the kernel", |at| {
        symlink("/proc/self/environ", at.join("f"))?;
        put(at, ".mcp.json", &entry("\"command\":\"x\",\"args\":[\"${file:f}\"]"))
    }),
    ("a reference to a device", |at| {
        symlink("/dev/zero", at.join("f"))?;
        put(at, ".mcp.json", &entry("\"command\":\"x\",\"args\":[\"${file:f}\"]"))
    }),
    ("variables of a sparse file", |at| {
        sparse(&at.join("f"))?;
        put(at, ".mcp.json", &entry("\"command\":\"x\",\"envFile\":\"f\""))
    }),
    ("variables of a file of the kernel", |at| {
        symlink("/proc/kallsyms", at.join("f"))?;
        put(at, ".mcp.json", &entry("\"command\":\"x\",\"envFile\":\"f\""))
    }),
    ("500 servers with 20,000 variables", |at| {
        let variables: String = (0..20_000).map(|index| format!("V{index}=1\n")).collect();
        put(at, "f", &variables)?;
        let path = format!("{}f", "./".repeat(1_000));
        let one = |index| format!("\"s{index}\":{{\"command\":\"x\",\"envFile\":\"{path}\"}}");
        let servers: Vec<String> = (0..400).map(one).collect();
        put(at, ".mcp.json", &format!("{{\"mcpServers\":{{{}}}}}", servers.join(",")))
    }),
    ("25,000 headers", |at| {
        let headers: Vec<String> = (0..25_000).map(|index| format!("\"H{index}\":\"secret\"")).collect();
        put(at, ".mcp.json", &entry(&format!("\"url\":\"http://127.0.0.1:1\",\"headers\":{{{}}}", headers.join(","))))
    }),
    ("25,000 hidden values beside mistakes", |at| {
        let headers: Vec<String> = (0..12_000).map(|index| format!("\"API_KEY{index}\":\"secret\"")).collect();
        put(
            at,
            ".mcp.json",
            &entry(&format!("\"command\":1,\"env\":{{{}}},{}", headers.join(","), repeated("\"x\":1", 5_000))),
        )
    }),
    ("50,000 tools on a list", |at| {
        put(
            at,
            ".mcp.json",
            &entry(&format!("\"command\":\"x\",\"disabledTools\":[{}]", repeated("\"a*b*c\"", 50_000))),
        )
    }),
    ("50,000 permissions", |at| {
        put(
            at,
            ".claude/settings.json",
            &format!("{{\"permissions\":{{\"deny\":[{}]}}}}", repeated("\"mcp__a__b\"", 50_000)),
        )
    }),
    ("25,000 switches", |at| {
        let names: Vec<String> = (0..25_000).map(|index| format!("\"s{index}\"")).collect();
        put(at, ".claude/settings.json", &format!("{{\"disabledMcpjsonServers\":[{}]}}", names.join(",")))?;
        let servers: Vec<String> = (0..500).map(|index| format!("\"s{index}\":{{\"command\":\"x\"}}")).collect();
        put(at, ".mcp.json", &format!("{{\"mcpServers\":{{{}}}}}", servers.join(",")))
    }),
    ("a pipe in the place of helve.toml", |at| pipe(&at.join("helve.toml"))),
    ("a device in the place of helve.toml", |at| Ok(symlink("/dev/zero", at.join("helve.toml"))?)),
    ("a sparse helve.toml", |at| sparse(&at.join("helve.toml")).map_err(Into::into)),
    ("a sparse .mcp.json", |at| sparse(&at.join(".mcp.json")).map_err(Into::into)),
    ("a megabyte that is not an UTF-8", |at| Ok(fs_err::write(at.join(".mcp.json"), vec![0xff; LARGE])?)),
    ("a megabyte in every place", |at| everywhere(at, &" ".repeat(LARGE))),
    ("links to themselves in every place", |at| {
        for place in PLACES {
            let path = at.join(place);
            fs_err::create_dir_all(path.parent().unwrap_or(at))?;
            symlink(&path, &path)?;
        }
        Ok(())
    }),
    ("60 directories with files in every place", |at| {
        let mut directory = at.to_path_buf();
        for _ in 0..60 {
            directory.push(DEEPER);
            fs_err::create_dir(&directory)?;
            everywhere(&directory, &entry("\"command\":\"x\""))?;
        }
        Ok(())
    }),
    ("20,000 workspaces", |at| {
        for index in 0..20_000 {
            fs_err::write(at.join(format!("{index}.code-workspace")), "{}")?;
        }
        Ok(())
    }),
    ("a command line of a megabyte", |at| {
        let line = "'a' ".repeat(LARGE / 4);
        let server = json!({ "servers": [{ "name": "a", "endpoint": line }] });
        put(at, ".claude-loop/mcp-config.json", &server.to_string())
    }),
    ("15,000 tools with modes", |at| {
        let text: String = (0..10_000).map(|index| format!("t{index} = {{ approval_mode = \"approve\" }}\n")).collect();
        put(at, ".codex/config.toml", &format!("[mcp_servers.a]\ncommand = \"x\"\n[mcp_servers.a.tools]\n{text}"))
    }),
];

/// Places that many applications look at.
const PLACES: &[&str] = &[
    "helve.toml",
    "helve.local.toml",
    ".mcp.json",
    "mcp.json",
    "mcp-config.toml",
    ".cursor/mcp.json",
    ".vscode/mcp.json",
    ".vscode/settings.json",
    ".devcontainer.json",
    ".gemini/settings.json",
    ".codex/config.toml",
    ".github/mcp.json",
    "opencode.json",
    "opencode.jsonc",
    ".zed/settings.json",
    ".goose/config.yaml",
    ".kiro/settings/mcp.json",
    "mcp_servers.json",
    "server_config.json",
    "kilo.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    "config/settings.yaml",
    "config/mcporter.json",
];

/// The name of a directory that a shape put others into; verbs are run in the last of them.
const DEEPER: &str = "deeper";

/// Where a verb is run: as deep as the shape goes.
pub(crate) fn deepest(project: &Path) -> PathBuf {
    let mut directory = project.to_path_buf();
    while directory.join(DEEPER).is_dir() {
        directory.push(DEEPER);
    }
    directory
}

fn put(at: &Path, path: &str, text: &str) -> Result<()> {
    let path = at.join(path);
    fs_err::create_dir_all(path.parent().unwrap_or(at))?;
    Ok(fs_err::write(path, text)?)
}

fn everywhere(at: &Path, text: &str) -> Result<()> {
    PLACES.iter().try_for_each(|place| put(at, place, text))
}

/// One server of `.mcp.json`.
fn entry(inside: &str) -> String {
    format!("{{\"mcpServers\":{{\"a\":{{{inside}}}}}}}")
}

fn repeated(text: &str, count: usize) -> String {
    vec![text; count].join(",")
}

/// A server whose script is what `make` makes of it.
fn script(at: &Path, make: fn(&Path) -> std::io::Result<()>) -> Result<()> {
    make(&at.join("run.py"))?;
    put(at, ".mcp.json", &entry("\"command\":\"python3\",\"args\":[\"run.py\"]"))
}

/// A pipe that nobody writes to.
pub(crate) fn pipe(path: &Path) -> Result<()> {
    let made = Command::new("mkfifo").arg(path).status()?;
    ensure!(made.success(), "mkfifo failed");
    Ok(())
}

/// A terabyte of nothing.
pub(crate) fn sparse(path: &Path) -> std::io::Result<()> {
    fs_err::File::create(path)?.file().set_len(1 << 40)
}
