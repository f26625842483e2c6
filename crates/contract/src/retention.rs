//! How long stored data stays: limits on its age and size, and the entries that exceed them.

use std::time::{Duration, Instant, SystemTime};

/// A limit on size removes nothing that was written in this time: a running process may be about to use it.
const MIN_AGE: Duration = Duration::from_hours(1);
/// How many entries are removed at once, between two looks at the deadline.
const BATCH: usize = 200;

/// Limits on one kind of stored data; `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RetentionLimit {
    /// Older entries go.
    pub age: Option<Duration>,
    /// When all entries together are larger, the oldest go.
    pub bytes: Option<u64>,
}

/// One entry of stored data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEntry<K> {
    /// What it is removed by.
    pub key: K,
    /// When it was last written.
    pub written: SystemTime,
    /// Its size.
    pub bytes: u64,
    /// Whether a running process, job or session uses it.
    pub in_use: bool,
}

/// Stored data of one kind, whose old entries can be removed.
pub trait Prunable {
    /// Names an entry.
    type Key;
    /// What can go wrong.
    type Error;
    /// All entries, in any order.
    fn entries(&self) -> Result<Vec<StoredEntry<Self::Key>>, Self::Error>;
    /// Removes entries. One that is gone already, or came into use by now, is passed over.
    fn remove(&self, keys: Vec<Self::Key>) -> Result<(), Self::Error>;
}

/// What goes, and what stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PruneSummary {
    /// How many entries go.
    pub removed: u64,
    /// Their size.
    pub removed_bytes: u64,
    /// How many entries stay.
    pub kept: u64,
    /// Their size.
    pub kept_bytes: u64,
    /// How many of those exceed a limit, and stay because they are in use.
    pub in_use: u64,
    /// Whether time ran out before everything was removed.
    pub is_partial: bool,
}

impl RetentionLimit {
    /// A limit on age alone.
    pub const fn days(days: u64) -> Self {
        Self { age: Some(Duration::from_hours(24 * days)), bytes: None }
    }

    /// Whether an entry that was written then exceeds the limit on age.
    pub fn is_expired(&self, written: SystemTime, now: SystemTime) -> bool {
        self.age.is_some_and(|limit| age(written, now) > limit)
    }

    /// The entries that exceed a limit and are not in use, the oldest first.
    fn select<K>(&self, mut entries: Vec<StoredEntry<K>>, now: SystemTime) -> (Vec<StoredEntry<K>>, PruneSummary) {
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.written));
        let (mut selected, mut summary) = (Vec::new(), PruneSummary::default());
        for entry in entries {
            let is_beyond = self.bytes.is_some_and(|limit| summary.kept_bytes.saturating_add(entry.bytes) > limit);
            let goes = self.is_expired(entry.written, now) || (is_beyond && age(entry.written, now) > MIN_AGE);
            if goes && !entry.in_use {
                summary.removed += 1;
                summary.removed_bytes = summary.removed_bytes.saturating_add(entry.bytes);
                selected.push(entry);
            } else {
                summary.kept += 1;
                summary.kept_bytes = summary.kept_bytes.saturating_add(entry.bytes);
                summary.in_use += u64::from(goes);
            }
        }
        selected.reverse();
        (selected, summary)
    }

    /// What [`prune`](Self::prune) would remove.
    pub fn survey<P: Prunable>(&self, data: &P, now: SystemTime) -> Result<PruneSummary, P::Error> {
        Ok(self.select(data.entries()?, now).1)
    }

    /// Removes the entries that exceed a limit, the oldest first, until the deadline.
    pub fn prune<P: Prunable>(&self, data: &P, now: SystemTime, deadline: Option<Instant>) -> Result<PruneSummary, P::Error> {
        let (selected, mut summary) = self.select(data.entries()?, now);
        let mut left = selected.into_iter().peekable();
        while left.peek().is_some() {
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                let rest: Vec<_> = left.collect();
                summary.give_back(&rest);
                return Ok(summary);
            }
            data.remove(left.by_ref().take(BATCH).map(|entry| entry.key).collect())?;
        }
        Ok(summary)
    }
}

