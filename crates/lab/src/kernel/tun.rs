//! Opening a TUN device: the one place of the lab with `unsafe`, since the kernel gives a device for an ioctl only.
#![allow(unsafe_code, reason = "TUNSETIFF has no safe form, in the standard library or in rustix")]

use std::ffi::c_void;
use std::fs::File;
use std::io;

use rustix::ioctl::{Ioctl, IoctlOutput, Opcode};

/// TUNSETIFF of linux/if_tun.h: `_IOW('T', 202, int)`, which does read and write a `struct ifreq`.
const TUNSETIFF: Opcode = rustix::ioctl::opcode::write::<i32>(b'T', 202);
/// IP packets, without a header of their own in front.
const IFF_TUN: u16 = 0x0001;
const IFF_NO_PI: u16 = 0x1000;
const NAME_BYTES: usize = 16;

/// `struct ifreq` of linux/if.h as TUNSETIFF uses it: a name and flags; as large as the kernel's on all machines (40
/// bytes with 64-bit pointers, 32 with 32-bit ones), or larger.
#[repr(C)]
struct Request {
    name: [u8; NAME_BYTES],
    flags: u16,
    rest: [u8; 22],
}

/// A device that goes with its last file descriptor.
#[derive(Debug)]
pub(super) struct Tun {
    pub(super) file: File,
    /// The name that the kernel chose.
    pub(super) name: String,
}

/// Makes a device with the first free name of this form, such as `link%d`, whose reads do not block.
///
/// # Errors
/// No /dev/net/tun, no rights, or a name that is too long.
pub(super) fn open(form: &str) -> io::Result<Tun> {
    let file = File::options().read(true).write(true).open("/dev/net/tun")?;
    let mut name = [0; NAME_BYTES];
    let place = name.get_mut(..form.len()).filter(|place| place.len() < NAME_BYTES);
    place.ok_or(io::ErrorKind::InvalidInput)?.copy_from_slice(form.as_bytes());
    let request = Request { name, flags: IFF_TUN | IFF_NO_PI, rest: [0; 22] };
    // SAFETY: TUNSETIFF reads and writes one `struct ifreq` at the pointer that `Ioctl` below gives: a `Request`, which is
    // at least as large, lives until the call has returned, and for which every bit pattern is valid.
    let name = unsafe { rustix::ioctl::ioctl(&file, request) }?;
    rustix::io::ioctl_fionbio(&file, true)?;
    Ok(Tun { file, name })
}

// SAFETY: `as_ptr` gives the request itself, which TUNSETIFF reads and writes within its size, as said above; what it
// writes is read as bytes.
unsafe impl Ioctl for Request {
    type Output = String;

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        TUNSETIFF
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::from_mut(self).cast()
    }

    unsafe fn output_from_ptr(_: IoctlOutput, request: *mut c_void) -> rustix::io::Result<String> {
        // SAFETY: the pointer is the one of `as_ptr`, to a `Request` that still lives.
        let request = unsafe { &*request.cast::<Request>() };
        let end = request.name.iter().position(|byte| *byte == 0).unwrap_or(NAME_BYTES);
        Ok(request.name.iter().take(end).map(|byte| char::from(*byte)).collect())
    }
}
