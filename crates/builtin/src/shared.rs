//! What two or more tools need.

pub(crate) mod aside;
pub(crate) mod binary;
pub(crate) mod capture;
pub(crate) mod changed;
pub(crate) mod media;
pub(crate) mod notebook;
pub(crate) mod pager;
pub(crate) mod place;
pub(crate) mod reading;
pub(crate) mod searching;
pub(crate) mod text_file;
pub(crate) mod whole;
pub(crate) mod wide;
pub(crate) mod words;
