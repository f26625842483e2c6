//! A clock that stands still until it is set.

use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use haft_contract::Clock;

use crate::sync::lock;

/// A clock that stands still until it is set.
#[derive(Debug)]
pub struct FakeClock {
    now: Mutex<SystemTime>,
    zone: Mutex<String>,
}

impl Default for FakeClock {
    /// 2026-02-26T01:15:30Z on a machine in UTC.
    fn default() -> Self {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_772_068_530);
        Self { now: Mutex::new(now), zone: Mutex::new("UTC".into()) }
    }
}

impl FakeClock {
    /// Sets the time.
    pub fn set(&self, now: SystemTime) {
        *lock(&self.now) = now;
    }
    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        *lock(&self.now) += by;
    }
    /// Moves the machine to another time zone.
    pub fn set_zone(&self, name: impl Into<String>) {
        *lock(&self.zone) = name.into();
    }
}

impl Clock for FakeClock {
    fn now(&self) -> SystemTime {
        *lock(&self.now)
    }
    fn time_zone(&self) -> String {
        lock(&self.zone).clone()
    }
}
