//! A network card's clock: switching its stamps on, and reading it beside the host's
//! (`include/uapi/linux/net_tstamp.h`, `include/uapi/linux/ptp_clock.h`).

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::HostError;
use crate::clock::{Realtime, nanos_of};
use crate::ethtool::{self, Stamping};
use crate::identity::Identity;
use crate::watchdog_process::WatchdogProcess;

/// A reading of a network card's clock, in nanoseconds of its own. What it says in the host's time is known only by reading
/// both clocks side by side ([`PhcClock::read`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhcTime(i64);

impl PhcTime {
    /// So many nanoseconds of the card's clock.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }
    /// Nanoseconds of the card's clock.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }
}

/// `struct hwtstamp_config`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Setting {
    flags: i32,
    departures: i32,
    arrivals: i32,
}

const OFF: i32 = libc::HWTSTAMP_TX_OFF.cast_signed();
const ON: i32 = libc::HWTSTAMP_TX_ON.cast_signed();
const ALL: i32 = libc::HWTSTAMP_FILTER_ALL.cast_signed();

impl Setting {
    /// What is to be set where `self` is found, on a card that can do what `offered` says. Arrivals that it stamps for
    /// somebody else already are left to him, where it cannot stamp all.
    fn wanted(self, offered: Stamping) -> Self {
        Self {
            flags: 0,
            departures: if offered.hardware_departures { ON } else { self.departures },
            arrivals: if offered.hardware_arrivals { ALL } else { self.arrivals },
        }
    }
}

/// The stamps of an interface's network card, switched on. Dropping it leaves the card as it was found; so does the end of
/// this process, in whatever way it comes.
#[derive(Debug)]
pub struct HardwareStamping {
    /// The card stamps what leaves.
    pub departures: bool,
    /// The card stamps whatever arrives.
    pub arrivals: bool,
    _guardian: Option<WatchdogProcess>,
}

impl HardwareStamping {
    /// Switches the stamps of the card behind `interface` on, in the current thread's network namespace: departures, and
    /// all arrivals where the card can that.
    ///
    /// # Errors
    /// There is no such interface; its driver stamps neither all departures nor all arrivals, or has no clock that can be
    /// read ([`HostError::Unsuitable`]); the rights are missing (`EPERM`: it takes `CAP_NET_ADMIN` where the stamps are not
    /// on already), or the driver refuses (`ERANGE`, `EBUSY`).
    pub fn switch_on(interface: &str) -> Result<Self, HostError> {
        let control = ethtool::control_socket()?;
        let offered = ethtool::stamping(control.as_fd(), interface)?;
        if offered.clock.is_none() || !(offered.hardware_departures || offered.hardware_arrivals) {
            return Err(HostError::Unsuitable(match offered {
                Stamping { clock: None, .. } => "the driver of the interface stamps in software only",
                Stamping { hardware_some_arrivals: true, .. } => {
                    "the network card stamps the arrivals of PTP's own packets only"
                }
                _ => "the network card stamps neither departures nor arrivals",
            }));
        }
        // A driver that does not say how things are is left without stamps at the end.
        let found = request(control.as_raw_fd(), interface, libc::SIOCGHWTSTAMP, Setting::default())
            .unwrap_or_default();
        let wanted = found.wanted(offered);
        let guardian = if (found.departures, found.arrivals) == (wanted.departures, wanted.arrivals) {
            None
        } else {
            let mut before = Setting { flags: 0, ..found };
            let identity = Identity::from_socket(control.as_fd(), interface)?;
            let guardian = WatchdogProcess::over([control.as_fd()], |[control]| {
                let is_back = identity.reach(control, |socket, name| {
                    let mut request = *name;
                    request.ifr_ifru.ifru_data = (&raw mut before).cast();
                    // SAFETY: `request` and `before` are the child's own and outlive the call.
                    unsafe { libc::ioctl(socket, libc::SIOCSHWTSTAMP, &raw mut request) >= 0 }
                });
                u8::from(!is_back)
            })?;
            // From here on, every way out goes by the guardian.
            request(control.as_raw_fd(), interface, libc::SIOCSHWTSTAMP, wanted)?;
            Some(guardian)
        };
        // A driver may do less than it said, or was asked.
        let is = request(control.as_raw_fd(), interface, libc::SIOCGHWTSTAMP, wanted).unwrap_or(wanted);
        Ok(Self { departures: is.departures != OFF, arrivals: is.arrivals == ALL, _guardian: guardian })
    }
}

