//! A change keeps the layout of the notebook.

use super::super::*;
use super::after;
use serde_json::json;

/// One code cell in some layout, before and after its source becomes `y`.
#[tokio::test]
async fn a_replaced_source_keeps_the_layout_of_its_cell() {
    for (before, expected) in [
        // Four blanks, no line end at the end.
        (
            "{\n    \"cells\": [\n        {\n            \"cell_type\": \"markdown\",\n            \"source\": [\n                \"x\"\n            ]\n        }\n    ],\n    \"nbformat\": 4\n}",
            "{\n    \"cells\": [\n        {\n            \"cell_type\": \"markdown\",\n            \"source\": [\n                \"é\\n\",\n                \"z\"\n            ]\n        }\n    ],\n    \"nbformat\": 4\n}",
        ),
        // Tabs and carriage returns.
        (
            "{\r\n\t\"nbformat\": 4,\r\n\t\"cells\": [\r\n\t\t{\r\n\t\t\t\"source\": [],\r\n\t\t\t\"cell_type\": \"raw\"\r\n\t\t}\r\n\t]\r\n}\r\n",
            "{\r\n\t\"nbformat\": 4,\r\n\t\"cells\": [\r\n\t\t{\r\n\t\t\t\"source\": [\r\n\t\t\t\t\"é\\n\",\r\n\t\t\t\t\"z\"\r\n\t\t\t],\r\n\t\t\t\"cell_type\": \"raw\"\r\n\t\t}\r\n\t]\r\n}\r\n",
        ),
        // Everything on one line, and a source in one string.
        (
            "{\"cells\":[{\"cell_type\":\"markdown\",\"source\":\"x\",\"metadata\":{}}],\"nbformat\":4}\n",
            "{\"cells\":[{\"cell_type\":\"markdown\",\"source\":\"é\\nz\",\"metadata\":{}}],\"nbformat\":4}\n",
        ),
        (
            "{\"cells\": [{\"cell_type\": \"markdown\", \"source\": [\"x\"]}], \"nbformat\": 4}",
            "{\"cells\": [{\"cell_type\": \"markdown\", \"source\": [\"é\\n\", \"z\"]}], \"nbformat\": 4}",
        ),
        // A list on one line in a cell on several; a byte order mark; escapes instead of characters.
        (
            "\u{feff}{\n \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n   \"source\": [\"\\u00fc\"]\n  }\n ], \"nbformat\": 4}",
            "\u{feff}{\n \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n   \"source\": [\"é\\n\", \"z\"]\n  }\n ], \"nbformat\": 4}",
        ),
        (
            "{\"cells\": [{\"cell_type\": \"markdown\", \"source\": [\"\\u00fc\"]}], \"nbformat\": 4}",
            "{\"cells\": [{\"cell_type\": \"markdown\", \"source\": [\"\\u00e9\\n\", \"z\"]}], \"nbformat\": 4}",
        ),
        // No source at all, and doubles, of which the last one counts.
        (
            "{\"cells\": [{\"cell_type\": \"markdown\"}], \"nbformat\": 4}",
            "{\"cells\": [{\"cell_type\": \"markdown\",\"source\": [\"é\\n\", \"z\"]}], \"nbformat\": 4}",
        ),
        (
            "{\"cells\": [{\"source\": \"a\", \"cell_type\": \"markdown\" , \"source\" : \"b\" }], \"nbformat\": 4}",
            "{\"cells\": [{\"source\": \"a\", \"cell_type\": \"markdown\", \"source\" : \"é\\nz\" }], \"nbformat\": 4}",
        ),
    ] {
        assert_eq!(after(before, json!({"new_source": "é\nz"})).await, expected);
    }
}

#[tokio::test]
async fn a_new_cell_looks_like_its_neighbour() {
    for (before, expected) in [
        (
            "{\"cells\":[{\"cell_type\":\"raw\",\"source\":\"x\"}],\"nbformat\":4}",
            "{\"cells\":[{\"cell_type\":\"raw\",\"source\":\"x\"},{\"cell_type\":\"raw\",\"metadata\":{},\"source\":\"y\"}],\"nbformat\":4}",
        ),
        (
            "{\n  \"cells\": [\n    { \"cell_type\": \"raw\", \"source\": [\"x\"] }\n  ], \"nbformat\": 4}",
            "{\n  \"cells\": [\n    { \"cell_type\": \"raw\", \"source\": [\"x\"] },\n    {\"cell_type\": \"raw\", \"metadata\": {}, \"source\": [\"y\"]}\n  ], \"nbformat\": 4}",
        ),
        (
            "{\r\n\t\"cells\": [\r\n\t\t{\r\n\t\t\t\"cell_type\": \"raw\",\r\n\t\t\t\"source\": []\r\n\t\t}\r\n\t], \"nbformat\": 4}",
            "{\r\n\t\"cells\": [\r\n\t\t{\r\n\t\t\t\"cell_type\": \"raw\",\r\n\t\t\t\"source\": []\r\n\t\t},\r\n\t\t{\r\n\t\t\t\"cell_type\": \"raw\",\r\n\t\t\t\"metadata\": {},\r\n\t\t\t\"source\": [\r\n\t\t\t\t\"y\"\r\n\t\t\t]\r\n\t\t}\r\n\t], \"nbformat\": 4}",
        ),
    ] {
        let arguments = json!({"edit_mode": "insert", "cell_id": "0", "cell_type": "raw", "new_source": "y"});
        assert_eq!(after(before, arguments).await, expected);
    }
    let empty = "{\"cells\": [ ], \"nbformat\": 4}";
    let arguments = json!({"edit_mode": "insert", "cell_type": "raw", "new_source": ""});
    let expected = "{\"cells\": [{\"cell_type\": \"raw\", \"metadata\": {}, \"source\": []}], \"nbformat\": 4}";
    assert_eq!(after(empty, arguments).await, expected);
}

#[test]
fn words_for_modes_and_types_are_those_of_the_schema() {
    for (mode, kind) in [(EditMode::Replace, CellType::Code), (EditMode::Insert, CellType::Markdown), (EditMode::Delete, CellType::Raw)] {
        assert_eq!(serde_json::to_value((mode, kind)).unwrap(), json!([mode.as_str(), kind.as_str()]));
    }
}
