//! One file per backend.
