//! Owns the charts: drawn here, coloured by the style sheet through classes, with words for those who do not see them.

use std::fmt::Write as _;

use crate::escape::visible;
use crate::filters::duration;
use crate::view::{Bar, Mark, StatusSpan, TimeSpan};

/// Width and height of a small line.
const SPARK: (u64, u64) = (120, 28);
/// Width and height of the bars of a window.
const BARS: (u64, u64) = (960, 96);
/// Width of the strip of a day.
const STRIP: u64 = 960;

/// A small line with the area below it. Decoration: the number stands beside it.
pub(crate) fn spark(points: &[u64]) -> String {
    let (width, height) = SPARK;
    let most = points.iter().copied().max().unwrap_or(0).max(1);
    let last = points.len().saturating_sub(1).max(1) as u64;
    let mut line = String::new();
    for (index, point) in points.iter().enumerate() {
        let x = index as u64 * width / last;
        let y = height - 2 - point * (height - 4) / most;
        let _: std::fmt::Result = write!(line, "{x},{y} ");
    }
    let mut svg = format!(
        "<svg class=\"spark\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
    );
    if points.len() > 1 {
        let _: std::fmt::Result = write!(
            svg,
            "<polygon points=\"0,{height} {line}{width},{height}\"/><polyline fill=\"none\" points=\"{}\"/>",
            line.trim_end()
        );
    }
    svg.push_str("</svg>");
    svg
}

/// The bars of a window: answered below, then refused, then failed.
pub(crate) fn bars(bars: &[Bar]) -> String {
    let (width, height) = BARS;
    let most = bars.iter().map(|bar| bar.answered + bar.refused + bar.failed).max().unwrap_or(0).max(1);
    let step = width / (bars.len().max(1) as u64);
    let all: u64 = bars.iter().map(|bar| bar.answered + bar.refused + bar.failed).sum();
    let mut svg = format!(
        "<svg class=\"bars\" viewBox=\"0 0 {width} {height}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{all} calls over time; the numbers are in the table below\">"
    );
    // One path for each kind: a window has a hundred bars, and a page has to stay small.
    let mut paths = [("ok", String::new()), ("warn", String::new()), ("bad", String::new())];
    let wide = step.saturating_sub(2).max(1);
    for (index, bar) in bars.iter().enumerate() {
        let x = index as u64 * step;
        let mut top = height;
        for ((_, path), count) in paths.iter_mut().zip([bar.answered, bar.refused, bar.failed]) {
            if count == 0 {
                continue;
            }
            // One call of a thousand can still be seen.
            let tall = (count * (height - 4) / most).max(2).min(top);
            top -= tall;
            let _: std::fmt::Result = write!(path, "M{x} {top}h{wide}v{tall}h-{wide}z");
        }
    }
    for (class, path) in paths {
        let _: std::fmt::Result = write!(svg, "<path class=\"{class}\" d=\"{path}\"/>");
    }
    svg.push_str("</svg>");
    svg
}

/// A day as one strip.
pub(crate) fn strip(spans: &[StatusSpan]) -> String {
    let all = spans.iter().map(|span| span.minutes).sum::<u64>().max(1);
    let mut svg = format!(
        "<svg class=\"strip\" viewBox=\"0 0 {STRIP} 10\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Status of the last day\">"
    );
    let mut from = 0;
    for span in spans {
        let to = from + span.minutes;
        let (x, end) = (from * STRIP / all, to * STRIP / all);
        let _: std::fmt::Result = write!(
            svg,
            "<rect class=\"{}\" x=\"{x}\" y=\"0\" width=\"{}\" height=\"10\"><title>{}</title></rect>",
            mark_class(span.mark),
            (end - x).max(2),
            visible(&span.said)
        );
        from = to;
    }
    svg.push_str("</svg>");
    svg
}

/// The parts of a call's time, one after the other.
pub(crate) fn times(spans: &[TimeSpan]) -> String {
    let all = spans.iter().map(|span| span.us).sum::<u64>().max(1);
    let said: Vec<String> = spans.iter().map(|span| format!("{} {}", visible(&span.what), duration(span.us))).collect();
    let mut svg = format!(
        "<svg class=\"strip tall\" viewBox=\"0 0 {STRIP} 10\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">",
        said.join(", ")
    );
    let mut from = 0;
    for (index, span) in spans.iter().enumerate() {
        let to = from + span.us;
        let (x, end) = (scaled(from, all), scaled(to, all));
        let _: std::fmt::Result = write!(
            svg,
            "<rect class=\"t{}\" x=\"{x}\" y=\"0\" width=\"{}\" height=\"10\"/>",
            index % 4,
            (end - x).max(2)
        );
        from = to;
    }
    svg.push_str("</svg>");
    svg
}

/// The class of a mark.
pub(crate) const fn mark_class(mark: Mark) -> &'static str {
    match mark {
        Mark::Ready => "good",
        Mark::Idle | Mark::Off => "soft",
        Mark::Waiting | Mark::NeedsPerson => "warn",
        Mark::Failed => "bad",
    }
}

/// `part` of `all` on the strip; the numbers may be as large as they like.
fn scaled(part: u64, all: u64) -> u64 {
    u64::try_from(u128::from(part) * u128::from(STRIP) / u128::from(all)).unwrap_or(STRIP)
}
