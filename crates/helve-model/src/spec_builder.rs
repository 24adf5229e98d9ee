//! A server's entry as a program writes it: a name, how it is reached, and what differs from the defaults.

use std::path::PathBuf;

use crate::{ConfigText, HttpFlavour, HttpSpec, Layer, Origin, ServerName, ServerSpec, StdioSpec, TransportSpec};

/// A program that speaks the protocol on its standard streams, being described. See [`ServerSpec::stdio`].
#[derive(Debug, Clone)]
#[must_use]
pub struct StdioServer {
    name: ServerName,
    stdio: StdioSpec,
}

/// A server reached over HTTP, being described. See [`ServerSpec::http`].
#[derive(Debug, Clone)]
#[must_use]
pub struct HttpServer {
    name: ServerName,
    http: HttpSpec,
}

impl ServerSpec {
    /// A program to be started: a path, or a name to look up in `PATH`.
    ///
    /// ```
    /// use helve_model::ServerSpec;
    ///
    /// let spec = ServerSpec::stdio("files", "npx").args(["-y", "@modelcontextprotocol/server-filesystem", "."]).build();
    /// assert_eq!(spec.name.as_str(), "files");
    /// ```
    pub fn stdio(name: impl Into<ServerName>, command: impl Into<String>) -> StdioServer {
        let stdio = StdioSpec {
            command: ConfigText::literal(command),
            arguments: Vec::new(),
            environment: indexmap::IndexMap::new(),
            working_directory: None,
        };
        StdioServer { name: name.into(), stdio }
    }

    /// A server at an address.
    pub fn http(name: impl Into<ServerName>, url: impl Into<String>) -> HttpServer {
        let http =
            HttpSpec { url: ConfigText::literal(url), headers: indexmap::IndexMap::new(), flavour: HttpFlavour::Auto };
        HttpServer { name: name.into(), http }
    }
}

impl StdioServer {
    /// The same with one more argument.
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        self.stdio.arguments.push(ConfigText::literal(argument));
        self
    }

    /// The same with more arguments.
    pub fn args(self, arguments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    /// The same with a variable. Its value is never shown.
    pub fn env(mut self, variable: impl Into<String>, value: impl Into<String>) -> Self {
        self.stdio.environment.insert(variable.into(), ConfigText::hidden(value));
        self
    }

    /// The same, run in this directory.
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.stdio.working_directory = Some(directory.into());
        self
    }

    /// The entry, for what else there is to say about it.
    #[must_use]
    pub fn build(self) -> ServerSpec {
        of_the_program(self.name, TransportSpec::Stdio(self.stdio))
    }
}

impl HttpServer {
    /// The same with a header that is sent with every request. Its value is never shown.
    pub fn header(mut self, header: impl Into<String>, value: impl Into<String>) -> Self {
        self.http.headers.insert(header.into(), ConfigText::hidden(value));
        self
    }

    /// The same with a token in the header `Authorization`.
    pub fn bearer(self, token: &str) -> Self {
        self.header("Authorization", format!("Bearer {token}"))
    }

    /// The same, spoken to in one of the HTTP transports only.
    pub const fn flavour(mut self, flavour: HttpFlavour) -> Self {
        self.http.flavour = flavour;
        self
    }

    /// The entry, for what else there is to say about it.
    #[must_use]
    pub fn build(self) -> ServerSpec {
        of_the_program(self.name, TransportSpec::Http(self.http))
    }
}

const fn of_the_program(name: ServerName, transport: TransportSpec) -> ServerSpec {
    ServerSpec::new(name, transport, Origin::Program, Layer::CommandLine)
}

impl From<StdioServer> for ServerSpec {
    fn from(server: StdioServer) -> Self {
        server.build()
    }
}

impl From<HttpServer> for ServerSpec {
    fn from(server: HttpServer) -> Self {
        server.build()
    }
}
