//! What a tunnel's frames are carried by.

use std::net::IpAddr;

use rtnetlink::packet_route::link::{
    InfoData, InfoGeneve, InfoGre, InfoGre6, InfoIpTunnel, InfoVti, InfoVxlan,
};

/// The interface that a tunnel is bound to, and where its other end is.
pub(super) fn ends(data: &InfoData) -> (Option<u32>, Option<IpAddr>) {
    type Ends = (Option<u32>, Option<IpAddr>);
    fn ends_of<T>(infos: &[T], end: impl Fn(&T) -> Ends) -> Ends {
        infos.iter().map(end).fold((None, None), |found, more| (more.0.or(found.0), more.1.or(found.1)))
    }
    let (lower, remote) = match data {
        InfoData::Vxlan(infos) => ends_of(infos, |info| match info {
            InfoVxlan::Link(index) => (Some(*index), None),
            InfoVxlan::Group(address) => (None, Some(IpAddr::V4(*address))),
            InfoVxlan::Group6(address) => (None, Some(IpAddr::V6(*address))),
            _ => (None, None),
        }),
        InfoData::Geneve(infos) => ends_of(infos, |info| match info {
            InfoGeneve::Remote(address) => (None, Some(IpAddr::V4(*address))),
            InfoGeneve::Remote6(address) => (None, Some(IpAddr::V6(*address))),
            _ => (None, None),
        }),
        InfoData::GreTap(infos) | InfoData::GreTun(infos) | InfoData::ErSpan(infos) => {
            ends_of(infos, |info| match info {
                InfoGre::Link(index) => (Some(*index), None),
                InfoGre::Remote(address) => (None, Some(IpAddr::V4(*address))),
                _ => (None, None),
            })
        }
        InfoData::GreTap6(infos) | InfoData::GreTun6(infos) | InfoData::Ip6ErSpan(infos) => {
            ends_of(infos, |info| match info {
                InfoGre6::Link(index) => (Some(*index), None),
                InfoGre6::Remote(address) => (None, Some(IpAddr::V6(*address))),
                _ => (None, None),
            })
        }
        InfoData::IpTunnel(infos) => ends_of(infos, |info| match info {
            InfoIpTunnel::Link(index) => (Some(*index), None),
            InfoIpTunnel::Remote(address) => (None, Some(*address)),
            _ => (None, None),
        }),
        InfoData::Vti(infos) => ends_of(infos, |info| match info {
            InfoVti::Link(index) => (Some(*index), None),
            InfoVti::Remote(address) => (None, Some(*address)),
            _ => (None, None),
        }),
        _ => (None, None),
    };
    (lower.filter(|index| *index != 0), remote)
}
