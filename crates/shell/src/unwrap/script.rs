//! `sh -c 'script'`: the script is part of the line.

use crate::options;
use crate::programs::trusted_name;
use crate::word::Word;

/// Shells whose scripts are read here.
const READ: &[&str] = &["sh", "bash", "dash", "ash"];

/// The shell and the script, where both are written out and the shell reads nothing else first.
pub(super) fn find(words: &[Word]) -> Option<(String, String)> {
    let name = words.first().and_then(trusted_name).filter(|name| READ.contains(name))?;
    let scan = options::scan_leading("-ceux --norc --noprofile", &words[1..]);
    if !scan.faults.is_empty() || !scan.has(&["-c"]) {
        return None;
    }
    let script = words.get(1 + scan.used)?.as_literal()?;
    Some((format!("{name} -c"), script.to_owned()))
}
