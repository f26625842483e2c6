//! What two or more tools need.

pub(crate) mod binary;
pub(crate) mod capture;
pub(crate) mod media;
pub(crate) mod pager;
pub(crate) mod reading;
pub(crate) mod text_file;
pub(crate) mod words;
