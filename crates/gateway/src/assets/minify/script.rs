//! Scripts: split into tokens, which are joined with the blanks that they need, under shorter names.

mod declarations;
mod exports;
mod names;
mod roles;
mod tokens;

use std::borrow::Cow;

use declarations::{Declarations, Join};
use names::ShortNames;
use roles::Role;
use tokens::{Gap, Kind, Token, is_word};

pub(super) use exports::ExportNames;
pub(super) use tokens::quoted_length;

pub(super) fn minify(text: &str, exports: &ExportNames) -> String {
    let tokens = tokens::split(text);
    let roles = roles::find(&tokens);
    let names = roles.as_deref().map(|roles| ShortNames::choose(&tokens, roles, exports)).unwrap_or_default();
    let mut script = ScriptWriter { out: String::with_capacity(text.len()), is_statement_over: false };
    let mut declarations = Declarations::default();
    let mut skipped = Gap::None;
    for (at, token) in tokens.iter().enumerate() {
        let role = roles.as_ref().map(|roles| roles[at]);
        match role.map_or(Join::No, |role| declarations.join(token, role, tokens.get(at + 1))) {
            Join::No => {}
            Join::Comma => {
                script.continue_declaration();
                continue;
            }
            Join::Nothing => continue,
        }
        if role == Some(Role::Needless) || (role == Some(Role::Keyword) && is_returned_nothing(&tokens, at)) {
            // Words that it stood between stay apart.
            skipped = if token.gap == Gap::None { Gap::Blank } else { token.gap };
        } else {
            let gap = if token.gap == Gap::None { skipped } else { token.gap };
            script.put(&write_token(token, role, &names), gap);
            script.is_statement_over = role == Some(Role::BlockEnd);
            skipped = Gap::None;
        }
    }
    script.out
}

