//! Reading a whole file into memory, where its format cannot be read in pieces.

use haft_contract::{ErrorKind, FileReader, ToolError};
use haft_text::numbers;

/// How much is read at least at once.
const PIECE: usize = 1024 * 1024;

/// All of a file that begins with `head`. A file of more than `most` bytes is refused as too large a `kind`.
pub(crate) async fn read_all(name: &str, kind: &str, head: Vec<u8>, reader: &dyn FileReader, most: usize) -> Result<Vec<u8>, ToolError> {
    let mut content = head;
    loop {
        if reader.size() > most as u64 || content.len() > most {
            let (bytes, most) = (numbers::size(reader.size().max(content.len() as u64)), numbers::size(most as u64));
            let message = format!("File too large: {name} ({bytes}) is {kind} of more than {most}.");
            return Err(ToolError::new(ErrorKind::FileTooLarge, message));
        }
        // All of the rest at once, and one byte more to see that it ends there.
        let rest = usize::try_from(reader.size()).unwrap_or(most).saturating_sub(content.len()).saturating_add(1);
        let length = rest.max(PIECE);
        let piece = reader.read_at(content.len() as u64, length).await?;
        let is_end = piece.len() < length;
        if content.is_empty() {
            content = piece;
        } else {
            content.extend_from_slice(&piece);
        }
        if is_end && content.len() <= most {
            return Ok(content);
        }
    }
}
