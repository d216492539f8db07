//! The kernel's shapers for one flow: a token bucket as the queueing discipline of an interface, by netlink, restored at
//! the end of this process in whatever way it ends.
//!
//! `htb` (man tc-htb) shapes the packets of the flow alone: a filter (`u32`) sends them through a class with the token bucket,
//! and everything else passes the interface as before. `tbf` (man tc-tbf) has one queue for the whole interface.
//!
//! Only the interface's own default, or a discipline that can be set again exactly as the kernel reports it, is replaced.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use crate::HostError;
use crate::bridge_port::route_socket;
use crate::flows::class_of_service;
use crate::netlink::{DUMP, Draft, REQUEST, attribute, exchange, u16_at, u32_at};
use crate::watchdog_process::WatchdogProcess;

/// `RTM_NEWQDISC`, `RTM_DELQDISC`, `RTM_GETQDISC`, `RTM_NEWTCLASS` and `RTM_NEWTFILTER`; the length of `struct tcmsg`.
const NEW_DISCIPLINE: u16 = 36;
const DELETE_DISCIPLINE: u16 = 37;
const GET_DISCIPLINE: u16 = 38;
const NEW_CLASS: u16 = 40;
const NEW_FILTER: u16 = 44;
const FIXED: usize = 20;
/// `NLM_F_ACK`, `NLM_F_REPLACE`, `NLM_F_EXCL` and `NLM_F_CREATE`.
const ACKNOWLEDGE: u16 = 0x4;
const REPLACE: u16 = 0x100;
const EXCLUSIVE: u16 = 0x200;
const CREATE: u16 = 0x400;
/// `TCA_KIND` and `TCA_OPTIONS`.
const KIND: u16 = 1;
const OPTIONS: u16 = 2;
/// `TC_H_ROOT`, and `TC_H_INGRESS`, where `clsact` stands as well.
const ROOT: u32 = 0xffff_ffff;
const INGRESS: u32 = 0xffff_fff1;
/// What the handles of romer's disciplines have in common: the first octet. Each shaper has a handle of its own, by which no other is
/// deleted.
const HANDLES: u32 = 0x7200_0000;
const OF_HANDLES: u32 = 0xff00_0000;
/// Nanoseconds of a tick of the kernel's schedulers (`PSCHED_SHIFT`).
const TICK_NS: u128 = 64;
/// `TC_LINKLAYER_ETHERNET`: octets are counted without a table of the caller's.
const LINK_LAYER_ETHERNET: u8 = 1;
/// Octets that a class sends in its turn: one full Ethernet frame.
const QUANTUM: u32 = 1_514;
/// Disciplines whose options the kernel takes as it reports them. They have no classes.
const RESTORABLE: [&str; 5] = ["pfifo", "bfifo", "tbf", "codel", "fq_codel"];
/// How long the watchdog of a romer that has ended may take to restore the interface.
const RESTORE_TIMEOUT: Duration = Duration::from_millis(500);

/// A shaper of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// Hierarchical token bucket: one flow of an interface.
    Htb,
    /// Token bucket filter: everything that leaves by an interface.
    Tbf,
}

impl Discipline {
    /// Its name in the kernel.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Htb => "htb",
            Self::Tbf => "tbf",
        }
    }
}

impl fmt::Display for Discipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Datagrams of one UDP socket to one address and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The port that they leave from.
    pub local_port: u16,
    /// Where they go.
    pub remote: SocketAddr,
    /// The first four octets, in network order, of payloads that `htb` does not shape: they pass at once.
    pub unshaped: Option<u32>,
    /// The number of its service (RFC 2210), by which [`crate::flows`] lists it; 0 for none.
    pub service: u8,
}

impl Flow {
    /// Its class in a discipline.
    fn class(&self) -> u32 {
        class_of_service(self.service, 1).into()
    }
}

/// A token bucket as the kernel has it. Octets are those of frames without their check sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Octets per second, at least 1.
    pub octets_per_second: u32,
    /// Depth, octets; at least one frame of the flow.
    pub depth: u32,
    /// One frame of the flow, octets.
    pub frame: u32,
    /// Octets that may wait (`tbf`; a class of `htb` has the queue of its interface).
    pub queue: u32,
}

