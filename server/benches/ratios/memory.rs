//! Memory of a process, as the kernel counts it.

use std::fs;

use crate::{Failure, fail};

/// What a process has now, in MB.
pub(crate) fn resident_mb(process: &str) -> Result<f64, Failure> {
    read(process, "VmRSS:")
}

/// The most that this process had since [`forget_most`], in MB.
pub(crate) fn most_mb() -> Result<f64, Failure> {
    read("self", "VmHWM:")
}

/// Begins to count the most anew, at what there is now.
pub(crate) fn forget_most() -> Result<(), Failure> {
    // 5 resets the peak: proc(5).
    Ok(fs::write("/proc/self/clear_refs", "5")?)
}

fn read(process: &str, field: &str) -> Result<f64, Failure> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let kb = status.lines().find_map(|line| {
        line.strip_prefix(field)?
            .trim()
            .strip_suffix(" kB")?
            .trim()
            .parse::<f64>()
            .ok()
    });
    match kb {
        Some(kb) => Ok(kb / 1000.0),
        None => fail("the kernel does not tell the memory of a process".to_owned()),
    }
}
