//! The vectors of a model, as `model.safetensors` holds them: a length, a JSON table of what is where, and the numbers.

use serde_json::Value;

const LONGEST_TABLE: usize = 16 << 20;

/// The vectors of all tokens.
#[derive(Debug)]
pub(super) struct Tensors {
    bytes: Vec<u8>,
    /// Where the vectors begin, how many there are, and how long each is.
    vectors: Tensor,
    dimension: usize,
    /// How much each token counts, if not the same.
    weights: Option<Vec<f32>>,
    /// Which vector each token has, if not that of its own number.
    mapping: Option<Vec<usize>>,
}

#[derive(Debug, Clone, Copy)]
struct Tensor {
    start: usize,
    rows: usize,
    columns: usize,
    kind: NumberKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberKind {
    F16,
    F32,
    F64,
    I32,
    I64,
}

impl NumberKind {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "F16" => Self::F16,
            "F32" => Self::F32,
            "F64" => Self::F64,
            "I32" => Self::I32,
            "I64" => Self::I64,
            _ => return None,
        })
    }

    const fn size(self) -> usize {
        match self {
            Self::F16 => 2,
            Self::F32 | Self::I32 => 4,
            Self::F64 | Self::I64 => 8,
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "a weight or a number of a token")]
    fn read(self, bytes: &[u8]) -> f32 {
        fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
            bytes.first_chunk().copied().unwrap_or([0; N])
        }
        match self {
            Self::F16 => half(u16::from_le_bytes(array(bytes))),
            Self::F32 => f32::from_le_bytes(array(bytes)),
            Self::F64 => f64::from_le_bytes(array(bytes)) as f32,
            Self::I32 => i32::from_le_bytes(array(bytes)) as f32,
            Self::I64 => i64::from_le_bytes(array(bytes)) as f32,
        }
    }
}

/// A number of 16 bits.
fn half(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (if bits >> 15 == 1 { -1.0 } else { 1.0 }, i32::from((bits >> 10) & 31), f32::from(bits & 1023));
    sign * match exponent {
        0 => fraction * 2.0_f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction / 1024.0) * 2.0_f32.powi(exponent - 15),
    }
}

impl Tensors {
    pub(super) fn parse(bytes: Vec<u8>) -> Result<Self, String> {
        let length = bytes.first_chunk().map(|length| u64::from_le_bytes(*length)).ok_or("it is too short")?;
        let length = usize::try_from(length).ok().filter(|length| *length <= LONGEST_TABLE).ok_or("its table is too long")?;
        let start = 8 + length;
        let table = bytes.get(8..start).ok_or("it is cut off")?;
        let table: Value = serde_json::from_slice(table).map_err(|error| format!("its table cannot be read: {error}"))?;
        let find = |name: &str| tensor(&table[name], start, bytes.len());
        let vectors = find("embeddings")?.ok_or(
            "it has no tensor 'embeddings'. Only static models such as those of model2vec run here; run others behind Ollama or LM Studio",
        )?;
        if vectors.columns == 0 || vectors.columns > 8192 || !matches!(vectors.kind, NumberKind::F16 | NumberKind::F32) {
            return Err("its vectors are neither F32 nor F16, or not of 1 to 8,192 numbers".to_owned());
        }
        let list = |tensor: Tensor| (0..tensor.rows * tensor.columns).map(|at| number(&bytes, tensor, at)).collect::<Vec<f32>>();
        let weights = find("weights")?.map(list);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of a vector")]
        let mapping = find("mapping")?.map(list).map(|mapping| mapping.into_iter().map(|number| number as usize).collect());
        Ok(Self { vectors, dimension: vectors.columns, weights, mapping, bytes })
    }

    pub(super) fn dimension(&self) -> usize {
        self.dimension
    }

    /// Adds the vector of a token; returns whether it has one.
    pub(super) fn add(&self, token: usize, sum: &mut [f32]) -> bool {
        let row = self.mapping.as_ref().map_or(Some(token), |mapping| mapping.get(token).copied());
        let Some(row) = row.filter(|row| *row < self.vectors.rows) else { return false };
        let weight = self.weights.as_ref().map_or(1.0, |weights| weights.get(token).copied().unwrap_or(1.0));
        for (at, sum) in sum.iter_mut().enumerate() {
            *sum += weight * number(&self.bytes, self.vectors, row * self.dimension + at);
        }
        true
    }
}

fn number(bytes: &[u8], tensor: Tensor, at: usize) -> f32 {
    let start = tensor.start + at * tensor.kind.size();
    tensor.kind.read(&bytes[start..start + tensor.kind.size()])
}

