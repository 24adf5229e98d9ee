//! Text on its way through something that reads text, though not all of it may be UTF-8: bytes that are none are told
//! apart by a character that stands for them, and are put back as they were.

use std::collections::VecDeque;

/// What stands for bytes that are not text.
const STAND_IN: char = char::REPLACEMENT_CHARACTER;

/// Reads bytes as text, and knows what each [`STAND_IN`] was.
#[derive(Debug, Default)]
pub(crate) struct Lossless {
    /// The beginning of a character whose end has not come.
    begun: Vec<u8>,
    /// What the stand-ins were that are on their way, in order.
    originals: VecDeque<Vec<u8>>,
}

impl Lossless {
    /// Takes the next bytes, in whatever portions; gives what can be read of them.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let mut text = String::with_capacity(all.len());
        let mut rest = all.as_slice();
        loop {
            let (valid, error) = match std::str::from_utf8(rest) {
                Ok(valid) => (valid, None),
                Err(error) => {
                    let valid = rest.get(..error.valid_up_to()).unwrap_or_default();
                    (std::str::from_utf8(valid).unwrap_or_default(), Some(error))
                }
            };
            for stand_in in valid.matches(STAND_IN) {
                self.originals.push_back(stand_in.as_bytes().to_vec());
            }
            text.push_str(valid);
            rest = rest.get(valid.len()..).unwrap_or_default();
            match error.map(|error| error.error_len()) {
                None => return text,
                Some(None) => {
                    self.begun = rest.to_vec();
                    return text;
                }
                Some(Some(length)) => {
                    self.stand_in_for(rest.get(..length).unwrap_or_default(), &mut text);
                    rest = rest.get(length..).unwrap_or_default();
                }
            }
        }
    }

    /// There are no more bytes: what is still to be read.
    pub(crate) fn finish(&mut self) -> String {
        let mut text = String::new();
        let begun = std::mem::take(&mut self.begun);
        if !begun.is_empty() {
            self.stand_in_for(&begun, &mut text);
        }
        text
    }

    /// The bytes that a part of the text was read from. All of the text is to be handed in, in its order.
    pub(crate) fn bytes_of(&mut self, text: &str) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(text.len());
        let mut parts = text.split(STAND_IN);
        bytes.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
        for part in parts {
            bytes.extend(self.originals.pop_front().unwrap_or_default());
            bytes.extend_from_slice(part.as_bytes());
        }
        bytes
    }

    fn stand_in_for(&mut self, bytes: &[u8], text: &mut String) {
        self.originals.push_back(bytes.to_vec());
        text.push(STAND_IN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back_however_it_is_divided() {
        let bytes = b"a\xff\xfeb \xc3\xbc \xef\xbf\xbd \xe2\x82\xac \xe2\x82 end \xf0\x9f\x98";
        for size in 1..=bytes.len() {
            let mut lossless = Lossless::default();
            let mut text: String = bytes.chunks(size).map(|chunk| lossless.read(chunk)).collect();
            text.push_str(&lossless.finish());
            assert_eq!(text, String::from_utf8_lossy(bytes));
            let (first, second) = text.split_at(text.find('b').unwrap());
            assert_eq!([lossless.bytes_of(first), lossless.bytes_of(second)].concat(), bytes, "by {size}");
        }
    }
}
