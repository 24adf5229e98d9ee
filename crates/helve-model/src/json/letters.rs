//! Owns how far a string goes on without anything that means more than itself, sixteen bytes at a time.

use wide::u8x16;

const LANE: usize = 16;

/// How many bytes stand before the first quote, backslash or control character; all of them when there is none.
#[must_use]
#[inline]
pub fn letters(bytes: &[u8]) -> usize {
    // Most strings that are looked at are keys and short words, which end in the first lane.
    match bytes.first_chunk().map(first_mark) {
        Some(Some(mark)) => mark,
        Some(None) => LANE + more_letters(bytes),
        None => bytes.iter().position(|byte| is_mark(*byte)).unwrap_or(bytes.len()),
    }
}

/// The same for what stands behind the first lane, in which there is no mark.
fn more_letters(bytes: &[u8]) -> usize {
    let (lanes, rest) = bytes.get(LANE..).unwrap_or_default().as_chunks::<LANE>();
    for (index, lane) in lanes.iter().enumerate() {
        if let Some(mark) = first_mark(lane) {
            return index * LANE + mark;
        }
    }
    // The last lane reaches back over letters: that costs less than to look at the rest byte by byte.
    let end = lanes.len() * LANE + rest.len();
    bytes.last_chunk().and_then(first_mark).map_or(end, |mark| end + mark - LANE)
}

/// The first quote, backslash or control character among sixteen bytes.
#[inline]
fn first_mark(lane: &[u8; LANE]) -> Option<usize> {
    let bytes = u8x16::new(*lane);
    let is_control = bytes.min(u8x16::splat(b' ' - 1)).simd_eq(bytes);
    let is_mark = bytes.simd_eq(u8x16::splat(b'"')) | bytes.simd_eq(u8x16::splat(b'\\')) | is_control;
    let marks = is_mark.to_bitmask();
    (marks != 0).then_some(marks.trailing_zeros() as usize)
}

const fn is_mark(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::letters;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn words_say_what_bytes_say(
            bytes in proptest::collection::vec(prop_oneof![any::<u8>(), 0x1e..0x24_u8, 0x5a..0x5e_u8, 0x7e..0x83_u8], 0..40),
        ) {
            let one_by_one = bytes.iter().position(|byte| *byte < b' ' || *byte == b'"' || *byte == b'\\');
            prop_assert_eq!(letters(&bytes), one_by_one.unwrap_or(bytes.len()));
        }
    }
}
