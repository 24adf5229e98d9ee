//! Where servers' questions arrive: those that can be answered go to whoever the program gave for them, with
//! limits; the answer is checked before it leaves. Everything else is declined.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use helve_model::ServerName;
use helve_model::json::{ObjectWriter, RawJson};
use helve_schema::{Elicitation, SamplingRequest, SamplingResult};
use helve_wire::{BoxFuture, ClientCapabilities, EraPreference, PeerQuestion, QuestionKind, RpcError};
use serde_json::{Map, Value, json};

use crate::answerer::{
    Answerer, ElicitationAnswer, ElicitationRequest, Elicitor, LogLine, LogSink, RootsProvider, Sampler, SamplingCall,
    SamplingLimits,
};
use crate::event::{EventSink, HostEvent};
use helve_model::sync::lock;

/// JSON-RPC's code for parameters that cannot be used.
const INVALID_PARAMS: i64 = helve_model::protocol::code::INVALID_PARAMS;
/// What the protocol's authors use where the person behind the client refuses.
const REFUSED: i64 = -1;

/// The responders that the program supplied.
#[derive(Debug, Default)]
pub(crate) struct Responders {
    pub(crate) elicitor: Option<Arc<dyn Elicitor>>,
    pub(crate) sampler: Option<Arc<dyn Sampler>>,
    pub(crate) sampling_limits: SamplingLimits,
    pub(crate) roots: Option<Arc<dyn RootsProvider>>,
    pub(crate) log_sink: Option<Arc<dyn LogSink>>,
    pub(crate) era_preference: EraPreference,
}

/// Where the questions of all servers of a host arrive.
#[derive(Debug)]
pub(crate) struct QuestionRouter {
    responders: Responders,
    events: EventSink,
    /// Whose person is being asked.
    asking: Mutex<HashSet<ServerName>>,
    sampled: Mutex<HashMap<ServerName, Usage>>,
}

/// What a server has used of the model.
#[derive(Debug, Default)]
struct Usage {
    calls: u32,
    tokens: u64,
    open: u32,
}

impl Answerer for QuestionRouter {
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities {
            elicitation_form: self.responders.elicitor.is_some(),
            elicitation_url: self.responders.elicitor.is_some(),
            sampling: self.responders.sampler.is_some(),
            sampling_tools: self.responders.sampler.as_ref().is_some_and(|sampler| sampler.takes_tools()),
            roots: self.responders.roots.is_some(),
            roots_list_changed: self.responders.roots.is_some(),
            ..ClientCapabilities::default()
        }
    }

    fn era_preference(&self) -> EraPreference {
        self.responders.era_preference
    }

    fn question<'a>(
        &'a self,
        server: &'a ServerName,
        question: PeerQuestion,
    ) -> BoxFuture<'a, Result<RawJson, RpcError>> {
        let params = question.params.unwrap_or_else(RawJson::empty_object);
        Box::pin(async move {
            match question.kind {
                QuestionKind::Elicitation => Ok(answer(self.elicit(server, params).await)),
                QuestionKind::Sampling => self.sample(server, &params).await,
                QuestionKind::Roots => self.list_roots(server),
                // Nobody here makes tasks.
                QuestionKind::Task(_) => Err(RpcError::method_not_found(question.kind.method())),
            }
        })
    }

    fn log(&self, server: &ServerName, params: &RawJson) {
        if let Some(sink) = &self.responders.log_sink {
            sink.log(LogLine::read(server, params));
        }
    }
}

impl QuestionRouter {
    pub(crate) fn new(responders: Responders, events: EventSink) -> Self {
        Self { responders, events, asking: Mutex::default(), sampled: Mutex::default() }
    }

    async fn elicit(&self, server: &ServerName, params: RawJson) -> ElicitationAnswer {
        let Some(elicitor) = &self.responders.elicitor else { return ElicitationAnswer::Decline };
        let question = match Elicitation::read(params.as_str()) {
            Ok(question) => question,
            Err(problem) => return self.decline(server, &format!("asks what cannot be put to a person: {problem}")),
        };
        if !lock(&self.asking).insert(server.clone()) {
            return self.decline(server, "asks the person while an earlier question of its own is still open");
        }
        let _open = Open { router: self, server };
        let request = ElicitationRequest { server: server.clone(), question: question.clone(), params };
        match (elicitor.elicit(request).await, question) {
            (ElicitationAnswer::Accept(content), Elicitation::Form(form)) => {
                let content = content.unwrap_or_else(RawJson::empty_object);
                let checked = content
                    .parse::<Map<String, Value>>()
                    .map_err(|error| error.to_string())
                    .and_then(|answers| form.form().check(&answers).map_err(|problems| listed(&problems)));
                match checked {
                    Ok(content) => ElicitationAnswer::Accept(Some(content)),
                    Err(problem) => {
                        self.warn(
                            server,
                            format!("the answer to its question does not fit and was not sent: {problem}"),
                        );
                        ElicitationAnswer::Cancel
                    }
                }
            }
            (ElicitationAnswer::Accept(_), _) => ElicitationAnswer::Accept(None),
            (answer, _) => answer,
        }
    }

