//! What one caller sees of a host, and how it calls: a scope, times, metadata. A view made from another has no more than that one.

use std::sync::Arc;
use std::time::Duration;

use helve::{
    AgentTools, CallContext, CallError, CallOutcome, Caller, Definitions, Narrowing, Provider, RawJson, ToolQuery,
};
use helve_model::Definition as _;
use helve_model::json::{ObjectWriter, quoted};
use helve_render::provider_messages;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::callbacks::Parent;
use crate::code::Code;
use crate::core::{check_process, failed};
use crate::error;
use crate::mailbox::{Answer, Mailbox, WorkFuture};
use crate::outcome::{CallResult, arguments as read_arguments};
use crate::value::loads;

/// Definitions as the protocol has them, for no provider.
const MCP: &str = "mcp";

/// Arguments of more bytes are looked at by the runtime: an event loop has other things to do meanwhile.
const SMALL_ARGUMENTS: usize = 4096;

/// What one caller sees of a host.
#[pyclass(frozen, module = "helve._helve")]
#[derive(Clone)]
pub(crate) struct View {
    process: u32,
    tools: AgentTools,
    code: Arc<Code>,
    timeout: Option<Duration>,
    total: Option<Duration>,
    meta: Option<RawJson>,
    uncut: bool,
}

/// What becomes of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// It is given whole, whatever the tool says.
    Call,
    /// Its value is given; a tool that failed is an exception.
    Value,
    /// A model gets it, and whatever went wrong in the words for models.
    Model,
}

impl View {
    pub(crate) const fn new(process: u32, tools: AgentTools, code: Arc<Code>) -> Self {
        Self { process, tools, code, timeout: None, total: None, meta: None, uncut: false }
    }

    /// The definitions as servers write them, under the names that models know.
    fn as_listed(&self, definitions: &Definitions) -> RawJson {
        let snapshot = self.tools.host().snapshot();
        RawJson::array(definitions.identities().filter_map(|(name, identity)| {
            let tool = snapshot.find(identity)?;
            Some(tool.definition().raw().replacing("name", &quoted(name)))
        }))
    }

    /// A call by this view: a script's, a model's, or one that a tool makes in the course of another.
    fn context(&self, caller: Caller, parent: Option<&Parent>) -> CallContext {
        let context = parent.map_or_else(|| CallContext::new(caller), |parent| parent.0.call());
        context.with(|context| {
            context.scope = self.tools.scope().intersect(&context.scope);
            context.timeout = self.timeout;
            context.total = self.total;
            context.meta = self.meta.clone();
            context.uncut = self.uncut;
        })
    }
}

#[pymethods]
impl View {
    /// Fewer tools.
    fn narrow(&self, py: Python<'_>, only: Option<Vec<String>>, without: Vec<String>) -> PyResult<Self> {
        let narrowing = Narrowing { only, without };
        let tools = self.tools.narrow(&narrowing).map_err(|error| error::from_call(py, &error))?;
        Ok(Self { tools, ..self.clone() })
    }

