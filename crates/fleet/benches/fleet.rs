//! What a fleet costs, each figure beside a reference of the same run: `cargo bench -p haft-fleet`.
//!
//! The servers are the bench's own, on loopback, with `fsync` on. A ratio that misses its goal is printed and fails nothing: on a machine
//! that others use it says more of them.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a bench")]

mod measures {
    pub(crate) mod bare;
    pub(crate) mod recovery;
    pub(crate) mod sessions;
    pub(crate) mod setting;
}

use measures::{bare, recovery, sessions, setting};

fn main() {
    if recovery::is_child() {
        return recovery::work_until_killed();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    let setting = setting::Setting::new();
    let opened = setting.open();
    runtime.block_on(async {
        let queue = haft_fleet::FleetQueue::connect(&setting.nats.address()).await.unwrap();
        bare::submit(&setting, &opened.work()).await;
        bare::round_trip(&setting, &queue).await;
        sessions::workers(&setting, &queue, &opened).await;
        sessions::many(&setting, &queue, &opened).await;
        sessions::idle(&setting, &queue, &opened).await;
        recovery::kill_workers(&setting, &queue, &opened.work()).await;
    });
}
