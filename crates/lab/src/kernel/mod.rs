//! A long link through the kernel's own TCP, on Linux as root: what [`crate::link`] models is here as it is.
//!
//! Two TUN devices stand for the ends of the link. The near one holds the client's address and leads to the machine
//! as it is seen from afar; the far one leads to the client. A thread between them carries the packets: it gives each the
//! addresses that it has at the other end, and delay, bandwidth, queue, loss and jitter (or netem does on the devices,
//! where the kernel has it). So every connection to [`KernelLink::host`] reaches the servers of this machine, of loopback
//! too, over the link, from any program, without a network namespace.
//!
//! ```no_run
//! use farbird_lab::kernel::KernelLink;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let link = KernelLink::start(&"rtt=200ms,rate=35mbit".parse()?)?;
//! println!("this machine's port 3050, from afar: {}", link.address(3050));
//! # Ok(())
//! # }
//! ```
//!
//! # Promises
//! Nothing is left behind: the devices live as long as the link's file descriptors, and addresses, routes and settings as
//! long as the devices, also when the process is killed. Nothing outside 198.18.0.0/16, the addresses for benchmarks of
//! RFC 2544, is touched. Connections use CUBIC, where the kernel has it, so that figures of different machines compare.

#[cfg(target_os = "linux")]
mod devices;
#[cfg(target_os = "linux")]
mod forward;
#[cfg(target_os = "linux")]
mod packet;
#[cfg(target_os = "linux")]
mod tun;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::link::{LinkOptions, Traffic};

/// A link that runs. Dropping it takes it away.
#[derive(Debug)]
pub struct KernelLink {
    #[cfg(target_os = "linux")]
    devices: devices::Devices,
    #[cfg(target_os = "linux")]
    forwarder: forward::Forwarder,
    #[cfg(not(target_os = "linux"))]
    never: std::convert::Infallible,
}

#[cfg(target_os = "linux")]
impl KernelLink {
    /// Makes the devices and starts to carry.
    ///
    /// # Errors
    /// Not root (CAP_NET_ADMIN), no /dev/net/tun, no program `ip`, or no network left of 256: the message says which.
    pub fn start(options: &LinkOptions) -> io::Result<KernelLink> {
        let (devices, near, far) = devices::Devices::make(options)?;
        let forwarder = forward::Forwarder::start(near, far, devices.plan(), options)?;
        Ok(KernelLink { devices, forwarder })
    }

    /// This machine, as it is seen over the link.
    pub fn host(&self) -> Ipv4Addr {
        self.devices.addresses().host
    }

    /// What gives the delay: `"netem"`, or `"queue"` for a queue of our own.
    pub fn mechanism(&self) -> &'static str {
        if self.devices.has_netem() { "netem" } else { "queue" }
    }

    /// What has passed since the start: bytes, headers included, and packets. With netem, which drops and counts by
    /// itself, nothing is counted as lost.
    pub fn traffic(&self) -> Traffic {
        self.forwarder.traffic()
    }
}

#[cfg(not(target_os = "linux"))]
impl KernelLink {
    /// Not on this operating system.
    ///
    /// # Errors
    /// Always.
    pub fn start(_: &LinkOptions) -> io::Result<KernelLink> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "a link through the kernel needs Linux; `lab proxy` does not",
        ))
    }

    /// This machine, as it is seen over the link.
    pub fn host(&self) -> Ipv4Addr {
        match self.never {}
    }

    /// What gives the delay.
    pub fn mechanism(&self) -> &'static str {
        match self.never {}
    }

    /// What has passed.
    pub fn traffic(&self) -> Traffic {
        match self.never {}
    }
}

impl KernelLink {
    /// A port of this machine, as it is seen over the link: of servers that listen on loopback or on all addresses.
    pub fn address(&self, port: u16) -> SocketAddr {
        SocketAddr::new(IpAddr::V4(self.host()), port)
    }
}