/// A tensor of the table, whose bytes are there; `None` if the table does not have it.
fn tensor(entry: &Value, data: usize, length: usize) -> Result<Option<Tensor>, String> {
    if entry.is_null() {
        return Ok(None);
    }
    let number = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok());
    let read = || {
        let kind = NumberKind::parse(entry["dtype"].as_str()?)?;
        let shape: Vec<usize> = entry["shape"].as_array()?.iter().map(number).collect::<Option<_>>()?;
        let (rows, columns) = match shape[..] {
            [rows] => (rows, 1),
            [rows, columns] => (rows, columns),
            _ => return None,
        };
        let (from, to) = (number(&entry["data_offsets"][0])?, number(&entry["data_offsets"][1])?);
        let bytes = rows.checked_mul(columns)?.checked_mul(kind.size())?;
        let start = data.checked_add(from)?;
        let fits = to.checked_sub(from)? == bytes && start.checked_add(bytes)? <= length;
        fits.then_some(Tensor { start, rows, columns, kind })
    };
    read().map(Some).ok_or_else(|| "its table names a tensor that is not there as it says, or not of F16, F32, F64, I32 or I64".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A file with these tensors.
    fn file(tensors: &[(&str, &str, &[usize], &[u8])]) -> Vec<u8> {
        let (mut table, mut data) = (serde_json::Map::new(), Vec::new());
        for (name, dtype, shape, bytes) in tensors {
            let from = data.len();
            data.extend_from_slice(bytes);
            table.insert((*name).into(), json!({"dtype": dtype, "shape": shape, "data_offsets": [from, data.len()]}));
        }
        let table = Value::from(table).to_string();
        [&(table.len() as u64).to_le_bytes()[..], table.as_bytes(), &data].concat()
    }

    fn bytes(numbers: &[f32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    #[test]
    fn vectors_are_added_with_their_weights_and_by_their_mapping() {
        let plain = Tensors::parse(file(&[("embeddings", "F32", &[2, 2], &bytes(&[1.0, 2.0, 3.0, 4.0]))])).unwrap();
        let halves: Vec<u8> = [0x3c00_u16, 0xc000, 0x3800, 0x0000].iter().flat_map(|bits| bits.to_le_bytes()).collect();
        let mapped: Vec<u8> = [1_i64, 0, 9].iter().flat_map(|number| number.to_le_bytes()).collect();
        let quantized = [
            ("embeddings", "F16", &[2_usize, 2][..], &halves[..]),
            ("weights", "F32", &[3], &bytes(&[2.0, 1.0, 1.0])),
            ("mapping", "I64", &[3], &mapped),
        ];
        let quantized = Tensors::parse(file(&quantized)).unwrap();
        for (tensors, token, expected) in [
            (&plain, 1, Some([3.0, 4.0])),
            (&plain, 2, None),
            (&quantized, 0, Some([1.0, 0.0])),
            (&quantized, 1, Some([1.0, -2.0])),
            (&quantized, 2, None),
            (&quantized, 3, None),
        ] {
            let mut sum = [0.0; 2];
            assert_eq!(tensors.add(token, &mut sum).then_some(sum), expected, "{token}");
        }
    }

    #[test]
    fn files_that_are_no_model_are_refused() {
        let numbers = bytes(&[1.0, 2.0]);
        let mut cut = file(&[("embeddings", "F32", &[1, 2], &numbers)]);
        cut.truncate(cut.len() - 1);
        for (bad, why) in [
            (vec![], "too short"),
            (u64::MAX.to_le_bytes().to_vec(), "too long"),
            (9_u64.to_le_bytes().to_vec(), "cut off"),
            ([&2_u64.to_le_bytes()[..], b"{["].concat(), "cannot be read"),
            (file(&[]), "no tensor 'embeddings'"),
            (file(&[("embeddings", "I8", &[1, 2], &[1, 2])]), "not of F16"),
            (file(&[("embeddings", "F32", &[usize::MAX, 2], &numbers)]), "not there as it says"),
            (file(&[("embeddings", "F32", &[1, 2, 1], &numbers)]), "not there as it says"),
            (file(&[("embeddings", "I32", &[1, 2], &numbers)]), "neither F32 nor F16"),
            (cut, "not there as it says"),
        ] {
            let said = Tensors::parse(bad).unwrap_err();
            assert!(said.contains(why), "{why}: {said}");
        }
    }

    #[test]
    fn numbers_of_sixteen_bits_are_read() {
        for (bits, number) in
            [(0x0000, 0.0), (0x3c00, 1.0), (0xbc00, -1.0), (0x3555, 0.333_251_95), (0x0001, 5.960_464_5e-8), (0x7bff, 65504.0)]
        {
            assert!((half(bits) - number).abs() <= number.abs() * 1e-6, "{bits:x}");
        }
        assert!(half(0x7e00).is_nan() && half(0x7c00).is_infinite());
    }
}
