//! A fake MCP peer that speaks the protocol for real, in both eras, with a switch for every way a server can misbehave.
//!
//! The peer is written by hand and shares no code with helve, so that one misunderstanding cannot sit on both ends. What it
//! does is told by a [`Scenario`]; what its client did is read from a [`Recorder`].
//!
//! ```
//! use helve_testkit::Scenario;
//! use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let peer = Scenario::legacy().in_process();
//! let (reader, mut writer) = tokio::io::split(peer.stream);
//! writer.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").await.unwrap();
//! let answer = BufReader::new(reader).lines().next_line().await.unwrap().unwrap();
//! assert_eq!(answer, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
//! assert_eq!(peer.recorder.methods(), ["ping"]);
//! # });
//! ```
//!
//! The forms:
//! - in process: [`Scenario::in_process`];
//! - as a child: start [`peer_program`] with [`Scenario::to_json`] as its one argument;
//!   [`fixture_program`] has the contents that the official conformance suite expects, [`rmcp_program`] is a small server on `rmcp` in its place, which nobody here wrote the wire of;
//! - over HTTP: [`Scenario::serve_http`] (Streamable HTTP) and [`Scenario::serve_sse`] (HTTP+SSE of 2024-11-05).

pub mod authority;
mod byte_stream;
mod call;
mod catalog;
mod ending;
mod fault;
mod fixture;
mod frame;
mod handshake;
pub mod hostile;
mod http;
mod http_script;
mod in_process;
pub mod interference;
mod listen;
mod meta;
mod methods;
mod noise;
mod peer;
mod process_table;
mod program;
mod prompts;
mod recorder;
mod resources;
mod scenario;
pub mod secret_service;
mod stdio;
mod tasks;
mod tools;

pub use fault::{EndlessLine, ListFault, MixtureFault, Noise, NoiseKind, OneAtATime, ProbeFault};
pub use http::HttpServer;
pub use http_script::{CutKind, FaultTarget, HttpAnswer, HttpFault, HttpFaultKind, HttpScript, UnknownSession};
pub use in_process::InProcess;
pub use process_table::{alive, descendants_of, open_fds, peak_rss_bytes, rss_bytes, threads, wait_until_dead};
pub use program::{fixture_program, peer_program, rmcp_program};
pub use recorder::{NotSeen, RecordedEvent, Recorder, Recording};
pub use scenario::{Contents, DualRule, Era, LEGACY_VERSIONS, MODERN_VERSION, Offers, Scenario};
pub use stdio::{run, run_fixture};
