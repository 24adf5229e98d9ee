//! Owns the few numbers we trust: medians, and medians of the ratios within each round.

/// The middle of `values`, which are sorted on the way; the mean of the two middle ones if there is no middle.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match (values.get(middle.wrapping_sub(1)), values.get(middle)) {
        (Some(low), Some(high)) if values.len().is_multiple_of(2) => f64::midpoint(*low, *high),
        (_, Some(value)) => *value,
        (_, None) => f64::NAN,
    }
}

/// The median over rounds of `one / other`: what a busy machine does to a round, it does to both.
pub(crate) fn median_ratio(one: &[f64], other: &[f64]) -> f64 {
    let mut ratios: Vec<f64> = one.iter().zip(other).map(|(one, other)| one / other).collect();
    median(&mut ratios)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&mut [7.0]), 7.0);
        assert!(median(&mut []).is_nan());
    }

    #[test]
    fn a_slow_round_does_not_move_the_ratio() {
        assert_eq!(median_ratio(&[1.0, 80.0, 1.0], &[2.0, 160.0, 2.0]), 0.5);
    }
}
