//! ELF programs of a few instructions, written as bytes: raw system calls from safe code.

/// Load address; the instructions follow the two headers.
const BASE: u64 = 0x40_0000;
const HEADERS: u64 = 64 + 56;

/// An executable file with these instructions.
fn program(code: &[u8]) -> Vec<u8> {
    let size = HEADERS + code.len() as u64;
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0\x01\0\0\0".to_vec();
    // Entry, program headers, no section headers.
    file.extend([BASE + HEADERS, 64, 0].into_iter().flat_map(u64::to_le_bytes));
    file.extend(b"\0\0\0\0\x40\0\x38\0\x01\0\0\0\0\0\0\0");
    // One segment, to be loaded, read and executed.
    file.extend(b"\x01\0\0\0\x05\0\0\0");
    file.extend([0, BASE, BASE, size, size, 0x1000].into_iter().flat_map(u64::to_le_bytes));
    file.extend(code);
    file
}

/// A program that makes one call and exits with its error, or 0.
pub(super) fn system_call(number: u64, arguments: [u64; 6]) -> Vec<u8> {
    let registers: [(&[u8], u64); 7] = [
        (b"\x48\xb8", number),
        (b"\x48\xbf", arguments[0]),
        (b"\x48\xbe", arguments[1]),
        (b"\x48\xba", arguments[2]),
        (b"\x49\xba", arguments[3]),
        (b"\x49\xb8", arguments[4]),
        (b"\x49\xb9", arguments[5]),
    ];
    let mut code: Vec<u8> = registers.into_iter().flat_map(|(load, value)| [load, &value.to_le_bytes()].concat()).collect();
    code.extend(b"\x0f\x05");
    code.extend(EXIT_WITH_ERROR);
    program(&code)
}

/// A program that makes one call through the 32-bit interface.
pub(super) fn old_system_call(number: u32) -> Vec<u8> {
    let mut code = b"\xb8".to_vec();
    code.extend(number.to_le_bytes());
    // The call, and its result sign-extended.
    code.extend(b"\xcd\x80\x48\x98");
    code.extend(EXIT_WITH_ERROR);
    program(&code)
}

/// `exit(answer < 0 ? -answer : 0)`
const EXIT_WITH_ERROR: &[u8] = b"\x48\x85\xc0\x78\x04\x31\xff\xeb\x04\xf7\xd8\x89\xc7\xb8\x3c\0\0\0\x0f\x05";

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use super::*;

    #[test]
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn programs_exit_with_the_error_of_the_kernel() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("call");
        let bad_descriptor = [u64::from(u32::MAX), 0, 0, 0, 0, 0];
        let cases = [("getpid", 39, [0; 6], 0), ("close", 3, bad_descriptor, libc::EBADF), ("none", 1000, [0; 6], libc::ENOSYS)];
        for (name, number, arguments, expected) in cases {
            fs::write(&path, system_call(number, arguments)).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            assert_eq!(Command::new(&path).status().unwrap().code(), Some(expected), "{name}");
        }
    }
}