    /// The same tools, called otherwise; what is `None` stays.
    fn using(
        &self,
        timeout: Option<f64>,
        total: Option<f64>,
        meta: Option<&str>,
        uncut: Option<bool>,
    ) -> PyResult<Self> {
        let seconds = |seconds: f64| {
            Duration::try_from_secs_f64(seconds).map_err(|error| PyValueError::new_err(format!("a time: {error}")))
        };
        let meta = meta.map(RawJson::checked).transpose().map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self {
            process: self.process,
            tools: self.tools.clone(),
            code: Arc::clone(&self.code),
            timeout: timeout.map(seconds).transpose()?.or(self.timeout),
            total: total.map(seconds).transpose()?.or(self.total),
            meta: meta.or_else(|| self.meta.clone()),
            uncut: uncut.unwrap_or(self.uncut),
        })
    }

    /// Calls a tool, named in any spelling.
    #[expect(
        clippy::too_many_arguments,
        reason = "one crossing for each call: an object of options would cost another"
    )]
    fn call(
        &self,
        py: Python<'_>,
        mailbox: &Mailbox,
        future: Option<Py<PyAny>>,
        manner: &str,
        name: String,
        arguments: &str,
        parent: Option<Py<Parent>>,
        on_progress: Option<Py<PyAny>>,
    ) -> PyResult<u64> {
        check_process(py, self.process)?;
        let (manner, caller) = match manner {
            "value" => (Manner::Value, Caller::Script),
            "model" => (Manner::Model, Caller::Agent),
            _ => (Manner::Call, Caller::Script),
        };
        let mut context = self.context(caller, parent.as_ref().map(Py::get));
        let called_as = (manner == Manner::Model).then(|| name.clone());
        context.known_as.clone_from(&called_as);
        let input = read_arguments(arguments);
        let tools = self.tools.clone();
        let reports_to = on_progress.is_some().then(|| mailbox.clone());
        let is_small = arguments.len() <= SMALL_ARGUMENTS;
        let work = |ticket| -> PyResult<WorkFuture> {
            if let Some(mailbox) = reports_to {
                context.on_progress = Some(Arc::new(move |progress| mailbox.report(ticket, progress)));
            }
            Ok(Box::pin(async move {
                let called = match input {
                    Ok(input) => tools.execute(&name, input, context).await,
                    Err(error) => Err(error),
                };
                shaped(manner, called, called_as)
            }))
        };
        if is_small { mailbox.start_here(future, on_progress, work) } else { mailbox.start(future, on_progress, work) }
    }

    /// Runs a program that a model wrote: its calls are an agent's.
    fn run(
        &self,
        py: Python<'_>,
        mailbox: &Mailbox,
        future: Option<Py<PyAny>>,
        source: String,
        parent: Option<Py<Parent>>,
        on_progress: Option<Py<PyAny>>,
    ) -> PyResult<u64> {
        check_process(py, self.process)?;
        let mut context = self.context(Caller::Agent, parent.as_ref().map(Py::get));
        let (code, host) = (Arc::clone(&self.code), self.tools.host().clone());
        let reports_to = on_progress.is_some().then(|| mailbox.clone());
        mailbox.start(future, on_progress, |ticket| {
            if let Some(mailbox) = reports_to {
                context.on_progress = Some(Arc::new(move |progress| mailbox.report(ticket, progress)));
            }
            Ok(Box::pin(async move {
                match code.run(&host, &source, context).await {
                    Ok(told) => Box::new(move |py: Python<'_>| loads(py, told.as_str())) as Answer,
                    Err(error) => failed(error),
                }
            }))
        })
    }

    /// The tools as a provider wants them: JSON, and the names that two tools wanted.
    fn tools(&self, py: Python<'_>, provider: &str) -> PyResult<(Py<PyAny>, Vec<String>)> {
        check_process(py, self.process)?;
        let definitions =
            self.tools.definitions(if provider == MCP { Provider::Anthropic } else { provider_of(provider)? });
        let clashes = definitions.clashes().iter().map(ToString::to_string).collect();
        if provider == MCP {
            return Ok((loads(py, self.as_listed(&definitions).as_str())?, clashes));
        }
        Ok((loads(py, definitions.json())?, clashes))
    }

    /// The identities of all tools, as `server/tool`.
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        check_process(py, self.process)?;
        let snapshot = self.tools.host().snapshot();
        Ok(snapshot
            .tools()
            .map(|tool| tool.name())
            .filter(|name| self.tools.includes(name))
            .map(ToString::to_string)
            .collect())
    }

    /// The tools that fit some words, the best first: name, signature and first line of each.
    fn search(&self, py: Python<'_>, query: &str, limit: usize, server: Option<&str>) -> PyResult<Py<PyAny>> {
        check_process(py, self.process)?;
        let query = ToolQuery::new(query).with(|query| (query.limit, query.server) = (limit, server));
        let found = self.tools.search(&query);
        let listed = found.tools.iter().map(|found| {
            let tool = ObjectWriter::new().text("name", &found.name).text("signature", &found.signature);
            tool.text("description", &found.description).into_text()
        });
        loads(py, RawJson::array(listed).as_str())
    }

    /// What a model reads about these tools beforehand, within so many tokens.
    fn system_prompt(&self, py: Python<'_>, budget: Option<usize>) -> PyResult<String> {
        check_process(py, self.process)?;
        Ok(self.tools.system_prompt(budget))
    }

    /// Reads a resource.
    fn read_resource(
        &self,
        py: Python<'_>,
        mailbox: &Mailbox,
        future: Option<Py<PyAny>>,
        server: String,
        uri: String,
        parent: Option<Py<Parent>>,
    ) -> PyResult<u64> {
        check_process(py, self.process)?;
        let context = self.context(Caller::Script, parent.as_ref().map(Py::get));
        let host = self.tools.host().clone();
        mailbox.start(future, None, |_| {
            Ok(Box::pin(async move {
                match host.read_resource(&server, &uri, &context).await {
                    Ok(read) => Box::new(move |py: Python<'_>| loads(py, read.outcome.raw().as_str())) as Answer,
                    Err(error) => failed(error),
                }
            }))
        })
    }

    /// Gets a prompt: its result as the server sent it, and its messages as a provider wants them.
    #[expect(
        clippy::too_many_arguments,
        reason = "one crossing for each call: an object of options would cost another"
    )]
    fn get_prompt(
        &self,
        py: Python<'_>,
        mailbox: &Mailbox,
        future: Option<Py<PyAny>>,
        server: String,
        prompt: String,
        arguments: &str,
        provider: &str,
        parent: Option<Py<Parent>>,
    ) -> PyResult<u64> {
        check_process(py, self.process)?;
        let context = self.context(Caller::Script, parent.as_ref().map(Py::get));
        let host = self.tools.host().clone();
        let (arguments, provider) = (read_arguments(arguments), provider_of(provider)?);
        mailbox.start(future, None, |_| {
            Ok(Box::pin(async move {
                let got = match arguments {
                    Ok(arguments) => host.get_prompt(&server, &prompt, arguments, &context).await,
                    Err(error) => Err(error),
                };
                match got {
                    Ok(got) => Box::new(move |py: Python<'_>| {
                        let messages = provider_messages(provider, &got.messages());
                        let told = ObjectWriter::new()
                            .optional_text("description", got.description())
                            .raw("messages", messages.json())
                            .finish();
                        loads(py, told.as_str())
                    }) as Answer,
                    Err(error) => failed(error),
                }
            }))
        })
    }
}

