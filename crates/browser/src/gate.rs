//! What decides on the connections of pages: the hosts that calls have named, then the gate of the call that runs.
//!
//! A browser is as one long command: a host that was permitted once is permitted until it ends, and a refusal holds for one call.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::{BoxFuture, Connect, EgressRefusal, ports::EgressGate};

/// Hosts that one browser remembers; beyond it, each call decides again.
const MOST_HOSTS: usize = 1000;

haft_contract::opaque_debug!(PageGate);

#[derive(Default)]
pub(crate) struct PageGate {
    state: Mutex<GateState>,
}

#[derive(Default)]
struct GateState {
    permitted: HashSet<(String, u16)>,
    current: Option<Arc<dyn EgressGate>>,
}

impl PageGate {
    /// From now on this call decides. The hosts are those that its plan names, which was permitted.
    pub(crate) fn enter(&self, hosts: Vec<(String, u16)>, gate: Option<Arc<dyn EgressGate>>) {
        let mut state = self.state();
        for host in hosts {
            state.remember(host);
        }
        state.current = gate;
    }

    fn state(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GateState {
    fn remember(&mut self, host: (String, u16)) {
        if self.permitted.len() < MOST_HOSTS {
            self.permitted.insert(host);
        }
    }
}

impl EgressGate for PageGate {
    fn permit<'a>(&'a self, connect: &'a Connect) -> BoxFuture<'a, Result<(), EgressRefusal>> {
        let host = (connect.host.clone(), connect.port);
        let gate = {
            let state = self.state();
            if state.permitted.contains(&host) {
                return Box::pin(std::future::ready(Ok(())));
            }
            state.current.clone()
        };
        Box::pin(async move {
            let Some(gate) = gate else {
                let reason = "no call of the browser tool runs that could be asked about it".to_owned();
                return Err(EgressRefusal { reason, rule: None });
            };
            gate.permit(connect).await?;
            self.state().remember(host);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Only(&'static str);

    impl EgressGate for Only {
        fn permit<'a>(&'a self, connect: &'a Connect) -> BoxFuture<'a, Result<(), EgressRefusal>> {
            let refused = EgressRefusal { reason: format!("only {}", self.0), rule: None };
            Box::pin(std::future::ready(if connect.host == self.0 { Ok(()) } else { Err(refused) }))
        }
    }

    #[tokio::test]
    async fn permitted_hosts_stay_and_refusals_end_with_their_call() {
        let gate = PageGate::default();
        let asked = |host: &'static str, port| {
            let gate = &gate;
            async move { gate.permit(&Connect::tunnel(host, port)).await.map_err(|refusal| refusal.reason) }
        };
        assert!(asked("a.example", 443).await.is_err(), "no call runs");
        gate.enter(vec![("a.example".into(), 443)], Some(Arc::new(Only("b.example"))));
        assert_eq!(asked("a.example", 443).await, Ok(()));
        assert_eq!(asked("b.example", 443).await, Ok(()));
        assert_eq!(asked("c.example", 443).await, Err("only b.example".into()));
        assert_eq!(asked("a.example", 80).await, Err("only b.example".into()), "another port is another host");
        gate.enter(Vec::new(), Some(Arc::new(Only("c.example"))));
        for (host, expected) in [("a.example", true), ("b.example", true), ("c.example", true), ("d.example", false)] {
            assert_eq!(asked(host, 443).await.is_ok(), expected, "{host}");
        }
    }
}
