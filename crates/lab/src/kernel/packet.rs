//! Packets between the two ends of the link: reading their addresses, and giving them others.
//!
//! Checksums are corrected by what changed (RFC 1624), not computed again. What is no whole IPv4 packet is left alone.

use std::net::Ipv4Addr;

const SOURCE: usize = 12;
const HEADER_CHECKSUM: usize = 10;
const PROTOCOL: usize = 9;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Gives an IPv4 packet other addresses; false for anything else, which is then unchanged.
pub(super) fn readdress(packet: &mut [u8], source: Ipv4Addr, destination: Ipv4Addr) -> bool {
    let Some((header, is_first_fragment)) = header_bytes(packet) else { return false };
    let mut new = [0; 8];
    new[..4].copy_from_slice(&source.octets());
    new[4..].copy_from_slice(&destination.octets());
    let Some(place) = packet.get_mut(SOURCE..SOURCE + 8) else { return false };
    let mut old = [0; 8];
    old.copy_from_slice(place);
    place.copy_from_slice(&new);
    correct(packet, HEADER_CHECKSUM, &old, &new);
    if is_first_fragment {
        match packet.get(PROTOCOL) {
            Some(&TCP) => correct(packet, header + 16, &old, &new),
            // Zero means that there is none.
            Some(&UDP) if packet.get(header + 6..header + 8) != Some(&[0, 0]) => {
                correct(packet, header + 6, &old, &new);
            }
            _ => {}
        }
    }
    true
}

/// How long the header of an IPv4 packet is, and whether the next one follows it.
fn header_bytes(packet: &[u8]) -> Option<(usize, bool)> {
    let header = packet.first().filter(|first| **first >> 4 == 4).map(|first| usize::from(first & 15) * 4)?;
    let fragment = packet.get(6..8)?;
    let is_first = fragment.first()? & 0x1F == 0 && *fragment.get(1)? == 0;
    (header >= 20 && packet.len() >= header).then_some((header, is_first))
}

/// Corrects the checksum at `at` for bytes that it covers and that have changed.
fn correct(packet: &mut [u8], at: usize, old: &[u8; 8], new: &[u8; 8]) {
    let Some(place) = packet.get_mut(at..at + 2) else { return };
    let word = |pair: &[u8]| pair.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
    let mut sum = word(place) ^ 0xFFFF;
    sum += old.chunks(2).map(|pair| word(pair) ^ 0xFFFF).sum::<u32>();
    sum += new.chunks(2).map(word).sum::<u32>();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    let [_, _, high, low] = (sum ^ 0xFFFF).to_be_bytes();
    place.copy_from_slice(&[high, low]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum that a right checksum makes 0xFFFF.
    fn sum(bytes: &[u8]) -> u32 {
        let mut sum: u32 =
            bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum();
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        sum
    }

    /// A TCP packet with right checksums.
    fn packet(payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 0, 7, 7, 0x40, 0, 64, TCP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        packet.extend_from_slice(&[
            0x12, 0x34, 0x0B, 0xEA, 1, 2, 3, 4, 5, 6, 7, 8, 0x50, 0x18, 1, 0, 0, 0, 0, 0,
        ]);
        packet.extend_from_slice(payload);
        let length = u16::try_from(packet.len()).unwrap().to_be_bytes();
        packet[2..4].copy_from_slice(&length);
        let header = !sum(&packet[..20]) as u16;
        packet[10..12].copy_from_slice(&header.to_be_bytes());
        let segment = !sum(&pseudo(&packet)) as u16;
        packet[36..38].copy_from_slice(&segment.to_be_bytes());
        packet
    }

    fn pseudo(packet: &[u8]) -> Vec<u8> {
        let segment = &packet[20..];
        let length = u16::try_from(segment.len()).unwrap().to_be_bytes();
        [&packet[12..20], &[0, TCP], &length, segment].concat()
    }

    #[test]
    fn checksums_stay_right() {
        for last in 0..=255 {
            let mut packet = packet(&[1, 2, 3, last]);
            let (source, destination) = (Ipv4Addr::new(198, 18, last, 3), Ipv4Addr::LOCALHOST);
            assert!(readdress(&mut packet, source, destination));
            assert_eq!(packet[12..16], source.octets());
            assert_eq!(packet[16..20], destination.octets());
            assert_eq!((sum(&packet[..20]), sum(&pseudo(&packet))), (0xFFFF, 0xFFFF));
        }
    }

    #[test]
    fn what_is_no_whole_ipv4_packet_is_left_alone() {
        let good = packet(&[9]);
        for end in 0..20 {
            assert!(!readdress(&mut good[..end].to_vec(), Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST), "{end}");
        }
        let mut six = good.clone();
        six[0] = 0x65;
        assert!(!readdress(&mut six, Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST));
        // A packet that ends in TCP's header is no reason to fail.
        assert!(readdress(&mut good[..24].to_vec(), Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST));
    }
}
