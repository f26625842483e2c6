//! Stacked bars as SVG, with the same figures as a table and as CSV.

use std::fmt::Write;

use super::escape;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 56.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 24.0;
/// Of one bar: a single one does not fill the plot.
const MOST_STEP: f64 = 72.0;
/// Labels below the bars.
const MOST_LABELS: usize = 8;
/// As many series can be told apart.
pub(crate) const MOST_SERIES: usize = 6;
/// The colour of each series, from the palette of Okabe and Ito, and the lines of its pattern: people who see no colours tell
/// the series by them.
const LOOKS: [(&str, &str); MOST_SERIES] = [
    ("#0072b2", ""),
    ("#e69f00", "M-2 2L2 -2M0 8L8 0M6 10L10 6"),
    ("#009e73", "M0 4H8"),
    ("#cc79a7", "M-2 6L2 10M0 0L8 8M6 -2L10 2"),
    ("#56b4e9", "M4 0V8"),
    ("#d55e00", "M0 4H8M4 0V8"),
];

/// What is drawn.
pub(crate) struct BarPlot<'a> {
    pub(crate) title: &'a str,
    /// The names of the series, at most [`MOST_SERIES`].
    pub(crate) series: &'a [String],
    /// Each bar with its label, and a value for each series.
    pub(crate) rows: &'a [(String, Vec<f64>)],
    /// Gives a number its unit.
    pub(crate) format: fn(f64) -> String,
    /// A limit that is drawn across.
    pub(crate) limit: Option<f64>,
}

impl BarPlot<'_> {
    /// The picture, its legend, and the table.
    pub(crate) fn html(&self) -> String {
        debug_assert!(self.series.len() <= MOST_SERIES, "the caller joins the rest");
        let format = self.format;
        let highest = self.rows.iter().map(|(_, values)| values.iter().sum::<f64>()).chain(self.limit).fold(0.0, f64::max);
        let top = if highest > 0.0 { highest } else { 1.0 };
        let title = escape(self.title);
        let mut html =
            format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}. The table has the same figures.\">");
        define_patterns(&mut html, self.series.len());
        for value in [0.0, top / 2.0, top] {
            let y = height_of(value, top);
            line(&mut html, "axis", y);
            text(&mut html, (LEFT - 6.0, y + 4.0), "end", &format(value));
        }
        self.bars(&mut html, top);
        if let Some(limit) = self.limit {
            let y = height_of(limit, top);
            line(&mut html, "stroke-waiting", y);
            text(&mut html, (LEFT + 4.0, y - 4.0), "start", &format!("budget {}", format(limit)));
        }
        html.push_str("</svg>");
        self.legend(&mut html);
        self.table(&mut html);
        html
    }

    // Plots have some hundred bars at most.
    #[allow(clippy::cast_precision_loss, reason = "plots have some hundred bars")]
    fn bars(&self, html: &mut String, top: f64) {
        let step = ((WIDTH - LEFT) / self.rows.len().max(1) as f64).min(MOST_STEP);
        let every = self.rows.len().div_ceil(MOST_LABELS).max(1);
        for (index, (label, values)) in self.rows.iter().enumerate() {
            let left = LEFT + index as f64 * step;
            let mut below = 0.0;
            for (number, (name, value)) in self.series.iter().zip(values).enumerate().filter(|(_, (_, value))| **value > 0.0) {
                below += value;
                let (y, base) = (height_of(below, top), height_of(below - value, top));
                // Writing to a string does not fail.
                let _ = write!(
                    html,
                    "<rect fill=\"url(#series-{number})\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\">\
                     <title>{} · {}: {}</title></rect>",
                    left + 1.0,
                    (step - 2.0).max(1.0),
                    base - y,
                    escape(label),
                    escape(name),
                    escape(&(self.format)(*value)),
                );
            }
            if index % every == 0 {
                text(html, (left + step / 2.0, HEIGHT - 6.0), "middle", label);
            }
        }
    }

    fn legend(&self, html: &mut String) {
        html.push_str("<ul class=\"legend\">");
        for (number, name) in self.series.iter().enumerate() {
            let _ = write!(
                html,
                "<li><svg viewBox=\"0 0 12 12\" aria-hidden=\"true\">\
                 <rect fill=\"url(#series-{number})\" width=\"12\" height=\"12\"/></svg>{}</li>",
                escape(name)
            );
        }
        html.push_str("</ul>");
    }

    fn table(&self, html: &mut String) {
        let heads: Vec<&str> = std::iter::once("").chain(self.series.iter().map(String::as_str)).chain(["Sum"]).collect();
        let _ = write!(html, "<details><summary>As a table</summary><table aria-label=\"{}\"><thead><tr>", escape(self.title));
        for head in heads {
            let _ = write!(html, "<th scope=\"col\">{}</th>", escape(head));
        }
        html.push_str("</tr></thead><tbody>");
        for (label, values) in self.rows {
            let _ = write!(html, "<tr><td>{}</td>", escape(label));
            for value in values.iter().copied().chain([values.iter().sum()]) {
                let _ = write!(html, "<td class=\"number\">{}</td>", escape(&(self.format)(value)));
            }
            html.push_str("</tr>");
        }
        html.push_str("</tbody></table></details>");
    }

    /// The figures for a spreadsheet.
    pub(crate) fn csv(&self) -> String {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let head: Vec<String> = std::iter::once(String::new()).chain(self.series.iter().map(|name| quoted(name))).collect();
        let rows = self.rows.iter().map(|(label, values)| {
            let cells: Vec<String> = std::iter::once(label.clone()).chain(values.iter().map(f64::to_string)).collect();
            cells.join(",")
        });
        std::iter::once(head.join(",")).chain(rows).collect::<Vec<_>>().join("\n")
    }
}

