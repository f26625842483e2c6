//! Values in messages, sized for reading.

/// Longer values are cut in messages: enough to recognise them by.
const SHOWN_CHARACTERS: usize = 200;

/// A value as a message shows it, cut if it is very long.
pub(crate) fn shown(value: &str) -> String {
    match value.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}

/// A number of bytes, for people: `512 bytes`, `4.6 MB`.
#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
pub(crate) fn size(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut amount = bytes as f64 / 1024.0;
    let mut units = ["KB", "MB", "GB"].iter();
    let mut unit = units.next().unwrap_or(&"KB");
    for larger in units {
        if amount < 1024.0 {
            break;
        }
        amount /= 1024.0;
        unit = larger;
    }
    format!("{amount:.1} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1.0 KB"),
            (102_400, "100.0 KB"),
            (4_823_450, "4.6 MB"),
            (5 << 30, "5.0 GB"),
            (5 << 50, "5242880.0 GB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        assert_eq!(shown("short"), "short");
        assert_eq!(shown(&"ü".repeat(200)), "ü".repeat(200));
        assert_eq!(shown(&"ü".repeat(201)), format!("{}…", "ü".repeat(200)));
    }
}
