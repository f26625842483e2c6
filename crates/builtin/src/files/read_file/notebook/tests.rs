use haft_contract::Content;
use haft_testkit::{FakeHost, expect_text};
use haft_text::base64::encode;
use proptest::prelude::*;
use serde_json::Value;

use super::super::tests::read;
use super::cells::PICTURES;
use super::*;
use crate::shared::picture::tests::sample;

async fn read_cells(cells: &Value, mut arguments: Value) -> Result<ToolOutput, ToolError> {
    let host = FakeHost::new();
    let notebook = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    host.files.put("n.ipynb", serde_json::to_string_pretty(&notebook).unwrap());
    arguments["path"] = "n.ipynb".into();
    read(&host, arguments).await
}

fn cell(id: &str, source: &str) -> Value {
    json!({"cell_type": "markdown", "id": id, "metadata": {}, "source": source})
}

#[tokio::test]
async fn cells_come_with_their_ids_and_outputs() {
    let picture = sample(PictureFormat::Png, 3, 2);
    let cells = json!([
        {"cell_type": "code", "id": "aa", "execution_count": 3, "metadata": {}, "source": ["x = 1\n", "x"], "outputs": [
            {"output_type": "stream", "name": "stdout", "text": ["1\n"]},
            {"output_type": "display_data", "data": {"image/png": encode(&picture), "text/plain": "<Figure>"}},
            {"output_type": "display_data", "data": {"image/png": "bm90aGluZw=="}},
        ]},
        {"cell_type": "markdown", "metadata": {}, "source": "# Title"},
    ]);
    let output = read_cells(&cells, json!({})).await.unwrap();
    let text = "<cell id=\"aa\" type=\"code\" execution_count=\"3\">\nx = 1\nx\n<output type=\"stdout\">\n1\n</output>\n\
        <output type=\"result\">\n(picture)\n</output>\n<output type=\"result\">\n(picture)\n</output>\n</cell>\n\
        <cell id=\"cell-1\" type=\"markdown\">\n# Title\n</cell>\n\n(A picture in an output is damaged and was left out.)";
    assert_eq!(output.content, [Content::Text(text.into()), Content::Image { mime: "image/png".into(), data: picture }]);
    let details = output.details.unwrap();
    let expected = json!({
        "path": "n.ipynb", "kind": "notebook", "size": details["size"], "language": "python", "total_cells": 2, "first_cell": 1,
        "last_cell": 2, "next_offset": null,
    });
    assert_eq!(details, expected);
}

#[tokio::test]
async fn cells_are_paged() {
    let cells: Value = (0..5).map(|number| cell(&format!("c{number}"), &format!("text {number}"))).collect();
    let shown = |range: std::ops::Range<usize>| {
        range.map(|number| format!("<cell id=\"c{number}\" type=\"markdown\">\ntext {number}\n</cell>\n")).collect::<Vec<_>>().concat()
    };
    for (arguments, range, note) in [
        (json!({"limit": 2}), 0..2, "\n(Showing cells 1-2 of 5. Continue with offset=3.)"),
        (json!({"limit": 2, "offset": 3}), 2..4, "\n(Showing cells 3-4 of 5. Continue with offset=5.)"),
        (json!({"offset": 5}), 4..5, "\n(Showing cells 5-5, up to the end of the notebook.)"),
        (json!({"offset": 6}), 0..0, "(Cell 6 is past the end: the notebook has 5.)"),
        (json!({}), 0..5, ""),
    ] {
        let text = expect_text(read_cells(&cells, arguments.clone()).await);
        assert_eq!(text, format!("{}{note}", shown(range)), "{arguments}");
    }
    assert_eq!(expect_text(read_cells(&json!([]), json!({})).await), "(The notebook has no cells.)");
}

