//! The queues through which packets leave a host's interfaces (queueing disciplines, man tc), and what they have dropped.

use std::os::fd::{AsFd, OwnedFd};

use crate::HostError;
use crate::bridge_port::route_socket;
use crate::netlink::{DUMP, Draft, attribute, exchange, u32_at};

/// `RTM_GETQDISC`, and the length of `struct tcmsg`.
const GET_QUEUE: u16 = 38;
const QUEUE: usize = 20;
/// `TCA_KIND`, `TCA_STATS2`, and in that `TCA_STATS_QUEUE`.
const KIND: u16 = 1;
const STATISTICS: u16 = 7;
const OF_QUEUE: u16 = 3;
/// `TC_H_ROOT`.
const ROOT: u32 = u32::MAX;

/// A queue of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Index of the interface.
    pub interface: u32,
    /// What tells it from the interface's others; the kernel's own choice has 0.
    pub handle: u32,
    /// It is the interface's first, which counts what those in it drop, too.
    pub is_root: bool,
    /// What it is called: `fq_codel`.
    pub kind: String,
    /// Packets that wait.
    pub waiting: u32,
    /// Packets that it has dropped since it is there, those among them that it refused; from 2^32 on from 0 again.
    pub dropped: u32,
}

/// Asks the kernel about the queues of one network namespace.
#[derive(Debug)]
pub struct Queues {
    socket: OwnedFd,
}

impl Queues {
    /// Those of this thread's network namespace.
    ///
    /// # Errors
    /// The system gives no more sockets (`EMFILE`).
    pub fn open() -> Result<Self, HostError> {
        Ok(Self { socket: route_socket()? })
    }

    /// All queues at this moment. An interface that passes packets to its driver at once has none.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn all(&self) -> Result<Vec<Queue>, HostError> {
        let mut all = Vec::new();
        exchange(self.socket.as_fd(), &Draft::new(GET_QUEUE, DUMP, &[0; QUEUE]).finish(), |body| {
            all.extend(queue(body));
        })?;
        Ok(all)
    }
}

/// What one answer tells.
fn queue(body: &[u8]) -> Option<Queue> {
    let attributes = body.get(QUEUE..)?;
    let kind = attribute(attributes, KIND)?.split(|octet| *octet == 0).next()?;
    let counts = attribute(attributes, STATISTICS).and_then(|all| attribute(all, OF_QUEUE))?;
    Some(Queue {
        interface: u32_at(body, 4)?,
        handle: u32_at(body, 8)?,
        is_root: u32_at(body, 12)? == ROOT,
        kind: String::from_utf8_lossy(kind).into_owned(),
        waiting: u32_at(counts, 0)?,
        dropped: u32_at(counts, 8)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_tells_of_its_queues_to_anybody_again_and_again() {
        let queues = Queues::open().unwrap();
        for _ in 0..2 {
            let all = queues.all().unwrap();
            assert!(all.iter().all(|one| one.interface > 0 && !one.kind.is_empty()), "{all:?}");
        }
    }

    #[test]
    fn a_queue_is_read_as_the_kernel_tells_of_it() {
        let mut answer = Draft::new(36, 0, &[0; QUEUE]);
        answer.attribute(KIND, b"fq_codel\0");
        let all = answer.open(STATISTICS);
        answer.attribute(1, &[9; 16]);
        let counts: Vec<u8> =
            [7_u32, 7_000, 219, 0, 300].iter().flat_map(|count| count.to_ne_bytes()).collect();
        answer.attribute(OF_QUEUE, &counts);
        answer.close(all);
        let mut body = answer.finish().split_off(crate::netlink::HEADER);
        body[4..8].copy_from_slice(&3_u32.to_ne_bytes());
        body[8..12].copy_from_slice(&0x1_0000_u32.to_ne_bytes());
        body[12..16].copy_from_slice(&ROOT.to_ne_bytes());
        let told = queue(&body).unwrap();
        let expected = Queue {
            interface: 3,
            handle: 0x1_0000,
            is_root: true,
            kind: "fq_codel".into(),
            waiting: 7,
            dropped: 219,
        };
        assert_eq!(told, expected);
        (0..body.len()).for_each(|length| assert!(queue(&body[..length]).is_none_or(|one| one == expected)));
    }
}
