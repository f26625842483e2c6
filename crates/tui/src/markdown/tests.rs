use super::*;

const TEXT: &str = "# What changed\n\nThe **parser** reads `a*b` and [the guide](https://example.org/guide), see https://example.org too. \
                    This sentence is long enough to be wrapped at words.\n\n- first item, which is long enough to need another line\n- second\n  \
                    1. nested one\n  2. nested two\n- [x] done\n\n> A quote that is long enough to need another line as well.\n\n```rust\nfn main() {\n    \
                    println!(\"hello\"); // prints\n}\n```\n\n| file | lines | what it holds |\n|---|---|---|\n| a.rs | 12 | the parser of requests, and its tests |\n\
                    | long_name.rs | 1 | nothing |\n\n---\n\nThe end.\n";

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn markdown_is_rendered_at_three_widths() {
    for columns in [40, 80, 120] {
        let page = render(TEXT, Some(columns));
        assert!(plain(&page).lines().all(|line| unicode_width::UnicodeWidthStr::width(line) <= columns), "{page}");
        insta::assert_snapshot!(format!("markdown_{columns}"), plain(&page));
    }
    insta::assert_snapshot!("markdown_styles", render(TEXT, Some(60)).replace('\u{1b}', "^"));
}

#[test]
fn columns_of_a_table_are_aligned_as_they_are_marked() {
    let table = "| name | count | 数量 |\n|:--|--:|:-:|\n| a | 1 | x |\n| bcd | 1000 | 数数数 |\n";
    let expected = "name  count   数量\n────  ─────  ──────\na         1    x\nbcd    1000  数数数";
    assert_eq!(plain(&render(table, Some(80))).trim_end(), expected);
}

#[test]
fn markdown_that_arrives_in_pieces_is_printed_once_and_the_same() {
    for columns in [20, 40, 80] {
        let whole = render(TEXT, Some(columns));
        for size in [1, 3, 7, 50] {
            let (mut stream, mut page) = (MarkdownStream::default(), String::new());
            let chars: Vec<char> = TEXT.chars().collect();
            for piece in chars.chunks(size) {
                page += &stream.push(&piece.iter().collect::<String>(), Some(columns));
            }
            page += &stream.finish(Some(columns));
            assert_eq!(plain(&page), plain(&whole), "{columns} {size}");
        }
    }
}

#[test]
fn resize_changes_the_width_from_the_next_block_on() {
    let mut stream = MarkdownStream::default();
    let mut page = stream.push("one two three four five six\n\nseven eight nine ", Some(14));
    page += &stream.push("ten eleven twelve", Some(80));
    page += &stream.finish(Some(80));
    let words: Vec<&str> = page.split_whitespace().collect();
    assert_eq!(words.join(" "), "one two three four five six seven eight nine ten eleven twelve", "no word is lost or doubled");
}

#[test]
fn markdown_of_any_text_ends_and_keeps_its_words() {
    for text in
        ["", "\n\n", "***", "```", "|", "| a |\n|---|", "> ", "- ", "[x](", "1.", "<b>x</b>", "&amp;", "a\\\nb", "# ", "`", "\u{301}"]
    {
        for columns in [1, 8, 80] {
            render(text, Some(columns));
        }
    }
    for hostile in [
        "&#27;[2J",
        "[x](a&#27;]0;b)",
        "`&#27;`",
        "&#x9b;2J",
        "![&#27;](&#7;)",
        "| &#27;[1m |\n|---|\n| &#8; |",
        "```&#27;\n&#27;\n```",
        "# &#13;x",
    ] {
        let page = plain(&render(hostile, Some(80)));
        assert!(!page.chars().any(|ch| ch.is_control() && ch != '\n'), "{hostile}: {page:?}");
    }
    assert_eq!(plain(&render("<script>x</script>", Some(80))), "<script>x</script>\n");
    assert_eq!(plain(&render("漢字漢字漢字漢字漢字", Some(8))), "漢字漢字\n漢字漢字\n漢字\n");
}
