//! Links of a stated rate: the kernel's token bucket (`tbf`, man tc-tbf), by netlink.

use futures_util::StreamExt as _;
use rtnetlink::packet_core::{
    DefaultNla, NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};

use super::{Network, check_name, refused};
use crate::HostError;

/// Attributes of a token bucket (`linux/pkt_sched.h`).
const TBF_PARMS: u16 = 1;
const TBF_BURST: u16 = 6;
/// Frames are counted as they are, without a table of the caller's (`TC_LINKLAYER_ETHERNET`).
const LINK_LAYER_ETHERNET: u8 = 1;

/// How a link is slowed down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkShaping {
    /// Octets a second, of frames without their check sequence; at least 1.
    pub octets_per_second: u32,
    /// Octets that pass at once after a rest. With the length of one frame, the first frame passes at once and the
    /// one right behind it after the time that a frame takes. A longer frame is dropped.
    pub burst: u32,
    /// Octets that may wait; what comes on top is dropped.
    pub queue: u32,
}

impl Network {
    /// Slows the link `name` down in its direction of departure, instead of however it was slowed down before.
    ///
    /// # Errors
    /// There is no such link, the kernel has no token bucket (`ENOENT`), a figure is zero (`EINVAL`), or the rights
    /// are missing (`EPERM`).
    pub fn shape(&self, name: &str, shape: &LinkShaping) -> Result<(), HostError> {
        let attributes = vec![
            TcAttribute::Kind("tbf".into()),
            TcAttribute::Options(vec![
                TcOption::Other(DefaultNla::new(TBF_PARMS, parameters(shape))),
                TcOption::Other(DefaultNla::new(TBF_BURST, shape.burst.to_ne_bytes().to_vec())),
            ]),
        ];
        let message = RouteNetlinkMessage::NewQueueDiscipline(self.root_discipline(name, attributes)?);
        self.request(message, NLM_F_CREATE | NLM_F_REPLACE).map_err(refused("shape link", name))
    }

    /// Lets the link `name` send as fast as it can again.
    ///
    /// # Errors
    /// There is no such link, it is not slowed down (`ENOENT`), or the rights are missing (`EPERM`).
    pub fn unshape(&self, name: &str) -> Result<(), HostError> {
        let message = RouteNetlinkMessage::DelQueueDiscipline(self.root_discipline(name, Vec::new())?);
        self.request(message, 0).map_err(refused("unshape link", name))
    }

    fn root_discipline(&self, name: &str, attributes: Vec<TcAttribute>) -> Result<TcMessage, HostError> {
        check_name(name)?;
        let mut message = TcMessage::default();
        message.header.index = i32::try_from(self.link(name)?.index).unwrap_or(i32::MAX);
        message.header.parent = TcHandle::ROOT;
        message.attributes = attributes;
        Ok(message)
    }

    fn request(&self, message: RouteNetlinkMessage, flags: u16) -> Result<(), rtnetlink::Error> {
        let mut request = NetlinkMessage::from(message);
        request.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        let mut handle = self.handle.clone();
        self.runtime.block_on(async move {
            let mut answers = handle.request(request)?;
            while let Some(answer) = answers.next().await {
                if let NetlinkPayload::Error(error) = answer.payload
                    && error.code.is_some()
                {
                    return Err(rtnetlink::Error::NetlinkError(error));
                }
            }
            Ok(())
        })
    }
}

/// `struct tc_tbf_qopt`: two `tc_ratespec` (the second, of the peak rate, is not used), the queue, the bucket in ticks
/// (which the attribute of octets overrides) and an MTU.
fn parameters(shape: &LinkShaping) -> Vec<u8> {
    let mut octets = vec![0, LINK_LAYER_ETHERNET, 0, 0, 0, 0, 0, 0];
    octets.extend_from_slice(&shape.octets_per_second.to_ne_bytes());
    octets.extend_from_slice(&[0; 12]);
    octets.extend_from_slice(&shape.queue.to_ne_bytes());
    octets.extend_from_slice(&[0; 8]);
    octets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameters_have_the_kernels_layout() {
        let octets = parameters(&LinkShaping { octets_per_second: 1_250_000, burst: 1_514, queue: 65_536 });
        assert_eq!(octets.len(), 36, "sizeof(struct tc_tbf_qopt)");
        assert_eq!(octets[1], 1);
        assert_eq!(octets[8..12], 1_250_000_u32.to_ne_bytes());
        assert_eq!(octets[24..28], 65_536_u32.to_ne_bytes());
    }
}
