//! Owns the comparison of tasks: the same work over six real servers, once by direct calls and once by a program, each through
//! `helve serve` as an agent has it; everything that a model would read or write is counted.
//!
//! Definitions are counted once for each task, though most agents pay for them with every turn.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use super::counted;
use crate::install::{Pin, python};
use crate::interop::servers::{self, Transport};
use crate::programs::{Profile, build, interop_directory, run};
use xtask::table;

/// On a Python SDK that it names itself.
const GIT_SERVER: &[Pin] = &[("mcp-server-git", "2026.10.19")];

/// What code mode may cost of the direct way.
const MOST: f64 = 0.2;

/// Months of sales, and rows of each; commits; people.
const MONTHS: usize = 12;
const ROWS: usize = 40;
const COMMITS: usize = 20;
const PEOPLE: usize = 24;

const REGIONS: [&str; 4] = ["north", "south", "east", "west"];
const ZONES: [&str; 4] = ["Europe/Berlin", "Asia/Tokyo", "America/New_York", "Australia/Sydney"];

/// One task, in both ways.
struct Task {
    name: &'static str,
    /// Tool and arguments, in order.
    direct: Vec<(&'static str, Value)>,
    /// What a model looks for before it writes the program.
    search: Value,
    program: String,
    /// What the last result of both ways has to contain.
    answer: String,
}

#[expect(clippy::print_stdout, reason = "a chore tells its person what came of it")]
pub(super) fn compare(root: &Path, helve: Option<&Path>) -> Result<()> {
    let helve = match helve {
        Some(helve) => helve.canonicalize()?,
        None => build(root, "helve-cli", Profile::Release, &["helve"])?.pop().context("helve was not built")?,
    };
    let place = Place::prepare(root, &helve)?;
    let tasks = [sales(&place), history(&place), meetings(&place)];
    let (mut rows, mut sums) = (Vec::new(), (0, 0));
    for task in &tasks {
        let direct = place.direct(task).with_context(|| format!("{}, directly", task.name))?;
        place.put_back()?;
        let program = place.program(task).with_context(|| format!("{}, by a program", task.name))?;
        place.put_back()?;
        let parts: Vec<&String> = direct.iter().chain(&program).collect();
        let counts = counted(root, &parts.iter().map(|text| (*text).clone()).collect::<Vec<_>>())?;
        let [d, dc, p, pc] = counts.as_slice() else { bail!("not everything was counted") };
        sums = (sums.0 + d + dc, sums.1 + p + pc);
        rows.push(row(task.name, [*d, *dc, *p, *pc]));
    }
    let ratio = sums.1 as f64 / sums.0 as f64;
    rows.push(vec!["all".into(), String::new(), String::new(), String::new(), String::new(), format!("{ratio:.3}")]);
    let heads = ["task", "definitions", "calls and results", "with code: definitions", "calls and results", "ratio"];
    println!("{}", table::render(&heads, &heads[1..], &rows));
    println!("six real servers, {} tools; counted with gpt-tokenizer (o200k)", place.tools()?);
    let worst = rows.iter().filter_map(|row| row.last()?.parse::<f64>().ok()).fold(0.0, f64::max);
    ensure!(worst <= MOST, "code mode costs {worst:.3} of the direct way, and {MOST} is the most");
    Ok(())
}

fn row(name: &str, [d, dc, p, pc]: [usize; 4]) -> Vec<String> {
    let ratio = (p + pc) as f64 / (d + dc) as f64;
    vec![name.to_owned(), d.to_string(), dc.to_string(), p.to_string(), pc.to_string(), format!("{ratio:.3}")]
}

/// A home with six servers, and what they work on.
struct Place {
    _directory: tempfile::TempDir,
    home: PathBuf,
    work: PathBuf,
    helve: PathBuf,
}

impl Place {
    fn prepare(root: &Path, helve: &Path) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("helve-tokens-").tempdir()?;
        let base = fs_err::canonicalize(directory.path())?;
        let (home, work) = (base.join("home"), base.join("work"));
        fs_err::create_dir_all(home.join(".config/helve"))?;
        fs_err::create_dir_all(work.join("sales"))?;
        let place = Self { _directory: directory, home, work, helve: helve.to_owned() };
        place.configure(&interop_directory(root)?)?;
        place.put_back()?;
        place.repository()?;
        Ok(place)
    }