#[tokio::test]
async fn much_is_cut_and_said_so() {
    let cells = json!([cell("a", &"x".repeat(60_000)), cell("b", &"y".repeat(60_000)), cell("c", &"é".repeat(60_000))]);
    let first = read_cells(&cells, json!({})).await.unwrap();
    assert_eq!(first.details.unwrap()["next_offset"], 2, "two of them are more than a page");
    let text = expect_text(read_cells(&cells, json!({"offset": 3})).await);
    assert!(text.len() < BYTES + 500);
    assert!(text.contains("(The source of cell 'c' is too long for one page; raw=true shows the file's text by lines.)"), "{}", text.len());

    let noisy = |text: String| {
        json!([{"cell_type": "code", "id": "a", "metadata": {}, "source": "", "outputs":
        vec![json!({"output_type": "stream", "name": "stdout", "text": text}); 20]}])
    };
    let text = expect_text(read_cells(&noisy("é".repeat(3000)), json!({})).await);
    assert!(
        text.contains(&format!("\n{}\n(2000 more characters)\n</output>\n", "é".repeat(1000))) && text.contains("\n(15 more outputs)\n")
    );
    let text = expect_text(read_cells(&noisy("z\n".repeat(50)), json!({})).await);
    assert!(text.contains(&format!("\n{}(20 more characters)\n", "z\n".repeat(40))));

    let data = encode(&sample(PictureFormat::Png, 2, 2));
    let outputs = vec![json!({"output_type": "display_data", "data": {"image/png": data}}); 6];
    let cells = json!([{"cell_type": "code", "id": "a", "metadata": {}, "source": "", "outputs": outputs}]);
    let output = read_cells(&cells, json!({})).await.unwrap();
    assert_eq!(output.content.len(), 1 + PICTURES);
    assert!(expect_text(Ok(output)).ends_with("\n(2 more pictures are in the outputs; show fewer cells at a time to see them.)"));
}

#[tokio::test]
async fn its_text_is_shown_on_request_and_where_it_is_no_notebook() {
    let host = FakeHost::new();
    let whole = "{\"cells\": [], \"nbformat\": 4}\n";
    for (content, arguments, expected) in [
        (whole, json!({"raw": true}), whole.to_owned()),
        (whole, json!({"encoding": "utf-8"}), whole.to_owned()),
        ("", json!({}), "(The file is empty.)".into()),
        ("{}", json!({}), "{}\n\n(Shown as text instead of cells: it has no number 'nbformat'.)".into()),
        (
            "{\n\"x",
            json!({}),
            "{\n\"x\n\n(Shown as text instead of cells: it is not JSON: EOF while parsing a string at line 2 column 2.)".into(),
        ),
    ] {
        host.files.put("n.IPYNB", content);
        let mut arguments = arguments;
        arguments["path"] = "n.IPYNB".into();
        assert_eq!(expect_text(read(&host, arguments).await), expected, "{content}");
    }
    host.files.put("n.IPYNB", vec![b'\n'; LARGEST + 1]);
    let text = expect_text(read(&host, json!({"path": "n.IPYNB", "limit": 1})).await);
    let note = "(Showing lines 1-1 of a file of 100.0 MB. Continue with offset=2.)";
    assert_eq!(text, format!("\n\n{note}\n\n(Shown as text instead of cells: it is larger than 100.0 MB.)"));
    host.files.put("n.txt", whole);
    assert_eq!(expect_text(read(&host, json!({"path": "n.txt"})).await), whole);
}

const ODD: &str = r#"{"cells": [{"cell_type": "code", "id": "a", "execution_count": 1, "metadata": {}, "source": ["x\n", "é"],
    "outputs": [{"output_type": "error", "ename": "E", "evalue": "é", "traceback": ["\u001b[31mé\u001b[0m"]},
    {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo=", "text/plain": ["4", "2"]}}]}], "nbformat": 4, "nbformat_minor": 5}"#;

proptest! {
    /// Broken in three places, it is nearly a notebook.
    #[test]
    fn no_text_makes_it_panic(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 3),
        first in 1..4_usize,
        bytes in 0..200_usize,
    ) {
        let mut broken = ODD.as_bytes().to_vec();
        for (at, byte) in places {
            let at = at.index(broken.len());
            broken[at] = byte;
        }
        let text = String::from_utf8_lossy(&broken);
        drop(Notebook::parse(&text).map(|notebook| cells_of(&notebook, first, 2, bytes)));
    }
}
