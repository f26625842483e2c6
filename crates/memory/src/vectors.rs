//! Vectors in memory: one byte for each number to find the nearest, which are then compared exactly.

use std::sync::Arc;

use haft_store::{MemoryStore, StoreError, StoredVector, VectorRow};

/// How many of the nearest are compared exactly.
const COMPARED: usize = 200;

/// Vectors, and the state of the index that they are of.
pub(crate) type StatedSet = (i64, Arc<VectorSet>);

/// The vectors of one model.
#[derive(Debug, Clone, Default)]
pub(crate) struct VectorSet {
    dimension: usize,
    /// Their numbers in the index, in order.
    ids: Vec<i64>,
    numbers: Vec<i8>,
    /// What one step of a vector's numbers is worth.
    steps: Vec<f32>,
    /// Whether some vectors have another dimension than the rest.
    pub(crate) is_mixed: bool,
}

impl VectorSet {
    /// The vectors of the index, and its state; those that were read before, at some state, are not read again.
    pub(crate) fn current(database: &dyn MemoryStore, model: &str, earlier: Option<StatedSet>) -> Result<StatedSet, StoreError> {
        let state = database.changes()?;
        let mut set = match earlier {
            Some((known, set)) if known == state => return Ok((known, set)),
            Some((_, set)) => set,
            None => {
                database.prune_vectors(model)?;
                Arc::default()
            }
        };
        Arc::make_mut(&mut set).add_new(database, model)?;
        if set.is_mixed {
            // Another process may have made all of them anew.
            set = Arc::default();
            Arc::make_mut(&mut set).add_new(database, model)?;
        }
        Ok((database.changes()?, set))
    }

    /// Adds the vectors that the index got since this was done last.
    fn add_new(&mut self, database: &dyn MemoryStore, model: &str) -> Result<(), StoreError> {
        let after = self.ids.last().copied().unwrap_or(0);
        if after == 0 {
            // Most are read at once: a list that grows by itself would take twice as much memory.
            let vectors = database.count_vectors(model)?;
            self.ids.reserve_exact(vectors);
            self.steps.reserve_exact(vectors);
        }
        database.each_vector(model, after, &mut |row| self.add(&row))
    }

    fn add(&mut self, row: &VectorRow<'_>) {
        let dimension = row.bytes.len() / 4;
        if self.dimension == 0 {
            self.dimension = dimension;
            self.numbers.reserve_exact(self.ids.capacity() * dimension);
        }
        if dimension != self.dimension || dimension == 0 {
            self.is_mixed = true;
            return;
        }
        let numbers = || row.bytes.as_chunks().0.iter().map(|part| f32::from_le_bytes(*part));
        let largest = numbers().fold(0.0_f32, |largest, number| largest.max(number.abs()));
        let step = if largest > 0.0 { largest / 127.0 } else { 1.0 };
        self.numbers.extend(numbers().map(|number| small(number / step)));
        self.steps.push(step);
        self.ids.push(row.id);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub(crate) fn dimension(&self) -> usize {
        self.dimension
    }

    /// The chunks nearest to a vector of length 1, with their cosines, the nearest first.
    pub(crate) fn nearest(&self, query: &[f32], most: usize, database: &dyn MemoryStore) -> Result<Vec<(i64, f64)>, StoreError> {
        if query.len() != self.dimension || self.is_empty() {
            return Ok(Vec::new());
        }
        let mut scores = self.scores(query);
        let mut exact = Vec::new();
        // Vectors of texts that are gone are still known: if many are, those that come next are looked at.
        while !scores.is_empty() && exact.len() < most {
            let compared = COMPARED.max(most).min(scores.len());
            scores.select_nth_unstable_by(compared - 1, |one, other| other.0.total_cmp(&one.0));
            for (_, at) in scores.drain(..compared) {
                if let Some(StoredVector { numbers, chunks }) = database.vector(self.ids[at])? {
                    let cosine = f64::from(numbers.iter().zip(query).map(|(one, other)| one * other).sum::<f32>());
                    exact.extend(chunks.into_iter().map(|chunk| (chunk, cosine)));
                }
            }
        }
        exact.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        exact.truncate(most);
        Ok(exact)
    }

    /// About how near each vector is.
    fn scores(&self, query: &[f32]) -> Vec<(f32, usize)> {
        let largest = query.iter().fold(0.0_f32, |largest, number| largest.max(number.abs())).max(f32::MIN_POSITIVE);
        let coarse: Vec<i8> = query.iter().map(|number| small(number / largest * 127.0)).collect();
        let vectors = self.numbers.chunks_exact(self.dimension).zip(&self.steps);
        vectors.enumerate().map(|(at, (numbers, step))| (product(numbers, &coarse) * step, at)).collect()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the value is within the bounds")]
fn small(number: f32) -> i8 {
    number.round().clamp(-127.0, 127.0) as i8
}

#[expect(clippy::cast_precision_loss, reason = "it is for finding the nearest, which are compared exactly")]
fn product(one: &[i8], other: &[i8]) -> f32 {
    one.iter().zip(other).map(|(one, other)| i32::from(*one) * i32::from(*other)).sum::<i32>() as f32
}

/// The vector with length 1; absent if it has no direction or is no vector at all.
pub(crate) fn normalized(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    let length = vector.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
    if !length.is_finite() || length <= 0.0 {
        return None;
    }
    for number in &mut vector {
        #[expect(clippy::cast_possible_truncation, reason = "a vector has such numbers")]
        let scaled = (f64::from(*number) / length) as f32;
        *number = scaled;
    }
    Some(vector)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_without_a_direction_are_none() {
        assert_eq!(normalized(vec![3.0, 4.0]), Some(vec![0.6, 0.8]));
        for bad in [vec![], vec![0.0, 0.0], vec![f32::NAN, 1.0], vec![f32::INFINITY, 1.0]] {
            assert_eq!(normalized(bad.clone()), None, "{bad:?}");
        }
        assert_eq!(normalized(vec![f32::MAX, 0.0]), Some(vec![1.0, 0.0]));
    }
}