/// A fill for each of the first series.
fn define_patterns(html: &mut String, count: usize) {
    html.push_str("<defs>");
    for (number, (color, lines)) in LOOKS.iter().take(count).enumerate() {
        let _ = write!(
            html,
            "<pattern id=\"series-{number}\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">\
             <rect width=\"8\" height=\"8\" fill=\"{color}\"/>\
             <path d=\"{lines}\" stroke=\"#000\" stroke-opacity=\".5\" fill=\"none\"/></pattern>"
        );
    }
    html.push_str("</defs>");
}

fn height_of(value: f64, top: f64) -> f64 {
    TOP + (HEIGHT - BOTTOM - TOP) * (1.0 - value / top)
}

fn line(html: &mut String, class: &str, y: f64) {
    let _ = write!(html, "<line class=\"{class}\" x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>");
}

fn text(html: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    let _ = write!(html, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", escape(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot<'a>(series: &'a [String], rows: &'a [(String, Vec<f64>)], limit: Option<f64>) -> BarPlot<'a> {
        BarPlot { title: "Tokens <by> day", series, rows, format: |value| format!("{value:.0} t"), limit }
    }

    #[test]
    fn picture_table_and_csv_have_the_same_figures_and_hostile_names_stay_text() {
        let series = ["in\"<b>".to_owned(), "out".to_owned()];
        let rows = [("11-17".to_owned(), vec![30.0, 10.0]), ("11-18".to_owned(), vec![0.0, 20.0])];
        let html = plot(&series, &rows, Some(80.0)).html();
        assert!(!html.contains("<b>") && !html.contains("<by>"), "{html}");
        for part in [
            "<title>11-17 · in&quot;&lt;b&gt;: 30 t</title>",
            "<title>11-18 · out: 20 t</title>",
            "budget 80 t",
            "<td class=\"number\">40 t</td>",
            "<tr><td>11-18</td><td class=\"number\">0 t</td><td class=\"number\">20 t</td><td class=\"number\">20 t</td></tr>",
        ] {
            assert!(html.contains(part), "{part} is not in {html}");
        }
        assert_eq!(html.matches("<rect fill=\"url(#series-0)\" x").count(), 1, "nothing is drawn of zero");
        assert_eq!(plot(&series, &rows, None).csv(), ",\"in\"\"<b>\",\"out\"\n11-17,30,10\n11-18,0,20");
    }

    #[test]
    fn each_series_has_a_color_and_a_pattern_of_its_own() {
        let series: Vec<String> = (0..MOST_SERIES).map(|number| format!("model {number}")).collect();
        let html = plot(&series, &[("11-18".to_owned(), vec![1.0; MOST_SERIES])], None).html();
        for number in 0..MOST_SERIES {
            let fill = format!("fill=\"url(#series-{number})\"");
            assert_eq!((html.matches(&format!("<pattern id=\"series-{number}\"")).count(), html.matches(&fill).count()), (1, 2), "{html}");
        }
        let distinct = |parts: Vec<&str>| parts.iter().collect::<std::collections::BTreeSet<_>>().len();
        assert_eq!(distinct(LOOKS.iter().map(|(color, _)| *color).collect()), MOST_SERIES);
        assert_eq!(distinct(LOOKS.iter().map(|(_, lines)| *lines).collect()), MOST_SERIES);
    }

    #[test]
    fn bars_end_at_the_axis_whatever_their_number() {
        for count in [0_usize, 1, 366] {
            let rows: Vec<(String, Vec<f64>)> = (0..count).map(|day| (day.to_string(), vec![1.0])).collect();
            let html = plot(&["x".to_owned()], &rows, None).html();
            assert!(!html.contains("NaN") && !html.contains("inf") && !html.contains("=\"-"), "{html}");
            assert!(html.matches("text-anchor=\"middle\"").count() <= MOST_LABELS);
            assert_eq!(html.contains("width=\"70.0\""), count == 1, "a single bar is as wide as one of ten");
        }
    }
}
