//! How much memory one call takes, seen in a process that does nothing else.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::bench::{Bench, Call};

/// Tells this program that it is that process, and where the call is: the workspace, the tool and the arguments, as JSON. A patch is
/// too long for a variable.
const ALONE: &str = "HAFT_BENCH_ALONE";

/// Megabytes that a call takes at most, above what the process takes without it.
pub(crate) fn measure_growth(workspace: &Path, (tool, arguments): Call<'_>) -> f64 {
    let call = Value::from(vec![Value::from(workspace.to_str()), tool.into(), arguments.clone()]);
    let program = std::env::current_exe().expect("a program");
    let file = tempfile::NamedTempFile::new().expect("disk space for a call");
    std::fs::write(&file, call.to_string()).expect("disk space for a call");
    let output = Command::new(program).env(ALONE, file.path()).output().expect("it runs");
    let told = String::from_utf8_lossy(&output.stdout);
    let told = told.trim().parse::<f64>();
    told.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// Makes the call and prints what it took, if this is that process.
pub(crate) fn is_alone() -> bool {
    let Some(file) = std::env::var_os(ALONE) else { return false };
    let call: Value = serde_json::from_slice(&std::fs::read(file).expect("a call")).expect("a call");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let (workspace, tool, arguments) = (text(&call[0]), text(&call[1]), &call[2]);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let bench = Bench::new(Path::new(&workspace));
    let before = kilobytes("VmRSS:");
    runtime.block_on(bench.call((&tool, arguments)));
    println!("{}", f64::from(kilobytes("VmHWM:").saturating_sub(before)) / 1024.0);
    true
}

fn kilobytes(key: &str) -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}