    fn configure(&self, interop: &Path) -> Result<()> {
        let git = python(&interop.join("git-server"), GIT_SERVER)?;
        let mut text = "[[rules]]\ntool = \"*/*\"\naction = \"allow\"\n".to_owned();
        let memory = self.work.join("memory.jsonl");
        let mut write = |name: &str, command: &[String]| {
            text.push_str(&format!(
                "[servers.{name}]\ncommand = {}\nenv = {{ MEMORY_FILE_PATH = {} }}\n",
                json!(command),
                json!(memory)
            ));
        };
        for server in servers::install(interop, &self.work)? {
            if server.transport == Transport::Stdio && server.name != "typescript-2-echo" {
                let mut words = vec![server.program.display().to_string()];
                words.extend(server.arguments);
                write(server.name, &words);
            }
        }
        write("git", &[git.join("mcp-server-git").display().to_string()]);
        fs_err::write(self.home.join(".config/helve/helve.toml"), text)?;
        Ok(())
    }

    /// Everything as it was before a task.
    fn put_back(&self) -> Result<()> {
        let amount = |month: usize, row: usize| (month * 37 + row * 11) % 90 + 10;
        for month in 0..MONTHS {
            let mut text = "date,region,customer,amount\n".to_owned();
            for row in 0..ROWS {
                let region = REGIONS.get((month + row) % 4).copied().unwrap_or_default();
                text.push_str(&format!(
                    "2026-{:02}-{:02},{region},customer {row},{}\n",
                    month + 1,
                    row % 28 + 1,
                    amount(month, row)
                ));
            }
            fs_err::write(self.work.join(format!("sales/2026-{:02}.csv", month + 1)), text)?;
        }
        for file in ["interop.db", "calls.md"] {
            if self.work.join(file).exists() {
                fs_err::remove_file(self.work.join(file))?;
            }
        }
        let people = (0..PEOPLE).map(|number| {
            let zone = ZONES.get(number % 4).copied().unwrap_or_default();
            let observations = json!([format!("lives in {zone}"), format!("joined in {}", 2000 + number), "likes long walks and short meetings"]);
            format!("{}\n", json!({"type": "entity", "name": format!("person {number}"), "entityType": "person", "observations": observations}))
        });
        fs_err::write(self.work.join("memory.jsonl"), people.collect::<String>())?;
        Ok(())
    }

    fn repository(&self) -> Result<()> {
        let repository = self.work.join("repository");
        fs_err::create_dir_all(&repository)?;
        let git = |words: &[&str]| {
            let mut git = Command::new("git");
            git.args(["-c", "user.email=x@example.com", "-c", "commit.gpgsign=false"]).args(words);
            run(git.current_dir(&repository).stdout(Stdio::null()), "this comparison needs git")
        };
        git(&["init", "-q"])?;
        for commit in 0..COMMITS {
            let file = repository.join(format!("module_{}.py", commit % 3));
            let body: String = (0..12)
                .map(|line| format!("def step_{commit}_{line}(value):\n    return value + {line}\n\n"))
                .collect();
            fs_err::write(file, body)?;
            git(&["add", "."])?;
            let author =
                ["Ann <ann@example.com>", "Bob <bob@example.com>"].get(commit % 5 / 3).copied().unwrap_or_default();
            git(&["-c", "user.name=x", "commit", "-q", "--author", author, "-m", &format!("Change {commit}")])?;
        }
        Ok(())
    }

