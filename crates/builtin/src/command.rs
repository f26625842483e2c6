//! What the tools that run commands share: starting one, waiting for it, and reporting on it.

pub(crate) mod excerpt;
pub(crate) mod exit;
pub(crate) mod job_text;
pub(crate) mod limits;
pub(crate) mod run;
