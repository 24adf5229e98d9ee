//! Calls that wait for a person longer than their agent would: for agents that know tasks they become tasks of helve's own. What
//! is asked about one is answered here, and no server hears of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use helve_model::ServerName;
use helve_model::json::{ObjectWriter, RawJson};
use helve_model::protocol::methods;
use helve_model::sync::lock;
use helve_wire::{BoxFuture, RpcError};
use tokio::task::AbortHandle;

use crate::conversation::Conversation;
use crate::exchange::Exchange;
use crate::gate::Request;
use crate::gateway::Gateway;
use crate::links;
use crate::principal::Principal;
use crate::refusal::{invalid_params, too_many};

/// How a name begins: no server's task has such a one.
const PREFIX: &str = "h1-";

/// So many tasks of one principal are kept.
const MOST: usize = 32;

/// A task is kept for so long, whatever became of it.
const LASTS: Duration = Duration::from_secs(60 * 60);

/// How often an agent is to ask.
const POLL: Duration = Duration::from_secs(2);

type Outcome = Result<RawJson, RpcError>;

/// The tasks there are.
#[derive(Debug, Default)]
pub(crate) struct HeldTasks(Mutex<HashMap<String, HeldTask>>);

#[derive(Debug)]
struct HeldTask {
    principal: Principal,
    server: ServerName,
    created: SystemTime,
    changed: SystemTime,
    /// What the call came to.
    end: Option<Outcome>,
    work: AbortHandle,
}

impl HeldTasks {
    /// Goes on with a call as a task. What its server asks from now on is asked of nobody.
    pub(crate) fn keep(
        &self,
        gateway: &Arc<Gateway>,
        principal: &Principal,
        server: &ServerName,
        conversation: Arc<Conversation>,
        work: BoxFuture<'static, Outcome>,
    ) -> Outcome {
        let mut random = [0; 24];
        getrandom::fill(&mut random).map_err(|_| too_many("tasks cannot be named here"))?;
        let name = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random));
        let mut tasks = lock(&self.0);
        if tasks.values().filter(|task| task.principal == *principal).count() >= MOST {
            return Err(too_many(format!("{MOST} calls of yours are tasks already")));
        }
        let (weak, own) = (Arc::downgrade(gateway), name.clone());
        let work = tokio::spawn(async move {
            let end = work.await;
            drop(conversation);
            ended(&weak, &own, end);
            tokio::time::sleep(LASTS).await;
            if let Some(gateway) = weak.upgrade() {
                drop(lock(&gateway.held_tasks.0).remove(&own));
            }
        });
        let now = (gateway.options.clock)();
        let (principal, server) = (principal.clone(), server.clone());
        let task = HeldTask { principal, server, created: now, changed: now, end: None, work: work.abort_handle() };
        let told = task.describe(&name).text("resultType", "task").finish();
        tasks.insert(name, task);
        Ok(told)
    }

    /// Is this the name of a task of helve's own?
    pub(crate) fn is_own(result: &RawJson) -> bool {
        result.member_str("taskId").is_some_and(|name| name.starts_with(PREFIX))
    }

    /// What a principal is told about its task; `None` when it is not one of these.
    pub(crate) fn answer(&self, exchange: &Exchange, request: &Request) -> Option<Outcome> {
        let name = request.param("taskId")?.parse::<String>().ok()?;
        if !name.starts_with(PREFIX) {
            return None;
        }
        let mut tasks = lock(&self.0);
        let is_own = tasks.get(&name).is_some_and(|task| task.principal == exchange.agent.principal);
        if !is_own {
            return Some(Err(invalid_params(format!("Unknown task: {name}"))));
        }
        if request.method == methods::TASKS_CANCEL {
            if let Some(task) = tasks.remove(&name) {
                task.work.abort();
            }
            return Some(Ok(RawJson::empty_object()));
        }
        let task = tasks.get(&name)?;
        let told = task.describe(&name);
        Some(Ok(match &task.end {
            None => told.finish(),
            Some(Ok(result)) => {
                links::remember(exchange, &task.server, result);
                told.raw("result", result.as_str()).finish()
            }
            Some(Err(error)) => {
                let why = ObjectWriter::new().number("code", error.code).text("message", &error.message);
                told.object("error", why).finish()
            }
        }))
    }
}

impl HeldTask {
    fn describe(&self, name: &str) -> ObjectWriter {
        let (status, said) = match &self.end {
            None => ("working", "waits for a person, or runs"),
            Some(Ok(_)) => ("completed", "done"),
            Some(Err(_)) => ("failed", "failed"),
        };
        ObjectWriter::new()
            .text("taskId", name)
            .text("status", status)
            .text("statusMessage", said)
            .text("createdAt", &stamp(self.created))
            .text("lastUpdatedAt", &stamp(self.changed))
            .number("ttlMs", LASTS.as_millis() as u64)
            .number("pollIntervalMs", POLL.as_millis() as u64)
    }
}

fn ended(gateway: &Weak<Gateway>, name: &str, end: Outcome) {
    let Some(gateway) = gateway.upgrade() else { return };
    let now = (gateway.options.clock)();
    if let Some(task) = lock(&gateway.held_tasks.0).get_mut(name) {
        task.changed = now;
        task.end = Some(end);
    }
}

/// A moment as the protocol writes it: `2026-11-18T12:00:00Z`.
fn stamp(at: SystemTime) -> String {
    let seconds = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days since 1970 as year, month and day: years that begin in March have their leap day at the end.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_the_protocol_has_them() {
        let at = |seconds| stamp(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_800_000_000), "2027-01-15T08:00:00Z");
    }
}
