//! The interrupts of network interfaces: which they have, to which processors they go, and moving them for a while.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use crate::HostError;
use crate::watchdog_process::WatchdogProcess;

/// The interrupts of an interface: their numbers, and the processors that they go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupts {
    /// The interface.
    pub interface: String,
    /// Their numbers.
    pub numbers: Vec<u32>,
    /// As the kernel lists them, each once: `0`, `0-3`.
    pub cpus: BTreeSet<String>,
}

/// The interrupts of these interfaces; those that have none of their own (virtual links) are left out.
pub fn interrupts_of<'a>(interfaces: impl IntoIterator<Item = &'a str>) -> Vec<Interrupts> {
    let table = fs::read_to_string("/proc/interrupts").unwrap_or_default();
    let one = |name: &str| {
        let device = fs::canonicalize(Path::new("/sys/class/net").join(name).join("device")).ok();
        let device = device.as_ref().and_then(|path| path.file_name()?.to_str());
        let numbers = numbers_of(&table, name, device);
        let cpus = numbers.iter().filter_map(|number| cpus_of(*number)).collect();
        (!numbers.is_empty()).then(|| Interrupts { interface: name.to_owned(), numbers, cpus })
    };
    interfaces.into_iter().filter_map(one).collect()
}

/// The processors that interrupt `number` really goes to, or may go to.
fn cpus_of(number: u32) -> Option<String> {
    let folder = Path::new("/proc/irq").join(number.to_string());
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let text = read("effective_affinity_list").filter(|text| !text.trim().is_empty());
    Some(text.or_else(|| read("smp_affinity_list"))?.trim().to_owned())
}

/// The numbers of the lines whose last word begins with the interface's name or its device's and a separator.
fn numbers_of(table: &str, interface: &str, device: Option<&str>) -> Vec<u32> {
    let is_of = |word: &str, owner: &str| {
        word.strip_prefix(owner).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    };
    let line = |line: &str| {
        let (number, rest) = line.split_once(':')?;
        let word = rest.split_whitespace().next_back()?;
        let ours = is_of(word, interface) || device.is_some_and(|device| is_of(word, device));
        number.trim().parse().ok().filter(|_| ours)
    };
    table.lines().filter_map(line).collect()
}

/// Where the kernel keeps to which processors an interrupt may go.
fn place(number: u32) -> String {
    format!("/proc/irq/{number}/smp_affinity_list")
}

/// Octets of a list of processors that are compared; longer ones are taken for another's.
const LONGEST_LIST: usize = 64;

/// Interrupts that go to one processor. Dropping it has them go where they went; so does the end of this process, in
/// whatever way it comes. One that somebody else has moved meanwhile stays there.
#[derive(Debug)]
pub struct MovedInterrupts {
    /// Those that the kernel let nobody move.
    pub left: Vec<u32>,
    _guardian: WatchdogProcess,
}

impl MovedInterrupts {
    /// Has the interrupts of these numbers go to processor `cpu` alone. Those that are managed by their driver stay.
    ///
    /// # Errors
    /// There are none; the rights are missing (`EACCES`: it takes root); there is no such processor (`EOVERFLOW`,
    /// `EINVAL`); none can be moved (`EIO`), or another romer on this host has moved them (`EBUSY`): two would each put back what
    /// the other had made of them.
    pub fn to(numbers: &[u32], cpu: u16) -> Result<Self, HostError> {
        let known = numbers.iter().filter_map(|number| {
            let before = fs::read(place(*number)).ok()?;
            Some((*number, CString::new(place(*number)).ok()?, before))
        });
        let known: Vec<_> = known.collect();
        if known.is_empty() {
            return Err(HostError::Unsuitable("no interface that is up has interrupts of its own"));
        }
        let system = |source| HostError::System {
            operation: "move interrupts to processor",
            subject: cpu.to_string(),
            source,
        };
        let lock = alone(known[0].0).map_err(system)?;
        let ours = format!("{cpu}\n");
        // The guardian has the lock too, until they are put back.
        let guardian = WatchdogProcess::over([lock.as_fd()], |[_]| {
            for (_, path, before) in &known {
                put_back(path, before, ours.as_bytes());
            }
            0
        })?;
        // From here on, every way out goes by the guardian.
        let mut left = Vec::new();
        let mut refusal = None;
        for (number, ..) in &known {
            if let Err(source) = fs::write(place(*number), cpu.to_string()) {
                left.push(*number);
                refusal = Some(source);
            }
        }
        match refusal {
            Some(source) if left.len() == known.len() => Err(system(source)),
            _ => Ok(Self { left, _guardian: guardian }),
        }
    }
}