/// Whether the card behind `interface` is set to stamp departures, and arrivals of any kind, by whomever; `None` where its
/// driver does not say. Nobody needs a right to ask.
pub fn is_stamping(interface: &str) -> Option<(bool, bool)> {
    let control = ethtool::control_socket().ok()?;
    let is = request(control.as_raw_fd(), interface, libc::SIOCGHWTSTAMP, Setting::default()).ok()?;
    Some((is.departures != OFF, is.arrivals != libc::HWTSTAMP_FILTER_NONE.cast_signed()))
}

fn request(
    control: libc::c_int,
    interface: &str,
    what: libc::c_ulong,
    mut setting: Setting,
) -> Result<Setting, HostError> {
    let mut request = ethtool::name_of(interface);
    request.ifr_ifru.ifru_data = (&raw mut setting).cast();
    // SAFETY: the socket is open; `request` outlives the call and points to `setting`, which is laid out as both requests
    // want it and is exclusively ours.
    let answer = unsafe { libc::ioctl(control, what as _, &raw mut request) };
    if answer == 0 { Ok(setting) } else { Err(HostError::last_on("switch the card's stamps of", interface)) }
}

/// Readings of which the quickest is taken.
const SAMPLES: u32 = 10;

/// `struct ptp_clock_time`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Time {
    seconds: i64,
    nanos: u32,
    reserved: u32,
}

impl Time {
    const fn nanos(self) -> i64 {
        nanos_of(self.seconds, self.nanos as i64)
    }
}

/// `struct ptp_sys_offset_precise`: both clocks at one moment, read by hardware.
#[repr(C)]
#[derive(Default)]
struct Precise {
    card: Time,
    system: Time,
    raw: Time,
    reserved: [u32; 4],
}

/// `struct ptp_sys_offset_extended`: the system's clock, the card's, the system's, for each sample.
#[repr(C)]
struct Extended {
    samples: u32,
    reserved: [u32; 3],
    times: [[Time; 3]; 25],
}

/// `struct ptp_sys_offset`: the system's clock and the card's in turn, the system's last.
#[repr(C)]
struct Alternating {
    samples: u32,
    reserved: [u32; 3],
    times: [Time; 51],
}

/// How a driver lets its clock be read, the best first.
const PRECISE: u8 = 0;
const EXTENDED: u8 = 1;
const ALTERNATING: u8 = 2;

/// The card's clock between two readings of the host's; of a reading of both by hardware these are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhcReading {
    /// The card's clock.
    pub card: PhcTime,
    /// The host's real-time clock before.
    pub before: Realtime,
    /// The host's real-time clock after.
    pub after: Realtime,
}

/// The clock of a network card.
#[derive(Debug)]
pub struct PhcClock {
    device: File,
    number: u32,
    way: AtomicU8,
}

impl PhcClock {
    /// Opens `/dev/ptpN` with N `number`, as [`Stamping::clock`] gives it.
    ///
    /// # Errors
    /// There is no such file (`ENOENT`), or it may not be read (`EACCES`; as a rule only root may).
    pub fn open(number: u32) -> Result<Self, HostError> {
        let path = PathBuf::from(format!("/dev/ptp{number}"));
        let device = File::open(&path).map_err(|source| HostError::System {
            operation: "open the card's clock",
            subject: path.display().to_string(),
            source,
        })?;
        Ok(Self { device, number, way: AtomicU8::new(PRECISE) })
    }

    /// The number in its name.
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Reads it beside the host's clock: by hardware where the driver can that, and else several times, of which the
    /// quickest is given.
    ///
    /// # Errors
    /// The driver's refusal, as of a card that was taken out (`ENODEV`).
    pub fn read(&self) -> Result<PhcReading, HostError> {
        loop {
            let way = self.way.load(Ordering::Relaxed);
            let answer = match way {
                PRECISE => self.precise(),
                EXTENDED => self.extended(),
                _ => self.alternating(),
            };
            match answer {
                // A driver answers a request that it does not have in several ways.
                Err(_) if way < ALTERNATING => self.way.store(way + 1, Ordering::Relaxed),
                answer => return answer,
            }
        }
    }

    fn precise(&self) -> Result<PhcReading, HostError> {
        let mut read = Precise::default();
        self.ask(libc::PTP_SYS_OFFSET_PRECISE, &mut read)?;
        let system = Realtime::from_nanos(read.system.nanos());
        Ok(PhcReading { card: PhcTime(read.card.nanos()), before: system, after: system })
    }

    fn extended(&self) -> Result<PhcReading, HostError> {
        let mut read = Extended { samples: SAMPLES, reserved: [0; 3], times: [[Time::default(); 3]; 25] };
        self.ask(libc::PTP_SYS_OFFSET_EXTENDED, &mut read)?;
        quickest(read.times.iter().take(SAMPLES as usize).copied())
    }

