//! Which addresses belong to the public internet, and which hide another address inside.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use haft_pattern::AddressBlock;

/// What IANA set apart from the public internet; the first block that fits gives the name.
const SPECIAL: &[(AddressBlock, &str)] = &[
    (AddressBlock::v4([0, 0, 0, 0], 8), "an unspecified address"),
    (AddressBlock::v4([10, 0, 0, 0], 8), "a private address"),
    (AddressBlock::v4([100, 64, 0, 0], 10), "a shared address of a carrier's network"),
    (AddressBlock::v4([127, 0, 0, 0], 8), "a loopback address"),
    (AddressBlock::v4([169, 254, 0, 0], 16), "a link-local address"),
    (AddressBlock::v4([172, 16, 0, 0], 12), "a private address"),
    (AddressBlock::v4([192, 0, 0, 0], 24), "a reserved address"),
    (AddressBlock::v4([192, 0, 2, 0], 24), "a documentation address"),
    (AddressBlock::v4([192, 88, 99, 0], 24), "a reserved address"),
    (AddressBlock::v4([192, 168, 0, 0], 16), "a private address"),
    (AddressBlock::v4([198, 18, 0, 0], 15), "a benchmarking address"),
    (AddressBlock::v4([198, 51, 100, 0], 24), "a documentation address"),
    (AddressBlock::v4([203, 0, 113, 0], 24), "a documentation address"),
    (AddressBlock::v4([224, 0, 0, 0], 4), "a multicast address"),
    (AddressBlock::v4([255, 255, 255, 255], 32), "a broadcast address"),
    (AddressBlock::v4([240, 0, 0, 0], 4), "a reserved address"),
    (AddressBlock::v6([0, 0, 0, 0, 0, 0, 0, 0], 128), "an unspecified address"),
    (AddressBlock::v6([0, 0, 0, 0, 0, 0, 0, 1], 128), "a loopback address"),
    (AddressBlock::v6([0, 0, 0, 0, 0, 0, 0, 0], 96), "an IPv4-compatible address"),
    (AddressBlock::v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48), "a local NAT64 address"),
    (AddressBlock::v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7), "a unique local address"),
    (AddressBlock::v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), "a link-local address"),
    (AddressBlock::v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), "a site-local address"),
    (AddressBlock::v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), "a multicast address"),
    (TEREDO, "a Teredo tunnel address"),
    (AddressBlock::v6([0x2001, 2, 0, 0, 0, 0, 0, 0], 48), "a benchmarking address"),
    (AddressBlock::v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), "a reserved address"),
    (AddressBlock::v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), "a documentation address"),
    (SIX_TO_FOUR, "a 6to4 tunnel address"),
    (AddressBlock::v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), "a documentation address"),
];

const TEREDO: AddressBlock = AddressBlock::v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32);
const SIX_TO_FOUR: AddressBlock = AddressBlock::v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16);
/// Public by itself: on networks without IPv4 every IPv4 host is reached through it, so the embedded address decides.
const NAT64: AddressBlock = AddressBlock::v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96);
/// All that has been given out for public use so far.
const GLOBAL_UNICAST: AddressBlock = AddressBlock::v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

/// What kind of address this is, if it is not a public one.
pub(crate) fn special(address: IpAddr) -> Option<&'static str> {
    let listed = SPECIAL.iter().find(|(network, _)| network.contains(address)).map(|(_, kind)| *kind);
    let unassigned = address.is_ipv6() && !GLOBAL_UNICAST.contains(address) && !NAT64.contains(address);
    listed.or(unassigned.then_some("a reserved address"))
}

/// Every address that a packet to this one may end at: itself, and what tunnels and translators would make of it.
pub(crate) fn meanings(address: IpAddr) -> Vec<IpAddr> {
    let canonical = address.to_canonical();
    let mut all = vec![canonical];
    if let IpAddr::V6(address) = canonical {
        all.extend(embedded(address).into_iter().map(IpAddr::V4));
    }
    all
}

fn embedded(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    let bytes = address.octets();
    let at = |indexes: [usize; 4]| Ipv4Addr::from_octets(indexes.map(|index| bytes[index]));
    let last = at([12, 13, 14, 15]);
    match address.segments() {
        // Not compatible addresses, although their upper bits are the same.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Vec::new(),
        [0x2002, ..] => vec![at([2, 3, 4, 5])],
        // The client's address is written inverted.
        [0x2001, 0, ..] => vec![at([4, 5, 6, 7]), Ipv4Addr::from_bits(!last.to_bits())],
        // Depending on the prefix a network chose, the address follows the /48 (around the reserved octet) or ends the whole.
        [0x64, 0xff9b, 1, ..] => vec![at([6, 7, 9, 10]), last],
        [0x64, 0xff9b, 0, 0, 0, 0, ..] | [0, 0, 0, 0, 0 | 0xffff, 0, ..] => vec![last],
        _ => Vec::new(),
    }
}

