//! What a snapshot says of a page.

use crate::server::{Page, Server};
use crate::world::World;

pub(crate) async fn page_is_described_with_refs_and_acted_on() {
    let world = World::new();
    let server = Server::of(&[(
        "/",
        Page::html(
            "<title>Form</title><main><h1>Sign up</h1><p>Some <b>bold</b> text.</p><form><label>Name <input name=n></label>\
             <label><input type=checkbox> Agree</label><select aria-label=Colour><option>Red<option selected>Blue</select>\
             <button type=button onclick=\"out.textContent='Hello '+document.forms[0].n.value\">Greet</button></form>\
             <a href='/next'>Next</a><p id=out></p></main>",
        ),
    )])
    .await;
    world.open(&server.url("/")).await;
    println!("{}", world.snapshot().await);
    world.fill("textbox \"Name\"", "Ann").await;
    world.click("button \"Greet\"").await;
    println!("{}", world.snapshot().await);
}