    fn serve(&self, arguments: &[&str]) -> Result<Agent> {
        let mut command = Command::new(&self.helve);
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.args(arguments).current_dir(&self.work).env_clear().env("HOME", &self.home).env("PATH", path);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (stdin, stdout) = (child.stdin.take().context("no pipe")?, child.stdout.take().context("no pipe")?);
        let mut agent = Agent { child, stdin, lines: BufReader::new(stdout), next: 0 };
        let client = json!({"name": "agent", "version": "1"});
        agent.request(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}),
        )?;
        agent.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(agent)
    }

    fn tools(&self) -> Result<usize> {
        let mut agent = self.serve(&["serve", "--wait", "60s"])?;
        Ok(agent.definitions()?.as_array().map_or(0, Vec::len))
    }

    /// The definitions, and every call with its result.
    fn direct(&self, task: &Task) -> Result<[String; 2]> {
        let mut agent = self.serve(&["serve", "--wait", "60s"])?;
        let definitions = agent.definitions()?.to_string();
        let mut said = String::new();
        for (tool, arguments) in &task.direct {
            agent.call(tool, arguments, &mut said)?;
        }
        ensure!(said.contains(&task.answer), "the answer {} is not in\n{said}", task.answer);
        Ok([definitions, said])
    }

    fn program(&self, task: &Task) -> Result<[String; 2]> {
        let mut agent = self.serve(&["serve", "--discover", "code", "--wait", "60s"])?;
        let definitions = agent.definitions()?.to_string();
        let mut said = String::new();
        agent.call("search_tools", &task.search, &mut said)?;
        agent.call("run_code", &json!({"code": task.program}), &mut said)?;
        ensure!(said.contains(&task.answer), "the answer {} is not in\n{said}", task.answer);
        Ok([definitions, said])
    }
}

/// `helve serve`, and whoever talks to it.
struct Agent {
    child: Child,
    stdin: ChildStdin,
    lines: BufReader<ChildStdout>,
    next: u64,
}

