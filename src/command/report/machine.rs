//! The machine of a run: processor, memory, devices.

use std::fs::read_to_string;

/// The most bytes of memory that this process has taken until now, without the pages of files, such as the program itself; `None` if the
/// system doesn't tell. The system reclaims such pages when memory runs short.
pub fn peak_taken() -> Option<u64> {
    let status = read_to_string("/proc/self/status").ok()?;
    Some(kibibytes(&status, "VmHWM:")?.saturating_sub(kibibytes(&status, "RssFile:")?))
}

/// The bytes of the line that begins with `name`, which gives kB.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// What is known of the machine: names and values. A GPU is told of a run on `device`, if it names one.
pub fn facts(device: &str) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let processors = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processors.lines().find_map(|line| line.strip_prefix("model name")?.trim_start().strip_prefix(':'));
    if let Some(model) = model {
        facts.push(("processor", model.trim().to_owned()));
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    facts.push(("cores", cores.to_string()));
    if let Some(total) = read_to_string("/proc/meminfo").ok().and_then(|text| kibibytes(&text, "MemTotal:")) {
        facts.push(("memory", format!("{:.1} GiB", total as f64 / f64::from(1 << 30))));
    }
    facts.push(("system", format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)));
    if let Some(number) = device.strip_prefix("cuda:") {
        let doctor = vxm::kernels::doctor().to_string();
        let found = doctor.lines().find_map(|line| line.strip_prefix(&format!("device {number}: ")));
        facts.push(("GPU", found.unwrap_or(device).to_owned()));
    }
    facts.push(("vxm", env!("CARGO_PKG_VERSION").to_owned()));
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kilobytes_are_read() {
        assert_eq!(kibibytes("VmPeak:\t  9 kB\nVmHWM:\t   12 kB\n", "VmHWM:"), Some(12 << 10));
        assert_eq!(kibibytes("VmPeak:\t  9 kB\n", "VmHWM:"), None);
    }
}
