//! Sets one value in a JSON file that people write: comments, order and layout of the rest stay.

use std::ops::Range;

use serde_json::Value;

/// Objects and lists inside each other.
const DEEPEST: usize = 128;

/// The text with `section.name` set to a value. The error says why the text cannot be changed.
pub(super) fn set(text: &str, section: &str, name: &str, value: &Value) -> Result<String, String> {
    let edited = with_line_ends_of(text, edit(text, section, name, value)?);
    // Whatever the scanner got wrong, the file of a user is not damaged.
    let (before, after) = (read(text)?, read(&edited)?);
    if after[section][name] != *value || without(before, section, name) != without(after, section, name) {
        return Err("it has a layout that is not understood".to_owned());
    }
    Ok(edited)
}

/// A value with the members that only the one in the file has, such as the user's `env`. An entry that starts no command is another kind.
pub(super) fn merged(text: &str, section: &str, name: &str, mut value: Value) -> Value {
    let old = read(text).ok().and_then(|file| file.get(section)?.get(name).cloned());
    if let (Some(Value::Object(old)), Value::Object(new)) = (old, &mut value)
        && old.contains_key("command")
    {
        for (key, member) in old {
            new.entry(key).or_insert(member);
        }
    }
    value
}

/// The edited text with the line ends of the file, where those are all of Windows.
fn with_line_ends_of(text: &str, edited: String) -> String {
    let is_windows = text.contains("\r\n") && !text.replace("\r\n", "").contains('\n');
    if is_windows { edited.replace("\r\n", "\n").replace('\n', "\r\n") } else { edited }
}

/// Everything but the value, and without a section that is empty then.
fn without(mut value: Value, section: &str, name: &str) -> Value {
    if let Some(members) = value.get_mut(section).and_then(Value::as_object_mut) {
        members.remove(name);
        if members.is_empty() {
            value.as_object_mut().map(|root| root.remove(section));
        }
    }
    value
}

/// Reads JSON with comments and commas before closing brackets. An empty file is an empty object.
fn read(text: &str) -> Result<Value, String> {
    let mut plain = String::with_capacity(text.len());
    let mut scanner = JsonScanner { text, at: 0 };
    while scanner.at < text.len() {
        let start = scanner.at;
        scanner.blank();
        if scanner.at > start {
            plain.push(' ');
            continue;
        }
        let ch = scanner.peek();
        if ch == Some(b'"') {
            scanner.string()?;
        } else {
            scanner.at += text[scanner.at..].chars().next().map_or(1, char::len_utf8);
        }
        let is_comma_before_end = ch == Some(b',') && {
            let mut ahead = JsonScanner { text, at: scanner.at };
            ahead.blank();
            matches!(ahead.peek(), Some(b'}' | b']'))
        };
        if !is_comma_before_end {
            plain.push_str(&text[start..scanner.at]);
        }
    }
    if plain.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    let value = haft_contract::json::parse_strict(&plain).map_err(|error| format!("it is not JSON: {error}"))?;
    if value.is_object() { Ok(value) } else { Err("it is not a JSON object".to_owned()) }
}

fn edit(text: &str, section: &str, name: &str, value: &Value) -> Result<String, String> {
    let mut scanner = JsonScanner { text, at: 0 };
    scanner.blank();
    if scanner.at == text.len() {
        let whole = serde_json::json!({ section: { name: value } });
        return Ok(format!("{}{whole:#}\n", text.trim_start_matches(char::is_whitespace)));
    }
    let root = scanner.object(0)?;
    let Some(found) = root.find(section) else {
        return Ok(root.insert(text, section, &serde_json::json!({ name: value })));
    };
    let mut scanner = JsonScanner { text, at: found.value.start };
    let inner = scanner.object(0).map_err(|_| format!("'{section}' in it is not an object"))?;
    Ok(match inner.find(name) {
        None => inner.insert(text, name, value),
        Some(member) => {
            let indent = indent_at(text, member.key);
            format!("{}{}{}", &text[..member.value.start], pretty(value, &indent), &text[member.value.end..])
        }
    })
}

/// A member of an object: where its key begins, and where its value is.
struct ScannedMember {
    name: String,
    key: usize,
    value: Range<usize>,
}

/// An object in the text.
struct ScannedObject {
    open: usize,
    members: Vec<ScannedMember>,
    has_last_comma: bool,
}

impl ScannedObject {
    fn find(&self, name: &str) -> Option<&ScannedMember> {
        self.members.iter().find(|member| member.name == name)
    }

