//! PDF documents, as small as they can be.

/// A document by hand: each page with its lines, in one of the fonts that every reader has; what is in the trailer, in
/// addition, is up to the test.
pub fn pdf_document(pages: &[&[&str]], trailer: &str) -> Vec<u8> {
    let kids: Vec<String> = (0..pages.len()).map(|page| format!("{} 0 R", 4 + 2 * page)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), pages.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".into(),
    ];
    for (page, lines) in pages.iter().enumerate() {
        let lines: Vec<String> = lines.iter().map(|line| format!("({line}) Tj T*")).collect();
        let content = format!("BT /F1 12 Tf 72 720 Td 14 TL {} ET", lines.join(" "));
        let resources = "/Resources << /Font << /F1 3 0 R >> >>";
        objects.push(format!("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] {resources} /Contents {} 0 R >>", 5 + 2 * page));
        objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
    }
    let mut parts = vec!["%PDF-1.4\n".to_owned()];
    let mut table = vec![format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1)];
    let mut start = parts[0].len();
    for (place, object) in objects.iter().enumerate() {
        let part = format!("{} 0 obj\n{object}\nendobj\n", place + 1);
        table.push(format!("{start:010} 00000 n \n"));
        start += part.len();
        parts.push(part);
    }
    let trailer = format!("trailer\n<< /Size {} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n", objects.len() + 1);
    format!("{}{}{trailer}", parts.concat(), table.concat()).into_bytes()
}
