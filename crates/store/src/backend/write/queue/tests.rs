use std::sync::Arc;
use std::time::Instant;

use super::*;

/// What the records of these tests take in memory.
const BYTES: usize = 8 * 1024;

fn queue() -> Arc<WriteQueue> {
    Arc::new(WriteQueue::new("haft.db".into(), Duration::from_secs(1)))
}

fn append(queue: &WriteQueue) {
    queue.append_with(BYTES - RECORD_BYTES, Box::new(|| panic!("only the writer makes it"))).unwrap();
}

/// Takes a group without making its records.
fn take(queue: &WriteQueue) -> Vec<QueueItem> {
    let mut state = queue.lock();
    for item in &mut state.items {
        item.change = StoreChange::Nothing;
    }
    drop(state);
    queue.next_group(Vec::new()).unwrap()
}

#[test]
fn calls_that_are_far_ahead_wait_for_a_writer_that_works() {
    let queue = queue();
    let most = MOST_AHEAD / BYTES + 1;
    (0..most).for_each(|_| append(&queue));
    let (writer, started) = (Arc::clone(&queue), Instant::now());
    let writing = std::thread::spawn(move || {
        let group = take(&writer);
        let (taken, answers) = (group.len(), group.iter().map(|_| Ok(0)).collect());
        writer.settle(group, answers);
        taken
    });
    append(&queue);
    assert!(started.elapsed() < LONGEST_AHEAD * 10, "it continued when the group was taken");
    let taken = writing.join().unwrap();
    assert_eq!(taken, GROUP_BYTES / BYTES, "a group is bounded");
    assert_eq!(queue.lock().bytes, (most + 1 - taken) * BYTES, "what was taken waits no more");
}

#[test]
fn calls_wait_once_for_a_writer_that_is_held_up() {
    let queue = queue();
    let ahead = MOST_AHEAD / BYTES + 1;
    (0..ahead).for_each(|_| append(&queue));
    let started = Instant::now();
    append(&queue);
    assert!(started.elapsed() >= LONGEST_AHEAD, "the first one waited");
    assert!(queue.lock().held_up, "the others do not");
    (0..8).for_each(|_| append(&queue));
    assert_eq!(queue.lock().items.len(), ahead + 9, "and none was refused");
    queue.request(StoreChange::Undone("r".into())).unwrap();
    take(&queue);
    assert!(queue.lock().urgent, "a caller waits for what is behind the first group");
    assert!(!queue.lock().held_up, "the writer works again");
}
