//! Every recipe of docs/RECIPES.md: its configuration has no problem, and its cases come out as they say.

use std::fs;
use std::path::Path;

use super::harness::World;

/// A task in words, its configuration and its cases.
struct Recipe {
    title: String,
    config: String,
    cases: String,
}

fn recipes() -> Vec<Recipe> {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/RECIPES.md")).unwrap();
    let sections = page.split("\n## ").skip(1).map(|section| {
        let title = section.lines().next().unwrap().to_owned();
        let blocks: Vec<&str> = section.split("```toml\n").skip(1).map(|block| block.split("```").next().unwrap()).collect();
        let [config, cases] = blocks[..] else { panic!("'{title}' has {} blocks, not a configuration and its cases", blocks.len()) };
        Recipe { title, config: config.to_owned(), cases: cases.to_owned() }
    });
    sections.collect()
}

#[test]
fn every_recipe_does_what_it_says() {
    let mut wrong = Vec::new();
    for Recipe { title, config, cases } in recipes() {
        let world = World::with_config(&config);
        world.write("cases.toml", &cases);
        let checked = world.run(&["config", "check"]);
        let tested = world.run(&["policy", "test", "cases.toml"]);
        if checked.code != 0 || checked.stdout.contains("warning") || tested.code != 0 {
            wrong.push(format!("{title}\n{}{}", checked.all(), tested.all()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn recipes_are_at_least_thirty_and_each_shows_what_passes_and_what_does_not() {
    let recipes = recipes();
    assert!(recipes.len() >= 30, "{}", recipes.len());
    for (number, Recipe { title, cases, .. }) in (1..).zip(&recipes) {
        assert!(title.starts_with(&format!("{number}. ")), "{title}");
        assert!(cases.contains("expect = \"allow\""), "{title}");
        assert!(cases.contains("expect = \"deny\"") || cases.contains("expect = \"ask\""), "{title}");
    }
}
