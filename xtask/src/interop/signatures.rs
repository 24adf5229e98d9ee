//! Owns the proof that signatures are what they claim to be: Python's own parser and TypeScript's own compiler read them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use helve_model::ToolDefinition;
use helve_render::{Style, ToolText, documented, signature, statement};

use crate::install::{Pin, npm};

/// The last line of releases whose compiler is a library for JavaScript.
const TYPESCRIPT: &[Pin] = &[("typescript", "6.0.3")];

/// It has to lie beside the package it imports.
const PARSE_TYPESCRIPT: &str = include_str!("../../interop/parse-typescript.mjs");

const PARSE_PYTHON: &str = include_str!("../../interop/parse-python.py");

/// From next to nothing, where a signature names no parameter, to more than any tool needs.
const TOKENS: &[usize] = &[8, 32, 128, 4_096];

/// The parsers, ready to be asked.
#[derive(Debug)]
pub(crate) struct Parsers {
    typescript: PathBuf,
}

/// A statement and the tool it was made for.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Statement {
    server: String,
    tool: String,
    text: String,
}

impl Parsers {
    /// Installs what is not part of every machine.
    pub(crate) fn install(directory: &Path) -> Result<Self> {
        let directory = directory.join("typescript");
        npm(&directory, TYPESCRIPT)?;
        let typescript = directory.join("parse-typescript.mjs");
        fs_err::write(&typescript, PARSE_TYPESCRIPT)?;
        Ok(Self { typescript })
    }

    /// Has every signature of `tools`, each beside the name of its server, parsed; says how many there were.
    pub(crate) fn check(&self, tools: &[(&str, ToolDefinition)]) -> Result<String> {
        let (python, typescript) = (statements(tools, Style::Python), statements(tools, Style::TypeScript));
        ensure!(!python.is_empty() && !typescript.is_empty(), "no tool was found");
        let mut wrong = complaints(Command::new("python3").args(["-c", PARSE_PYTHON]), &python)?;
        wrong.push_str(&complaints(Command::new("node").arg(&self.typescript), &typescript)?);
        if !wrong.is_empty() {
            bail!("{wrong}");
        }
        Ok(format!("{} Python, {} TypeScript parse", python.len(), typescript.len()))
    }
}

/// Every different statement the tools give, short and long, with descriptions and without.
fn statements(tools: &[(&str, ToolDefinition)], style: Style) -> BTreeSet<Statement> {
    let mut statements = BTreeSet::new();
    for (server, definition) in tools {
        let (name, view) = (definition.name().to_string(), definition.view());
        let entry = ToolText {
            name: &name,
            title: view.title.as_deref(),
            description: view.description.as_deref(),
            input_schema: view.input_schema.as_ref().map_or("{}", |schema| schema.as_str()),
            output_schema: view.output_schema.as_ref().map(|schema| schema.as_str()),
        };
        for tokens in TOKENS {
            for text in [statement(style, &signature(&entry, style, *tokens)), documented(&entry, style, *tokens)] {
                statements.insert(Statement { server: (*server).to_owned(), tool: name.clone(), text });
            }
        }
    }
    statements
}

/// Hands `statements` to a parser and lists those it refuses.
fn complaints(parser: &mut Command, statements: &BTreeSet<Statement>) -> Result<String> {
    let program = parser.get_program().to_string_lossy().into_owned();
    let mut child = parser
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {program}\nhint: these runs need it in PATH"))?;
    let texts: Vec<&str> = statements.iter().map(|statement| statement.text.as_str()).collect();
    // Both parsers read all of it before they say a word; the end of input is where the pipe is dropped.
    child.stdin.take().context("no stdin")?.write_all(&serde_json::to_vec(&texts)?)?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "the parser in {program} failed ({})", output.status);
    let answers: Vec<Option<String>> = serde_json::from_slice(&output.stdout).context("the parser did not answer")?;
    ensure!(answers.len() == statements.len(), "the parser in {program} left some out");
    let mut listed = String::new();
    for (Statement { server, tool, text }, complaint) in statements.iter().zip(answers) {
        if let Some(complaint) = complaint {
            writeln!(listed, "\n{server}/{tool}: {program} says {complaint}\n{text}")?;
        }
    }
    Ok(listed)
}

#[cfg(test)]
#[path = "signatures_tests.rs"]
mod tests;