    async fn sample(&self, server: &ServerName, params: &RawJson) -> Result<RawJson, RpcError> {
        let refused = |message: String| RpcError { code: REFUSED, message, data: None };
        let Some(sampler) = &self.responders.sampler else {
            return Err(RpcError::method_not_found(QuestionKind::Sampling.method()));
        };
        let request = SamplingRequest::read(params).map_err(|problem| RpcError {
            code: INVALID_PARAMS,
            message: problem.to_string(),
            data: None,
        })?;
        if request.uses_tools() && !sampler.takes_tools() {
            return Err(refused("the model cannot be given tools".to_owned()));
        }
        let _turn = self.take_turn(server, request.max_tokens).map_err(|problem| {
            self.warn(server, format!("was refused the model: {problem}"));
            refused(problem)
        })?;
        let result = sampler.sample(SamplingCall { server: server.clone(), request }).await.map_err(refused)?;
        match SamplingResult::read(&result) {
            Ok(_) => Ok(result),
            Err(problem) => {
                self.warn(server, format!("the model's answer cannot be sent: {problem}"));
                Err(refused("the model's answer cannot be used".to_owned()))
            }
        }
    }

    /// One request's share of the limits.
    fn take_turn<'a>(&'a self, server: &'a ServerName, tokens: u64) -> Result<Turn<'a>, String> {
        let limits = self.responders.sampling_limits;
        let mut sampled = lock(&self.sampled);
        let usage = sampled.entry(server.clone()).or_default();
        if usage.calls >= limits.calls {
            return Err(format!("it has made all of its {} sampling requests", limits.calls));
        }
        if usage.tokens.saturating_add(tokens) > limits.tokens {
            let (left, all) = (limits.tokens.saturating_sub(usage.tokens), limits.tokens);
            return Err(format!("it wants {tokens} tokens and has {left} of its {all} left"));
        }
        if usage.open >= limits.concurrent {
            return Err(format!("no more than {} of its sampling requests may be open at once", limits.concurrent));
        }
        usage.calls += 1;
        usage.tokens += tokens;
        usage.open += 1;
        Ok(Turn { router: self, server })
    }

    fn list_roots(&self, server: &ServerName) -> Result<RawJson, RpcError> {
        let Some(provider) = &self.responders.roots else {
            return Err(RpcError::method_not_found(QuestionKind::Roots.method()));
        };
        let roots = provider.roots(server);
        let roots = roots.iter().map(|root| match &root.name {
            Some(name) => json!({"uri": root.uri, "name": name}),
            None => json!({"uri": root.uri}),
        });
        Ok(RawJson::assembled(json!({"roots": roots.collect::<Vec<_>>()}).to_string()))
    }

    fn decline(&self, server: &ServerName, problem: &str) -> ElicitationAnswer {
        self.warn(server, format!("{problem}; it was declined"));
        ElicitationAnswer::Decline
    }

    fn warn(&self, server: &ServerName, message: String) {
        self.events.send(|| HostEvent::Warning { server: server.clone(), message });
    }
}

/// A person is being asked.
struct Open<'a> {
    router: &'a QuestionRouter,
    server: &'a ServerName,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        lock(&self.router.asking).remove(self.server);
    }
}

/// The model is being asked.
struct Turn<'a> {
    router: &'a QuestionRouter,
    server: &'a ServerName,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(usage) = lock(&self.router.sampled).get_mut(self.server) {
            usage.open -= 1;
        }
    }
}

fn listed(problems: &[helve_schema::FieldProblem]) -> String {
    let problems: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
    problems.join("; ")
}

fn answer(answer: ElicitationAnswer) -> RawJson {
    let (action, content) = match answer {
        ElicitationAnswer::Accept(content) => ("accept", content),
        ElicitationAnswer::Decline => ("decline", None),
        ElicitationAnswer::Cancel => ("cancel", None),
    };
    ObjectWriter::new().text("action", action).optional("content", content).finish()
}