impl Bucket {
    /// The time in which the bucket is filled, in ticks; `None` beyond what the kernel counts, 274 s.
    pub fn ticks(&self, octets: u32) -> Option<u32> {
        let nanos = u128::from(octets) * 1_000_000_000 / u128::from(self.octets_per_second.max(1));
        u32::try_from(nanos / TICK_NS).ok()
    }
}

/// Why the kernel does not shape.
#[derive(Debug, thiserror::Error)]
pub enum ShaperError {
    /// The kernel lacks a part.
    #[error("this kernel has no {0}")]
    Lacking(&'static str),
    /// Another romer has the interface.
    #[error("another romer shapes it")]
    InUse,
    /// Somebody has given the interface a discipline that cannot be set again as it was.
    #[error("its queueing discipline, {kind} {major:x}:, cannot be restored")]
    NotRestorable {
        /// Its kind.
        kind: String,
        /// The major number of its handle.
        major: u32,
    },
    /// The bucket is deeper than the kernel counts.
    #[error("the bucket takes more than 274 s to fill")]
    TooDeep,
    /// The kernel's refusal.
    #[error(transparent)]
    Host(#[from] HostError),
}

/// A discipline that somebody has given an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Former {
    handle: u32,
    kind: String,
    options: Vec<u8>,
    /// There are disciplines in it.
    has_children: bool,
}

impl Former {
    fn major(&self) -> u32 {
        self.handle >> 16
    }

    /// Whether a romer has set it.
    fn is_of_romer(&self) -> bool {
        self.handle & OF_HANDLES == HANDLES
    }

    fn is_restorable(&self) -> bool {
        !self.has_children && RESTORABLE.contains(&self.kind.as_str())
    }
}

/// Where a discipline stands: the interface, and the handle.
#[derive(Clone, Copy, Debug)]
struct Place {
    index: u32,
    handle: u32,
}

impl Place {
    /// On the interface of `index`, with a handle that another romer has with a probability of 1/256: where two replace a discipline at
    /// the same time, neither removes that of the other.
    fn on(index: u32) -> Self {
        let octet = u32::from(RandomState::new().hash_one(std::process::id()).to_le_bytes()[0]);
        Self { index, handle: HANDLES | octet << 16 }
    }
}

/// Shapes a flow until it is dropped, or this process ends.
#[derive(Debug)]
pub struct Shaper {
    watchdog: WatchdogProcess,
    /// What the watchdog has as well: this process does its work if it was killed.
    socket: OwnedFd,
    restoration: Vec<Vec<u8>>,
}

impl Shaper {
    /// Has the interface of `index` shape by `discipline`. It is that of this thread's network namespace.
    ///
    /// # Errors
    /// [`ShaperError`]. It takes `CAP_NET_ADMIN`. The interface is as before then.
    pub fn install(
        index: u32,
        discipline: Discipline,
        flow: &Flow,
        bucket: &Bucket,
    ) -> Result<Self, ShaperError> {
        let socket = route_socket()?;
        let former = replaceable(&socket, index)?;
        let place = Place::on(index);
        let steps = plan(place, discipline, flow, bucket, former.is_some())?;
        let restoration = restoration(place, former.as_ref());
        // It has a socket of its own, as has the end: what this process has not read of the answers would be in its way.
        let (its_own, of_the_end) = (route_socket()?, route_socket()?);
        let watchdog = WatchdogProcess::over([its_own.as_fd()], |[socket]| put_back(socket, &restoration))?;
        for step in &steps {
            exchange(socket.as_fd(), &step.message, |_| ()).map_err(|error| step.refusal(error))?;
        }
        Ok(Self { watchdog, socket: of_the_end, restoration })
    }