const METADATA_ADDRESSES: &[IpAddr] = &[
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)), // AWS, Azure, Google, Oracle and most others
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),   // AWS container credentials
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 23)),  // AWS pod identity
    IpAddr::V4(Ipv4Addr::new(169, 254, 42, 42)),   // Scaleway
    IpAddr::V4(Ipv4Addr::new(169, 254, 0, 23)),    // Tencent
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)), // Alibaba
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),   // Azure's host agent
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),     // Oracle Classic
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)), // AWS
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)), // AWS pod identity
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)), // Google
    IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe)), // OpenStack
];

const METADATA_NAMES: &[&str] = &[
    "metadata",
    "metadata.goog",
    "metadata.google.internal",
    "metadata.azure.com",
    "metadata.azure.internal",
    "metadata.packet.net",
    "metadata.platformequinix.com",
    "metadata.tencentyun.com",
    "instance-data",
    "instance-data.ec2.internal",
    "api.metadata.cloud.ibm.com",
    "rancher-metadata",
];

/// Whether a cloud gives its machines' credentials away at this address.
pub(crate) fn is_metadata_address(address: IpAddr) -> bool {
    METADATA_ADDRESSES.contains(&address)
}

/// Whether a cloud gives its machines' credentials away under this name.
pub(crate) fn is_metadata_name(host: &str) -> bool {
    METADATA_NAMES.contains(&host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(address: &str) -> Vec<Option<&'static str>> {
        meanings(address.parse().unwrap()).into_iter().map(special).collect()
    }

    #[test]
    fn public_addresses_have_no_special_meaning() {
        for address in ["1.1.1.1", "93.184.216.34", "100.63.255.255", "172.32.0.1", "192.0.1.1", "2606:4700::1111", "2a00:1450::1"] {
            assert_eq!(kinds(address), [None], "{address}");
        }
        assert_eq!(kinds("64:ff9b::101:101"), [None, None], "a public host behind NAT64");
    }

    #[test]
    fn special_addresses_are_named_by_their_kind() {
        for (address, kind) in [
            ("0.0.0.0", "an unspecified address"),
            ("0.1.2.3", "an unspecified address"),
            ("10.255.255.255", "a private address"),
            ("100.64.0.1", "a shared address of a carrier's network"),
            ("100.127.255.255", "a shared address of a carrier's network"),
            ("127.0.0.1", "a loopback address"),
            ("127.255.255.254", "a loopback address"),
            ("169.254.1.1", "a link-local address"),
            ("172.16.0.1", "a private address"),
            ("172.31.255.255", "a private address"),
            ("192.0.0.8", "a reserved address"),
            ("192.0.2.1", "a documentation address"),
            ("192.88.99.1", "a reserved address"),
            ("192.168.0.1", "a private address"),
            ("198.19.255.255", "a benchmarking address"),
            ("198.51.100.7", "a documentation address"),
            ("203.0.113.7", "a documentation address"),
            ("224.0.0.1", "a multicast address"),
            ("239.255.255.255", "a multicast address"),
            ("240.0.0.1", "a reserved address"),
            ("255.255.255.255", "a broadcast address"),
            ("::ffff:127.0.0.1", "a loopback address"),
            ("::ffff:10.0.0.1", "a private address"),
            ("100::1", "a reserved address"),
            ("2001:2::1", "a benchmarking address"),
            ("2001:20::1", "a reserved address"),
            ("2001:db8::1", "a documentation address"),
            ("3fff::1", "a documentation address"),
            ("4000::1", "a reserved address"),
            ("5f00::1", "a reserved address"),
            ("fc00::1", "a unique local address"),
            ("fdff::1", "a unique local address"),
            ("fe80::1", "a link-local address"),
            ("febf::1", "a link-local address"),
            ("fec0::1", "a site-local address"),
            ("ff02::1", "a multicast address"),
        ] {
            assert_eq!(kinds(address), [Some(kind)], "{address}");
        }
    }

    #[test]
    fn addresses_inside_addresses_are_found() {
        for (address, inside) in [
            ("::127.0.0.1", vec!["127.0.0.1"]),
            ("64:ff9b::7f00:1", vec!["127.0.0.1"]),
            ("64:ff9b:1::a00:1", vec!["0.0.0.0", "10.0.0.1"]),
            ("64:ff9b:1:a9fe:a9:fe00::", vec!["169.254.169.254", "0.0.0.0"]),
            ("2002:a9fe:a9fe::1", vec!["169.254.169.254"]),
            ("2001:0:7f00:1::f5ff:fffe", vec!["127.0.0.1", "10.0.0.1"]),
            ("::ffff:0:7f00:1", vec!["127.0.0.1"]),
            ("2606:4700::1111", vec![]),
            ("::1", vec![]),
            ("::", vec![]),
        ] {
            let found: Vec<_> = meanings(address.parse().unwrap()).iter().skip(1).map(ToString::to_string).collect();
            assert_eq!(found, inside, "{address}");
        }
    }
}
