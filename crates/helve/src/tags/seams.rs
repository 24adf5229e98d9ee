//! Putting a text together again: no tag of the finished text was written by a result, whole or in part.
//!
//! A text that was expanded may be expanded again, by the next stage of a script or by an agent. What a server said must stay
//! text then.

use super::OPENING;

/// What stands for [`OPENING`] where a result holds it. It begins no tag, however often the text is read.
const MARKED: &str = "[use-mcp-result:";

/// What keeps two pieces apart that would make an opening together.
const APART: u8 = b' ';

/// Text and results, one after the other, as they are put out.
#[derive(Debug, Default)]
pub struct Seams {
    /// The end of what was put out, shorter than an opening.
    tail: Vec<u8>,
    /// How many bytes of the tail came after the last byte of a result.
    since_result: Option<usize>,
}

impl Seams {
    /// A piece of the text itself, as it is to be put out.
    pub fn text(&mut self, text: &[u8]) -> Vec<u8> {
        let borders_on_a_result = self.since_result.is_some_and(|since| since < OPENING.len());
        let out = self.join(text.to_vec(), borders_on_a_result);
        self.since_result = self.since_result.map(|since| since.saturating_add(out.len()));
        out
    }

    /// A result, as it is to be put out: every opening in it is marked.
    pub fn result(&mut self, result: &str) -> Vec<u8> {
        let out = self.join(result.replace(OPENING, MARKED).into_bytes(), true);
        if !out.is_empty() {
            self.since_result = Some(0);
        }
        out
    }

    fn join(&mut self, mut piece: Vec<u8>, may_be_a_seam: bool) -> Vec<u8> {
        let longest = OPENING.len() - 1;
        if may_be_a_seam {
            // Either part is shorter than an opening, so one that is found here lies across the seam.
            let mut window = self.tail.clone();
            window.extend(piece.iter().take(longest));
            if window.windows(OPENING.len()).any(|part| part == OPENING.as_bytes()) {
                piece.insert(0, APART);
            }
        }
        self.tail.extend_from_slice(piece.get(piece.len().saturating_sub(longest)..).unwrap_or_default());
        self.tail.drain(..self.tail.len().saturating_sub(longest));
        piece
    }
}
