//! A clock that stands still until it is set.

use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use haft_contract::{LocalOffset, ports::Clock};

use crate::sync::lock;

/// A clock that stands still until it is set.
#[derive(Debug)]
pub struct FakeClock {
    now: Mutex<SystemTime>,
    zone: Mutex<Zone>,
}

#[derive(Debug, Clone, Default)]
struct Zone {
    name: Option<String>,
    offset: Option<LocalOffset>,
}

impl Default for FakeClock {
    /// 2026-02-26T01:15:30Z on a machine in UTC.
    fn default() -> Self {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_772_068_530);
        let offset = LocalOffset { seconds: 0, abbreviation: "UTC".into() };
        Self { now: Mutex::new(now), zone: Mutex::new(Zone { name: Some("UTC".into()), offset: Some(offset) }) }
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
    /// Moves the machine to another time zone, of which it knows the name only.
    pub fn set_zone(&self, name: impl Into<String>) {
        *lock(&self.zone) = Zone { name: Some(name.into()), offset: None };
    }
    /// Moves the machine to a zone without a name, or to one that it does not know.
    pub fn set_offset(&self, offset: Option<LocalOffset>) {
        *lock(&self.zone) = Zone { name: None, offset };
    }
}

impl Clock for FakeClock {
    fn now(&self) -> SystemTime {
        *lock(&self.now)
    }
    fn time_zone(&self) -> Option<String> {
        lock(&self.zone).name.clone()
    }
    fn offset(&self, _at: SystemTime) -> Option<LocalOffset> {
        lock(&self.zone).offset.clone()
    }
}
