//! Any patch on any file: it is refused, or the changes can be taken back and lead to where they came from.
#![no_main]

use std::convert::Infallible;

use haft_patch::{PlannedChange, parse, plan, reverse};
use libfuzzer_sys::fuzz_target;

/// Separates the patch from the file in one input.
const SEPARATOR: &str = "\n%%%%\n";

fuzz_target!(|text: &str| {
    let (patch, file) = text.rsplit_once(SEPARATOR).unwrap_or((text, ""));
    let Ok(patch) = parse(patch) else { return };
    let mut read = |path: &str| Ok::<_, Infallible>((!path.contains("new")).then(|| file.as_bytes().to_vec().into()));
    let planned = match plan(&patch, &mut read) {
        Ok(changes) => changes,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    for change in &planned {
        if let PlannedChange::Update { before, bytes, .. } = change {
            assert!(**before == *file.as_bytes() && *bytes != **before);
        }
    }
    let twice = reverse(reverse(planned.clone()));
    assert_eq!(twice.len(), planned.len());
});