    /// The text with one more member at the end.
    fn insert(&self, text: &str, name: &str, value: &Value) -> String {
        let outer = indent_at(text, self.open);
        let indent = self.members.first().map_or_else(|| format!("{outer}  "), |member| indent_at(text, member.key));
        let member = format!("{}: {}", Value::from(name), pretty(value, &indent));
        if let Some(last) = self.members.last() {
            let comma = if self.has_last_comma { "" } else { "," };
            let end = last.value.end + self.comma_length(text, last);
            let at = end + comments_of_line(&text[end..]);
            return format!("{}{comma}{}\n{indent}{member}{}", &text[..end], &text[end..at], &text[at..]);
        }
        let (before, after) = text.split_at(self.open + 1);
        let is_on_one_line = after.trim_start().starts_with('}') && !after[..after.find('}').unwrap_or(0)].contains('\n');
        let end = if is_on_one_line { format!("\n{outer}") } else { String::new() };
        format!("{before}\n{indent}{member}{end}{}", after.trim_start_matches([' ', '\t']))
    }

    /// The distance to the end of the comma behind the last member.
    fn comma_length(&self, text: &str, last: &ScannedMember) -> usize {
        if !self.has_last_comma {
            return 0;
        }
        let mut scanner = JsonScanner { text, at: last.value.end };
        scanner.blank();
        scanner.at + 1 - last.value.end
    }
}

/// The length of the comments that end this line: they are about what is before them.
fn comments_of_line(rest: &str) -> usize {
    let line = rest.split(['\n', '\r']).next().unwrap_or_default();
    let mut at = 0;
    loop {
        let blanks = line[at..].len() - line[at..].trim_start_matches([' ', '\t']).len();
        let comment = &line[at + blanks..];
        match comment.strip_prefix("/*").and_then(|inner| inner.find("*/")) {
            Some(length) => at += blanks + length + 4,
            None if comment.starts_with("//") => return line.len(),
            None => return at,
        }
    }
}

/// The blanks before the first character of a line.
fn indent_at(text: &str, at: usize) -> String {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    text[line..].chars().take_while(|ch| matches!(ch, ' ' | '\t')).collect()
}

fn pretty(value: &Value, indent: &str) -> String {
    format!("{value:#}").replace('\n', &format!("\n{indent}"))
}

/// Finds the parts of JSON with comments.
struct JsonScanner<'a> {
    text: &'a str,
    at: usize,
}