impl Agent {
    fn write(&mut self, message: &Value) -> Result<()> {
        Ok(self.stdin.write_all(format!("{message}\n").as_bytes())?)
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.next += 1;
        let id = self.next;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let mut line = String::new();
            ensure!(self.lines.read_line(&mut line)? > 0, "helve ended");
            let message: Value = serde_json::from_str(&line)?;
            if message["id"] == id {
                ensure!(message["error"].is_null(), "{method}: {}", message["error"]);
                return Ok(message["result"].clone());
            }
        }
    }

    /// What a provider is told of each tool: its name, its description and its schema.
    fn definitions(&mut self) -> Result<Value> {
        let listed = self.request("tools/list", &json!({}))?;
        let told = |tool: &Value| json!({"name": tool["name"], "description": tool["description"], "input_schema": tool["inputSchema"]});
        Ok(listed["tools"].as_array().context("no tools")?.iter().map(told).collect())
    }

    /// Makes a call, and writes down what the model writes and reads of it.
    fn call(&mut self, tool: &str, arguments: &Value, said: &mut String) -> Result<()> {
        said.push_str(&format!("{}\n", json!({"name": tool, "input": arguments})));
        let result = self.request("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        for block in result["content"].as_array().into_iter().flatten() {
            said.push_str(block["text"].as_str().unwrap_or_default());
            said.push('\n');
        }
        ensure!(result["isError"] != true, "{tool}: {said}");
        Ok(())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The year's sales by region, into a table.
fn sales(place: &Place) -> Task {
    let directory = place.work.join("sales").display().to_string();
    let mut totals = [0usize; 4];
    for month in 0..MONTHS {
        for row in 0..ROWS {
            if let Some(total) = totals.get_mut((month + row) % 4) {
                *total += (month * 37 + row * 11) % 90 + 10;
            }
        }
    }
    let mut direct = vec![("filesystem__list_directory", json!({"path": directory}))];
    direct.extend(
        (1..=MONTHS)
            .map(|month| ("filesystem__read_text_file", json!({"path": format!("{directory}/2026-{month:02}.csv")}))),
    );
    let create = "CREATE TABLE totals (region TEXT, amount INTEGER)";
    direct.push(("sqlite__create_table", json!({"query": create})));
    let values: Vec<String> =
        REGIONS.iter().zip(totals).map(|(region, total)| format!("('{region}', {total})")).collect();
    direct.push(("sqlite__write_query", json!({"query": format!("INSERT INTO totals VALUES {}", values.join(", "))})));
    let query = "SELECT region, amount FROM totals ORDER BY amount DESC";
    direct.push(("sqlite__read_query", json!({"query": query})));
    let program = format!(
        "import csv, io\nfrom collections import Counter\n\ntotals = Counter()\nfor month in range(1, 13):\n    text = device.FilesystemMCP.read_text_file(path=f\"{directory}/2026-{{month:02}}.csv\")\n    if isinstance(text, dict): text = text[\"content\"]\n    for row in csv.DictReader(io.StringIO(text)):\n        totals[row[\"region\"]] += int(row[\"amount\"])\ndevice.SqliteMCP.create_table(query=\"{create}\")\nvalues = \", \".join(f\"('{{region}}', {{total}})\" for region, total in totals.items())\ndevice.SqliteMCP.write_query(query=f\"INSERT INTO totals VALUES {{values}}\")\ndevice.SqliteMCP.read_query(query=\"{query}\")\n"
    );
    let most = totals.into_iter().max().unwrap_or_default();
    let search = json!({"query": ["read text file", "sqlite create table", "sqlite write query", "sqlite read query"], "limit": 6});
    Task { name: "sales of a year into a table", direct, search, program, answer: most.to_string() }
}

/// How many lines each author changed, kept in the memory.
fn history(place: &Place) -> Task {
    let repository = place.work.join("repository").display().to_string();
    let mut direct = vec![("git__git_log", json!({"repo_path": repository, "max_count": COMMITS}))];
    direct.extend(
        (0..COMMITS)
            .map(|back| ("git__git_show", json!({"repo_path": repository, "revision": format!("HEAD~{back}")}))),
    );
    // The first commit has none before it.
    let entity = json!({"entities": [{"name": "repository", "entityType": "project", "observations": ["Ann made 12 commits, Bob 8"]}]});
    direct.push(("memory__create_entities", entity));
    let program = format!(
        "import re\nfrom collections import Counter\n\nauthors, lines = Counter(), Counter()\nfor back in range({COMMITS}):\n    text = str(device.GitMCP.git_show(repo_path=\"{repository}\", revision=f\"HEAD~{{back}}\"))\n    author = re.search(r\"Author: .*?(Ann|Bob)\", text).group(1)\n    authors[author] += 1\n    lines[author] += len(re.findall(r\"^\\+[^+]\", text, re.M))\nnote = \", \".join(f\"{{name}} made {{count}} commits\" for name, count in authors.most_common())\ndevice.MemoryMCP.create_entities(entities=[{{\"name\": \"repository\", \"entityType\": \"project\", \"observations\": [note]}}])\n{{\"note\": note, \"lines\": lines}}\n"
    );
    let search = json!({"query": ["show a git commit", "create entities in memory"], "limit": 3});
    Task { name: "a repository's history into the memory", direct, search, program, answer: "Ann made 12".to_owned() }
}

/// When to call whom, as a file.
fn meetings(place: &Place) -> Task {
    let file = place.work.join("calls.md").display().to_string();
    let mut direct = vec![("memory__read_graph", json!({}))];
    direct.extend((0..PEOPLE).map(|number| {
        let zone = ZONES.get(number % 4).copied().unwrap_or_default();
        ("time__convert_time", json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": zone}))
    }));
    let lines: String = (0..PEOPLE).map(|number| format!("person {number}: 21:00\n")).collect();
    direct.push(("filesystem__write_file", json!({"path": file, "content": lines})));
    direct.push(("filesystem__get_file_info", json!({"path": file})));
    let program = format!(
        "import asyncio, json\n\ngraph = device.MemoryMCP.read_graph()\npeople = [one for one in graph[\"entities\"] if one[\"entityType\"] == \"person\"]\nzones = [one[\"observations\"][0].removeprefix(\"lives in \") for one in people]\ntimes = await asyncio.gather(*[device.TimeMCP.convert_time(source_timezone=\"UTC\", time=\"12:00\", target_timezone=zone) for zone in zones])\nlines = [f'{{one[\"name\"]}}: {{time[\"target\"][\"datetime\"][11:16]}}' for one, time in zip(people, times)]\ndevice.FilesystemMCP.write_file(path=\"{file}\", content=\"\\n\".join(lines))\nstr(device.FilesystemMCP.get_file_info(path=\"{file}\"))\n"
    );
    let search = json!({"query": ["read the whole memory graph", "convert time between zones", "write file", "file info"], "limit": 6});
    Task { name: "calls across time zones", direct, search, program, answer: "size".to_owned() }
}
