//! A file for whoever edits it from afar: each secret that is written out in it is replaced by a mark, so that the text can
//! be shown, changed and sent back without anybody having seen one.

use super::EditError;
use crate::document;
use crate::reader::FilePlace;
use crate::secret;
use crate::source::Source;

/// What may stand around a text, the longest first.
const QUOTES: [&str; 4] = ["\"\"\"", "'''", "\"", "'"];

/// The text with a mark for every secret that is written out in it. `mark` gets the secret as it is spelled in the file,
/// without its quotes; putting that in the place of the mark gives the file back.
///
/// # Errors
/// The text cannot be read, so nobody knows where its secrets are.
pub fn mask_secrets(place: &FilePlace, text: &str, mark: &mut dyn FnMut(&str) -> String) -> Result<String, EditError> {
    let source = Source::new(&place.path, text);
    let document = document::parse(&source, place.dialect.format_of(&place.path)).map_err(EditError::Broken)?;
    let mut places = secret::places(&document);
    places.sort_unstable_by_key(|span| span.start);
    let mut masked = String::with_capacity(text.len());
    let mut done = 0;
    for span in places {
        let Some(written) = text.get(span.start..span.end).filter(|_| span.start >= done) else { continue };
        let is_quoted = |quote: &&&str| {
            written.len() >= 2 * quote.len() && written.starts_with(**quote) && written.ends_with(**quote)
        };
        let quote = QUOTES.iter().find(is_quoted).map_or(0, |quote| quote.len());
        let inner = written.get(quote..written.len() - quote).unwrap_or_default();
        if inner.is_empty() {
            continue;
        }
        masked.push_str(text.get(done..span.start + quote).unwrap_or_default());
        masked.push_str(&mark(inner));
        done = span.end - quote;
    }
    masked.push_str(text.get(done..).unwrap_or_default());
    Ok(masked)
}
