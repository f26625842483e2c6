//! Forty tasks on pages, each done by a scripted model: it knows the page by snapshots alone, and acts by refs alone.

use haft_contract::ports::{BrowserAction, FieldValue, MouseButton, PageAct, PageFile, WaitCondition};

use crate::server::{Arrived, Page, Server};
use crate::tasks::Step::{
    Arm, Await, Check, Click, ClickWith, Double, Download, Drag, Fill, Hover, Press, PressIn, Select, Slowly, Submit, Type, Upload,
};
use crate::world::{World, click, reference};

/// A step of the model. Elements are named by words of their line in the snapshot.
#[derive(Debug, Clone, Copy)]
enum Step {
    Click(&'static str),
    Double(&'static str),
    ClickWith(&'static str, MouseButton, &'static [&'static str]),
    Type(&'static str, &'static str),
    Submit(&'static str, &'static str),
    Slowly(&'static str, &'static str),
    Fill(&'static [(&'static str, &'static str)]),
    Select(&'static str, &'static [&'static str]),
    Press(&'static str),
    PressIn(&'static str, &'static str),
    Hover(&'static str),
    Drag(&'static str, &'static str),
    /// Waits for a text.
    Await(&'static str),
    /// How the next dialog is answered.
    Arm(bool, Option<&'static str>),
    Upload(&'static str, &'static [(&'static str, &'static str)]),
    /// The file that a click brings has this name and content.
    Download(&'static str, &'static str, &'static str),
    /// The snapshot has this now.
    Check(&'static str),
}

struct Task {
    name: &'static str,
    page: &'static str,
    steps: &'static [Step],
    /// What the snapshot has at the end.
    done: &'static str,
}

const fn task(name: &'static str, page: &'static str, steps: &'static [Step], done: &'static str) -> Task {
    Task { name, page, steps, done }
}

#[rustfmt::skip] // one page, one line
const TASKS: &[Task] = &[
    task("press a button", "<button onclick=\"o.textContent='Pressed'\">Press me</button><p id=o>", &[Click("\"Press me\"")], "- paragraph: Pressed"),
    task("follow a link", "<a href='/p/target'>Target page</a>", &[Click("\"Target page\"")], "heading \"You are here\""),
    task("fill in a form", "<form action=/p/echo><input name=a aria-label=First><input name=b aria-label=Last><button>Send</button></form>", &[Fill(&[("\"First\"", "Ada"), ("\"Last\"", "Lovelace")]), Click("\"Send\"")], "a=Ada&b=Lovelace"),
    task("post a form", "<form action=/p/echo method=post><textarea name=t aria-label=Text></textarea><button>Send</button></form>", &[Type("\"Text\"", "two words"), Click("\"Send\"")], "t=two+words"),
    task("submit with Enter", "<form action=/p/echo><input name=q type=search aria-label=Search></form>", &[Submit("\"Search\"", "cats")], "q=cats"),
    task("sign in", "<form action=/p/login method=post><label>User <input name=u></label><label>Password <input name=p type=password></label><button>Sign in</button></form>", &[Fill(&[("textbox \"User\"", "ann"), ("textbox \"Password\"", "secret")]), Click("\"Sign in\"")], "Welcome, ann"),
    task("replace a text", "<input aria-label=City value=Rome oninput=\"o.textContent=value\"><p id=o>", &[Type("\"City\"", "Oslo")], "- paragraph: Oslo"),
    task("clear a field", "<input aria-label=City value=Rome oninput=\"o.textContent='now '+JSON.stringify(value)\"><p id=o>", &[Type("\"City\"", "")], "now \"\""),
    task("type key by key", "<input aria-label=Code onkeydown=\"o.textContent+=event.key\"><p id=o>", &[Slowly("\"Code\"", "abc1")], "- paragraph: abc1"),
    task("check a box", "<label><input type=checkbox onchange=\"o.textContent=checked\"> Newsletter</label><p id=o>", &[Click("checkbox \"Newsletter\"")], "checkbox \"Newsletter\" [checked]"),
    task("check by filling", "<label><input type=checkbox> Terms</label>", &[Fill(&[("checkbox \"Terms\"", "true")])], "[checked]"),
    task("leave a checked box", "<label><input type=checkbox checked onclick=\"o.textContent='touched'\"> Terms</label><p id=o>untouched</p>", &[Fill(&[("checkbox \"Terms\"", "true")])], "- paragraph: untouched"),
    task("choose a radio button", "<label><input type=radio name=r> Small</label><label><input type=radio name=r> Large</label>", &[Click("radio \"Large\"")], "radio \"Large\" [checked]"),
    task("select an option", "<select aria-label=Size onchange=\"o.textContent=value\"><option value=s>Small<option value=l>Large</select><p id=o>", &[Select("combobox \"Size\"", &["Large"])], "- paragraph: l"),
    task("select several options", "<select multiple aria-label=Fruit onchange=\"o.textContent=[...selectedOptions].map(x=>x.text)\"><option>Fig<option>Kiwi<option>Plum</select><p id=o>", &[Select("listbox \"Fruit\"", &["Fig", "Plum"])], "- paragraph: Fig,Plum"),
    task("click an option", "<select aria-label=Size onchange=\"o.textContent=value\"><option>Small<option>Large</select><p id=o>", &[Click("option \"Large\"")], "- paragraph: Large"),
    task("set a date", "<input type=date aria-label=Day onchange=\"o.textContent=value\"><p id=o>", &[Type("\"Day\"", "2026-11-18")], "- paragraph: 2026-11-18"),
    task("set a slider", "<input type=range min=0 max=10 aria-label=Volume oninput=\"o.textContent='at '+value\"><p id=o>", &[Type("\"Volume\"", "7")], "- paragraph: at 7"),
    task("write into an editor", "<div contenteditable aria-label=Editor oninput=\"o.textContent='has '+this.innerText\">old</div><p id=o>", &[Type("\"Editor\"", "new words")], "- paragraph: has new words"),
    task("press a key", "<p id=o><script>onkeydown=(e)=>o.textContent=(e.ctrlKey?'Control+':'')+e.key</script>", &[Press("Control+k")], "- paragraph: Control+k"),
    task("press a key in a field", "<input aria-label=Line onkeydown=\"if(event.key==='Escape')o.textContent='left'\"><p id=o>", &[PressIn("\"Line\"", "Escape")], "- paragraph: left"),
    task("move by keys", "<div role=listbox aria-label=Pick tabindex=0><div role=option>One</div><div role=option>Two</div></div><p id=o><script>let i=-1;onkeydown=(e)=>{if(e.key==='ArrowDown')o.textContent='at '+(++i)}</script>", &[PressIn("\"Pick\"", "ArrowDown"), Press("ArrowDown")], "- paragraph: at 1"),
    task("accept a question", "<button onclick=\"o.textContent=confirm('Sure?')?'yes':'no'\">Delete</button><p id=o>", &[Arm(true, None), Click("\"Delete\"")], "- paragraph: yes"),
    task("decline a question", "<button onclick=\"o.textContent=confirm('Sure?')?'yes':'no'\">Delete</button><p id=o>", &[Click("\"Delete\"")], "- paragraph: no"),
    task("answer a prompt", "<button onclick=\"o.textContent='Hi '+prompt('Name?')\">Greet</button><p id=o>", &[Arm(true, Some("Bo")), Click("\"Greet\"")], "- paragraph: Hi Bo"),
    task("pass an alert", "<button onclick=\"alert('Careful');o.textContent='passed'\">Go</button><p id=o>", &[Click("\"Go\"")], "- paragraph: passed"),
    task("use a dialog", "<button onclick=d.showModal()>Open</button><dialog id=d aria-label=Settings><button onclick=\"d.close();o.textContent='saved'\">Save</button></dialog><p id=o>", &[Click("\"Open\""), Check("dialog \"Settings\""), Click("\"Save\"")], "- paragraph: saved"),
    task("drag and drop", "<div draggable=true id=a role=button aria-label=Card ondragstart=\"event.dataTransfer.setData('text/plain','card')\" style='width:80px;height:40px;background:#ccc'>Card</div><div role=button aria-label=Bin ondragover=event.preventDefault() ondrop=\"event.preventDefault();o.textContent='dropped '+event.dataTransfer.getData('text/plain')\" style='margin-top:80px;width:120px;height:60px;background:#eee'>Bin</div><p id=o>", &[Drag("\"Card\"", "\"Bin\"")], "- paragraph: dropped card"),
    task("drag by the mouse", "<div id=h role=button aria-label=Handle style='position:absolute;left:10px;top:10px;width:40px;height:40px;background:#ccc'></div><div role=button aria-label=Goal style='position:absolute;left:200px;top:200px;width:60px;height:60px;background:#eee'></div><p id=o><script>let d;h.onmousedown=()=>d=1;onmousemove=(e)=>{if(d){h.style.left=e.clientX-60+'px';h.style.top=e.clientY-60+'px'}};onmouseup=(e)=>{if(d)o.textContent='let go at '+(e.clientX>199)}</script>", &[Drag("\"Handle\"", "\"Goal\"")], "- paragraph: let go at true"),
    task("upload files", "<input type=file multiple aria-label=Files onchange=\"Promise.all([...files].map(f=>f.text())).then(t=>o.textContent=[...files].map(f=>f.name)+' '+t)\"><p id=o>", &[Upload("\"Files\"", &[("a.txt", "alpha"), ("b.txt", "beta")]), Await("alpha,beta")], "a.txt,b.txt alpha,beta"),
    task("upload by a button", "<button onclick=f.click()>Choose</button><input type=file id=f hidden onchange=\"o.textContent='got '+files[0].name\"><p id=o>", &[Upload("\"Choose\"", &[("pic.png", "x")]), Await("got")], "- paragraph: got pic.png"),
    task("download a file", "<a href='/p/report'>Report</a>", &[Download("\"Report\"", "report.csv", "a,b\n1,2\n")], "link \"Report\""),
    task("wait for a late element", "<button onclick=\"setTimeout(()=>o.innerHTML='<button onclick=&quot;this.textContent=\\'Finished\\'&quot;>Continue</button>',600)\">Start</button><div id=o></div>", &[Click("\"Start\""), Await("Continue"), Click("\"Continue\"")], "button \"Finished\""),
    task("wait for a button to be enabled", "<button id=b disabled onclick=\"this.textContent='Sent'\">Send</button><script>setTimeout(()=>b.disabled=false,700)</script>", &[Click("\"Send\"")], "button \"Sent\""),
    // A key that arrives while the page still scrolls counts for the page as it was: the second one waits for the end of the first.
    task("read an endless list", "<p id=s></p><div id=l></div><script>let n=0;const more=()=>{for(let i=0;i<30;i++)l.insertAdjacentHTML('beforeend','<p>Item '+(++n)+'</p>')};more();onscroll=()=>{if(innerHeight+scrollY>document.body.scrollHeight-50&&n<150)more()};onscrollend=()=>s.textContent='Rests at '+n</script>", &[Press("End"), Await("Rests at 60"), Press("End"), Await("Item 90")], "- paragraph: Item 90"),
    task("find a row of a table", "<table><tr><th>Name<th>Price<th>Buy</tr><tr><td>Pear<td>2<td><button onclick=\"o.textContent='Pear bought'\">Buy pear</button></tr><tr><td>Plum<td>3<td><button onclick=\"o.textContent='Plum bought'\">Buy plum</button></tr></table><p id=o>", &[Check("- cell \"Plum\""), Click("\"Buy plum\"")], "- paragraph: Plum bought"),
    task("work in a frame", "<iframe title=Inner srcdoc=\"<input aria-label=Note oninput='o.textContent=value'><p id=o>\"></iframe>", &[Type("\"Note\"", "inside")], "- paragraph: inside"),
    task("work in a shadow root", "<x-box></x-box><script>customElements.define('x-box',class extends HTMLElement{constructor(){super();const r=this.attachShadow({mode:'open'});r.innerHTML='<button>Deep</button><p></p>';r.querySelector('button').onclick=()=>r.querySelector('p').textContent='deep click'}})</script>", &[Click("\"Deep\"")], "- paragraph: deep click"),
    task("open a menu by hovering", "<style>ul ul{display:none}li:hover>ul{display:block}</style><ul><li tabindex=0>Menu<ul><li><a href='/p/target'>Entry</a></li></ul></li></ul>", &[Hover("listitem"), Click("\"Entry\"")], "heading \"You are here\""),
    task("click twice, and with keys", "<button ondblclick=\"o.textContent+='double '\" onclick=\"if(event.shiftKey)o.textContent+='shift '\" oncontextmenu=\"event.preventDefault();o.textContent+='menu '\">Box</button><p id=o>", &[Double("\"Box\""), ClickWith("\"Box\"", MouseButton::Left, &["Shift"]), ClickWith("\"Box\"", MouseButton::Right, &[])], "- paragraph: double shift menu"),
    task("use tabs of a page", "<div role=tablist><button role=tab aria-selected=true>One</button><button role=tab onclick=\"this.setAttribute('aria-selected',true);p.textContent='Second panel'\">Two</button></div><div role=tabpanel id=p>First panel</div>", &[Click("tab \"Two\"")], "tab \"Two\" [selected] [focused]"),
    task("expand details", "<details><summary>More</summary><p>Hidden part</p></details>", &[Click("button \"More\"")], "- paragraph: Hidden part"),
    task("check out in a shop", "<h1>Shop</h1><button onclick=\"n++;c.textContent='Basket: '+n\">Add tea</button><p id=c>Basket: 0</p><form action=/p/echo><label>Name <input name=name required></label><select name=ship aria-label=Shipping><option value=post>Post<option value=fast>Fast</select><label><input type=checkbox name=ok value=1 required> Accept terms</label><button>Order</button></form><script>let n=0</script>", &[Click("\"Add tea\""), Click("\"Add tea\""), Check("Basket: 2"), Type("textbox \"Name\"", "Cy"), Select("\"Shipping\"", &["Fast"]), Click("checkbox \"Accept terms\""), Click("\"Order\"")], "name=Cy&ship=fast&ok=1"),
];

fn pages(request: &Arrived) -> Option<Page> {
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let sent = if request.body.is_empty() { query } else { &request.body };
    match path.strip_prefix("/p/") {
        Some("target") => return Some(Page::html("<h1>You are here</h1>")),
        Some("echo") => return Some(Page::html(&format!("<pre>{}</pre>", sent.replace('<', "&lt;")))),
        Some("report") => return Some(Page::file("report.csv", "a,b\n1,2\n")),
        Some("login") if request.body == "u=ann&p=secret" => return Some(Page::redirect("/p/home").with_header("Set-Cookie", "user=ann")),
        Some("home") => {
            return Some(Page::html(
                "<h1></h1><script>document.querySelector('h1').textContent='Welcome, '+document.cookie.split('=')[1]</script>",
            ));
        }
        _ => {}
    }
    let task = TASKS.get(path.strip_prefix("/task/")?.parse::<usize>().ok()?)?;
    Some(Page::html(&format!("<title>{}</title>{}", task.name, task.page)))
}

pub(crate) async fn forty_tasks_are_done_by_snapshots_and_refs_alone() {
    assert!(TASKS.len() >= 40, "{}", TASKS.len());
    let world = World::new();
    let server = Server::at("127.0.0.2", pages).await;
    let mut faults = Vec::new();
    for (at, task) in TASKS.iter().enumerate() {
        world.navigate(&server.url(&format!("/task/{at}"))).await;
        let outcome = do_task(&world, task).await;
        let snapshot = world.snapshot().await;
        if let Err(why) = outcome {
            faults.push(format!("{}: {why}\n{snapshot}", task.name));
        } else if !without_refs(&snapshot).contains(task.done) {
            faults.push(format!("{}: no '{}' in\n{snapshot}", task.name, task.done));
        }
    }
    assert!(faults.is_empty(), "{} of {} tasks failed:\n{}", faults.len(), TASKS.len(), faults.join("\n"));
}

/// A snapshot as it is whatever came before.
fn without_refs(snapshot: &str) -> String {
    let mut parts = snapshot.split(" [ref=");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(']').map_or(part, |(_, rest)| rest))
}

async fn do_task(world: &World, task: &Task) -> Result<(), String> {
    for step in task.steps {
        do_step(world, *step).await.map_err(|why| format!("{step:?}: {why}"))?;
    }
    Ok(())
}

async fn find(world: &World, words: &str) -> Result<String, String> {
    reference(&world.snapshot().await, words).ok_or_else(|| format!("no element with '{words}'"))
}

async fn do_step(world: &World, step: Step) -> Result<(), String> {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let typed = |element, text: &str, submit, slowly| PageAct::Type { element, text: text.to_owned(), submit, slowly };
    let clicked = |element, button, double, modifiers| PageAct::Click { element, button, double, modifiers };
    let act = match step {
        Click(words) => click(&find(world, words).await?),
        Double(words) => clicked(find(world, words).await?, MouseButton::Left, true, Vec::new()),
        ClickWith(words, button, keys) => clicked(find(world, words).await?, button, false, owned(keys)),
        Type(words, text) => typed(find(world, words).await?, text, false, false),
        Submit(words, text) => typed(find(world, words).await?, text, true, false),
        Slowly(words, text) => typed(find(world, words).await?, text, false, true),
        Fill(fields) => {
            let mut filled = Vec::new();
            for (words, value) in fields {
                filled.push(FieldValue { element: find(world, words).await?, value: (*value).to_owned() });
            }
            PageAct::Fill(filled)
        }
        Select(words, values) => PageAct::Select { element: find(world, words).await?, values: owned(values) },
        Press(key) => PageAct::Press { key: key.to_owned(), element: None },
        PressIn(words, key) => PageAct::Press { key: key.to_owned(), element: Some(find(world, words).await?) },
        Hover(words) => PageAct::Hover { element: find(world, words).await? },
        Drag(from, to) => PageAct::Drag { from: find(world, from).await?, to: find(world, to).await? },
        Await(text) => PageAct::Wait(WaitCondition { text: Some(text.to_owned()), ..WaitCondition::default() }),
        other => return do_other(world, other).await,
    };
    world.act(act).await.map(drop).map_err(|error| error.message().to_owned())
}

async fn do_other(world: &World, step: Step) -> Result<(), String> {
    let action = match step {
        Arm(accept, text) => BrowserAction::Dialog { accept, text: text.map(str::to_owned) },
        Upload(words, files) => {
            let file = |(name, content): &(&str, &str)| PageFile { name: (*name).to_owned(), content: content.as_bytes().to_vec() };
            BrowserAction::Upload { element: Some(find(world, words).await?), selector: None, files: files.iter().map(file).collect() }
        }
        Download(words, ..) => BrowserAction::Download { element: find(world, words).await? },
        Check(text) => {
            let snapshot = world.snapshot().await;
            return if snapshot.contains(text) { Ok(()) } else { Err(format!("not there: {text}")) };
        }
        _ => return Err("not a step of this kind".to_owned()),
    };
    let reply = world.perform(action).await.map_err(|error| error.message().to_owned())?;
    if let Download(_, name, content) = step {
        let file = reply.file.ok_or("no file")?;
        let expected = PageFile { name: name.to_owned(), content: content.as_bytes().to_vec() };
        return if file == expected { Ok(()) } else { Err(format!("{file:?}")) };
    }
    Ok(())
}
