//! What servers offer besides tools, asked for across servers: who does not answer is named, and the others are shown.

use helve::{CallError, Host, Offered, Offers, Plan};
use helve_config::Configuration;
use helve_model::DisabledReason;
use helve_setup::Wanted;

use crate::catalog::{held_back, no_server};
use crate::context::Context;
use crate::failure::Failure;
use crate::inputs;
use crate::progress::Meter;
use crate::running::{Manner, with_host};

/// Asks one server, or all. One that was named has to answer; of several, those that do not are told about on the side.
pub(crate) fn ask<T>(
    context: &Context,
    only: Option<&str>,
    question: impl AsyncFnOnce(&Host) -> Result<(Vec<T>, Troubles), CallError>,
) -> Result<Vec<T>, Failure> {
    let configuration = inputs::load(context, |server| only.is_none_or(|only| only == server.as_str()))?;
    match only {
        Some(only) => context.report_problems_of(&configuration, |server| server.as_str() == only),
        None => context.report_problems(&configuration),
    }
    let plan = context.setup.plan(&configuration)?;
    match only {
        Some(name) => check_server(context, &configuration, &plan, name)?,
        None => {
            let is_untrusted = |held: &Option<DisabledReason>| *held == Some(DisabledReason::Untrusted);
            let untrusted = plan.servers.iter().filter(|planned| is_untrusted(&planned.held));
            let names: Vec<String> = untrusted.map(|planned| format!("`{}`", planned.spec.name)).collect();
            context.report_untrusted(&names);
        }
    }
    let named: Vec<String> = only.iter().map(ToString::to_string).collect();
    let wanted = if named.is_empty() { Wanted::All } else { Wanted::Only(&named) };
    with_host(context, &configuration, wanted, Manner::default(), async |host| {
        let (items, troubles) = Meter::new(context).during("listing", Box::pin(question(host))).await?;
        for error in troubles.errors {
            // What did come is shown.
            if only.is_some() && items.is_empty() {
                return Err(error.into());
            }
            let failure = Failure::from(error);
            context.printer.warning(failure.message());
            for hint in failure.hints() {
                context.printer.hint(hint);
            }
        }
        for warning in &troubles.warnings {
            context.printer.warning(warning);
        }
        Ok(items)
    })
}

/// The configuration for a verb that is about one server, which has to be there, and on.
pub(crate) fn load_for_server(context: &Context, name: &str) -> Result<Configuration, Failure> {
    let configuration = inputs::load(context, |server| server.as_str() == name)?;
    context.report_problems_of(&configuration, |server| server.as_str() == name);
    check_server(context, &configuration, &context.setup.plan(&configuration)?, name)?;
    Ok(configuration)
}

/// A server that a verb is about has to be there, and on.
pub(crate) fn check_server(
    context: &Context,
    configuration: &Configuration,
    plan: &Plan,
    name: &str,
) -> Result<(), Failure> {
    match plan.servers.iter().find(|planned| planned.spec.name.as_str() == name) {
        None => Err(no_server(context, configuration, name)),
        Some(planned) => match &planned.held {
            Some(reason) => Err(held_back(planned, reason)),
            None => Ok(()),
        },
    }
}

/// The servers that did not answer, and what was left out.
#[derive(Debug, Default)]
pub(crate) struct Troubles {
    errors: Vec<CallError>,
    warnings: Vec<String>,
}

impl Troubles {
    /// Takes the troubles out of an answer. Several answers come from the same servers: who failed is named once.
    pub(crate) fn take<D>(&mut self, offers: Offers<D>) -> Vec<Offered<D>> {
        for error in offers.errors {
            if !self.errors.iter().any(|known| known.server() == error.server()) {
                self.errors.push(error);
            }
        }
        self.warnings.extend(offers.warnings);
        offers.items
    }
}
