//! The programs that run what a file says, and how each of them finds that file: which options have a value, which values
//! are code, and what a directory or a bare name means to it.

use super::spelling::is_short;

/// How a program finds what it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `sh script`, `sh -c line`.
    Shell,
    /// A file, a directory with a `__main__.py`, `-m package`.
    Python,
    /// A file, with or without its extension, or a package's directory.
    Node,
    /// A file.
    Plain,
    /// A script of `package.json`, or a file as [`Kind::Node`] has it.
    Package,
    /// A task of `deno.json`, or a file.
    Deno,
    /// Another command line behind `run`, or a Python file.
    PythonRunner,
    /// What its own file says: a makefile.
    Recipes,
}

/// One such program.
#[derive(Debug)]
pub(super) struct Interpreter {
    pub(super) kind: Kind,
    names: &'static [&'static str],
    /// Options with a value of their own in the next word, which is not a file to run.
    pub(super) values: &'static [&'static str],
    /// Options whose value is code.
    pub(super) code: &'static [&'static str],
    /// Options whose value is a file that is run, or loaded before.
    pub(super) loads: &'static [&'static str],
    /// Options whose value is the directory to begin in.
    pub(super) directories: &'static [&'static str],
    /// Words in front of the file that only say what to do.
    pub(super) verbs: &'static [&'static str],
    /// Files that are read without being named.
    pub(super) implied: &'static [&'static str],
}

const NOTHING: Interpreter = Interpreter {
    kind: Kind::Plain,
    names: &[],
    values: &[],
    code: &[],
    loads: &[],
    directories: &[],
    verbs: &[],
    implied: &[],
};

