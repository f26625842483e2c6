//! A whole file in memory, where its format cannot be read in pieces.

use haft_contract::{ErrorKind, Reader, ToolError};

use super::words;

/// How much is read at once.
const PIECE: usize = 1024 * 1024;

/// All of a file whose beginning was read already, unless it is larger than `most`; `what` says what is too large.
pub(crate) async fn whole(name: &str, what: &str, head: Vec<u8>, reader: &dyn Reader, most: usize) -> Result<Vec<u8>, ToolError> {
    let mut content = head;
    loop {
        if reader.size() > most as u64 || content.len() > most {
            return Err(too_large(name, what, reader.size().max(content.len() as u64), most));
        }
        let piece = reader.read_at(content.len() as u64, PIECE).await?;
        if piece.is_empty() {
            return Ok(content);
        }
        content.extend_from_slice(&piece);
    }
}

fn too_large(name: &str, what: &str, size: u64, most: usize) -> ToolError {
    let (size, most) = (words::size(size), words::size(most as u64));
    ToolError::new(ErrorKind::FileTooLarge, format!("File too large: {name} ({size}) is {what} of more than {most}."))
}