fn shaped(manner: Manner, called: Result<CallOutcome, CallError>, called_as: Option<String>) -> Answer {
    let called = match manner {
        Manner::Value => called.and_then(CallOutcome::into_result),
        Manner::Call | Manner::Model => called,
    };
    Box::new(move |py| {
        let result = match (manner, called) {
            (Manner::Value, Ok(called)) => return CallResult::new(called).value(py),
            (_, Ok(called)) => CallResult::new(called),
            (Manner::Model, Err(error)) => CallResult::for_model(&error),
            (_, Err(error)) => return Err(error::from_call(py, &error)),
        };
        let result = match called_as {
            Some(name) => result.called_as(name),
            None => result,
        };
        Ok(Py::new(py, result)?.into_any())
    })
}

fn provider_of(name: &str) -> PyResult<Provider> {
    match name {
        "anthropic" => Ok(Provider::Anthropic),
        "openai" => Ok(Provider::OpenAiChat),
        "openai-responses" => Ok(Provider::OpenAiResponses),
        "gemini" => Ok(Provider::Gemini),
        other => Err(PyValueError::new_err(format!("there is no provider {other:?}"))),
    }
}

impl std::fmt::Debug for View {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("View").field("scope", self.tools.scope()).finish_non_exhaustive()
    }
}
