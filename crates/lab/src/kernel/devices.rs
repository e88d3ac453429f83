//! The two devices of a link, their addresses and routes, made with the programs `ip` and `tc`.

use std::io;
use std::net::Ipv4Addr;
use std::process::Command;

use super::tun::{self, Tun};
use crate::link::{LinkOptions, PathOptions, Share};

/// As the kernel numbers them: `fblink0` and `fblink1` for the first link.
const NAME_FORM: &str = "fblink%d";
const NAME_START: &str = "fblink";
/// Packets that a device holds until our thread reads them: more than any window, since a full one would drop.
const DEVICE_QUEUE: u32 = 20_000;
/// Headers of IP and TCP and as much payload: what Ethernet carries.
const PACKET_BYTES: usize = 1500;

/// The addresses of a link: four of the network 198.18.NUMBER.0/24.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Addresses {
    /// The client's, on the near device.
    pub(super) client: Ipv4Addr,
    /// This machine's, as the client sees it.
    pub(super) host: Ipv4Addr,
    /// The client's, as this machine sees it.
    pub(super) peer: Ipv4Addr,
    /// The far device's own.
    far: Ipv4Addr,
}

impl Addresses {
    fn of(number: u8) -> Addresses {
        let address = |last| Ipv4Addr::new(198, 18, number, last);
        Addresses { host: address(1), client: address(2), peer: address(3), far: address(4) }
    }
}

/// What our thread does with packets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) addresses: Addresses,
    /// It delays them, since netem does not.
    pub(super) delays: bool,
}

/// Devices that stand.
#[derive(Debug)]
pub(super) struct Devices {
    addresses: Addresses,
    has_netem: bool,
}

impl Devices {
    /// Makes both, near and far.
    pub(super) fn make(options: &LinkOptions) -> io::Result<(Devices, Tun, Tun)> {
        let near = open()?;
        let far = open()?;
        // Even for the first of two that start at a time: the name is unique on this machine.
        let number = near.name.trim_start_matches(NAME_START).parse::<u8>();
        let addresses =
            Addresses::of(number.map_err(|_| io::Error::other("all 256 networks for links are in use"))?);
        connect(&near.name, addresses.client, addresses.host)?;
        connect(&far.name, addresses.far, addresses.peer)?;
        // netem lets late packets be overtaken.
        let keeps_order = options.up.jitter.is_zero() && options.down.jitter.is_zero();
        let has_netem =
            keeps_order && netem(&near.name, &options.up).is_ok() && netem(&far.name, &options.down).is_ok();
        if !has_netem {
            // The first may have succeeded; there is none of ours to take away if it has not.
            let _ = run("tc", &["qdisc", "del", "dev", &near.name, "root"]);
        }
        Ok((Devices { addresses, has_netem }, near, far))
    }

    pub(super) fn addresses(&self) -> Addresses {
        self.addresses
    }

    pub(super) fn has_netem(&self) -> bool {
        self.has_netem
    }

    pub(super) fn plan(&self) -> Plan {
        Plan { addresses: self.addresses, delays: !self.has_netem }
    }
}

fn open() -> io::Result<Tun> {
    tun::open(NAME_FORM).map_err(|error| {
        let why = match error.kind() {
            io::ErrorKind::NotFound => "there is no /dev/net/tun",
            io::ErrorKind::PermissionDenied => "making a TUN device needs root (CAP_NET_ADMIN)",
            _ => "no TUN device can be made",
        };
        io::Error::new(error.kind(), format!("{why}: {error}"))
    })
}

/// Gives a device its own address and the way to the other one.
fn connect(device: &str, own: Ipv4Addr, other: Ipv4Addr) -> io::Result<()> {
    let (own, other) = (own.to_string(), other.to_string());
    let (mtu, queue) = (PACKET_BYTES.to_string(), DEVICE_QUEUE.to_string());
    run("ip", &["address", "add", &format!("{own}/32"), "dev", device])?;
    run("ip", &["link", "set", device, "mtu", &mtu, "txqueuelen", &queue, "up"])?;
    // Packets from and to 127.0.0.1 may pass this device.
    for (setting, value) in [("route_localnet", "1"), ("rp_filter", "0")] {
        std::fs::write(format!("/proc/sys/net/ipv4/conf/{device}/{setting}"), value)?;
    }
    // A device of a link that has just ended may stand a moment longer than its other one, whose name gave this number.
    let route = ["route", "replace", &format!("{other}/32"), "dev", device, "src", &own];
    // A kernel without CUBIC refuses it.
    let cubic = [&route[..], &["congctl", "cubic"]].concat();
    run("ip", &cubic).or_else(|_| run("ip", &route))?;
    // What TCP has learnt of these addresses on an earlier link is of no use here; often there is nothing.
    let _ = run("ip", &["tcp_metrics", "delete", &other]);
    Ok(())
}

/// Lets the kernel delay what leaves by this device.
fn netem(device: &str, path: &PathOptions) -> io::Result<()> {
    // TCP hands over up to 64 KiB as one, to be cut up behind netem, which would lose all of it at a time.
    run("ip", &["link", "set", device, "gso_max_segs", "1"])?;
    let arguments = netem_arguments(path);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    run("tc", &[&["qdisc", "replace", "dev", device, "root", "netem"], &arguments[..]].concat())
}

/// The path in netem's words (tc-netem(8)).
fn netem_arguments(path: &PathOptions) -> Vec<String> {
    let limit = (path.queue / PACKET_BYTES).max(1) + 2 * usize::try_from(DEVICE_QUEUE).unwrap_or(usize::MAX);
    let mut arguments = vec!["limit".to_owned(), limit.to_string()];
    arguments.extend(["delay".to_owned(), format!("{}us", path.delay.as_micros())]);
    if path.loss != Share::NONE {
        arguments.extend(["loss".to_owned(), format!("{}%", path.loss.get() * 100.0)]);
    }
    if let Some(rate) = path.rate {
        arguments.extend(["rate".to_owned(), format!("{}bit", rate.bits())]);
    }
    arguments
}

/// Runs a program that says nothing when all is well.
fn run(program: &str, arguments: &[&str]) -> io::Result<()> {
    let output = Command::new(program).args(arguments).output().map_err(|error| {
        io::Error::new(error.kind(), format!("the program {program} (iproute2) cannot be run: {error}"))
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{program} {}: {}", arguments.join(" "), said.trim())))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::link::Rate;

    #[test]
    fn netem_is_told_all_of_a_path() {
        let path = PathOptions {
            delay: Duration::from_millis(100),
            rate: Some(Rate::mbit(35)),
            loss: Share::percent(1.0).unwrap(),
            jitter: Duration::ZERO,
            queue: 1_500_000,
        };
        let said = netem_arguments(&path).join(" ");
        assert_eq!(said, "limit 41000 delay 100000us loss 1% rate 35000000bit");
    }
}
