//! Runs cases on one server, each in a schema of its own: a server takes a second to make.

mod copy;
mod faults;
mod roles;

use std::panic::{AssertUnwindSafe, catch_unwind};

use haft_testkit::PostgresServer;
use tokio::runtime::Runtime;

/// The cases of one test.
pub(crate) struct Cases {
    server: PostgresServer,
    runtime: Runtime,
    failed: Vec<&'static str>,
    count: usize,
}

impl Cases {
    pub(crate) fn new() -> Self {
        Self { server: PostgresServer::start(), runtime: Runtime::new().unwrap(), failed: Vec::new(), count: 0 }
    }

    pub(crate) fn run<F: Future<Output = ()>>(&mut self, name: &'static str, case: impl FnOnce(String) -> F) {
        let address = self.server.schema("postgres");
        self.count += 1;
        // A case that fails says why on its own.
        if catch_unwind(AssertUnwindSafe(|| self.runtime.block_on(case(address)))).is_err() {
            self.failed.push(name);
        }
    }

    pub(crate) fn end(self) {
        let Self { failed, count, .. } = &self;
        assert!(failed.is_empty(), "{} of {count} cases failed: {failed:?}", failed.len());
    }
}
