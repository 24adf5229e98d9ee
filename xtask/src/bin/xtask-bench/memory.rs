//! Owns what is known about the memory of a process: exact resident size and its peak, from the kernel.

use anyhow::{Context, Result};

/// What the kernel is told.
const RESET_PEAK: &str = "5";

/// Resident bytes now. `smaps_rollup` is exact; `VmRSS` lags behind by up to 64 pages a thread.
pub(crate) fn resident() -> Result<f64> {
    kilobytes("/proc/self/smaps_rollup", "Rss:")
}

/// Resident bytes of another process.
pub(crate) fn resident_of(process: u32) -> Result<f64> {
    kilobytes(&format!("/proc/{process}/smaps_rollup"), "Rss:")
}

/// Resident bytes at their highest since [`reset_peak`].
pub(crate) fn peak() -> Result<f64> {
    kilobytes("/proc/self/status", "VmHWM:")
}

/// Resident bytes of another process at their highest since [`reset_peak_of`].
pub(crate) fn peak_of(process: u32) -> Result<f64> {
    kilobytes(&format!("/proc/{process}/status"), "VmHWM:")
}

/// Starts the peak anew at the present size.
pub(crate) fn reset_peak() -> Result<()> {
    Ok(fs_err::write("/proc/self/clear_refs", RESET_PEAK)?)
}

/// The same for another process.
pub(crate) fn reset_peak_of(process: u32) -> Result<()> {
    Ok(fs_err::write(format!("/proc/{process}/clear_refs"), RESET_PEAK)?)
}

fn kilobytes(file: &str, field: &str) -> Result<f64> {
    let text = fs_err::read_to_string(file)?;
    let value = text.lines().find_map(|line| line.strip_prefix(field)).and_then(|rest| rest.split_whitespace().next());
    let value: f64 = value.with_context(|| format!("{file} has no {field}"))?.parse()?;
    Ok(value * 1024.0)
}
