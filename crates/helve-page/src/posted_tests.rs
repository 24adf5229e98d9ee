//! What browsers post, read back.

use super::*;

#[test]
fn an_ordinary_form() {
    let fields = urlencoded(b"a%2Ftitle=a+b%26c&text=1%0D%0A2&empty=&flag&bad=%zz%4");
    let read: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
    insta::assert_snapshot!(read.join(" "), @r#"a/title="a b&c" text="1\n2" empty="" flag="" bad="%zz%4""#);
}

#[test]
fn a_form_with_files() {
    let body = b"--x\r\nContent-Disposition: form-data; name=\"a/t\"\r\n\r\n1\r\n2\r\n--x\r\nContent-Disposition: form-data; name=\"f/p\"; filename=\"a.bin\"\r\nContent-Type: a/b\r\n\r\n\x00\r\n\xff\r\n--x\r\nContent-Disposition: form-data; name=\"f/q\"; filename=\"\"\r\nContent-Type: a/b\r\n\r\n\r\n--x--\r\n";
    let fields = multipart("multipart/form-data; boundary=x", body).unwrap();
    assert_eq!(fields, [("a/t".to_owned(), "1\n2".to_owned()), ("f/p".to_owned(), "AA0K/w==".to_owned())]);
    for cut in 0..body.len() - 4 {
        assert!(multipart("multipart/form-data; boundary=x", &body[..cut]).is_none(), "{cut}");
    }
}
