//! Blocks of IP addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A block of addresses, such as `10.1.0.0/16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressBlock {
    base: IpAddr,
    prefix: u8,
}

impl AddressBlock {
    /// A block, or `None` if the prefix is too long for the address.
    pub fn new(base: IpAddr, prefix: u8) -> Option<Self> {
        (prefix <= width(base)).then_some(Self { base, prefix })
    }
    /// One address alone.
    pub const fn single(address: IpAddr) -> Self {
        Self { base: address, prefix: width(address) }
    }
    /// A block of IPv4 addresses.
    pub const fn v4(base: [u8; 4], prefix: u8) -> Self {
        Self { base: IpAddr::V4(Ipv4Addr::from_octets(base)), prefix }
    }
    /// A block of IPv6 addresses.
    pub const fn v6(base: [u16; 8], prefix: u8) -> Self {
        Self { base: IpAddr::V6(Ipv6Addr::from_segments(base)), prefix }
    }
    /// The first address of the block.
    pub fn first(self) -> IpAddr {
        match self.base {
            IpAddr::V4(base) => (base & Ipv4Addr::from_bits(u32::MAX.checked_shl(self.host_bits()).unwrap_or(0))).into(),
            IpAddr::V6(base) => (base & Ipv6Addr::from_bits(self.mask())).into(),
        }
    }
    /// Whether an address is in it.
    pub fn contains(self, address: IpAddr) -> bool {
        self.base.is_ipv4() == address.is_ipv4() && (bits(self.base) ^ bits(address)) & self.mask() == 0
    }
    /// Whether it holds one address alone.
    pub fn is_one(self) -> bool {
        self.host_bits() == 0
    }
    fn mask(self) -> u128 {
        u128::MAX.checked_shl(self.host_bits()).unwrap_or(0)
    }
    fn host_bits(self) -> u32 {
        u32::from(width(self.base) - self.prefix)
    }
}

const fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_knows_its_borders() {
        let block = AddressBlock::new("10.1.0.0".parse().unwrap(), 16).unwrap();
        assert!(block.contains("10.1.255.255".parse().unwrap()));
        assert!(!block.contains("10.2.0.0".parse().unwrap()));
        assert!(!block.contains("::10.1.0.0".parse().unwrap()));
        assert_eq!(AddressBlock::new("10.1.2.3".parse().unwrap(), 16).unwrap().first(), "10.1.0.0".parse::<IpAddr>().unwrap());
        assert!(AddressBlock::new("0.0.0.0".parse().unwrap(), 0).unwrap().contains("255.1.2.3".parse().unwrap()));
        assert!(AddressBlock::new("::".parse().unwrap(), 0).unwrap().contains("ff::1".parse().unwrap()));
        assert_eq!(AddressBlock::new("10.0.0.0".parse().unwrap(), 33), None);
    }
}
