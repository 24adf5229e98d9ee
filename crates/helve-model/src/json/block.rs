//! Where an object or array ends, found 64 bytes at a time.
//!
//! Each block gives four bit masks. Characters inside strings are masked out by a prefix exclusive-or over the
//! quotes that no backslash escapes. As long as the closing brackets of a block cannot bring the depth to zero, the
//! block costs two population counts; only the block with the end in it is walked bit by bit.

use wide::u8x16;

use super::scan::MAX_DEPTH;

const BLOCK: usize = 64;

/// A container that was crossed.
pub(super) struct Container {
    /// The position after its closing bracket.
    pub(super) end: usize,
    /// It nests deeper than [`MAX_DEPTH`].
    pub(super) too_deep: bool,
}

/// Crosses the container whose opening bracket stands at `start`; `None` when it does not end.
pub(super) fn skip_container(bytes: &[u8], start: usize) -> Option<Container> {
    let mut state = SkipState { depth: 0, too_deep: false, in_string: 0, escaped: 0 };
    let mut at = start;
    let rest = bytes.get(start..).unwrap_or_default();
    let (blocks, tail) = rest.as_chunks::<BLOCK>();
    for block in blocks {
        if let Some(end) = state.advance(&Masks::of(block)) {
            return Some(Container { end: at + end, too_deep: state.too_deep });
        }
        at += BLOCK;
    }
    // Padding with spaces changes neither depth nor strings.
    let mut last = [b' '; BLOCK];
    if let Some(room) = last.get_mut(..tail.len()) {
        room.copy_from_slice(tail);
    }
    let end = state.advance(&Masks::of(&last))?;
    Some(Container { end: at + end, too_deep: state.too_deep })
}

struct SkipState {
    depth: u32,
    too_deep: bool,
    /// All ones while inside a string at the end of the last block.
    in_string: u64,
    /// One when the last block ended in a backslash that escapes the next character.
    escaped: u64,
}

struct Masks {
    quotes: u64,
    backslashes: u64,
    opening: u64,
    closing: u64,
}

impl SkipState {
    /// Crosses one block; gives the position after the final bracket when it is in this block.
    #[inline]
    fn advance(&mut self, masks: &Masks) -> Option<usize> {
        let quotes = masks.quotes & !self.escaped_characters(masks.backslashes);
        let strings = prefix_xor(quotes) ^ self.in_string;
        // Sign extension: all ones if the last character of the block is inside a string.
        self.in_string = 0_u64.wrapping_sub(strings >> 63);
        let opening = masks.opening & !strings;
        let closing = masks.closing & !strings;
        let (opened, closed) = (opening.count_ones(), closing.count_ones());
        if closed < self.depth && self.depth + opened <= MAX_DEPTH {
            self.depth = self.depth + opened - closed;
            return None;
        }
        self.walk(opening, closing)
    }

    /// Counts bracket by bracket.
    fn walk(&mut self, opening: u64, closing: u64) -> Option<usize> {
        let mut brackets = opening | closing;
        while brackets != 0 {
            let position = brackets.trailing_zeros();
            if opening >> position & 1 == 1 {
                self.depth += 1;
                self.too_deep |= self.depth > MAX_DEPTH;
            } else {
                // The first bracket of the container is an opening one, so the depth is at least one here.
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    return Some(position as usize + 1);
                }
            }
            brackets &= brackets - 1;
        }
        None
    }

    /// Which characters follow a backslash that is not itself escaped.
    #[inline]
    fn escaped_characters(&mut self, backslashes: u64) -> u64 {
        if backslashes == 0 {
            return std::mem::take(&mut self.escaped);
        }
        let mut escaped = self.escaped;
        let mut open = backslashes & !escaped;
        while open != 0 {
            let position = open.trailing_zeros();
            if position == 63 {
                self.escaped = 1;
                return escaped;
            }
            let next = 1_u64 << (position + 1);
            escaped |= next;
            // The escaped character cannot escape another one.
            open &= !(next | (next >> 1));
        }
        self.escaped = 0;
        escaped
    }
}

impl Masks {
    #[inline]
    fn of(block: &[u8; BLOCK]) -> Self {
        let mut masks = Self { quotes: 0, backslashes: 0, opening: 0, closing: 0 };
        let (lanes, _) = block.as_chunks::<16>();
        for (index, lane) in lanes.iter().enumerate() {
            let characters = u8x16::new(*lane);
            // Bit 0x20 is all that tells `[` from `{` and `]` from `}`.
            let folded = characters | u8x16::splat(0x20);
            let shift = index * 16;
            masks.quotes |= bits(characters, b'"') << shift;
            masks.backslashes |= bits(characters, b'\\') << shift;
            masks.opening |= bits(folded, b'{') << shift;
            masks.closing |= bits(folded, b'}') << shift;
        }
        masks
    }
}

#[inline]
fn bits(characters: u8x16, wanted: u8) -> u64 {
    u64::from(characters.simd_eq(u8x16::splat(wanted)).to_bitmask())
}

/// Every bit becomes the exclusive-or of itself and all lower bits: ones between an opening quote and the next quote.
#[inline]
const fn prefix_xor(mut bits: u64) -> u64 {
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    bits ^= bits << 32;
    bits
}
