//! The model that servers may use: a command that gets each request as JSON on stdin and answers on stdout.

use std::time::Duration;

use helve::{Sampler, SamplingCall, SamplingLimits};
use helve_config::Settings;
use helve_model::json::RawJson;
use helve_schema::MAX_SAMPLING_BYTES;
use helve_setup::{Bounds, Program};
use helve_wire::BoxFuture;

use crate::context::Context;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::program;

/// Lends a command to servers, as their model.
#[derive(Debug)]
pub(crate) struct CommandSampler {
    program: Program,
    time: Duration,
    printer: Printer,
}

impl CommandSampler {
    /// The command of the command line, or that of the settings; servers get no model without one.
    pub(crate) fn new(context: &Context, flag: Option<&str>, settings: &Settings) -> Result<Option<Self>, Failure> {
        let program = match (flag, settings.sampling_command.value.as_slice()) {
            (Some(text), _) => program::parse(context, "--sampler", text)?,
            (None, []) => return Ok(None),
            (None, words) => program::named(context, "sampling.command", words)?,
        };
        let time = settings.sampling_timeout.value;
        Ok(Some(Self { program, time, printer: context.printer.clone() }))
    }
}

/// How much of it servers may use.
pub(crate) fn limits(settings: &Settings) -> SamplingLimits {
    SamplingLimits {
        calls: settings.sampling_calls.value,
        tokens: settings.sampling_tokens.value,
        concurrent: settings.sampling_concurrent.value,
    }
}

impl Sampler for CommandSampler {
    fn sample(&self, call: SamplingCall) -> BoxFuture<'_, Result<RawJson, String>> {
        Box::pin(async move {
            let input = format!("{}\n", call.request.raw.as_str());
            let bounds = Bounds { time: Some(self.time), output: MAX_SAMPLING_BYTES };
            // What went wrong here is for the person; the server hears no more than that there is no answer.
            let failed = |problem: String, stderr: &str| {
                let stderr = stderr.trim_end();
                let said = if stderr.is_empty() { String::new() } else { format!("\n{stderr}") };
                self.printer
                    .warning(format!("the server `{}` gets no answer of the model: {problem}{said}", call.server));
                Err("the model gave no answer".to_owned())
            };
            let said = match self.program.run(input.as_bytes(), bounds).await {
                Ok(said) => said,
                Err(broken) => return failed(broken.problem, &broken.stderr),
            };
            match String::from_utf8(said.stdout)
                .map_err(|error| error.to_string())
                .and_then(|text| RawJson::checked(text).map_err(|error| format!("it is not valid JSON: {error}")))
            {
                Ok(answer) => Ok(answer),
                Err(problem) => failed(format!("its answer cannot be used: {problem}"), &said.stderr),
            }
        })
    }

    /// The command gets the whole request, its tools included.
    fn takes_tools(&self) -> bool {
        true
    }
}
