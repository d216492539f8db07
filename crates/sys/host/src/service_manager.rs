//! What a service manager such as systemd and this process have to say to each other: that the process is ready, alive,
//! reloads or stops (`sd_notify(3)`, `sd_watchdog_enabled(3)`), and the sockets that it was started with (`sd_listen_fds(3)`).

use std::net::TcpListener;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use socket2::{Socket, Type};

use crate::HostError;

/// The first inherited descriptor (`SD_LISTEN_FDS_START`).
const FIRST_DESCRIPTOR: RawFd = 3;

/// The service manager that started this process, if one did. Without one, nothing is sent.
#[derive(Debug, Default)]
pub struct ServiceManager {
    socket: Option<UnixDatagram>,
    watchdog: Option<Duration>,
    /// When the last message that the process is alive was sent.
    alive: Option<Instant>,
}

impl ServiceManager {
    /// The one that the environment names: `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`.
    pub fn from_environment() -> Self {
        let variable = |name| std::env::var(name).ok();
        let socket = std::env::var_os("NOTIFY_SOCKET").and_then(|name| connect(name.as_bytes()));
        let is_ours =
            variable("WATCHDOG_PID").is_none_or(|process| process == std::process::id().to_string());
        let watchdog = variable("WATCHDOG_USEC")
            .filter(|_| is_ours)
            .and_then(|microseconds| microseconds.parse::<u64>().ok())
            .filter(|microseconds| *microseconds > 0)
            .map(Duration::from_micros);
        Self { socket, watchdog, alive: None }
    }

    /// Whether there is one that wants to be notified.
    pub const fn is_present(&self) -> bool {
        self.socket.is_some()
    }

    /// The process serves, or serves again after a reload.
    pub fn ready(&self) {
        self.notify("READY=1");
    }

    /// The process reads its configuration again; [`ServiceManager::ready`] ends that.
    pub fn reloading(&self) {
        let microseconds = crate::clock::monotonic_now().as_nanos() / 1_000;
        self.notify(&format!("RELOADING=1\nMONOTONIC_USEC={microseconds}"));
    }

    /// The process ends.
    pub fn stopping(&self) {
        self.notify("STOPPING=1");
    }

    /// What the process does, in one line for people.
    pub fn status(&self, line: &str) {
        self.notify(&format!("STATUS={}", line.replace('\n', " ")));
    }

    /// The process is alive. To be called at any rate above four times within the watchdog's time: half of that time is left between
    /// two messages.
    pub fn alive(&mut self) {
        let Some(watchdog) = self.watchdog else { return };
        let now = Instant::now();
        if self.alive.is_none_or(|last| now.duration_since(last) >= watchdog / 2) {
            self.alive = Some(now);
            self.notify("WATCHDOG=1");
        }
    }

    /// Sends a message. A manager that does not receive it is no reason to fail.
    fn notify(&self, message: &str) {
        if let Some(socket) = &self.socket {
            let _ = socket.send(message.as_bytes());
        }
    }
}

/// A socket connected to the manager's, which is a path, or a name in the abstract space after `@`.
fn connect(name: &[u8]) -> Option<UnixDatagram> {
    let address = match name {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name).ok()?,
        [b'/', ..] => SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(name)).ok()?,
        _ => return None,
    };
    let socket = UnixDatagram::unbound().ok()?;
    socket.connect_addr(&address).ok()?;
    // A manager that does not read must not stop who serves.
    socket.set_nonblocking(true).ok()?;
    Some(socket)
}

/// Sockets that the service manager opened and passed on (socket activation).
#[derive(Debug, Default)]
pub struct InheritedSockets {
    /// UDP sockets, bound.
    pub datagram: Vec<OwnedFd>,
    /// TCP listeners, which do not block.
    pub listeners: Vec<TcpListener>,
}

impl InheritedSockets {
    /// Those that `LISTEN_PID` and `LISTEN_FDS` name. Each process has them once: a second call returns none.
    ///
    /// # Errors
    /// One of them is neither a UDP socket nor a TCP listener.
    pub fn from_environment() -> Result<Self, HostError> {
        static ADOPTED: AtomicBool = AtomicBool::new(false);
        let variable = |name| std::env::var(name).ok();
        let is_ours = variable("LISTEN_PID").is_some_and(|process| process == std::process::id().to_string());
        let count = variable("LISTEN_FDS").and_then(|count| count.parse::<RawFd>().ok()).unwrap_or(0);
        if !is_ours || count <= 0 || ADOPTED.swap(true, Ordering::AcqRel) {
            return Ok(Self::default());
        }
        let numbers = FIRST_DESCRIPTOR..FIRST_DESCRIPTOR.saturating_add(count);
        Self::from_descriptors(numbers.map(inherited).collect::<Result<_, _>>()?)
    }

