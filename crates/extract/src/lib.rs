//! The readable content of web pages and feeds, pure: bytes in, Markdown or text out.
//!
//! A page passes through the modules in this order: `charset` decodes its bytes, `html` makes a tree, `hidden` and `boilerplate` mark
//! what no reader of the page is meant to read, `content` finds the part that the page is about, `render` writes that as Markdown or
//! text. `feed` reads RSS and Atom, `passages` finds the parts of a text that a question is about.
#![warn(missing_docs)]

mod boilerplate;
mod charset;
mod content;
mod elements;
mod feed;
mod hidden;
mod html;
mod page;
mod passages;
mod render;

pub use charset::decode;
pub use content::FoundBy;
pub use elements::{FoundElement, find_elements, plain_text};
pub use feed::{Feed, FeedItem, is_feed, read_feed};
pub use page::{Page, read_page};
pub use passages::{Passage, find_passages};
pub use render::Style;