    /// Restores the interface and waits for that. Whether it could be: not where somebody else has changed it meanwhile.
    pub fn restore(mut self) -> bool {
        let done = self.watchdog.finish();
        done.unwrap_or_else(|| put_back(self.socket.as_raw_fd(), &self.restoration)) == 0
    }
}

/// What is the root of the interface, if that is not its own default and can be restored.
fn replaceable(socket: &OwnedFd, index: u32) -> Result<Option<Former>, ShaperError> {
    let give_up = Instant::now() + RESTORE_TIMEOUT;
    loop {
        match former(socket, index)? {
            None => return Ok(None),
            // That of a romer that has ended is removed by its watchdog.
            Some(found) if found.is_of_romer() && Instant::now() < give_up => {
                std::thread::sleep(RESTORE_TIMEOUT / 50);
            }
            Some(found) if found.is_of_romer() => return Err(ShaperError::InUse),
            Some(found) if found.is_restorable() => return Ok(Some(found)),
            Some(found) => {
                return Err(ShaperError::NotRestorable { major: found.major(), kind: found.kind });
            }
        }
    }
}

fn former(socket: &OwnedFd, index: u32) -> Result<Option<Former>, ShaperError> {
    let (mut root, mut has_children) = (None, false);
    let answer = exchange(socket.as_fd(), &Draft::new(GET_DISCIPLINE, DUMP, &[0; FIXED]).finish(), |body| {
        match set_discipline(body, index) {
            Some((ROOT, found)) => root = Some(found),
            Some(_) => has_children = true,
            None => {}
        }
    });
    answer.map_err(|error| lacking(error, "traffic control (CONFIG_NET_SCHED)"))?;
    Ok(root.map(|root| Former { has_children, ..root }))
}

/// A discipline of the interface that somebody has set, with what it is in; not one for what arrives.
fn set_discipline(body: &[u8], index: u32) -> Option<(u32, Former)> {
    let (handle, parent) = (u32_at(body, 8)?, u32_at(body, 12)?);
    if u32_at(body, 4)? != index || handle == 0 || parent == INGRESS {
        return None;
    }
    let attributes = body.get(FIXED..)?;
    let kind = attribute(attributes, KIND)?.split(|octet| *octet == 0).next()?;
    let kind = String::from_utf8_lossy(kind).into_owned();
    let options = attribute(attributes, OPTIONS).unwrap_or_default().to_vec();
    Some((parent, Former { handle, kind, options, has_children: false }))
}

/// A request to the kernel, with the part of the kernel that it needs.
struct Step {
    message: Vec<u8>,
    needs: &'static str,
}

impl Step {
    fn refusal(&self, error: HostError) -> ShaperError {
        match error.errno() {
            Some(libc::EEXIST) => ShaperError::InUse,
            _ => lacking(error, self.needs),
        }
    }
}

/// The error for what a kernel without `part` answers.
fn lacking(error: HostError, part: &'static str) -> ShaperError {
    match error.errno() {
        Some(libc::ENOENT | libc::EOPNOTSUPP) => ShaperError::Lacking(part),
        _ => ShaperError::Host(error),
    }
}

/// The requests that install a shaper, in order. Nothing is replaced unless `replaces`.
fn plan(
    place: Place,
    discipline: Discipline,
    flow: &Flow,
    bucket: &Bucket,
    replaces: bool,
) -> Result<Vec<Step>, ShaperError> {
    let flags = REQUEST | ACKNOWLEDGE | CREATE | if replaces { REPLACE } else { EXCLUSIVE };
    let Place { index, handle } = place;
    let root = |needs, fill: &dyn Fn(&mut Draft)| {
        let options = fixed(index, handle, ROOT, 0);
        Step { message: request(NEW_DISCIPLINE, flags, &options, discipline.name(), fill), needs }
    };
    let full = bucket.ticks(bucket.depth).ok_or(ShaperError::TooDeep)?;
    match discipline {
        Discipline::Tbf => Ok(vec![root("tbf (sch_tbf)", &|draft| {
            draft.attribute(TBF_PARAMETERS, &tbf_parameters(bucket));
            draft.attribute(TBF_DEPTH, &bucket.depth.to_ne_bytes());
        })]),
        Discipline::Htb => {
            // A class may send as long as it has no debt. The last frame of a burst takes its tokens afterwards.
            let ticks = bucket.ticks(bucket.depth.saturating_sub(bucket.frame)).unwrap_or(full);
            let only = REQUEST | ACKNOWLEDGE | CREATE | EXCLUSIVE;
            let class =
                request(NEW_CLASS, only, &fixed(index, handle | flow.class(), handle, 0), "htb", &|draft| {
                    draft.attribute(HTB_PARAMETERS, &htb_parameters(bucket, ticks));
                });
            let filters = filters(place, only, flow).into_iter();
            let filters = filters.map(|message| Step { message, needs: "classifier u32 (cls_u32)" });
            let discipline = root("htb (sch_htb)", &|draft| draft.attribute(HTB_INIT, &htb_init()));
            Ok([discipline, Step { message: class, needs: "htb (sch_htb)" }]
                .into_iter()
                .chain(filters)
                .collect())
        }
    }
}

/// `TCA_TBF_PARMS` and `TCA_TBF_BURST`; `TCA_HTB_PARMS` and `TCA_HTB_INIT`; `TCA_U32_CLASSID` and `TCA_U32_SEL`.
const TBF_PARAMETERS: u16 = 1;
const TBF_DEPTH: u16 = 6;
const HTB_PARAMETERS: u16 = 1;
const HTB_INIT: u16 = 2;
const U32_CLASS: u16 = 1;
const U32_SELECTOR: u16 = 5;

/// `struct tcmsg`.
fn fixed(index: u32, handle: u32, parent: u32, info: u32) -> Vec<u8> {
    [0, index, handle, parent, info].iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn request(kind: u16, flags: u16, fixed: &[u8], name: &str, fill: &dyn Fn(&mut Draft)) -> Vec<u8> {
    let mut draft = named(kind, flags, fixed, name);
    let options = draft.open(OPTIONS);
    fill(&mut draft);
    draft.close(options);
    draft.finish()
}

/// The beginning of a request for a part that is called `name`.
fn named(kind: u16, flags: u16, fixed: &[u8], name: &str) -> Draft {
    let mut draft = Draft::new(kind, flags, fixed);
    draft.attribute(KIND, &[name.as_bytes(), &[0]].concat());
    draft
}

/// `struct tc_ratespec`.
fn rate(octets_per_second: u32) -> Vec<u8> {
    let mut octets = vec![0, LINK_LAYER_ETHERNET, 0, 0, 0, 0, 0, 0];
    octets.extend_from_slice(&octets_per_second.to_ne_bytes());
    octets
}

/// `struct tc_tbf_qopt`: two rates (the second, of a peak, is not used), the queue, the depth in ticks (which the attribute
/// of octets overrides) and an MTU.
fn tbf_parameters(bucket: &Bucket) -> Vec<u8> {
    let mut octets = rate(bucket.octets_per_second);
    octets.extend_from_slice(&[0; 12]);
    octets.extend_from_slice(&bucket.queue.to_ne_bytes());
    octets.extend_from_slice(&[0; 8]);
    octets
}

/// `struct tc_htb_glob`: version 3, a divisor that is not used, class 0 for what no filter selects (which passes at once),
/// and two fields of the kernel's.
fn htb_init() -> Vec<u8> {
    [3_u32, 10, 0, 0, 0].iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// `struct tc_htb_opt`: the rate, the same as a ceiling, the depth of both in ticks, the quantum, a level and a priority.
fn htb_parameters(bucket: &Bucket, ticks: u32) -> Vec<u8> {
    let mut octets = [rate(bucket.octets_per_second), rate(bucket.octets_per_second)].concat();
    octets.extend([ticks, ticks, QUANTUM, 0, 0].iter().flat_map(|word: &u32| word.to_ne_bytes()));
    octets
}

/// A 32-bit word of a packet from its IP header on: mask, value, offset in octets.
type Key = (u32, u32, i32);

/// The filters that send the flow through the class, and before it past the class what is not shaped of it.
fn filters(Place { index, handle }: Place, flags: u16, flow: &Flow) -> Vec<Vec<u8>> {
    /// `ETH_P_IP` and `ETH_P_IPV6`; where the first four octets of a payload are, behind headers without options.
    const PROTOCOLS: [u16; 2] = [0x0800, 0x86dd];
    const PAYLOADS: [i32; 2] = [28, 48];
    let family = usize::from(flow.remote.is_ipv6());
    let filter = |preference: u32, class: u32, keys: &[Key]| {
        let info = preference << 16 | u32::from(PROTOCOLS[family].to_be());
        request(NEW_FILTER, flags, &fixed(index, 0, handle, info), "u32", &|draft| {
            draft.attribute(U32_CLASS, &class.to_ne_bytes());
            draft.attribute(U32_SELECTOR, &selector(keys));
        })
    };
    let keys = keys(flow);
    // The handle of the discipline stands for its queue without a class.
    let unshaped = flow.unshaped.map(|word| {
        let keys: Vec<Key> = keys.iter().copied().chain([(u32::MAX, word, PAYLOADS[family])]).collect();
        filter(1, handle, &keys)
    });
    unshaped.into_iter().chain([filter(2, handle | flow.class(), &keys)]).collect()
}

/// What the packets of the flow have in common: UDP, the destination, and both ports. No header has options.
fn keys(flow: &Flow) -> Vec<Key> {
    const UDP: u32 = 17;
    const ALL: u32 = u32::MAX;
    let ports = u32::from(flow.local_port) << 16 | u32::from(flow.remote.port());
    match flow.remote.ip() {
        IpAddr::V4(address) => {
            vec![(0x00ff_0000, UDP << 16, 8), (ALL, address.to_bits(), 16), (ALL, ports, 20)]
        }
        IpAddr::V6(address) => {
            let words = address.octets();
            let (words, _) = words.as_chunks::<4>();
            let words = words.iter().zip([24, 28, 32, 36]);
            let address = words.map(|(word, offset)| (ALL, u32::from_be_bytes(*word), offset));
            std::iter::once((0x0000_ff00, UDP << 8, 4)).chain(address).chain([(ALL, ports, 40)]).collect()
        }
    }
}

/// `struct tc_u32_sel` (its last key, `TC_U32_TERMINAL`) with its `struct tc_u32_key`.
fn selector(keys: &[Key]) -> Vec<u8> {
    const TERMINAL: u8 = 1;
    let mut octets = vec![0; 16];
    octets[0] = TERMINAL;
    octets[2] = u8::try_from(keys.len()).unwrap_or(u8::MAX);
    for (mask, value, offset) in keys {
        octets.extend_from_slice(&mask.to_be_bytes());
        octets.extend_from_slice(&value.to_be_bytes());
        octets.extend_from_slice(&offset.to_ne_bytes());
        octets.extend_from_slice(&[0; 4]);
    }
    octets
}

/// The requests that restore the interface, in order: the removal of romer's discipline, and of none else, after which the
/// interface has its default; then the discipline that it had.
fn restoration(Place { index, handle }: Place, former: Option<&Former>) -> Vec<Vec<u8>> {
    let asked = REQUEST | ACKNOWLEDGE;
    let mut requests = vec![Draft::new(DELETE_DISCIPLINE, asked, &fixed(index, handle, ROOT, 0)).finish()];
    requests.extend(former.map(|former| {
        let header = fixed(index, former.handle, ROOT, 0);
        let mut draft = named(NEW_DISCIPLINE, asked | CREATE | EXCLUSIVE, &header, &former.kind);
        draft.attribute(OPTIONS, &former.options);
        draft.finish()
    }));
    requests
}

/// Makes system calls only: it runs in a copy of a process that may have had threads. 0 where all was done.
fn put_back(socket: RawFd, requests: &[Vec<u8>]) -> u8 {
    // Where somebody else has replaced the discipline meanwhile, what that one has set stays.
    u8::from(!requests.iter().all(|request| is_done(socket, request)))
}

/// Sends a request; whether the kernel has done it. The answer is there when the call returns.
fn is_done(socket: RawFd, request: &[u8]) -> bool {
    /// `NLMSG_ERROR`, with the number 0 where there is none, behind the header.
    const ANSWER: u16 = 2;
    let mut answer = [0_u8; 64];
    // SAFETY: pointer and length describe `request`, which the call only reads.
    let sent = unsafe { libc::send(socket, request.as_ptr().cast(), request.len(), libc::MSG_DONTWAIT) };
    // SAFETY: pointer and length describe `answer`, which is exclusively ours.
    let read = unsafe { libc::recv(socket, answer.as_mut_ptr().cast(), answer.len(), libc::MSG_DONTWAIT) };
    sent > 0 && read > 0 && u16_at(&answer, 4) == Some(ANSWER) && u32_at(&answer, 16) == Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::message;

    const BUCKET: Bucket = Bucket { octets_per_second: 26_500, depth: 132, frame: 106, queue: 106_000 };

    const PLACE: Place = Place { index: 7, handle: 0x7205_0000 };

    fn flow(remote: &str) -> Flow {
        Flow { local_port: 0x1234, remote: remote.parse().unwrap(), unshaped: None, service: 0 }
    }

    fn bodies(steps: &[Step]) -> Vec<(u16, Vec<u8>)> {
        let one = |step: &Step| {
            let (kind, body, rest) = message(&step.message).unwrap();
            assert!(rest.is_empty());
            (kind, body.to_vec())
        };
        steps.iter().map(one).collect()
    }

    /// The structures have the sizes and the fields of the kernel's headers.
    #[test]
    fn parameters_have_the_kernels_layout() {
        let tbf = tbf_parameters(&BUCKET);
        assert_eq!((tbf.len(), u32_at(&tbf, 8), u32_at(&tbf, 24)), (36, Some(26_500), Some(106_000)));
        let htb = htb_parameters(&BUCKET, 15_331);
        assert_eq!((htb.len(), u32_at(&htb, 8), u32_at(&htb, 20)), (44, Some(26_500), Some(26_500)));
        assert_eq!([24, 28, 32].map(|at| u32_at(&htb, at)), [Some(15_331), Some(15_331), Some(QUANTUM)]);
        assert_eq!(htb_init().len(), 20);
        assert_eq!(selector(&keys(&flow("192.0.2.7:862"))).len(), 16 + 3 * 16);
    }

    /// The filter selects UDP to one address and port from one port, as the packets have them.
    #[test]
    fn filters_select_one_flow() {
        let ports = (u32::MAX, 0x1234_035e, 20);
        let v4 = keys(&flow("192.0.2.7:862"));
        assert_eq!(v4, [(0x00ff_0000, 0x0011_0000, 8), (u32::MAX, 0xc000_0207, 16), ports]);
        let v6 = keys(&flow("[2001:db8::7]:862"));
        assert_eq!((v6.len(), v6[0], v6[1]), (6, (0xff00, 0x1100, 4), (u32::MAX, 0x2001_0db8, 24)));
        assert_eq!((v6[4], v6[5]), ((u32::MAX, 7, 36), (u32::MAX, 0x1234_035e, 40)));
        for remote in ["192.0.2.7:862", "[2001:db8::7]:862"] {
            let except = Flow { unshaped: Some(0x726f_6d65), ..flow(remote) };
            let class = |request: &Vec<u8>| {
                let (_, body, _) = message(request).unwrap();
                let options = attribute(&body[FIXED..], OPTIONS).unwrap();
                (u32_at(body, 16).unwrap() >> 16, u32_at(attribute(options, U32_CLASS).unwrap(), 0).unwrap())
            };
            let classes: Vec<(u32, u32)> = filters(PLACE, REQUEST, &except).iter().map(class).collect();
            assert_eq!(classes, [(1, 0x7205_0000), (2, 0x7205_0001)]);
            let guaranteed = Flow { service: 2, ..flow(remote) };
            assert_eq!(
                filters(PLACE, REQUEST, &guaranteed).iter().map(class).collect::<Vec<_>>(),
                [(2, 0x7205_2001)]
            );
        }
    }

    /// A class of htb has one frame less than the bucket: it sends until it has a debt.
    #[test]
    fn plans_name_what_they_need() {
        let steps = plan(PLACE, Discipline::Htb, &flow("192.0.2.7:862"), &BUCKET, false).unwrap();
        let found = bodies(&steps);
        assert_eq!(found.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [36, 40, 44]);
        for (_, body) in &found {
            assert_eq!(u32_at(body, 4), Some(7));
        }
        let options = attribute(&found[1].1[FIXED..], OPTIONS).unwrap();
        let class = attribute(options, HTB_PARAMETERS).unwrap();
        // 26 octets at 26,500 a second are 981,132 ns.
        assert_eq!(u32_at(class, 24), Some(981_132 / 64));
        let needs: Vec<&str> = steps.iter().map(|step| step.needs).collect();
        assert_eq!(needs, ["htb (sch_htb)", "htb (sch_htb)", "classifier u32 (cls_u32)"]);
        let unknown = HostError::System {
            operation: "ask netlink",
            subject: String::new(),
            source: std::io::Error::from_raw_os_error(libc::ENOENT),
        };
        assert_eq!(steps[2].refusal(unknown).to_string(), "this kernel has no classifier u32 (cls_u32)");
        let steps = plan(PLACE, Discipline::Tbf, &flow("192.0.2.7:862"), &BUCKET, true).unwrap();
        let found = bodies(&steps);
        let options = attribute(&found[0].1[FIXED..], OPTIONS).unwrap();
        assert_eq!(attribute(options, TBF_DEPTH), Some(132_u32.to_ne_bytes().as_slice()));
        assert_eq!(u16_at(&steps[0].message, 6), Some(REQUEST | ACKNOWLEDGE | CREATE | REPLACE));
    }

    /// A bucket that takes longer to fill than the kernel counts is refused.
    #[test]
    fn deep_buckets_are_refused() {
        let deep = Bucket { octets_per_second: 100, depth: 27_488, ..BUCKET };
        let error = plan(PLACE, Discipline::Tbf, &flow("192.0.2.7:862"), &deep, false).err().unwrap();
        assert!(matches!(error, ShaperError::TooDeep), "{error}");
        assert!(
            plan(PLACE, Discipline::Tbf, &flow("192.0.2.7:862"), &Bucket { depth: 27_487, ..deep }, false)
                .is_ok()
        );
    }

    /// The interface gets back the very options that the kernel has reported, and nothing is removed but romer's.
    #[test]
    fn restorations_set_the_same_again() {
        let mut answer = Draft::new(NEW_DISCIPLINE, 0, &fixed(7, 0x5_0000, ROOT, 2));
        answer.attribute(KIND, b"pfifo\0");
        answer.attribute(OPTIONS, &7_u32.to_ne_bytes());
        let answer = answer.finish();
        let (_, body, _) = message(&answer).unwrap();
        let (parent, found) = set_discipline(body, 7).unwrap();
        assert_eq!((parent, found.kind.as_str(), found.is_restorable()), (ROOT, "pfifo", true));
        assert!(!Former { has_children: true, ..found.clone() }.is_restorable());
        assert!(!Former { kind: "htb".into(), ..found.clone() }.is_restorable());
        assert_eq!(set_discipline(body, 8), None);
        let requests = restoration(PLACE, Some(&found));
        let (kind, removal, _) = message(&requests[0]).unwrap();
        assert_eq!((kind, u32_at(removal, 8), u32_at(removal, 12)), (37, Some(PLACE.handle), Some(ROOT)));
        let (kind, again, _) = message(&requests[1]).unwrap();
        assert_eq!((kind, u32_at(again, 8)), (36, Some(0x5_0000)));
        assert_eq!(again[FIXED..], body[FIXED..]);
        assert_eq!(restoration(PLACE, None).len(), 1);
    }

    /// The interface's own default and what stands at its ingress are no disciplines that somebody has set there.
    #[test]
    fn defaults_are_not_restored() {
        for (handle, parent) in [(0, ROOT), (0xffff_0000, INGRESS)] {
            let mut answer = Draft::new(NEW_DISCIPLINE, 0, &fixed(7, handle, parent, 2));
            answer.attribute(KIND, b"noqueue\0");
            let answer = answer.finish();
            let (_, body, _) = message(&answer).unwrap();
            assert_eq!(set_discipline(body, 7), None);
        }
    }

    /// Handles are romer's, and differ, so that the end of one shaper does not remove another.
    #[test]
    fn handles_are_their_own() {
        let handles: Vec<u32> = (0..100).map(|_| Place::on(7).handle).collect();
        let of = |handle| Former { handle, kind: "htb".into(), options: Vec::new(), has_children: false };
        assert!(handles.iter().all(|handle| of(*handle).is_of_romer() && handle & 0xffff == 0));
        // All 100 are the same with a probability of 256^-99.
        assert!(handles.iter().any(|handle| *handle != handles[0]));
        assert!(!of(0x0005_0000).is_of_romer() && !of(0x8001_0000).is_of_romer());
    }
}
