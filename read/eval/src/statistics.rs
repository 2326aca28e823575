//! Rates with intervals.

/// Wilson's 95 % interval of `hits` of `count`, in percent.
pub fn wilson(hits: usize, count: usize) -> (f64, f64) {
    if count == 0 {
        return (0.0, 100.0);
    }
    let (n, z) = (count as f64, 1.959_964_f64);
    let p = hits as f64 / n;
    let centre = p + z * z / (2.0 * n);
    let spread = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    let scale = 100.0 / (1.0 + z * z / n);
    (
        (scale * (centre - spread)).max(0.0),
        (scale * (centre + spread)).min(100.0),
    )
}

/// `hits` of `count` as a percentage with its interval.
pub fn rate(hits: usize, count: usize) -> String {
    if count == 0 {
        return "-".into();
    }
    let (low, high) = wilson(hits, count);
    format!(
        "{:.1} [{low:.1}, {high:.1}]",
        100.0 * hits as f64 / count as f64
    )
}

/// The value below which `share` of the values lie.
pub fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = ((values.len().max(1) - 1) as f64 * share).round() as usize;
    values.get(at).copied().unwrap_or(0.0)
}