/// Whether the token is the `undefined` of `return undefined;`, which means the same without it.
fn is_returned_nothing(tokens: &[Token<'_>], at: usize) -> bool {
    let is_ended = is_sign(tokens.get(at + 1), ";") || is_sign(tokens.get(at + 1), "}");
    tokens[at].text == "undefined" && is_ended && at > 0 && tokens[at - 1].text == "return"
}

/// A token as it is sent.
fn write_token<'a>(token: &Token<'a>, role: Option<Role>, names: &ShortNames<'a>) -> Cow<'a, str> {
    let short = || names.get(token.text);
    match (role, token.text) {
        (Some(Role::Variable | Role::Private | Role::Shared), _) => short().map_or(Cow::Borrowed(token.text), Cow::Owned),
        (Some(Role::Shorthand), name) => short().map_or(Cow::Borrowed(name), |short| Cow::Owned(format!("{name}:{short}"))),
        (Some(Role::Keyword), "const") => "let".into(),
        (Some(Role::Keyword), "true") => "!0".into(),
        (Some(Role::Keyword), "false") => "!1".into(),
        (Some(Role::Keyword), "undefined") => "void 0".into(),
        (Some(_), number) if number.contains('_') && number.starts_with(|ch: char| ch.is_ascii_digit()) => number.replace('_', "").into(),
        (_, text) => text.into(),
    }
}

struct ScriptWriter {
    out: String,
    /// What is written ends with the block of a statement, after which the next one begins on the same line.
    is_statement_over: bool,
}

impl ScriptWriter {
    /// Writes a token, after the blank that it needs.
    fn put(&mut self, token: &str, gap: Gap) {
        let next = token.chars().next().unwrap_or_default();
        self.drop_comma(next, gap);
        match (self.out.chars().next_back(), gap) {
            (None, _) | (_, Gap::None) => {}
            (Some(before), Gap::Line) if self.may_end(before) && may_begin(next) => self.out.push('\n'),
            (Some(before), _) if is_word(before) && is_word(next) => self.out.push(' '),
            (Some(before), _) if before == next && matches!(next, '+' | '-' | '/') => self.out.push(' '),
            _ => {}
        }
        self.out.push_str(token);
    }

    /// A comma instead of the semicolon, and of the word that would begin the next declaration.
    fn continue_declaration(&mut self) {
        self.out.pop();
        self.out.push(',');
    }

    /// The comma after the last of a list, which a formatter puts at the end of a line; not one that stands for an absent element.
    fn drop_comma(&mut self, next: char, gap: Gap) {
        let is_last = gap == Gap::Line && matches!(next, ')' | ']' | '}') && self.out.ends_with(',');
        if is_last && !self.out[..self.out.len() - 1].ends_with([',', '[', '(', '{']) {
            self.out.pop();
        }
    }

    /// Whether a statement could end after what is written.
    fn may_end(&self, before: char) -> bool {
        if self.is_statement_over {
            return false;
        }
        is_word(before)
            || matches!(before, ')' | ']' | '}' | '\'' | '"' | '`' | '/')
            || self.out.ends_with("++")
            || self.out.ends_with("--")
    }
}

/// Whether a statement could begin with it: then the line break before it may be its end of the one before.
fn may_begin(next: char) -> bool {
    is_word(next) || matches!(next, '(' | '[' | '{' | '\'' | '"' | '`' | '/' | '+' | '-' | '!' | '~' | '*')
}

/// Whether the token is this character of the syntax.
fn is_sign(token: Option<&Token<'_>>, sign: &str) -> bool {
    token.is_some_and(|token| token.kind == Kind::Sign && token.text == sign)
}

#[cfg(test)]
mod tests {
    use super::ExportNames;

    fn minify(text: &str) -> String {
        super::minify(text, &ExportNames::from_scripts(std::iter::empty()))
    }

    #[test]
    fn tokens_keep_the_blanks_that_they_need() {
        for (text, expected) in [
            ("const a = 1; // one\n/** two */\nlet b = a / 2;\n", "let a=1,b=a/2;"),
            ("return /[/ ]\\/ *x/gu.test( y ) / 2", "return/[/ ]\\/ *x/gu.test(y)/2"),
            ("a = b + +c - -d / /x y/.e", "a=b+ +c- -d/ /x y/.e"),
            (
                "f('a  // b', \"c \\\" /* \", `d  ${ e ? `f  ${ g }` : { h: 1 } }  i \\` `)",
                "f('a  // b',\"c \\\" /* \",`d  ${e?`f  ${g}`:{h:1}}  i \\` `)",
            ),
            ("a\nb\n(c)\n[d]\n`e`\nf++\ng", "a\nb\n(c)\n[d]\n`e`\nf++\ng"),
            ("if (a) {\n  b();\n}\nc();\n", "if(a){b()}c();"),
            (
                "function a() {\n}\n(b)\nfor (;;) {\n}\n[c]\nclass D {\n  e() {\n  }\n  f() {\n  }\n}\ng",
                "function a(){}(b)\nfor(;;){}[c]\nclass D{e(){}f(){}}\ng",
            ),
            // A function that is a value is not over at its end.
            ("a = function () {\n}\n(b)\nc = () => {\n}\n[d]\ne = {\n}\n(f)", "a=function(){}\n(b)\nc=()=>{}\n[d]\ne={}\n(f)"),
            (
                "export const a = 1;\nexport const b = 2;\nconst c = 3;\nexport let d;\nexport function e() {}",
                "export let a=1,b=2;let c=3;export let d;export function e(){}",
            ),
            ("x.\n  then(\n    y,\n    z,\n  )\n  .done", "x.then(y,z).done"),
            ("[a, , ];\n[,\n];\n[b,\n];\n({ c,\n});", "[a,,];[,];[b];({c});"),
            ("class A {\n  #b = 1;\n  get #c() {\n    return this.#b in x;\n  }\n}", "class A{#b=1;get #c(){return this.#b in x}}"),
            ("for (const [a, b] of Object.entries(c)) d ??= a ?. e", "for(let[a,b]of Object.entries(c))d??=a?.e"),
            ("a /* one\ntwo */ b\n// last", "a\nb"),
            (
                "() => {\n  if (a) return undefined;\n  b = undefined + 10_000;\n  return undefined;\n}",
                "()=>{if(a)return;b=void 0+10000;return}",
            ),
            ("'never closed \\", "'never closed \\"),
            ("`${", "`${"),
            ("/never closed", "/never closed"),
            ("const é = '…' + ü", "let a='…'+ü"),
            ("", ""),
        ] {
            assert_eq!(minify(text), expected, "{text}");
        }
    }

    #[test]
    fn semicolons_stay_where_they_are_statements() {
        for (text, expected) in [
            ("if (a) { while (b()); }", "if(a){while(b());}"),
            ("{ for (;;); }", "{for(;;);}"),
            ("() => { a(); ; }", "()=>{a();;}"),
            ("{ return; }", "{return}"),
            ("{ if (a) b(); else; }", "{if(a)b();else;}"),
        ] {
            assert_eq!(minify(text), expected, "{text}");
        }
    }

    #[test]
    fn declarations_that_follow_each_other_are_one() {
        for (text, expected) in [
            ("const a = 1; let b = 2; const { c } = d;", "let a=1,b=2,{c}=d;"),
            ("let a; f(); let b; export const c = 1; const d = 2;", "let a;f();let b;export let c=1;let d=2;"),
            ("const a = () => { let b; let c; };\nlet d;\nif (d) { const e = 1; }\nlet g;", "let a=()=>{let b,c},d;if(d){let e=1}let g;"),
            ("for (let a = 0; a < 1; a += 1) { const b = `${a}`; const c = 1; }", "for(let a=0;a<1;a+=1){let b=`${a}`,c=1}"),
            ("const a = 1; (b)(); const c = 2;", "let a=1;(b)();let c=2;"),
        ] {
            assert_eq!(minify(text), expected, "{text}");
        }
    }

    #[test]
    fn exports_have_one_short_name_in_all_files() {
        let files = [
            "export const shown = 1; export async function other() { return shown; } export default function mount(root) {}",
            "import { other, shown } from './a.js'; import './b.js'; const local = { shown, other: 1 }; local.shown(other, `${shown}`);",
            "const shown = 1; f(shown, shown);",
        ];
        let exports = ExportNames::from_scripts(files.into_iter());
        assert_eq!(
            files.map(|text| super::minify(text, &exports)),
            [
                "export let Ab=1;export async function Aa(){return Ab}export default function a(b){}",
                "import{Aa,Ab}from'./a.js';import'./b.js';let a={shown:Ab,other:1};a.shown(Aa,`${Ab}`);",
                "let a=1;f(a,a);",
            ]
        );
    }

    #[test]
    fn variables_get_short_names_and_what_others_see_keeps_its_own() {
        for (text, expected) in [
            ("const first = 1; use(first, o.first, { first: first });", "let a=1;use(a,o.first,{first:a});"),
            ("const one = 1; send({ one, two: one + one });", "let a=1;send({one:a,two:a+a});"),
            ("({ width, height = 2 }) => width + width + height + height", "({width:a,height:b=2})=>a+a+b+b"),
            ("({ of2 }) => of2", "({of2})=>of2"),
            (
                "export function shown(value) { return inner(value); } function inner(it) {}",
                "export function shown(a){return b(a)}function b(c){}",
            ),
            ("import { shown } from './a.js'; const other = shown;", "import{shown}from'./a.js';let a=shown;"),
            (
                "class Shown { #kept = 1; first() { this.#kept += this.second; } second = 2; }",
                "class a{#a=1;first(){this.#a+=this.second}second=2}",
            ),
            ("const inner = (text) => `inner ${text} ${ { text: text }.text }`", "let b=a=>`inner ${a} ${{text:a}.text}`"),
            ("for (const [name, value] of list) document.title = name + value;", "for(let[a,b]of list)document.title=a+b;"),
            ("const document = 1; document.title;", "let document=1;document.title;"),
            ("list.map(async (item) => await (item));", "list.map(async a=>await(a));"),
            ("(one) => (two) => ({ one: two, f: (...rest) => rest })", "c=>a=>({one:a,f:(...b)=>b})"),
            ("try { a(); } catch (error) { report(error); }", "try{a()}catch(b){report(b)}"),
            ("const flags = { true: true, const: false };", "let a={true:!0,const:!1};"),
            ("if (a.undefined === undefined) return undefined;", "if(a.undefined===void 0)return;"),
            (
                "const used = { async run() { return used; }, get size() { return used; } };",
                "let a={async run(){return a},get size(){return a}};",
            ),
            (
                "switch (kind) { case first: { const inner = 1; f({ inner }); inner + inner; } }",
                "switch(kind){case first:{let a=1;f({inner:a});a+a}}",
            ),
        ] {
            assert_eq!(minify(text), expected, "{text}");
        }
    }

    #[test]
    fn code_that_is_not_understood_keeps_its_names() {
        for (text, expected) in [("const first = 1; }", "const first=1;}"), ("const first = (1;", "const first=(1;"), ("label {", "label{")]
        {
            assert_eq!(minify(text), expected, "{text}");
        }
    }
}
