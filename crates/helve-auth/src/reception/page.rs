//! What the browser shows in the end. Fixed: nothing of what it was sent with is repeated.

/// The answer to a request that is ours.
pub(super) const RECEIVED: &str = "\
<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>helve</title></head>\
<body><h1>helve has received the answer</h1><p>You can close this page and go back to where you came from.</p></body></html>";

/// The whole response.
pub(super) fn response(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n\
         Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n\r\n{body}",
        body.len()
    )
}
