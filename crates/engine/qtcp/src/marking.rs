//! The marks of test packets.

use romer_host::HostError;
use romer_host::socket::StampingSocket;
use romer_record::qtcp::QtcpTrafficControl;
use romer_record::service::Marks;

/// The marks of a sender's socket, which follow its packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marking {
    conforming: Marks,
    non_conforming: Marks,
    /// Whether the socket has the marks of packets that conform.
    conforms: bool,
    count: u64,
}

impl Marking {
    /// A socket is opened with the first of these marks.
    pub(crate) const fn new([conforming, non_conforming]: [Marks; 2]) -> Self {
        Self { conforming, non_conforming, conforms: true, count: 0 }
    }

    /// Gives the next packet the marks that it should have.
    ///
    /// # Errors
    /// The system refuses the marks.
    pub(crate) fn apply(&mut self, socket: &StampingSocket, conforms: bool) -> Result<(), HostError> {
        if self.conforms != conforms {
            let marks = if conforms { self.conforming } else { self.non_conforming };
            socket.mark(marks.dscp, marks.priority)?;
            self.conforms = conforms;
        }
        Ok(())
    }

    /// The packet was sent.
    pub(crate) fn sent(&mut self) {
        self.count += u64::from(!self.conforms);
    }

    /// What was done with the packets.
    pub(crate) fn document(&self, shaped: bool) -> QtcpTrafficControl {
        QtcpTrafficControl {
            shaped,
            dscp: self.conforming.dscp.value(),
            priority: self.conforming.priority,
            non_conforming_packets: self.count,
        }
    }
}
