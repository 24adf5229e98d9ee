//! Calls that wait for a person, and what became of them. Every change of state is one statement that names the state it
//! starts from, so that of two who answer at once one wins, and the other reads who did.
//!
//! ```text
//! pending ─┬─ allowed ─┬─ used      the call went on
//!          │           └─ lapsed    nobody made it in time
//!          ├─ denied
//!          ├─ expired               nobody answered in time
//!          └─ withdrawn             whoever asked may not ask any more
//! ```

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::error::StoreError;
use crate::time::Moment;

/// The letters of an id: none can be taken for another, and no word comes of them.
const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// How many letters an id has, and how many when none that short is free.
const SHORT: usize = 4;
const LONG: usize = 16;

/// How often a short id is tried.
const TRIES: usize = 8;

/// A call to be asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewApproval {
    /// What a yes is bound to.
    pub digest: [u8; 32],
    /// Whose call it is.
    pub principal: String,
    /// What the agent calls itself.
    pub agent: Option<String>,
    /// The server.
    pub server: String,
    /// The tool, resource or prompt.
    pub tool: String,
    /// Which of these: `tool`, `resource`, `prompt`, `method`.
    pub kind: String,
    /// How much harm the call could do.
    pub risk: String,
    /// What asks, in words.
    pub rule: String,
    /// Where that is written.
    pub place: Option<String>,
    /// Only a person at the page or a terminal may answer.
    pub needs_page: bool,
    /// The hash of the tool's definition.
    pub definition: Option<String>,
    /// The arguments, sealed. They are dropped with the answer.
    pub arguments: Vec<u8>,
    /// When it was asked.
    pub asked: Moment,
    /// Until when it can be answered.
    pub ends: Moment,
    /// Randomness for its id.
    pub random: [u8; 16],
}

/// A question as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// Its name: `A-7F3K`.
    pub id: String,
    /// What was asked; its arguments only while it waits.
    pub asked: NewApproval,
    /// What became of it.
    pub state: ApprovalState,
    /// Who answered.
    pub decider: Option<String>,
    /// When it was answered, or ended without.
    pub decided: Option<Moment>,
    /// Why, in the words of whoever answered.
    pub reason: Option<String>,
}

/// What became of a question. The numbers are stored: they never change their meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApprovalState {
    /// It waits for an answer.
    Pending = 0,
    /// Yes; the call has not gone on yet.
    Allowed = 1,
    /// No.
    Denied = 2,
    /// Nobody answered in time.
    Expired = 3,
    /// Whoever asked may not ask any more.
    Withdrawn = 4,
    /// Yes, and the call went on.
    Used = 5,
    /// Yes, and nobody made the call in time.
    Lapsed = 6,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Yes; it counts until then.
    Allow {
        /// Afterwards the yes is void.
        until: Moment,
    },
    /// No, and why.
    Deny {
        /// For whoever called.
        reason: Option<String>,
    },
}

/// What became of asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskOutcome {
    /// There is a new question.
    New(Approval),
    /// The same was asked already, and waits.
    Joined(Approval),
    /// The same was asked already, and somebody said yes: that yes is used up now.
    Allowed(Approval),
    /// So many questions of this principal wait that no other is taken.
    TooMany(u64),
}

/// What became of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecideOutcome {
    /// It counts.
    Decided(Approval),
    /// It came too late: this is how the question stands.
    TooLate(Approval),
}

/// The questions that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenApprovals {
    /// How many there are.
    pub count: u64,
    /// When the oldest of them was asked.
    pub oldest: Option<Moment>,
}

impl ApprovalState {
    /// The word for it, as programs read it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
            Self::Used => "used",
            Self::Lapsed => "lapsed",
        }
    }

    const fn from_number(number: i64) -> Option<Self> {
        Some(match number {
            0 => Self::Pending,
            1 => Self::Allowed,
            2 => Self::Denied,
            3 => Self::Expired,
            4 => Self::Withdrawn,
            5 => Self::Used,
            6 => Self::Lapsed,
            _ => return None,
        })
    }
}

