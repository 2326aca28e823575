//! How much memory may this process still take?

/// Bytes that the system can hand out without swapping, and no more than the process' control group still allows.
/// `None` where the system does not say.
pub fn available_memory() -> Option<u64> {
    let read = |path| std::fs::read_to_string(path).ok();
    let system = read("/proc/meminfo").and_then(|text| of_meminfo(&text));
    let group = of_group(
        read("/sys/fs/cgroup/memory.max").as_deref(),
        read("/sys/fs/cgroup/memory.current").as_deref(),
    );
    match (system, group) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// `MemAvailable` of /proc/meminfo, in bytes.
fn of_meminfo(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// What a control group (version 2) leaves; `max` means no limit.
fn of_group(limit: Option<&str>, used: Option<&str>) -> Option<u64> {
    let limit: u64 = limit?.trim().parse().ok()?;
    let used: u64 = used?.trim().parse().ok()?;
    Some(limit.saturating_sub(used))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sources_read() {
        let text = "MemTotal:       24689672 kB\nMemFree:         9061376 kB\nMemAvailable:   21000000 kB\n";
        assert_eq!(of_meminfo(text), Some(21_000_000 * 1024));
        assert_eq!(of_meminfo("MemTotal: 1 kB"), None);
        assert_eq!(of_group(Some("1000\n"), Some("400\n")), Some(600));
        assert_eq!(of_group(Some("max\n"), Some("400\n")), None);
        assert_eq!(of_group(None, None), None);
    }
}