    fn alternating(&self) -> Result<PhcReading, HostError> {
        let mut read = Alternating { samples: SAMPLES, reserved: [0; 3], times: [Time::default(); 51] };
        self.ask(libc::PTP_SYS_OFFSET, &mut read)?;
        let samples = read.times.windows(3).step_by(2).take(SAMPLES as usize);
        quickest(samples.filter_map(|times| <[Time; 3]>::try_from(times).ok()))
    }

    /// One request of the card's clock. `T` is laid out as the request says.
    fn ask<T>(&self, what: libc::Ioctl, answer: &mut T) -> Result<(), HostError> {
        // SAFETY: the file is open; the request writes at most the size of `T`, which is part of its number, into
        // `answer`, which is exclusively ours and for which every pattern of bits is valid.
        let done = unsafe { libc::ioctl(self.device.as_raw_fd(), what, std::ptr::from_mut(answer)) };
        if done == 0 {
            return Ok(());
        }
        Err(HostError::last_on("read the card's clock", format!("/dev/ptp{}", self.number)))
    }
}

/// The reading that took the shortest.
fn quickest(samples: impl Iterator<Item = [Time; 3]>) -> Result<PhcReading, HostError> {
    samples
        .map(|[before, card, after]| PhcReading {
            card: PhcTime(card.nanos()),
            before: Realtime::from_nanos(before.nanos()),
            after: Realtime::from_nanos(after.nanos()),
        })
        // A clock that was set meanwhile goes backwards.
        .filter(|reading| reading.after >= reading.before)
        .min_by_key(|reading| reading.after.since(reading.before))
        .ok_or(HostError::Unsuitable("the host's clock was set while the card's was read"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_kernels_structures_have_its_sizes() {
        // The size is part of each request's number: bits 16 to 29.
        let size = |request: libc::Ioctl| (request >> 16) & 0x3fff;
        assert_eq!(size(libc::PTP_SYS_OFFSET_PRECISE), size_of::<Precise>() as libc::Ioctl);
        assert_eq!(size(libc::PTP_SYS_OFFSET_EXTENDED), size_of::<Extended>() as libc::Ioctl);
        assert_eq!(size(libc::PTP_SYS_OFFSET), size_of::<Alternating>() as libc::Ioctl);
    }

    #[test]
    fn loopback_has_no_stamps_to_switch_on_and_its_own_setting_is_not_touched() {
        let error = HardwareStamping::switch_on("lo").unwrap_err();
        assert!(error.to_string().contains("software only"), "{error}");
        assert!(matches!(HardwareStamping::switch_on("no-such-link"), Err(HostError::Missing { .. })));
        assert_eq!(is_stamping("lo"), None);
    }

    #[test]
    fn a_clock_that_is_not_there_is_named() {
        let error = PhcClock::open(4_000_000_000).unwrap_err();
        assert!(error.to_string().contains("/dev/ptp4000000000"), "{error}");
    }

    /// The widest receive filter is requested, and settings of other programs are kept.
    #[test]
    fn foreign_nic_settings_are_kept() {
        let both = Stamping { hardware_departures: true, hardware_arrivals: true, ..Stamping::default() };
        let departures = Stamping { hardware_arrivals: false, ..both };
        let setting = |departures, arrivals| Setting { flags: 0, departures, arrivals };
        assert_eq!(setting(OFF, 0).wanted(both), setting(ON, ALL));
        assert_eq!(setting(ON, 12).wanted(both), setting(ON, ALL), "all are those of PTP too");
        assert_eq!(setting(OFF, 12).wanted(departures), setting(ON, 12), "a PTP daemon goes on to be served");
        let arrivals = Stamping { hardware_departures: false, ..both };
        assert_eq!(setting(OFF, 0).wanted(arrivals), setting(OFF, ALL));
    }

    proptest! {
        #[test]
        fn of_several_readings_the_quickest_is_taken(widths in prop::collection::vec(0u32..900_000, 1..10)) {
            let samples = widths.iter().zip(0i64..).map(|(width, place)| {
                let time = |nanos| Time { seconds: place, nanos, reserved: 0 };
                [time(0), time(7), time(*width)]
            });
            let reading = quickest(samples).unwrap();
            prop_assert_eq!(reading.after.since(reading.before).as_nanos(), i64::from(*widths.iter().min().unwrap()));
            prop_assert_eq!(reading.card.as_nanos() - reading.before.as_nanos(), 7);
        }
    }

    #[test]
    fn a_reading_across_a_step_of_the_clock_is_none() {
        let time = |nanos| Time { seconds: 1, nanos, reserved: 0 };
        assert!(quickest([[time(9), time(5), time(8)]].into_iter()).is_err());
    }
}
