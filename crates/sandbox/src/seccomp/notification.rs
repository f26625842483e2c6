//! System calls that another thread answers: the kernel stops the caller and asks the listener.
//!
//! It has `unsafe`, because no crate without a C library has these calls.
#![expect(unsafe_code, reason = "a listener and its two requests exist as bare system calls only")]

use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use libc::{c_ulong, seccomp_data, seccomp_notif, seccomp_notif_resp, sock_filter, sock_fprog};
use rustix::io::Errno;
use rustix::ioctl::{self, Opcode, Updater, opcode};

const RECEIVE: Opcode = opcode::read_write::<seccomp_notif>(b'!', 0);
const SEND: Opcode = opcode::read_write::<seccomp_notif_resp>(b'!', 1);

/// Asks the user of the listener about the calls of one thread and of its children.
#[derive(Debug)]
pub(crate) struct CallListener(OwnedFd);

/// A system call that is asked about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListenedCall {
    pub(crate) number: i64,
    /// Only where these bits of an argument are set: the number of the argument, and the bits.
    pub(crate) only_with: Option<(u8, u32)>,
}

/// A call that waits for its answer.
#[derive(Debug)]
pub(crate) struct WaitingCall {
    id: u64,
    pub(crate) process: u32,
    pub(crate) number: i64,
    pub(crate) arguments: [u64; 6],
}

/// What becomes of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallAnswer {
    /// The kernel carries it out.
    Carry,
    /// It was carried out, or failed.
    Result(Result<(), Errno>),
}

impl CallListener {
    /// Listens to these calls of this thread, and of every process that it starts from now on.
    ///
    /// # Errors
    /// The kernel has no listeners, or another one listens already.
    pub(crate) fn install(calls: &[ListenedCall]) -> rustix::io::Result<Self> {
        let mut steps = program(calls);
        let length = u16::try_from(steps.len()).map_err(|_| Errno::INVAL)?;
        let filter = sock_fprog { len: length, filter: steps.as_mut_ptr() };
        // A signal for the caller must not repeat a call that is being carried out; older kernels do not know the flag.
        let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        install(flags | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &filter).or_else(|_| install(flags, &filter)).map(Self)
    }

    /// Waits for the next call.
    ///
    /// # Errors
    /// Nobody is left who could call.
    pub(crate) fn next(&self) -> rustix::io::Result<WaitingCall> {
        loop {
            let data = seccomp_data { nr: 0, arch: 0, instruction_pointer: 0, args: [0; 6] };
            let mut received = seccomp_notif { id: 0, pid: 0, flags: 0, data };
            // SAFETY: the request fills a value of this type, which is zero before, as it demands.
            match unsafe { ioctl::ioctl(&self.0, Updater::<RECEIVE, _>::new(&mut received)) } {
                // A signal, or the caller ended meanwhile.
                Err(Errno::INTR | Errno::NOENT) => {}
                Err(error) => return Err(error),
                Ok(()) => {
                    let (number, arguments) = (received.data.nr.into(), received.data.args);
                    return Ok(WaitingCall { id: received.id, process: received.pid, number, arguments });
                }
            }
        }
    }

    /// Lets the caller continue. A caller that has ended needs no answer.
    pub(crate) fn answer(&self, call: &WaitingCall, answer: CallAnswer) {
        let mut response = seccomp_notif_resp { id: call.id, val: 0, error: 0, flags: 0 };
        match answer {
            CallAnswer::Carry => response.flags = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap_or_default(),
            CallAnswer::Result(Ok(())) => {}
            CallAnswer::Result(Err(error)) => response.error = -error.raw_os_error(),
        }
        // SAFETY: the request reads a value of this type.
        unsafe { ioctl::ioctl(&self.0, Updater::<SEND, _>::new(&mut response)) }.ok();
    }
}

fn install(flags: c_ulong, filter: &sock_fprog) -> rustix::io::Result<OwnedFd> {
    // SAFETY: the filter and its steps live until the call returns, and the kernel copies them.
    let descriptor = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, std::ptr::from_ref(filter)) };
    match RawFd::try_from(descriptor) {
        // SAFETY: the kernel made this descriptor for this call, and nobody else has it.
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)),
    }
}

/// Asks about these calls and allows the others. The other filter kills callers of foreign call tables.
fn program(calls: &[ListenedCall]) -> Vec<sock_filter> {
    const LOAD: u16 = 0x20;
    const SKIP_UNLESS_EQUAL: u16 = 0x15;
    const SKIP_UNLESS_SET: u16 = 0x45;
    const RETURN: u16 = 0x06;
    let step = |code, jf, k| sock_filter { code, jt: 0, jf, k };
    let (ask, allow) = (step(RETURN, 0, libc::SECCOMP_RET_USER_NOTIF), step(RETURN, 0, libc::SECCOMP_RET_ALLOW));
    let mut steps = vec![step(LOAD, 0, 0)];
    for ListenedCall { number, only_with } in calls {
        let Ok(number) = u32::try_from(*number) else { continue };
        match only_with {
            None => steps.extend([step(SKIP_UNLESS_EQUAL, 1, number), ask]),
            // The lower half of an argument, behind the number, the architecture and the address of the caller.
            Some((argument, bits)) => {
                let load = step(LOAD, 0, 16 + 8 * u32::from(*argument));
                steps.extend([step(SKIP_UNLESS_EQUAL, 4, number), load, step(SKIP_UNLESS_SET, 1, *bits), ask, allow]);
            }
        }
    }
    steps.push(allow);
    steps
}