/// Asks, or joins a question that waits, or uses a yes that was given.
pub(crate) fn ask(connection: &mut Connection, new: &NewApproval, most: u64) -> Result<AskOutcome, StoreError> {
    let transaction = connection.transaction()?;
    end_old(&transaction, new.asked)?;
    let of_digest = |state: ApprovalState| {
        let sql = format!("{SELECT} WHERE digest = ? AND state = ? ORDER BY asked DESC LIMIT 1");
        transaction.prepare_cached(&sql)?.query_row(params![new.digest.as_slice(), state as i64], from_row).optional()
    };
    let outcome = if let Some(allowed) = of_digest(ApprovalState::Allowed)? {
        match spend(&transaction, &allowed.id, new.asked)? {
            true => AskOutcome::Allowed(Approval { state: ApprovalState::Used, ..allowed }),
            false => return Err(StoreError::NotFound(format!("approval {} that counts", allowed.id))),
        }
    } else if let Some(waiting) = of_digest(ApprovalState::Pending)? {
        AskOutcome::Joined(waiting)
    } else {
        let waiting: u64 = transaction
            .prepare_cached("SELECT count(*) FROM approval WHERE state = 0 AND principal = ?")?
            .query_row([&new.principal], |row| row.get::<_, i64>(0))?
            .try_into()
            .unwrap_or_default();
        if waiting >= most { AskOutcome::TooMany(waiting) } else { AskOutcome::New(insert(&transaction, new)?) }
    };
    transaction.commit()?;
    Ok(outcome)
}

fn insert(connection: &Connection, new: &NewApproval) -> Result<Approval, StoreError> {
    let id = free_id(connection, &new.random)?;
    connection
        .prepare_cached(
            "INSERT INTO approval VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, NULL, NULL, NULL)",
        )?
        .execute(params![
            id,
            new.digest.as_slice(),
            new.principal,
            new.agent,
            new.server,
            new.tool,
            new.kind,
            new.risk,
            new.rule,
            new.place,
            new.needs_page,
            new.definition,
            new.arguments,
            new.asked.micros(),
            new.ends.micros(),
        ])?;
    Ok(Approval { id, asked: new.clone(), state: ApprovalState::Pending, decider: None, decided: None, reason: None })
}

/// An id that no question has or had: short, as people type it, unless all of these are taken.
fn free_id(connection: &Connection, random: &[u8; 16]) -> Result<String, StoreError> {
    let letter = |byte: &u8| LETTERS.get(usize::from(byte & 31)).copied().map_or('0', char::from);
    let mut taken = connection.prepare_cached("SELECT 1 FROM approval WHERE id = ?")?;
    for start in 0..TRIES {
        let id: String = format!("A-{}", random.iter().skip(start).take(SHORT).map(letter).collect::<String>());
        if !taken.exists([&id])? {
            return Ok(id);
        }
    }
    Ok(format!("A-{}", random.iter().take(LONG).map(letter).collect::<String>()))
}

/// Answers a question that waits. The arguments go with the answer.
pub(crate) fn decide(
    connection: &mut Connection,
    id: &str,
    verdict: &Verdict,
    decider: &str,
    now: Moment,
) -> Result<DecideOutcome, StoreError> {
    let transaction = connection.transaction()?;
    end_old(&transaction, now)?;
    let (state, ends, reason) = match verdict {
        Verdict::Allow { until } => (ApprovalState::Allowed, Some(until.micros()), None),
        Verdict::Deny { reason } => (ApprovalState::Denied, None, reason.as_deref()),
    };
    let changed = transaction
        .prepare_cached(
            "UPDATE approval SET state = ?, ends = ifnull(?, ends), decider = ?, decided = ?, reason = ?, arguments = NULL
             WHERE id = ? AND state = 0 AND ends > ?",
        )?
        .execute(params![state as i64, ends, decider, now.micros(), reason, id, now.micros()])?;
    let found = one(&transaction, id)?.ok_or_else(|| StoreError::NotFound(format!("approval {id}")))?;
    transaction.commit()?;
    Ok(if changed == 1 { DecideOutcome::Decided(found) } else { DecideOutcome::TooLate(found) })
}

/// Uses up a yes; false when there is none that counts.
pub(crate) fn spend(connection: &Connection, id: &str, now: Moment) -> Result<bool, StoreError> {
    let changed = connection
        .prepare_cached("UPDATE approval SET state = 5 WHERE id = ? AND state = 1 AND ends > ?")?
        .execute(params![id, now.micros()])?;
    Ok(changed == 1)
}

