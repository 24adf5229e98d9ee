//! Owns how far a string goes on without anything that means more than itself, eight bytes at a time.

const BYTES: usize = 8;
const ONES: u64 = u64::from_le_bytes([1; BYTES]);
const HIGH_BITS: u64 = u64::from_le_bytes([0x80; BYTES]);
const QUOTES: u64 = u64::from_le_bytes([b'"'; BYTES]);
const BACKSLASHES: u64 = u64::from_le_bytes([b'\\'; BYTES]);
const BLANKS: u64 = u64::from_le_bytes([b' '; BYTES]);

/// How many bytes stand before the first quote, backslash or control character; all of them when there is none.
#[must_use]
pub fn letters(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<BYTES>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // Of each mark the lowest is exact; those above it may be wrong, because a subtraction borrows upwards.
        let controls = word.wrapping_sub(BLANKS) & !word & HIGH_BITS;
        let marks = controls | zeroes(word ^ QUOTES) | zeroes(word ^ BACKSLASHES);
        if marks != 0 {
            return index * BYTES + marks.trailing_zeros() as usize / BYTES;
        }
    }
    let near = rest.iter().position(|byte| *byte < b' ' || *byte == b'"' || *byte == b'\\');
    bytes.len() - rest.len() + near.unwrap_or(rest.len())
}

/// The high bit of each byte that is zero.
const fn zeroes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGH_BITS
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
