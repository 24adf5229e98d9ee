//! The built-in server `time`: what time it is, and what time it is elsewhere.
//!
//! The time zones are built in; those of the machine, and its environment, are not looked at.

use std::sync::LazyLock;
use std::time::SystemTime;

use futures_util::future::BoxFuture;
use helve::{Tool, ToolContext, ToolFailure, Toolbox};
use helve_model::json::RawJson;
use helve_model::text::nearest;
use helve_model::{Outcome, ToolDefinition};
use helve_policy::Permit;
use jiff::civil;
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Serialize};

use crate::Clock;
use crate::answer::{Answer, Trouble, arguments, structured};
use crate::options::Options;
use crate::tool::definition_of;
use crate::words::quoted;

// It changes nothing, but what it says changes: an answer of before is not an answer, so it does not call itself idempotent.
const NOW: &str = r#"{
    "name":"now",
    "title":"What time it is",
    "description":"Tells the current date and time in a time zone.",
    "inputSchema":{"type":"object","properties":{
        "timezone":{"type":"string","default":"UTC","description":"An IANA name such as Europe/Berlin"}
    },"additionalProperties":false},
    "outputSchema":{"type":"object","properties":{
        "time":{"type":"string","description":"With the offset from UTC"},
        "timezone":{"type":"string"},
        "weekday":{"type":"string"},
        "daylight_saving":{"type":"boolean"},
        "unix":{"type":"integer","description":"Seconds since 1970 in UTC"}
    },"required":["time","timezone","weekday","daylight_saving","unix"]},
    "annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false}
}"#;

const CONVERT: &str = r##"{
    "name":"convert",
    "title":"Convert a time",
    "description":"Tells what time it is in one time zone when it is some time in another.",
    "inputSchema":{"type":"object","properties":{
        "time":{"type":"string","description":"Such as 2026-03-29T14:30, 14:30 (today), or with an offset 2026-03-29T14:30+02:00"},
        "from":{"type":"string","default":"UTC","description":"The zone of a time without an offset, an IANA name such as Europe/Berlin"},
        "to":{"type":"string","description":"The zone to convert to"}
    },"required":["time","to"],"additionalProperties":false},
    "outputSchema":{"type":"object","properties":{
        "source":{"$ref":"#/$defs/moment"},
        "target":{"$ref":"#/$defs/moment"},
        "note":{"type":"string","description":"What is unclear about the time"}
    },"required":["source","target"],"$defs":{"moment":{"type":"object","properties":{
        "time":{"type":"string","description":"With the offset from UTC"},
        "timezone":{"type":"string"},
        "weekday":{"type":"string"},
        "daylight_saving":{"type":"boolean"},
        "unix":{"type":"integer","description":"Seconds since 1970 in UTC"}
    },"required":["time","timezone","weekday","daylight_saving","unix"]}}},
    "annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false}
}"##;