/// The lock that one romer of a host has at a time while interrupts are moved: on the kernel's file of interrupt `number`.
fn alone(number: u32) -> io::Result<File> {
    let file = File::open(place(number))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(io::Error::from_raw_os_error(libc::EBUSY)),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Writes what stood in the file at `path` before, if there stands now what is `ours`. Makes system calls only.
fn put_back(path: &CStr, before: &[u8], ours: &[u8]) {
    let mut now = [0_u8; LONGEST_LIST];
    // What cannot be opened or written is no more, or was never moved.
    // SAFETY: the path ends with a zero.
    let file = unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
    // SAFETY: the call writes at most as many octets as `now` has.
    let length = unsafe { libc::pread(file, now.as_mut_ptr().cast(), now.len(), 0) };
    if usize::try_from(length).is_ok_and(|length| now[..length] == *ours) {
        // The kernel's file takes no `pwrite`; it was read without moving its position, which is 0.
        // SAFETY: as many octets are read as there are.
        unsafe { libc::write(file, before.as_ptr().cast(), before.len()) };
    }
    // SAFETY: the call takes a plain number.
    unsafe { libc::close(file) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_else_has_moved_meanwhile_is_not_put_back() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = CString::new(file.path().to_str().unwrap()).unwrap();
        for (now, after) in [("0\n", "0-3\n"), ("2\n", "2\n"), ("0-3\n", "0-3\n"), ("", "")] {
            fs::write(file.path(), now).unwrap();
            put_back(&path, b"0-3\n", b"0\n");
            assert_eq!(fs::read_to_string(file.path()).unwrap(), after);
        }
        put_back(c"/nowhere", b"0-3\n", b"0\n");
    }

    const TABLE: &str = "           CPU0       CPU1
 35:          0          1  IO-APIC   6-edge      virtio1-req.0
 41:       2138          0 PCI-MSIX-0000:00:04.0   1-edge      virtio3-rx
 42:          0       4180 PCI-MSIX-0000:00:04.0   2-edge      virtio3-tx
 50:          0          0 PCI-MSIX-0000:00:05.0   0-edge      eth1-TxRx-0
 51:          0          0 PCI-MSIX-0000:00:05.0   0-edge      eth10-TxRx-0
 52:          0          0 PCI-MSIX-0000:00:06.0   0-edge      virtio30-rx
LOC:     157458     166071   Local timer interrupts
";

    #[test]
    fn interrupts_are_those_of_the_interface_or_its_device_and_of_no_other() {
        assert_eq!(numbers_of(TABLE, "eth0", Some("virtio3")), [41, 42]);
        assert_eq!(numbers_of(TABLE, "eth1", None), [50]);
        assert_eq!(numbers_of(TABLE, "v0", Some("v0")), [0_u32; 0]);
        assert_eq!(numbers_of("", "eth0", None), [0_u32; 0]);
    }

    #[test]
    fn what_there_is_not_is_not_moved() {
        let error = MovedInterrupts::to(&[], 0).unwrap_err();
        assert!(matches!(error, HostError::Unsuitable(_)), "{error}");
        assert!(MovedInterrupts::to(&[u32::MAX], 0).is_err());
    }
}
