//! Workers whose clocks are ten minutes ahead of the database and behind it. A small library, loaded before the system's, moves the clock
//! of one process.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::child::{ChildPlan, ChildWorker};
use super::world::{World, new_work};

const LEASE: Duration = Duration::from_secs(2);
/// Longer than the patience of the work: a clock that counted would end it.
const SHIFT: i64 = 600;

const LIBRARY: &str = "#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    int answer = syscall(SYS_clock_gettime, clock, now);
    if (answer == 0 && clock == CLOCK_REALTIME) now->tv_sec += SHIFT;
    return answer;
}
";

fn library(folder: &Path, shift: i64) -> PathBuf {
    let (source, library) = (folder.join("clock.c"), folder.join(format!("clock{shift}.so")));
    std::fs::write(&source, LIBRARY).unwrap();
    let built = Command::new("cc").args(["-shared", "-fPIC", &format!("-DSHIFT=({shift})"), "-o"]).arg(&library).arg(&source).status();
    assert!(built.unwrap().success(), "a C compiler is needed, as for the build");
    library
}

fn shifted_worker(world: &World, name: &str, shift: i64) -> ChildWorker {
    let preload = library(world.folder.path(), shift).display().to_string();
    let mut child = ChildPlan { variables: vec![("LD_PRELOAD".to_owned(), preload)], ..ChildPlan::new(world, name, LEASE) }.start();
    let clock: i64 = child.line("clock ").parse().unwrap();
    let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap();
    assert!((clock - now - shift).abs() < 60, "its clock is {} s from ours", clock - now);
    child
}

#[tokio::test(flavor = "multi_thread")]
async fn clocks_ten_minutes_apart_change_neither_leases_nor_deadlines() {
    for (first, second) in [(SHIFT, -SHIFT), (-SHIFT, SHIFT)] {
        let world = World::new().await;
        let mut holder = tokio::task::block_in_place(|| shifted_worker(&world, "holder", first));
        let given = world.give(new_work("wait-clock", true));
        tokio::task::block_in_place(|| holder.wait_for("Started wait-clock", 1));
        let mut other = tokio::task::block_in_place(|| shifted_worker(&world, "other", second));
        assert_eq!(world.give(new_work("free", false)).await.unwrap().outcome.as_deref(), Some("free by other"));
        // The other one looks for work whose lease is over, more than once.
        tokio::time::sleep(LEASE * 2).await;
        let record = world.work.look("wait-clock").await.unwrap().unwrap();
        assert_eq!((record.attempts, record.worker.as_deref()), (1, Some("holder")), "a lease that is renewed holds: {record:?}");
        holder.signal("KILL");
        tokio::task::block_in_place(|| other.wait_for("Started wait-clock", 1));
        std::fs::write(world.folder.path().join("wait-clock"), "").unwrap();
        let record = given.await.unwrap();
        assert_eq!((record.outcome.as_deref(), record.attempts), (Some("wait-clock by other"), 2), "{record:?}");
    }
}
