//! What an error came from, however deep.

use std::error::Error;
use std::io;

/// The first cause of this type, the error itself included. An `io::Error` hides what it wraps from `source`, so it is opened.
pub fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(current) = next {
        if let Some(found) = current.downcast_ref::<T>() {
            return Some(found);
        }
        let wrapped = current.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = wrapped.map(|wrapped| wrapped as &(dyn Error + 'static)).or_else(|| current.source());
    }
    None
}

/// What it came from in the end, in words.
pub fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut current = error;
    while let Some(source) = current.source() {
        current = source;
    }
    current.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, ToolError};

    #[test]
    fn a_cause_is_found_through_whatever_wraps_it() {
        let deepest = ToolError::new(ErrorKind::Timeout, "late");
        let outer = ToolError::execution("failed").with_source(io::Error::other(deepest));
        assert_eq!(find::<ToolError>(&outer).map(ToolError::kind), Some(ErrorKind::ExecutionError), "the error itself comes first");
        let wrapped = io::Error::other(ToolError::new(ErrorKind::Timeout, "late"));
        assert_eq!(find::<ToolError>(&wrapped).map(ToolError::kind), Some(ErrorKind::Timeout));
        assert!(find::<std::fmt::Error>(&outer).is_none());
        assert_eq!(innermost(&ToolError::execution("failed").with_source(std::fmt::Error)), std::fmt::Error.to_string());
    }
}