impl JsonScanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Passes blanks and comments.
    fn blank(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r', '\u{feff}']).len();
            let rest = &rest[blanks..];
            let comment = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else {
                0
            };
            self.at += blanks + comment;
            if comment == 0 {
                return;
            }
        }
    }

    /// Passes a text in quotes, and gives it.
    fn string(&mut self) -> Result<String, String> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
                None => return Err("a text in it has no end".to_owned()),
            }
        }
        self.at += 1;
        let quoted = self.text.get(start..self.at).ok_or("a text in it has no end")?;
        serde_json::from_str(quoted).map_err(|error| format!("it is not JSON: {error}"))
    }

    fn object(&mut self, depth: usize) -> Result<ScannedObject, String> {
        let open = self.at;
        if self.peek() != Some(b'{') || depth > DEEPEST {
            return Err("it is not a JSON object".to_owned());
        }
        self.at += 1;
        let mut object = ScannedObject { open, members: Vec::new(), has_last_comma: false };
        loop {
            self.blank();
            match self.peek() {
                Some(b'}') => {
                    self.at += 1;
                    return Ok(object);
                }
                Some(b'"') if object.members.is_empty() || object.has_last_comma => {
                    let key = self.at;
                    let name = self.string()?;
                    self.expect(b':')?;
                    let value = self.value(depth)?;
                    object.members.push(ScannedMember { name, key, value });
                    object.has_last_comma = self.comma();
                }
                _ => return Err("it is not JSON".to_owned()),
            }
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), String> {
        self.blank();
        if self.peek() != Some(byte) {
            return Err(format!("a '{}' is missing in it", char::from(byte)));
        }
        self.at += 1;
        self.blank();
        Ok(())
    }

    fn comma(&mut self) -> bool {
        let before = self.at;
        self.blank();
        if self.peek() == Some(b',') {
            self.at += 1;
            return true;
        }
        self.at = before;
        false
    }

    fn value(&mut self, depth: usize) -> Result<Range<usize>, String> {
        let start = self.at;
        match self.peek() {
            Some(b'{') => drop(self.object(depth + 1)?),
            Some(b'[') => self.list(depth + 1)?,
            Some(b'"') => drop(self.string()?),
            _ => {
                let rest = &self.text[self.at..];
                self.at += rest.find([',', '}', ']', ' ', '\t', '\r', '\n', '/']).unwrap_or(rest.len());
            }
        }
        if self.at == start { Err("a value is missing in it".to_owned()) } else { Ok(start..self.at) }
    }

    fn list(&mut self, depth: usize) -> Result<(), String> {
        if depth > DEEPEST {
            return Err("it is nested too deeply".to_owned());
        }
        self.at += 1;
        loop {
            self.blank();
            if self.peek() == Some(b']') {
                self.at += 1;
                return Ok(());
            }
            self.value(depth)?;
            self.comma();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn value_is_set_and_everything_else_stays() {
        let value = json!({"command": "haft"});
        let entry = "\"haft\": {\n    \"command\": \"haft\"\n  }";
        for (before, after) in [
            ("", "{\n  \"servers\": {\n    \"haft\": {\n      \"command\": \"haft\"\n    }\n  }\n}\n".to_owned()),
            ("{}", "{\n  \"servers\": {\n    \"haft\": {\n      \"command\": \"haft\"\n    }\n  }\n}".to_owned()),
            (
                "{\"servers\":{\n  // mine\n  \"a\": 1 // one\n}}",
                format!("{{\"servers\":{{\n  // mine\n  \"a\": 1, // one\n  {entry}\n}}}}"),
            ),
            (
                "{\"servers\":{\n  \"a\": [1, {\"b\": \"}\"}], /* x */\n}}",
                format!("{{\"servers\":{{\n  \"a\": [1, {{\"b\": \"}}\"}}], /* x */\n  {entry}\n}}}}"),
            ),
            (
                "{\"servers\":{\n  \"a\": 1, /* x */ // one\r\n  // of all\n},}",
                format!("{{\"servers\":{{\n  \"a\": 1, /* x */ // one\n  {entry}\r\n  // of all\n}},}}"),
            ),
            (
                "{\"servers\":{\n  \"a\": 1 /* begins\n  and ends */ }}",
                format!("{{\"servers\":{{\n  \"a\": 1,\n  {entry} /* begins\n  and ends */ }}}}"),
            ),
            ("{\"servers\":{\n  \"haft\": [\"old\"],\n  \"z\": 0\n}}", format!("{{\"servers\":{{\n  {entry},\n  \"z\": 0\n}}}}")),
        ] {
            assert_eq!(set(before, "servers", "haft", &value).unwrap(), after, "{before}");
        }
    }

    #[test]
    fn entry_keeps_what_the_user_added_to_it() {
        let value = || json!({"command": "haft", "args": ["mcp"]});
        let kept = json!({"command": "haft", "args": ["mcp"], "env": {"A": "1"}, "disabled": true});
        for (old, expected) in [
            (json!({"command": "old", "args": [], "env": {"A": "1"}, "disabled": true}), kept),
            (json!({"url": "http://127.0.0.1:1/", "headers": {}}), value()),
            (json!(["old"]), value()),
        ] {
            let text = json!({"servers": {"haft": old}}).to_string();
            assert_eq!(merged(&text, "servers", "haft", value()), expected, "{text}");
        }
        for text in ["", "{", "{\"servers\": 1}", "{\"servers\": {\"a\": {\"command\": \"a\", \"env\": {}}}}"] {
            assert_eq!(merged(text, "servers", "haft", value()), value(), "{text}");
        }
    }

    #[test]
    fn edited_text_has_the_value_whatever_the_layout() {
        let value = json!({"command": "a\"b", "args": ["mcp"]});
        for before in [
            "{ \"other\": 1 }",
            "{\n\t\"other\": 1,\n\t// last\n}\n",
            "/* head */ {\"servers\": {}, \"other\": 1}",
            "{\"servers\": { /* none */ }, \"other\": 1}",
            "{\"servers\": {\n  // none\n}, \"other\": 1}",
            "\u{feff}{\"other\": 1, \"servers\": {\"x\": null,}}",
            "{\"other\": 1e5,\"servers\":{\"haft\":null}}",
        ] {
            let after = set(before, "servers", "haft", &value).unwrap_or_else(|why| panic!("{before}: {why}"));
            assert_eq!(read(&after).unwrap()["servers"]["haft"], value, "{before}");
            assert_eq!(set(&after, "servers", "haft", &value).unwrap(), after, "{before}");
            assert_eq!(after.matches("//").count(), before.matches("//").count(), "{after}");
        }
    }

    #[test]
    fn line_ends_of_the_file_stay() {
        for before in ["{\r\n\t\"other\": 1\r\n}\r\n", "{}\r\n", "{\r\n  \"servers\": {\r\n    \"x\": 1 // one\r\n  }\r\n}"] {
            let after = set(before, "servers", "haft", &json!({"a": [1]})).unwrap();
            assert!(!after.replace("\r\n", "").contains(['\n', '\r']), "{after:?}");
        }
        assert!(!set("{\n}\n", "servers", "haft", &json!(1)).unwrap().contains('\r'));
    }

    #[test]
    fn text_that_is_not_understood_is_refused() {
        let deep = format!("{{\"a\":{}", "[".repeat(100_000));
        for before in
            ["[]", "{", "{\"a\"", "{\"a\":}", "{\"servers\": []}", "{\"servers\": 1}", "{\"a\":1,\"a\":2}", "x", "{\"a\": \"\\", &deep]
        {
            assert!(set(before, "servers", "haft", &json!(1)).is_err(), "{}", &before[..before.len().min(40)]);
        }
    }
}
