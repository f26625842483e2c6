//! A plugin as a WASM component, in Rust, without a crate: the checksum of a file (FNV-1a, 64 bits), written to another one if wanted.
//!
//! Build it with `examples/plugins/build-components`. It keeps to what Rust 1.63 has, the compiler of Debian with a target for WASM.
//! A plugin with dependencies takes the crate `wit-bindgen` instead of the functions at the end, which it writes from `plugin.wit`.

/// Answers a call: `{"path": "...", "out": "..."}`, where `out` may be absent.
fn call(_tool: &str, arguments: &str) -> Result<String, String> {
    let path = text(arguments, "path").ok_or("'path' is missing")?;
    let content = host::read_file(&path)?;
    let sum = format!("{:016x}", checksum(&content));
    match text(arguments, "out") {
        Some(out) => {
            host::write_file(&out, format!("{}  {}\n", sum, path).as_bytes())?;
            Ok(format!("{}, written to {}", sum, out))
        }
        None => Ok(sum),
    }
}

fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A text of a flat JSON object, which has passed the schema of the manifest.
fn text(json: &str, key: &str) -> Option<String> {
    let rest = json.split_once(&format!("\"{}\":", key))?.1.trim_start().strip_prefix('"')?;
    let mut text = String::new();
    let mut chars = rest.chars();
    loop {
        match chars.next()? {
            '"' => return Some(text),
            '\\' => match chars.next()? {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'u' => text.push(char::from_u32(u32::from_str_radix(&chars.by_ref().take(4).collect::<String>(), 16).ok()?)?),
                other => text.push(other),
            },
            other => text.push(other),
        }
    }
}

/// The functions that Haft gives a component, as `plugin.wit` has them, in the form of the canonical ABI.
mod host {
    #[link(wasm_import_module = "haft:plugin/host@0.1.0")]
    extern "C" {
        #[link_name = "read-file"]
        fn read(path: *const u8, length: usize, answer: *mut Answer);
        #[link_name = "write-file"]
        fn write(path: *const u8, length: usize, content: *const u8, content_length: usize, answer: *mut Answer);
    }

    /// `result<list<u8>, string>` in memory.
    #[repr(C)]
    struct Answer {
        is_error: u8,
        at: *mut u8,
        length: usize,
    }

    impl Answer {
        fn empty() -> Self {
            Self { is_error: 0, at: std::ptr::null_mut(), length: 0 }
        }
        /// Takes the memory that Haft asked for with `cabi_realloc`.
        unsafe fn take(self) -> Result<Vec<u8>, String> {
            let bytes =
                if self.at.is_null() || self.length == 0 { Vec::new() } else { Vec::from_raw_parts(self.at, self.length, self.length) };
            if self.is_error == 0 { Ok(bytes) } else { Err(String::from_utf8_lossy(&bytes).into_owned()) }
        }
    }

    pub fn read_file(path: &str) -> Result<Vec<u8>, String> {
        let mut answer = Answer::empty();
        unsafe {
            read(path.as_ptr(), path.len(), &mut answer);
            answer.take()
        }
    }

    pub fn write_file(path: &str, content: &[u8]) -> Result<(), String> {
        let mut answer = Answer::empty();
        unsafe {
            write(path.as_ptr(), path.len(), content.as_ptr(), content.len(), &mut answer);
            // Without an error there is nothing behind the first byte.
            if answer.is_error == 0 { Ok(()) } else { answer.take().map(drop) }
        }
    }
}

/// `result<string, string>` in memory.
#[repr(C)]
pub struct Returned {
    is_error: u8,
    at: *const u8,
    length: usize,
}

/// # Safety
/// The texts are memory of `cabi_realloc`, as the canonical ABI has it.
#[export_name = "call"]
pub unsafe extern "C" fn answer(tool: *mut u8, a: usize, arguments: *mut u8, b: usize, context: *mut u8, c: usize) -> *const Returned {
    let text = |at, length| String::from_utf8_unchecked(Vec::from_raw_parts(at, length, length));
    let (tool, arguments, _context) = (text(tool, a), text(arguments, b), text(context, c));
    let outcome = call(&tool, &arguments);
    let is_error = u8::from(outcome.is_err());
    let text: &'static str = Box::leak(outcome.unwrap_or_else(|error| error).into_boxed_str());
    // An instance lives for one call, so nothing is given back.
    Box::leak(Box::new(Returned { is_error, at: text.as_ptr(), length: text.len() }))
}

/// # Safety
/// As the canonical ABI has it: the old memory is of this function.
#[export_name = "cabi_realloc"]
pub unsafe extern "C" fn realloc(old: *mut u8, old_size: usize, align: usize, new_size: usize) -> *mut u8 {
    use std::alloc::{Layout, alloc, handle_alloc_error, realloc};
    if new_size == 0 {
        return align as *mut u8;
    }
    let layout = Layout::from_size_align_unchecked(if old_size == 0 { new_size } else { old_size }, align);
    let at = if old_size == 0 { alloc(layout) } else { realloc(old, layout, new_size) };
    if at.is_null() { handle_alloc_error(layout) } else { at }
}
