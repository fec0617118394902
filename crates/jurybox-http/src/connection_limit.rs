//! A limit on open connections per client address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

/// The numbers of open connections by address, and the most per address.
pub(crate) struct ConnectionLimit {
    most: Option<usize>,
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// An open connection that counts for its address. Dropping it lowers the count.
pub(crate) struct ConnectionSlot {
    address: IpAddr,
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl ConnectionLimit {
    pub(crate) fn new(most: Option<usize>) -> Self {
        ConnectionLimit { most, open: Arc::default() }
    }

    /// Counts another connection from an address. None if the address has the most already.
    pub(crate) fn take(&self, address: IpAddr) -> Option<ConnectionSlot> {
        let address = counted_address(address);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let many = open.get(&address).copied().unwrap_or(0);
        if self.most.is_some_and(|most| many >= most) {
            return None;
        }
        open.insert(address, many + 1);
        Some(ConnectionSlot { address, open: self.open.clone() })
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let left = open.get(&self.address).map_or(0, |many| many - 1);
        if left == 0 {
            open.remove(&self.address);
        } else {
            open.insert(self.address, left);
        }
    }
}

/// The address under which a connection is counted: an IPv4 address, or the /64 network of an IPv6
/// address, which one client usually owns.
fn counted_address(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_so_many_places_and_gets_them_back() {
        let addresses = ConnectionLimit::new(Some(2));
        let take = |address: &str| addresses.take(address.parse().unwrap());
        let two = [take("10.0.0.1").unwrap(), take("::ffff:10.0.0.1").unwrap()];
        assert!(take("10.0.0.1").is_none());
        let others = [take("10.0.0.2").unwrap(), take("2001:db8::1").unwrap(), take("2001:db8::2").unwrap()];
        assert!(take("2001:db8::3").is_none() && take("2001:db8:0:1::3").is_some());
        drop(two);
        assert!(take("10.0.0.1").is_some());
        drop(others);
        assert!(addresses.open.lock().unwrap().is_empty(), "unused addresses are dropped");
        assert!(ConnectionLimit::new(None).take("10.0.0.1".parse().unwrap()).is_some());
    }
}
