//! Owns which pictures of a server are shown, and how: as data of the page, never fetched.

use crate::escape::marked;

/// Characters of base64 that a page holds.
const MAX_DATA: usize = 1_500_000;
/// Pictures that are nothing but pictures.
const SHOWN: [&str; 4] = ["image/gif", "image/jpeg", "image/png", "image/webp"];

/// A picture, or why it is not shown.
pub(crate) fn image(media_type: &str, data: &str) -> String {
    let is_base64 = data.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
    match SHOWN.iter().find(|known| **known == media_type) {
        Some(known) if is_base64 && data.len() <= MAX_DATA => {
            format!(
                "<p><img class=\"shot\" alt=\"The picture that the tool answered\" src=\"data:{known};base64,{data}\"></p>"
            )
        }
        _ => format!("<p class=\"soft\">{}, {} characters of base64: not shown</p>", marked(media_type), data.len()),
    }
}
