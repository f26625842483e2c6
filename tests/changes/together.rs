//! Calls of one response leave the same files and give the same results, whether they run at once or one after the other.

use crate::changing::{Worked, calls, hold, prepare, start};
use crate::world::{World, numbered, outcomes};

#[test]
fn at_once_and_one_after_the_other_come_to_the_same() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let worked = Worked::default();
    hold(30, &(start(), calls(12)), |(start, calls)| {
        let (at_once, in_turn) = (World::new(), World::new());
        for world in [&at_once, &in_turn] {
            prepare(world, &start);
        }
        runtime.block_on(async {
            let results = at_once.together(numbered(calls.clone())).await;
            let expected = in_turn.one_by_one(numbered(calls)).await;
            worked.count(&results);
            assert_eq!(outcomes(&results), outcomes(&expected));
        });
        assert_eq!(at_once.tree(), in_turn.tree());
    });
    worked.assert_each();
}
