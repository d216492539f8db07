//! Readers take each octet of a file once, whatever is in it: twice the packets are twice the work.

use std::io::{BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use romer_exchange::{capture, irtt, qtcp};

/// Counts the octets that are taken.
struct CountingReader<R> {
    inner: R,
    taken: Arc<AtomicUsize>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.taken.fetch_add(read, Ordering::Relaxed);
        Ok(read)
    }
}

/// Makes a file of packets with these numbers.
type Maker = fn(&[u64]) -> Vec<u8>;
/// Reads a file, and gives how many packets it had.
type Reader = fn(CountingReader<&[u8]>) -> usize;

/// Orders of the numbers of packets: as they were sent, backwards, mixed, and copies of one.
const ORDERS: [fn(u64, u64) -> u64; 4] = [|n, _| n, |n, of| of - 1 - n, |n, of| n * 7_919 % of, |_, _| 7];

fn irtt_file(numbers: &[u64]) -> Vec<u8> {
    let trip = |n: &u64| {
        let at = n * 20_000_000;
        format!(
            r#"{{"seqno":{n},"lost":"false","timestamps":{{"client":{{"send":{{"wall":{at}}},"receive":{{"wall":{}}}}}}}}}"#,
            at + 500
        )
    };
    let trips: Vec<String> = numbers.iter().map(trip).collect();
    format!(r#"{{"config":{{"params":{{"length":64}}}},"round_trips":[{}]}}"#, trips.join(",")).into_bytes()
}

fn raw_file(numbers: &[u64]) -> Vec<u8> {
    let line = |n: &u64| format!("{}:{}:{}:64:{n}\n", n * 200_000, n * 200_000 + 300, 300);
    numbers.iter().map(line).collect::<String>().into_bytes()
}

/// Frames of IPv4 that carry their number, in a pcap file.
fn pcap_file(numbers: &[u64]) -> Vec<u8> {
    let mut file = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
    file.extend([2, 0, 4, 0]);
    [0_u32, 0, 262_144, 1].into_iter().for_each(|word| file.extend(word.to_le_bytes()));
    for number in numbers {
        [1_u32, 0, 50, 50].into_iter().for_each(|word| file.extend(word.to_le_bytes()));
        file.extend([2; 12]);
        file.extend([8, 0, 0x45, 0, 0, 36, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
        file.extend([9, 0, 9, 1, 0, 16, 0, 0]);
        file.extend(number.to_be_bytes());
    }
    file
}

#[test]
fn work_grows_with_octets() {
    let readers: [(&str, Maker, Reader); 3] = [
        ("irtt", irtt_file, |file| irtt::read(BufReader::new(file)).unwrap().rows.len()),
        ("raw", raw_file, |file| {
            let options = qtcp::Options { any_size: true, ..qtcp::Options::default() };
            let mut packets = 0;
            // Some orders are refused, after the whole file was looked at or before.
            let _ = qtcp::examine(BufReader::new(file), options, |_| {
                packets += 1;
                Ok(())
            });
            packets
        }),
        ("pcap", pcap_file, |file| {
            let found = capture::read(file).unwrap();
            found.packets.len() + usize::try_from(found.others).unwrap()
        }),
    ];
    for (name, made, read) in readers {
        for order in ORDERS {
            let [one, two] = [2_000_u64, 4_000].map(|of| {
                let numbers: Vec<u64> = (0..of).map(|n| order(n, of)).collect();
                let file = made(&numbers);
                let taken = Arc::new(AtomicUsize::new(0));
                let packets = read(CountingReader { inner: &file, taken: Arc::clone(&taken) });
                let taken = taken.load(Ordering::Relaxed);
                assert!(taken <= file.len() && packets <= numbers.len(), "{name}: {taken} of {}", file.len());
                taken
            });
            assert!(two <= 2 * one + one / 4, "{name}: {one} {two}");
        }
    }
}
