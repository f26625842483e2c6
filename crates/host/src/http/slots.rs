//! How many requests go to one host at the same time. A response holds its slot until its body was read or dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Hosts without requests are forgotten beyond so many.
const MAX_IDLE_HOSTS: usize = 256;

/// Slots for each host and port.
#[derive(Debug)]
pub(crate) struct HostSlots {
    each: usize,
    hosts: Mutex<HashMap<(String, u16), Arc<Semaphore>>>,
}

/// The right to one request.
#[derive(Debug)]
pub(crate) struct Slot {
    _permit: Option<OwnedSemaphorePermit>,
}

impl HostSlots {
    pub(crate) fn new(each: usize) -> Self {
        Self { each: each.max(1), hosts: Mutex::default() }
    }

    /// Waits for a slot of a host.
    pub(crate) async fn take(&self, host: &str, port: u16) -> Slot {
        let semaphore = self.semaphore_for(host, port);
        // It is never closed.
        Slot { _permit: semaphore.acquire_owned().await.ok() }
    }

    fn semaphore_for(&self, host: &str, port: u16) -> Arc<Semaphore> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() >= MAX_IDLE_HOSTS {
            hosts.retain(|_, semaphore| Arc::strong_count(semaphore) > 1);
        }
        let semaphore = hosts.entry((host.to_owned(), port)).or_insert_with(|| Arc::new(Semaphore::new(self.each)));
        Arc::clone(semaphore)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn is_ready<F: Future>(future: F) -> bool {
        tokio::select! { biased; _ = future => true, () = std::future::ready(()) => false }
    }

    #[tokio::test]
    async fn each_host_has_so_many_slots() {
        let slots = HostSlots::new(2);
        let first = slots.take("a", 80).await;
        let second = slots.take("a", 80).await;
        assert!(!is_ready(slots.take("a", 80)).await);
        assert!(is_ready(slots.take("a", 81)).await && is_ready(slots.take("b", 80)).await);
        drop(first);
        assert!(is_ready(slots.take("a", 80)).await);
        drop(second);
    }

    #[tokio::test]
    async fn idle_hosts_are_forgotten_and_busy_ones_are_not() {
        let slots = HostSlots::new(1);
        let busy = slots.take("busy", 80).await;
        for number in 0..1000_u16 {
            slots.take("idle", number).await;
        }
        assert!(slots.hosts.lock().unwrap().len() <= MAX_IDLE_HOSTS);
        assert!(!is_ready(slots.take("busy", 80)).await);
        drop(busy);
    }
}
