//! Events reach every server, and are read again from any number on.

use haft_fleet::FleetEvent;

use super::world::{LONG, World};

async fn read(world: &World, subject: &str, after: Option<u64>, count: usize) -> Vec<FleetEvent> {
    let mut events = world.queue.events(subject, after).await.unwrap();
    assert!(!events.has_missed);
    let mut read = Vec::new();
    for _ in 0..count {
        read.push(tokio::time::timeout(LONG, events.next()).await.unwrap().unwrap());
    }
    read
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_resumed_by_their_numbers() {
    let mut world = World::new().await;
    let mut numbers = Vec::new();
    for (subject, body) in [("session.a", "1"), ("session.b", "2"), ("session.a", "3"), ("session.a", "4")] {
        numbers.push(world.queue.publish_event(subject, body.into()).await.unwrap());
    }
    let told = |events: &[FleetEvent]| events.iter().map(|event| String::from_utf8(event.body.clone()).unwrap()).collect::<Vec<_>>();
    let all = read(&world, "session.>", Some(0), 4).await;
    assert_eq!((told(&all), all[1].subject.as_str()), (["1", "2", "3", "4"].map(str::to_owned).to_vec(), "session.b"));
    assert_eq!(all.iter().map(|event| event.sequence).collect::<Vec<_>>(), numbers);
    assert_eq!(told(&read(&world, "session.a", Some(numbers[0]), 2).await), ["3", "4"], "one server continues where it was");
    assert_eq!(told(&read(&world, "session.a", Some(numbers[2]), 1).await), ["4"], "and another elsewhere");
    world.nats.kill(true);
    world.nats.resume();
    assert_eq!(told(&read(&world, "session.>", Some(numbers[1]), 2).await), ["3", "4"], "a restart loses none");
}
