//! How messages of several borrowers are told apart at one program: the numbers they count their requests with get the
//! borrower's own number in front, and lose it on the way back. Nothing else of a message is touched.

use helve_model::protocol::notifications;
use std::borrow::Cow;

use helve_model::json::scan;

/// Where the borrower's number begins.
const SHIFT: u32 = 32;

/// Where a modern server says to which request a notification belongs.
const SUBSCRIPTION: &str = helve_model::protocol::meta::SUBSCRIPTION_ID;

/// Borrowers are numbered below this, so that a number with theirs in front is one that every JSON parser knows exactly.
pub(super) const MOST_BORROWERS: u32 = 1 << 20;

/// What a message is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message<'text> {
    Request {
        id: &'text str,
        method: Cow<'text, str>,
    },
    Notification {
        method: Cow<'text, str>,
    },
    /// An answer to a request with this id.
    Answer {
        id: &'text str,
    },
    /// Not a message.
    Noise,
}

impl<'text> Message<'text> {
    pub(super) fn read(text: &'text str) -> Self {
        let (id, method) = (member(text, "id"), member(text, "method"));
        let method = method.and_then(|method| serde_json::from_str::<String>(method).ok());
        match (id, method) {
            (Some(id), Some(method)) => Self::Request { id, method: Cow::Owned(method) },
            (None, Some(method)) => Self::Notification { method: Cow::Owned(method) },
            (Some(id), None) => Self::Answer { id },
            (None, None) => Self::Noise,
        }
    }
}

/// A borrower's message as the program gets it.
pub(super) fn to_program(borrower: u32, text: &str) -> String {
    let mark = |number: u64| (number >> SHIFT == 0).then_some(u64::from(borrower) << SHIFT | number);
    match Message::read(text) {
        Message::Request { id, .. } => {
            let meta = member(text, "params").and_then(|params| member(params, "_meta"));
            let token = meta.and_then(|meta| member(meta, "progressToken"));
            renumbered(text, &[Some(id), token], mark)
        }
        Message::Notification { method } if method == notifications::CANCELLED => {
            let id = member(text, "params").and_then(|params| member(params, "requestId"));
            renumbered(text, &[id], mark)
        }
        Message::Notification { .. } | Message::Answer { .. } | Message::Noise => text.to_owned(),
    }
}

/// The program's message as a borrower gets it, and the borrower it can only be for.
pub(super) fn from_program(text: &str) -> (Option<u32>, String) {
    let params = || member(text, "params");
    let number = match Message::read(text) {
        Message::Answer { id } => Some(id),
        Message::Notification { method } if method == notifications::PROGRESS => {
            params().and_then(|params| member(params, "progressToken"))
        }
        Message::Notification { .. } => {
            params().and_then(|params| member(params, "_meta")).and_then(|meta| member(meta, SUBSCRIPTION))
        }
        Message::Request { .. } | Message::Noise => None,
    };
    let borrower = number.and_then(self::number).and_then(|number| u32::try_from(number >> SHIFT).ok());
    (borrower, renumbered(text, &[number], |number| Some(number & ((1 << SHIFT) - 1))))
}

/// The number that an id is with the borrower's in front.
pub(super) fn marked(borrower: u32, id: &str) -> Option<u64> {
    let number = number(id).filter(|number| number >> SHIFT == 0)?;
    Some(u64::from(borrower) << SHIFT | number)
}

/// The text with other numbers at these places of it; a number in quotes stays in quotes.
fn renumbered(text: &str, places: &[Option<&str>], renumber: impl Fn(u64) -> Option<u64>) -> String {
    let mut changed: Vec<(usize, usize, u64)> = places
        .iter()
        .flatten()
        .filter_map(|place| {
            let digits = place.trim_matches('"');
            let start = offset(text, digits);
            Some((start, start + digits.len(), renumber(number(place)?)?))
        })
        .collect();
    changed.sort_unstable();
    let (mut renumbered, mut copied) = (String::with_capacity(text.len() + 32), 0);
    for (start, end, number) in changed {
        renumbered.push_str(text.get(copied..start).unwrap_or_default());
        renumbered.push_str(&number.to_string());
        copied = end;
    }
    renumbered.push_str(text.get(copied..).unwrap_or_default());
    renumbered
}

/// The number that an id is.
pub(super) fn number(id: &str) -> Option<u64> {
    id.trim_matches('"').parse().ok()
}

/// What stands before and behind a part of a text.
pub(super) fn around<'text>(text: &'text str, part: &str) -> (&'text str, &'text str) {
    let start = offset(text, part);
    (text.get(..start).unwrap_or_default(), text.get(start + part.len()..).unwrap_or_default())
}

/// Where a part of a text begins.
fn offset(text: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize)
}

/// A member of an object; of several with one key the last, as every common parser has it.
pub(super) fn member<'text>(object: &'text str, key: &str) -> Option<&'text str> {
    let members = scan::members(object).ok()?.map_while(Result::ok);
    members.filter(|member| member.key_is(key)).last().map(|member| member.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_get_the_borrowers_in_front_and_lose_it_again() {
        let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","arguments":{"id":7},"_meta":{"progressToken":7}}}"#;
        let sent = to_program(3, call);
        assert_eq!(
            sent,
            r#"{"jsonrpc":"2.0","id":12884901895,"method":"tools/call","params":{"name":"x","arguments":{"id":7},"_meta":{"progressToken":12884901895}}}"#
        );
        for (theirs, ours) in [
            (r#"{"id":12884901895,"result":{"id":12884901895}}"#, r#"{"id":7,"result":{"id":12884901895}}"#),
            (
                r#"{"method":"notifications/progress","params":{"progressToken":12884901895}}"#,
                r#"{"method":"notifications/progress","params":{"progressToken":7}}"#,
            ),
            (
                r#"{"method":"n","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"12884901895"}}}"#,
                r#"{"method":"n","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"7"}}}"#,
            ),
        ] {
            assert_eq!(from_program(theirs), (Some(3), ours.to_owned()));
        }
        assert_eq!(
            to_program(3, r#"{"method":"notifications/cancelled","params":{"requestId":7}}"#),
            r#"{"method":"notifications/cancelled","params":{"requestId":12884901895}}"#
        );
        assert_eq!(marked(3, "7"), Some(12_884_901_895));
    }

    #[test]
    fn what_has_no_number_stays_as_it_is() {
        for text in [
            r#"{"id":"seven","method":"ping"}"#,
            r#"{"id":1,"method":"elicitation/create","params":{}}"#,
            r#"{"method":"notifications/message","params":{"data":1}}"#,
            "not a message",
            "[1]",
        ] {
            assert_eq!(from_program(text), (None, text.to_owned()));
        }
        for text in [
            r#"{"id":"seven","method":"ping"}"#,
            r#"{"id":1,"result":{}}"#,
            r#"{"method":"notifications/initialized"}"#,
        ] {
            assert_eq!(to_program(3, text), text);
        }
    }
}