    /// The same of these descriptors.
    fn from_descriptors(descriptors: Vec<OwnedFd>) -> Result<Self, HostError> {
        let mut sockets = Self::default();
        for descriptor in descriptors {
            let refused = |source| HostError::System {
                operation: "use the inherited socket",
                subject: String::new(),
                source,
            };
            let socket = Socket::from(descriptor);
            let kind = socket.r#type().map_err(refused)?;
            let is_internet = socket.local_addr().map_err(refused)?.as_socket().is_some();
            socket.set_cloexec(true).map_err(refused)?;
            socket.set_nonblocking(true).map_err(refused)?;
            if is_internet && kind == Type::DGRAM {
                sockets.datagram.push(socket.into());
            } else if is_internet && kind == Type::STREAM && socket.is_listener().map_err(refused)? {
                sockets.listeners.push(socket.into());
            } else {
                return Err(HostError::Unsuitable(
                    "an inherited socket is neither a UDP socket nor a TCP listener (LISTEN_FDS); correct the socket unit",
                ));
            }
        }
        Ok(sockets)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.datagram.is_empty() && self.listeners.is_empty()
    }
}

/// The descriptor of this number, which the service manager opened for this process.
fn inherited(number: RawFd) -> Result<OwnedFd, HostError> {
    // SAFETY: the call takes plain numbers, and changes nothing.
    let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
    if flags < 0 {
        return Err(HostError::last_on("use the inherited descriptor", number.to_string()));
    }
    // SAFETY: it is open, the environment states that it is for this process, and it is requested once only.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Whether an IPv6 socket receives IPv6 only, as those of romer do. Of IPv4 sockets that is true.
pub(crate) fn is_one_family(
    socket: BorrowedFd<'_>,
    address: std::net::SocketAddr,
) -> Result<bool, HostError> {
    if address.is_ipv4() {
        return Ok(true);
    }
    let operation = "read IPV6_V6ONLY";
    let [only] = crate::sys::option(socket, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, operation)?;
    Ok(only != 0)
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    fn manager(watchdog: Option<Duration>) -> (ServiceManager, UnixDatagram) {
        let (near, far) = UnixDatagram::pair().unwrap();
        (ServiceManager { socket: Some(near), watchdog, alive: None }, far)
    }

    fn received(socket: &UnixDatagram) -> String {
        let mut octets = [0; 200];
        let length = socket.recv(&mut octets).unwrap();
        String::from_utf8_lossy(&octets[..length]).into_owned()
    }

    /// The messages are those of sd_notify(3).
    #[test]
    fn messages_are_those_of_systemd() {
        let (manager, far) = manager(None);
        manager.ready();
        manager.reloading();
        manager.status("two\nlines");
        manager.stopping();
        assert_eq!(received(&far), "READY=1");
        assert!(received(&far).starts_with("RELOADING=1\nMONOTONIC_USEC="));
        assert_eq!(received(&far), "STATUS=two lines");
        assert_eq!(received(&far), "STOPPING=1");
    }

    /// Within half of the watchdog's time there is one message that the process is alive.
    #[test]
    fn watchdog_messages_are_spaced() {
        let (mut manager, far) = manager(Some(Duration::from_secs(3_600)));
        manager.alive();
        manager.alive();
        manager.stopping();
        assert_eq!([received(&far), received(&far)], ["WATCHDOG=1", "STOPPING=1"]);
    }

    /// Names of the abstract space and paths are connected to; other names are not.
    #[test]
    fn sockets_are_found_by_name() {
        let name = format!("romer-test-{}", std::process::id());
        let far = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        connect(format!("@{name}").as_bytes()).unwrap().send(b"here").unwrap();
        assert_eq!(received(&far), "here");
        assert!(connect(b"relative").is_none() && connect(b"").is_none());
    }

    /// UDP sockets and TCP listeners are distinguished; anything else is refused.
    #[test]
    fn inherited_sockets_are_sorted() {
        let udp = OwnedFd::from(UdpSocket::bind("127.0.0.1:0").unwrap());
        let tcp = OwnedFd::from(TcpListener::bind("127.0.0.1:0").unwrap());
        let sockets = InheritedSockets::from_descriptors(vec![tcp, udp]).unwrap();
        assert_eq!((sockets.datagram.len(), sockets.listeners.len()), (1, 1));
        let other = OwnedFd::from(UnixDatagram::unbound().unwrap());
        assert!(InheritedSockets::from_descriptors(vec![other]).is_err());
    }
}
