//! Which servers are tried: those that people name most, and of each kind that is hard to confine at least one (native modules,
//! sqlite, git, a browser's driver, large libraries).

/// What a package is started with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runner {
    Npx,
    Uvx,
}

/// A package, and what it must be told to start.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) name: &'static str,
    pub(super) runner: Runner,
    pub(super) package: &'static str,
    /// `PROJECT` is the directory it runs in.
    pub(super) arguments: &'static [&'static str],
    pub(super) variables: &'static [(&'static str, &'static str)],
}

impl Runner {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Npx => "npx",
            Self::Uvx => "uvx",
        }
    }
}

const fn npx(name: &'static str, package: &'static str) -> Server {
    Server { name, runner: Runner::Npx, package, arguments: &[], variables: &[] }
}

const fn uvx(name: &'static str, package: &'static str) -> Server {
    Server { name, runner: Runner::Uvx, package, arguments: &[], variables: &[] }
}

const fn with(server: Server, arguments: &'static [&'static str]) -> Server {
    Server { arguments, ..server }
}

const fn told(server: Server, variables: &'static [(&'static str, &'static str)]) -> Server {
    Server { variables, ..server }
}

/// The first of each runner is also tried with named hosts. Keys are made up: none is used before a tool is called.
pub(super) const SERVERS: &[Server] = &[
    with(npx("filesystem", "@modelcontextprotocol/server-filesystem"), &["PROJECT"]),
    npx("everything", "@modelcontextprotocol/server-everything"),
    npx("memory", "@modelcontextprotocol/server-memory"),
    npx("thinking", "@modelcontextprotocol/server-sequential-thinking"),
    told(npx("github", "@modelcontextprotocol/server-github"), &[("GITHUB_PERSONAL_ACCESS_TOKEN", "made-up")]),
    told(npx("brave", "@modelcontextprotocol/server-brave-search"), &[("BRAVE_API_KEY", "made-up")]),
    told(npx("notion", "@notionhq/notion-mcp-server"), &[("NOTION_TOKEN", "made-up")]),
    told(npx("tavily", "tavily-mcp"), &[("TAVILY_API_KEY", "made-up")]),
    npx("context7", "@upstash/context7-mcp"),
    npx("playwright", "@playwright/mcp"),
    npx("kubernetes", "mcp-server-kubernetes"),
    npx("git-npm", "@cyanheads/git-mcp-server"),
    with(npx("sqlite-npm", "mcp-sqlite"), &["PROJECT/data.db"]),
    uvx("time", "mcp-server-time"),
    uvx("fetch", "mcp-server-fetch"),
    with(uvx("git", "mcp-server-git"), &["--repository", "PROJECT"]),
    with(uvx("sqlite", "mcp-server-sqlite"), &["--db-path", "PROJECT/data.db"]),
    uvx("calculator", "mcp-server-calculator"),
    uvx("arxiv", "arxiv-mcp-server"),
    uvx("duckduckgo", "duckduckgo-mcp-server"),
    uvx("wikipedia", "wikipedia-mcp"),
    with(uvx("excel", "excel-mcp-server"), &["stdio"]),
    uvx("aws-docs", "awslabs.aws-documentation-mcp-server@latest"),
];