/// Takes back everything that a principal asked and nobody used: it may not ask any more. Gives the ids.
pub(crate) fn withdraw(
    connection: &mut Connection,
    principal: &str,
    reason: &str,
    now: Moment,
) -> Result<Vec<String>, StoreError> {
    let transaction = connection.transaction()?;
    let ids = {
        let mut statement = transaction.prepare_cached(
            "UPDATE approval SET state = 4, decided = ?, reason = ?, arguments = NULL
             WHERE principal = ? AND state IN (0, 1) RETURNING id",
        )?;
        let rows = statement.query_map(params![now.micros(), reason, principal], |row| row.get(0))?;
        rows.collect::<Result<_, _>>()?
    };
    transaction.commit()?;
    Ok(ids)
}

/// Ends what nobody answered in time, and every yes that nobody used in time. Gives the ids.
pub(crate) fn end_old(connection: &Connection, now: Moment) -> Result<Vec<String>, StoreError> {
    let mut statement = connection.prepare_cached(
        "UPDATE approval SET state = iif(state = 0, 3, 6), decided = ifnull(decided, ends), arguments = NULL
         WHERE state IN (0, 1) AND ends <= ? RETURNING id",
    )?;
    let rows = statement.query_map([now.micros()], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Forgets questions that were asked before then and are answered.
pub(crate) fn forget(connection: &Connection, before: Moment) -> Result<(), StoreError> {
    connection.execute("DELETE FROM approval WHERE asked < ? AND state NOT IN (0, 1)", [before.micros()])?;
    Ok(())
}

const SELECT: &str = "SELECT id, digest, principal, agent, server, tool, kind, risk, rule, place, answered_by_page,
    definition, arguments, state, asked, ends, decider, decided, reason FROM approval";

pub(crate) fn one(connection: &Connection, id: &str) -> Result<Option<Approval>, StoreError> {
    Ok(connection.prepare_cached(&format!("{SELECT} WHERE id = ?"))?.query_row([id], from_row).optional()?)
}

/// Questions that wait, the newest first.
pub(crate) fn pending(connection: &Connection, now: Moment, limit: usize) -> Result<Vec<Approval>, StoreError> {
    let sql = format!("{SELECT} WHERE state = 0 AND ends > ? ORDER BY asked DESC, id LIMIT ?");
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(params![now.micros(), limit], from_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// How many wait.
pub(crate) fn open(connection: &Connection, now: Moment) -> Result<OpenApprovals, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT count(*), min(asked) FROM approval WHERE state = 0 AND ends > ?")?;
    Ok(statement.query_row([now.micros()], |row| {
        let count = u64::try_from(row.get::<_, i64>(0)?).unwrap_or_default();
        Ok(OpenApprovals { count, oldest: row.get::<_, Option<i64>>(1)?.map(Moment::from_micros) })
    })?)
}

/// Questions that wait no longer, the newest first.
pub(crate) fn settled(connection: &Connection, limit: usize) -> Result<Vec<Approval>, StoreError> {
    let sql = format!("{SELECT} WHERE state <> 0 ORDER BY asked DESC, id LIMIT ?");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([i64::try_from(limit).unwrap_or(i64::MAX)], from_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// What was answered about a tool before, the newest first.
pub(crate) fn of_tool(
    connection: &Connection,
    server: &str,
    tool: &str,
    limit: usize,
) -> Result<Vec<Approval>, StoreError> {
    let sql = format!("{SELECT} WHERE server = ? AND tool = ? AND state IN (1, 2, 5, 6) ORDER BY asked DESC LIMIT ?");
    let mut statement = connection.prepare_cached(&sql)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = statement.query_map(params![server, tool, limit], from_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Approval> {
    let moment = |index: usize| row.get::<_, i64>(index).map(Moment::from_micros);
    Ok(Approval {
        id: row.get(0)?,
        asked: NewApproval {
            // A digest of another length is that of no call.
            digest: row.get::<_, Vec<u8>>(1)?.try_into().unwrap_or_default(),
            principal: row.get(2)?,
            agent: row.get(3)?,
            server: row.get(4)?,
            tool: row.get(5)?,
            kind: row.get(6)?,
            risk: row.get(7)?,
            rule: row.get(8)?,
            place: row.get(9)?,
            needs_page: row.get(10)?,
            definition: row.get(11)?,
            arguments: row.get::<_, Option<Vec<u8>>>(12)?.unwrap_or_default(),
            asked: moment(14)?,
            ends: moment(15)?,
            random: [0; 16],
        },
        // What this program does not know lets nothing run.
        state: ApprovalState::from_number(row.get(13)?).unwrap_or(ApprovalState::Withdrawn),
        decider: row.get(16)?,
        decided: row.get::<_, Option<i64>>(17)?.map(Moment::from_micros),
        reason: row.get(18)?,
    })
}
