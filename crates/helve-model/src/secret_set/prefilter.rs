//! Says of most texts, at a fraction of a search, that none of the forms is in them.
//!
//! Every form is at least so many bytes long, so a form that is in a text covers one of the places that lie that far apart. Only at
//! those places four bytes are looked up among the fours that the forms are made of.

use std::collections::HashSet;

/// How many bytes are looked up at once.
const WINDOW: usize = 4;
/// Bits of the table of fours.
const BITS: u32 = 16;
/// With more fours than this one in four would be found by chance, and looking them up would be in vain.
const MOST: usize = 1 << (BITS - 2);

/// Where forms cannot be.
pub(super) struct Prefilter {
    /// How far apart the places lie that are looked at.
    step: usize,
    /// One bit for the hash of each four.
    known: Box<[u64; 1 << (BITS - 6)]>,
}

impl Prefilter {
    /// `None` when there are too many forms, or too short ones.
    pub(super) fn new(forms: &HashSet<String>) -> Option<Self> {
        let shortest = forms.iter().map(String::len).min()?;
        let fours: usize = forms.iter().map(String::len).sum();
        if shortest < 2 * WINDOW || fours > MOST {
            return None;
        }
        let mut known = Box::new([0; 1 << (BITS - 6)]);
        for window in forms.iter().flat_map(|form| form.as_bytes().array_windows::<WINDOW>()) {
            let (word, bit) = place(*window);
            known[word] |= bit;
        }
        Some(Self { step: shortest + 1 - WINDOW, known })
    }

    /// False when no form is in the text.
    #[inline]
    pub(super) fn may_hold(&self, text: &str) -> bool {
        // Of the places in question, the last four bytes of each stretch are looked at: a form covers one of them whole.
        text.as_bytes().chunks_exact(self.step).filter_map(<[u8]>::last_chunk::<WINDOW>).any(|window| {
            let (word, bit) = place(*window);
            self.known[word] & bit != 0
        })
    }
}

/// Which bit of which word stands for four bytes.
#[inline]
const fn place(window: [u8; WINDOW]) -> (usize, u64) {
    let hash = u32::from_le_bytes(window).wrapping_mul(0x9e37_79b1) >> (32 - BITS);
    ((hash >> 6) as usize, 1 << (hash & 63))
}