const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        kind: Kind::Shell,
        names: &["sh", "bash", "dash", "zsh", "ksh", "ash", "busybox", "fish"],
        values: &["-o", "+o", "-O", "+O"],
        loads: &["--rcfile", "--init-file"],
        verbs: &["sh", "ash"],
        ..NOTHING
    },
    Interpreter {
        kind: Kind::Python,
        names: &["python", "pypy"],
        values: &["-W", "-X", "-Q", "--check-hash-based-pycs"],
        ..NOTHING
    },
    Interpreter {
        kind: Kind::Node,
        names: &["node", "nodejs", "tsx", "ts-node", "ts-node-esm", "electron"],
        values: &["-C", "--conditions", "--title", "--icu-data-dir", "--input-type", "-P", "--project", "--tsconfig"],
        code: &["-e", "--eval", "-p", "--print", "-pe"],
        loads: &["-r", "--require", "--import", "--loader", "--experimental-loader", "--env-file"],
        verbs: &["watch", "inspect"],
        ..NOTHING
    },
    Interpreter {
        kind: Kind::Package,
        names: &["npm", "pnpm", "yarn", "bun", "npx", "pnpx", "bunx"],
        values: &["-w", "--workspace", "-F", "--filter", "-p", "--package"],
        code: &["-e", "--eval", "-c", "--call"],
        loads: &["-r", "--preload", "--env-file"],
        directories: &["--prefix", "-C", "--dir", "--cwd"],
        verbs: &["run", "run-script", "exec", "x", "dlx", "watch"],
        implied: &["package.json", "bunfig.toml", ".npmrc"],
    },
    Interpreter {
        kind: Kind::Deno,
        names: &["deno"],
        values: &["--unstable", "--ext", "--seed", "--location"],
        code: &["eval"],
        loads: &["-c", "--config", "--import-map", "--env-file", "--preload", "--cert"],
        directories: &["--cwd"],
        verbs: &["run", "task", "serve"],
        implied: &["deno.json", "deno.jsonc"],
    },
    Interpreter {
        kind: Kind::PythonRunner,
        names: &["uv", "uvx", "poetry", "pipenv", "hatch", "rye", "pdm", "pixi", "pipx", "fastmcp", "mcp"],
        values: &[
            "--with",
            "--with-editable",
            "-p",
            "--python",
            "--extra",
            "--group",
            "--only-group",
            "--from",
            "--index-url",
        ],
        loads: &["--env-file", "--with-requirements", "--script"],
        directories: &["--directory", "--project", "-C", "-P"],
        verbs: &["run", "tool", "dev"],
        implied: &["pyproject.toml", "uv.toml", "Pipfile"],
        ..NOTHING
    },
    Interpreter {
        names: &["ruby", "jruby", "bundle"],
        values: &["-I", "-C", "-E", "-K"],
        code: &["-e"],
        loads: &["-r"],
        verbs: &["exec", "ruby"],
        implied: &["Gemfile"],
        ..NOTHING
    },
    Interpreter { names: &["perl", "raku"], values: &["-I", "-M", "-m"], code: &["-e", "-E"], ..NOTHING },
    Interpreter {
        names: &["php"],
        values: &["-d", "-z"],
        code: &["-r", "-B", "-R", "-E"],
        loads: &["-f", "-c", "-F"],
        ..NOTHING
    },
    Interpreter {
        names: &["java", "javaw", "kotlin", "scala", "groovy"],
        values: &["--add-modules", "--add-opens", "--add-exports"],
        code: &["-e"],
        loads: &["-jar", "-cp", "-classpath", "--class-path", "-p", "--module-path"],
        ..NOTHING
    },
    Interpreter { names: &["lua", "luajit"], code: &["-e"], values: &["-l"], ..NOTHING },
    Interpreter { names: &["Rscript", "R", "julia", "elixir", "escript", "swift"], code: &["-e"], ..NOTHING },
    Interpreter { names: &["go", "cargo", "dotnet"], verbs: &["run"], implied: &["go.mod", "Cargo.toml"], ..NOTHING },
    Interpreter {
        kind: Kind::Recipes,
        names: &["make", "gmake"],
        values: &["-j", "-l", "-o", "-W"],
        loads: &["-f", "--file", "--makefile"],
        directories: &["-C", "--directory"],
        implied: &["Makefile", "makefile", "GNUmakefile"],
        ..NOTHING
    },
    Interpreter {
        kind: Kind::Recipes,
        names: &["just", "task"],
        values: &["--set", "--shell"],
        loads: &["-f", "--justfile", "-t", "--taskfile"],
        directories: &["-d", "--working-directory", "--dir"],
        implied: &["justfile", "Justfile", ".justfile", "Taskfile.yml", "Taskfile.yaml"],
        ..NOTHING
    },
    Interpreter {
        kind: Kind::Recipes,
        names: &["docker", "podman", "docker-compose"],
        loads: &["-f", "--file", "--env-file"],
        directories: &["--project-directory"],
        implied: &["compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"],
        ..NOTHING
    },
];

/// Python's options that are one letter and nothing else, and may stand in front of `-c` and `-m` in one word.
const PYTHON_FLAGS: &str = "bBdEhiIOPqsSuvVx";

/// The interpreter that a word names, with or without a path and a version: `/usr/bin/python3.12`.
pub(super) fn interpreter(word: &str) -> Option<&'static Interpreter> {
    let name = word.rsplit('/').next().unwrap_or(word);
    let bare = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.' || letter == '-');
    INTERPRETERS.iter().find(|one| one.names.contains(&name) || (!bare.is_empty() && one.names.contains(&bare)))
}

/// Where Python's `-c` or `-m` stands in a word of short options, and what is attached to it.
pub(super) fn python_flag(kind: Kind, word: &str) -> Option<(char, &str)> {
    if kind != Kind::Python || !is_short(word) {
        return None;
    }
    let rest = word.get(1..)?.trim_start_matches(|letter| PYTHON_FLAGS.contains(letter));
    let letter = rest.chars().next().filter(|letter| matches!(letter, 'c' | 'm'))?;
    Some((letter, rest.get(1..)?))
}