/// One of the two tools. Nothing here waits for anything.
struct TimeTool {
    definition: ToolDefinition,
    clock: Clock,
    run: fn(&RawJson, SystemTime) -> Answer,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Now {
    #[serde(default = "utc")]
    timezone: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Convert {
    time: String,
    #[serde(default = "utc")]
    from: String,
    to: String,
}

#[derive(Serialize)]
struct Moment {
    time: String,
    timezone: String,
    weekday: String,
    daylight_saving: bool,
    unix: i64,
}

#[derive(Serialize)]
struct Converted {
    source: Moment,
    target: Moment,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

pub(crate) fn open(options: &Options<'_>, clock: Clock) -> Toolbox {
    let tool = |definition, run| TimeTool { definition: definition_of(definition), clock, run };
    Toolbox::for_server(options.spec).with(tool(NOW, now)).with(tool(CONVERT, convert))
}

impl Tool for TimeTool {
    fn definition(&self) -> ToolDefinition {
        self.definition.clone()
    }

    fn call<'a>(&'a self, permit: &'a Permit, _: &'a ToolContext) -> BoxFuture<'a, Result<Outcome, ToolFailure>> {
        let answer = (self.run)(permit.arguments(), (self.clock)()).or_else(Trouble::into_result);
        Box::pin(std::future::ready(answer))
    }
}

fn now(raw: &RawJson, now: SystemTime) -> Answer {
    let asked: Now = arguments(raw)?;
    let moment = Moment::of(&instant(now)?.to_zoned(zone(&asked.timezone)?));
    structured(&moment, &moment.shown())
}

fn convert(raw: &RawJson, now: SystemTime) -> Answer {
    let asked: Convert = arguments(raw)?;
    let (from, to) = (zone(&asked.from)?, zone(&asked.to)?);
    let (source, note) = understand(asked.time.trim(), from, now)?;
    let target = source.with_time_zone(to);
    let converted = Converted { source: Moment::of(&source), target: Moment::of(&target), note };
    let mut text = format!("{} is {}", converted.source.shown(), converted.target.shown());
    if let Some(note) = note {
        text.push_str(&format!("\n[{note}]"));
    }
    structured(&converted, &text)
}

fn utc() -> String {
    "UTC".to_owned()
}

impl Moment {
    fn of(zoned: &Zoned) -> Self {
        Self {
            time: zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
            timezone: zoned.time_zone().iana_name().unwrap_or("UTC").to_owned(),
            weekday: zoned.strftime("%A").to_string(),
            daylight_saving: zoned.time_zone().to_offset_info(zoned.timestamp()).dst().is_dst(),
            unix: zoned.timestamp().as_millisecond().div_euclid(1_000),
        }
    }

    fn shown(&self) -> String {
        format!("{} ({}, {})", self.time, self.weekday, self.timezone)
    }
}

/// What a person wrote, as a moment; and what is unclear about it.
fn understand(text: &str, from: TimeZone, now: SystemTime) -> Result<(Zoned, Option<&'static str>), Trouble> {
    if let Ok(zoned) = DateTimeParser::new().parse_zoned_with(zones(), text) {
        return Ok((zoned, None));
    }
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return Ok((timestamp.to_zoned(from), None));
    }
    let wall = match (text.parse::<civil::DateTime>(), text.parse::<civil::Time>()) {
        (Ok(wall), _) => wall,
        (_, Ok(time)) => instant(now)?.to_zoned(from.clone()).date().to_datetime(time),
        _ => {
            let message = format!("{} is not a time; write it like 2026-03-29T14:30, or 14:30 for today", quoted(text));
            return Err(Trouble::failed(message));
        }
    };
    let ambiguous = from.into_ambiguous_zoned(wall);
    let note = match ambiguous.offset() {
        AmbiguousOffset::Unambiguous { .. } => None,
        AmbiguousOffset::Gap { .. } => Some("the clocks skip this time; the one after the gap was taken"),
        AmbiguousOffset::Fold { .. } => Some("this time comes twice, when the clocks go back; the first one was taken"),
    };
    let zoned = ambiguous.compatible().map_err(|_| Trouble::failed(format!("{} is out of range", quoted(text))))?;
    Ok((zoned, note))
}

fn instant(now: SystemTime) -> Result<Timestamp, Trouble> {
    Timestamp::try_from(now).map_err(|_| Trouble::failed("the clock of this machine is out of range"))
}

fn zones() -> &'static TimeZoneDatabase {
    static BUILT_IN: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);
    &BUILT_IN
}

fn zone(name: &str) -> Result<TimeZone, Trouble> {
    zones().get(name).map_err(|_| {
        let names: Vec<String> = zones().available().map(|name| name.to_string()).collect();
        // People know the city.
        let city = |known: &&String| {
            known.rsplit('/').next().is_some_and(|city| city.eq_ignore_ascii_case(&name.replace(' ', "_")))
        };
        let near =
            names.iter().find(city).map(String::as_str).or_else(|| nearest(name, names.iter().map(String::as_str)));
        let hint = match near {
            Some(near) => format!("did you mean {}?", quoted(near)),
            None => "write an IANA name such as Europe/Berlin".to_owned(),
        };
        Trouble::failed(format!("there is no time zone {}; {hint}", quoted(name)))
    })
}
