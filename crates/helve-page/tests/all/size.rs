//! How large pages and what they load may be.

use std::io::Write as _;

use crate::samples::{fragments, screens};

const LARGEST_PAGE: usize = 60 * 1024;
const FIRST_VISIT: usize = 45 * 1024;
const STYLE_SHEET: usize = 12 * 1024;

fn zipped(bytes: &[u8]) -> usize {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap().len()
}

#[test]
fn pages_are_small() {
    for sample in screens(&|text| text.to_owned()) {
        assert!(sample.html.len() <= LARGEST_PAGE, "{}: {} bytes", sample.name, sample.html.len());
    }
    for (name, html) in fragments(&|text| text.to_owned()) {
        assert!(html.len() <= LARGEST_PAGE, "{name}: {} bytes", html.len());
    }
}

#[test]
fn a_first_visit_is_small() {
    let assets: usize = helve_page::assets().iter().map(|asset| zipped(asset.bytes)).sum();
    let page = screens(&|text| text.to_owned()).iter().map(|sample| zipped(sample.html.as_bytes())).max().unwrap();
    assert!(assets + page <= FIRST_VISIT, "{assets} + {page}");
}

#[test]
fn the_style_sheet_is_small() {
    let style = helve_page::assets().iter().find(|asset| asset.path.ends_with(".css")).unwrap();
    assert!(style.bytes.len() <= STYLE_SHEET, "{}", style.bytes.len());
}
