//! Golden screens: each is compared at three widths, and drawn as a picture for the documents.

use std::fmt::Write as _;
use std::path::PathBuf;

use unicode_width::UnicodeWidthStr;

/// The widths of a narrow, a usual and a wide terminal.
const WIDTHS: [usize; 3] = [40, 80, 120];
/// The width of the picture.
const PICTURED: usize = 80;
/// The size of a character and of a line, in pixels.
const CHARACTER: f64 = 8.4;
const LINE: f64 = 18.0;
const MARGIN: f64 = 12.0;

/// Compares a screen with its golden file at every width, and with its picture. `UPDATE_DOCS=1` draws the picture.
pub(crate) fn check_screen(name: &str, title: &str, screen: impl Fn(usize) -> String) {
    let mut page = String::new();
    for width in WIDTHS {
        let shown = anstream::adapter::strip_str(&screen(width)).to_string();
        for line in shown.lines() {
            assert!(line.width() <= width, "{name} at {width} columns: {line:?}");
        }
        writeln!(page, "── {width} columns\n{shown}").unwrap();
    }
    insta::assert_snapshot!(format!("screen_{name}"), page);
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/screens/{name}.svg"));
    let picture = draw(title, &screen(PICTURED));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, &picture).unwrap();
    }
    let stored = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(stored == picture, "draw docs/screens/{name}.svg again: UPDATE_DOCS=1 cargo test -p haft-tui --lib screen");
}

/// The screen as a picture.
fn draw(title: &str, screen: &str) -> String {
    let lines: Vec<&str> = screen.lines().collect();
    let columns = lines.iter().map(|line| anstream::adapter::strip_str(line).to_string().width()).max().unwrap_or(0).max(40);
    #[allow(clippy::cast_precision_loss, reason = "a screen is small")]
    let (width, height) = (columns as f64 * CHARACTER + 2.0 * MARGIN, lines.len() as f64 * LINE + 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"monospace\" font-size=\"14\">\n\
         <title>{}</title>\n<rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"#22272e\"/>\n",
        escape(title)
    );
    for (number, line) in (1_u32..).zip(lines) {
        let y = f64::from(number) * LINE + MARGIN - 5.0;
        writeln!(svg, "<text xml:space=\"preserve\" x=\"{MARGIN:.0}\" y=\"{y:.0}\" fill=\"#cdd9e5\">{}</text>", spans(line)).unwrap();
    }
    svg + "</svg>\n"
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A line with its colours.
fn spans(line: &str) -> String {
    let (mut svg, mut style) = (String::new(), String::new());
    for (index, part) in line.split("\u{1b}[").enumerate() {
        let text = match part.split_once('m').filter(|_| index > 0) {
            Some((code, text)) => {
                style = if code == "0" { String::new() } else { format!("{style}{}", attribute(code)) };
                text
            }
            None => part,
        };
        match (text, style.as_str()) {
            ("", _) => {}
            (text, "") => svg.push_str(&escape(text)),
            (text, style) => write!(svg, "<tspan{style}>{}</tspan>", escape(text)).unwrap(),
        }
    }
    svg
}

fn attribute(code: &str) -> &'static str {
    match code {
        "1" => " font-weight=\"bold\"",
        "2" => " fill-opacity=\"0.6\"",
        "3" => " font-style=\"italic\"",
        "4" => " text-decoration=\"underline\"",
        "31" => " fill=\"#f47067\"",
        "32" => " fill=\"#57ab5a\"",
        "33" => " fill=\"#daaa3f\"",
        "36" => " fill=\"#39c5cf\"",
        _ => "",
    }
}
