//! The generation of a model, read from its name.

/// First generation that requires signatures of calls and accepts images inside results.
const SIGNED: u32 = 3;

/// Whether the first call of every step of the current turn needs a signature.
pub(super) fn wants_signatures(model: &str) -> bool {
    generation(model).is_some_and(|generation| generation >= SIGNED)
}

/// Whether results may contain images. A name without a generation counts as a current model.
pub(super) fn accepts_images_in_results(model: &str) -> bool {
    generation(model).is_none_or(|generation| generation >= SIGNED)
}

/// `gemini-2.5-flash` is the second. An alias such as `gemini-flash-latest` names the newest.
fn generation(model: &str) -> Option<u32> {
    let (_, name) = model.split_once("gemini-")?;
    let number = name.split('-').find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    match number {
        Some(word) => word.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok(),
        None => name.ends_with("-latest").then_some(u32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::generation;

    #[test]
    fn model_name_gives_the_generation() {
        let cases = [
            ("gemini-2.5-flash", Some(2)),
            ("models/gemini-3-pro-preview", Some(3)),
            ("gemini-3.1-flash-lite", Some(3)),
            ("gemini-1.5-pro-latest", Some(1)),
            ("gemini-live-2.5-flash-preview", Some(2)),
            ("gemini-flash-latest", Some(u32::MAX)),
            ("gemini-pro", None),
            ("tunedModels/my-model", None),
            ("gemma-3-27b-it", None),
            ("", None),
        ];
        for (name, expected) in cases {
            assert_eq!(generation(name), expected, "{name}");
        }
    }
}