impl PruneSummary {
    /// Counts entries that were selected and not removed.
    fn give_back<K>(&mut self, rest: &[StoredEntry<K>]) {
        let (entries, bytes) = (rest.len() as u64, rest.iter().map(|entry| entry.bytes).sum::<u64>());
        self.removed -= entries;
        self.removed_bytes = self.removed_bytes.saturating_sub(bytes);
        self.kept += entries;
        self.kept_bytes = self.kept_bytes.saturating_add(bytes);
        self.is_partial = true;
    }
}

/// The age of something that was written then; what is from the future is new.
fn age(written: SystemTime, now: SystemTime) -> Duration {
    now.duration_since(written).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::convert::Infallible;

    use super::*;

    const HOUR: u64 = 3600;

    /// Entries by name: their age in hours, their size, whether they are in use.
    struct Stock(RefCell<Vec<(&'static str, u64, u64, bool)>>);

    impl Stock {
        fn now() -> SystemTime {
            SystemTime::UNIX_EPOCH + Duration::from_hours(24 * 365)
        }
        fn names(&self) -> Vec<&'static str> {
            self.0.borrow().iter().map(|(name, ..)| *name).collect()
        }
    }

    impl Prunable for Stock {
        type Key = &'static str;
        type Error = Infallible;
        fn entries(&self) -> Result<Vec<StoredEntry<&'static str>>, Infallible> {
            let entry = |(key, hours, bytes, in_use): &(&'static str, u64, u64, bool)| StoredEntry {
                key: *key,
                written: Self::now() - Duration::from_secs(hours * HOUR),
                bytes: *bytes,
                in_use: *in_use,
            };
            Ok(self.0.borrow().iter().map(entry).collect())
        }
        fn remove(&self, keys: Vec<&'static str>) -> Result<(), Infallible> {
            self.0.borrow_mut().retain(|(name, ..)| !keys.contains(name));
            Ok(())
        }
    }

    fn stock() -> Stock {
        Stock(RefCell::new(vec![("old", 100, 10, false), ("new", 0, 50, false), ("used", 90, 30, true), ("middle", 20, 20, false)]))
    }

    #[test]
    fn what_is_too_old_or_too_much_goes_and_what_is_in_use_stays() {
        let hours = |hours: u64| Some(Duration::from_hours(hours));
        for (age, bytes, left, in_use) in [
            (None, None, vec!["old", "new", "used", "middle"], 0),
            (hours(50), None, vec!["new", "used", "middle"], 1),
            (hours(10), None, vec!["new", "used"], 1),
            (None, Some(100), vec!["new", "used", "middle"], 0),
            (None, Some(80), vec!["new", "used", "middle"], 1),
            (None, Some(60), vec!["new", "used"], 1),
            // The newest is younger than an hour.
            (None, Some(1), vec!["new", "used"], 1),
            (hours(1000), Some(1000), vec!["old", "new", "used", "middle"], 0),
        ] {
            let (stock, limit) = (stock(), RetentionLimit { age, bytes });
            let would = limit.survey(&stock, Stock::now()).unwrap();
            assert_eq!(stock.names().len(), 4, "a survey removes nothing");
            let did = limit.prune(&stock, Stock::now(), None).unwrap();
            assert_eq!((stock.names(), did.in_use, did.kept), (left.clone(), in_use, left.len() as u64), "{limit:?}");
            assert_eq!(would, did, "{limit:?}");
            assert_eq!((did.kept + did.removed, did.kept_bytes + did.removed_bytes), (4, 110), "{limit:?}");
        }
    }

    #[test]
    fn a_deadline_that_passed_removes_nothing_and_says_so() {
        let stock = stock();
        let did = RetentionLimit::days(1).prune(&stock, Stock::now(), Some(Instant::now())).unwrap();
        let expected = PruneSummary { removed: 0, removed_bytes: 0, kept: 4, kept_bytes: 110, in_use: 1, is_partial: true };
        assert_eq!((did, stock.names().len()), (expected, 4));
    }

    #[test]
    fn what_is_from_the_future_is_new() {
        let limit = RetentionLimit { age: Some(Duration::ZERO), bytes: Some(0) };
        let before = SystemTime::UNIX_EPOCH - Duration::from_hours(24 * 365);
        assert!(!limit.is_expired(Stock::now(), before));
        let summary = limit.survey(&stock(), before).unwrap();
        assert_eq!((summary.removed, summary.kept), (0, 4));
    }
}
