//! Pages of long lists.

use rmcp::ErrorData;
use rmcp::model::PaginatedRequestParams;

/// Entries of a page. Some clients read the first page alone, so an ordinary list fits in one.
pub(super) const PAGE: usize = 200;
/// What cursors begin with.
const PREFIX: &str = "at:";

/// A part of a list, and the cursor of the next one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ListPage<T> {
    pub(super) items: Vec<T>,
    pub(super) next: Option<String>,
}

/// The page that a request asks for.
pub(super) fn page<T>(items: Vec<T>, request: Option<PaginatedRequestParams>) -> Result<ListPage<T>, ErrorData> {
    cut(items, request.and_then(|request| request.cursor).as_deref(), PAGE)
}

fn cut<T>(items: Vec<T>, cursor: Option<&str>, size: usize) -> Result<ListPage<T>, ErrorData> {
    let start = match cursor {
        None => 0,
        Some(cursor) => position(cursor, items.len())
            .ok_or_else(|| ErrorData::invalid_params("The cursor is not one of this list: begin again without a cursor.", None))?,
    };
    let end = items.len().min(start + size);
    let next = (end < items.len()).then(|| format!("{PREFIX}{end}"));
    Ok(ListPage { items: items.into_iter().skip(start).take(size).collect(), next })
}

fn position(cursor: &str, length: usize) -> Option<usize> {
    cursor.strip_prefix(PREFIX)?.parse().ok().filter(|position| *position > 0 && *position <= length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_lead_through_the_whole_list() {
        let (mut cursor, mut seen, mut pages) = (None, Vec::new(), 0);
        loop {
            let page = cut((0..5).collect(), cursor.as_deref(), 2).unwrap();
            seen.extend(page.items);
            pages += 1;
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!((seen, pages), (vec![0, 1, 2, 3, 4], 3));
    }

    #[test]
    fn foreign_cursors_are_refused() {
        for cursor in ["", "2", "at:", "at:0", "at:-1", "at:9", "at:99999999999999999999999", "at:1\u{202e}"] {
            assert!(cut(vec![1, 2, 3], Some(cursor), 2).is_err(), "{cursor:?}");
        }
        assert_eq!(cut(vec![1, 2, 3], Some("at:3"), 2).unwrap(), ListPage { items: Vec::new(), next: None });
    }
}
