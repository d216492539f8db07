use super::*;
use romer_units::random::{RandomStream, Seed};

const MILLI: i64 = 1_000_000;

/// Frames a tenth of a millisecond apart, of which those that were due in these times left at their end; a frame is lost
/// where `lost` says so of its place.
fn found(still: &[std::ops::Range<i64>], lost: impl Fn(usize) -> bool, unread: [u64; 2]) -> Attribution {
    let left: Vec<SentFrame> = (0..20_000)
        .map(|n| {
            let due = n * MILLI / 10;
            let sent = still.iter().find(|still| still.contains(&due)).map_or(due, |still| still.end);
            SentFrame { due, sent, octets: 64 }
        })
        .collect();
    let came = vec![(0..left.len()).map(|place| (!lost(place)).then_some(0)).collect()];
    attribute(&TrialTrace { left: vec![left], unread, ..TrialTrace::default() }, &came, 0)
}

/// The burst of a standstill of 20 ms: its frames, and a wake that is ten times as long.
const STILL: std::ops::Range<i64> = 500 * MILLI..520 * MILLI;
const BURST: std::ops::Range<usize> = 5_000..5_200;

#[test]
fn what_left_in_a_burst_and_in_its_wake_is_set_apart_and_nothing_else() {
    let of = found(std::slice::from_ref(&STILL), |_| false, [0, 0]);
    // The burst, 200 ms after it, and a millisecond before it, whose frames may have been stamped and stuck.
    assert!(of.stall_affected.abs_diff(200 + 2_000 + 10) <= 2, "{of:?}");
    // Frames that are late by less than it takes for several to leave at once disturb nothing.
    let short = 500 * MILLI..500 * MILLI + 700_000;
    assert_eq!(found(std::slice::from_ref(&short), |_| false, [0, 0]).stall_affected, 0);
    // A frame or two of a slow stream that are late by a millisecond do.
    let slow = |late: i64| {
        let left =
            (0..100).map(|n| SentFrame { due: n * 4 * MILLI, sent: (n * 4 * MILLI).max(late), octets: 64 });
        let flight = TrialTrace { left: vec![left.collect()], ..TrialTrace::default() };
        attribute(&flight, &[vec![Some(0); 100]], 0).stall_affected
    };
    assert_eq!(slow(3 * MILLI), 0, "none was due meanwhile");
    assert!(slow(9 * MILLI) > 10);
}

#[test]
fn bursts_that_the_schedule_has_are_none_of_the_testers() {
    // Sixty-four frames within 43 us, again and again, each so much late.
    let of = |late: i64| {
        let due = (0..6_400).map(|n| n / 64 * 10 * MILLI + n % 64 * 672);
        let left = due.map(|due| SentFrame {
            due,
            sent: due.max(due / (10 * MILLI) * (10 * MILLI) + late),
            octets: 64,
        });
        let flight = TrialTrace { left: vec![left.collect()], ..TrialTrace::default() };
        attribute(&flight, &[vec![Some(0); 6_400]], 0).stall_affected
    };
    assert_eq!((of(0), of(200_000)), (0, 0));
}

#[test]
fn what_a_sound_device_loses_in_a_burst_is_none_of_its_loss() {
    let of = found(std::slice::from_ref(&STILL), |place| BURST.contains(&place) && place > 5_020, [0, 0]);
    assert_eq!((of.lost, of.tester, of.unexplained), (179, 179, 1));
    // And yet it was the device that dropped them: no counter of the tester says otherwise.
    assert_eq!(of.device, [0, 179]);
    assert!(!of.tells(&[]) && !of.tells(&[0.0]), "it neither passed nor failed");
    // For a criterion that allows as much it passes all the same.
    assert!(of.tells(&[0.01]));
}

#[test]
fn what_an_overloaded_device_loses_is_its_loss_whatever_the_tester_did() {
    // Every third frame, on schedule or not.
    let of = found(std::slice::from_ref(&STILL), |place| place % 3 == 0, [3, 3]);
    assert_eq!((of.lost, of.unread, of.tester), (6_667, 3, 3));
    assert!(of.tells(&[]) && of.tells(&[0.0, 0.005]), "{of:?}");
    assert!(of.device[0] > 6_500 && of.device[1] == 6_664, "{of:?}");
    assert!((of.loss_ratio().unwrap() - 6_664.0 / 20_000.0).abs() < 1e-9);
}

#[test]
fn what_was_dropped_unread_is_the_testers_to_the_frame() {
    let of = |unread| found(&[], |place| (100..150).contains(&place), unread);
    assert_eq!((of([50, 50]).device, of([50, 50]).tester), ([0, 0], 50));
    assert!(!of([50, 50]).tells(&[]) && !of([50, 50]).tells(&[0.0]));
    // Where other frames came as well, some of those that were dropped may have been of these.
    assert_eq!(of([0, 50]).device, [0, 50]);
    assert_eq!(of([30, 30]).device, [20, 20]);
    assert!(!of([30, 30]).tells(&[]), "the tester's part is greater than the device's");
    assert!(of([30, 30]).tells(&[0.0]), "and yet the device lost some");
}

#[test]
fn where_nothing_left_on_schedule_nothing_is_known() {
    let still = 0..2_000 * MILLI;
    let of = found(std::slice::from_ref(&still), |place| place % 4 == 0, [0, 0]);
    assert_eq!((of.stall_affected, of.device), (20_000, [0, 5_000]));
    assert!(!of.tells(&[]) && !of.tells(&[0.0]));
}

#[test]
fn the_devices_part_lies_within_its_interval() {
    // A device that loses each frame with the same chance, and a standstill of 60 ms whose burst costs 300 frames more.
    let (still, burst) = (500 * MILLI..560 * MILLI, 5_000..5_600);
    let mut outside = 0_u32;
    for (number, chance) in (0..400).map(|number| (number, [0.001, 0.01, 0.1, 0.4][number as usize % 4])) {
        let dice = RandomStream::new(Seed([5; 6]), [u32::from_be_bytes(*b"loss"), number]);
        let own = |place: usize| dice.unit(place as u64) < chance;
        let of = found(
            std::slice::from_ref(&still),
            |place| own(place) || burst.contains(&place) && place % 2 == 0,
            [0, 0],
        );
        // Of the frames on schedule those that it lost, of the others as many as it loses in the mean.
        let truth = real(of.lost - of.stall_affected_lost) + chance * real(of.stall_affected);
        outside += u32::from(truth < real(of.device[0]) || truth > real(of.unexplained));
        assert_eq!(of.device[1], of.lost);
    }
    // Of 400 intervals of 95 %, 20; more than 42 with a probability of 1e-6.
    assert!(outside <= 42, "{outside}");
}

#[test]
fn losses_that_come_together_tell_less_and_leave_the_devices_part_wider() {
    // Bad times of 100 frames in which all are lost; 2 % of all are. The burst of a standstill of 60 ms costs 300 frames more.
    let (still, burst) = (500 * MILLI..560 * MILLI, 5_000..5_600);
    let (mut outside, mut wide) = (0_u32, 0_u32);
    for number in 0..200 {
        let dice = RandomStream::new(Seed([7; 6]), [u32::from_be_bytes(*b"bads"), number]);
        let bad = |place: usize| dice.unit(place as u64 / 100) < 0.02;
        let lost = |place: usize| bad(place) || burst.contains(&place) && place.is_multiple_of(2);
        let of = found(std::slice::from_ref(&still), lost, [0, 0]);
        let truth = real(of.lost - of.stall_affected_lost) + 0.02 * real(of.stall_affected);
        outside += u32::from(truth < real(of.device[0]));
        let [own, regular] = [of.lost - of.stall_affected_lost, of.offered - of.stall_affected];
        let [independent, _] =
            wilson_interval(usize::try_from(own).unwrap(), usize::try_from(regular).unwrap()).unwrap();
        let as_if = real(own) + independent * real(of.stall_affected);
        wide += u32::from(real(of.device[0]) + 1.0 < as_if);
    }
    // Below the lower end 2.5 % of 200 are 5; 18 or more with a probability of 1e-5.
    assert!(outside < 18 && wide > 150, "{outside} {wide}");
}

#[test]
fn the_bursts_of_a_tester_take_nothing_from_what_a_full_queue_dropped() {
    // 2 frames of 5 find no room, but for the first tenth, in which the queue fills; the tester stands still for 8 ms six times.
    let still: Vec<_> = (1..7).map(|n| n * 250 * MILLI..(n * 250 + 8) * MILLI).collect();
    let of = found(&still, |place| place > 2_000 && (place * 2) % 5 < 2, [0, 0]);
    assert!(of.stall_affected > 4_000, "{of:?}");
    assert_eq!((of.tester, of.device[1]), (0, of.lost), "{of:?}");
    assert!(of.loss_ratio() == Some(real(of.lost) / 20_000.0) && of.device[0] < of.lost);
}

/// Two streams, whose frames take turns as those of [`found`]; a frame is lost where `lost` says so of its stream and place.
fn of_two(
    still: &[std::ops::Range<i64>],
    lost: impl Fn(usize, usize) -> bool,
    unread: [u64; 2],
) -> Attribution {
    let of = |stream: i64| {
        let left = (0..10_000).map(|n| {
            let due = (2 * n + stream) * MILLI / 10;
            let sent = still.iter().find(|still| still.contains(&due)).map_or(due, |still| still.end);
            SentFrame { due, sent, octets: 64 }
        });
        left.collect::<Vec<_>>()
    };
    let left = vec![of(0), of(1)];
    let came = (0..2).map(|stream| {
        let came = (0..10_000).map(|place| (!lost(stream, place)).then_some(0));
        came.collect::<Vec<_>>()
    });
    attribute(&TrialTrace { left, unread, ..TrialTrace::default() }, &came.collect::<Vec<_>>(), 0)
}

#[test]
fn a_stream_of_which_nothing_comes_while_its_neighbours_do_is_the_devices_loss_whatever_the_tester_did() {
    let mute = |stream: usize, _: usize| stream == 1;
    // All of the trial leaves in bursts; and the host drops as many frames unread, of which nobody knows whose they were.
    let still: Vec<_> = (0..100).map(|n| (n * 20) * MILLI..(n * 20 + 19) * MILLI).collect();
    let of = of_two(&still, mute, [0, 30_000]);
    assert_eq!((of.offered, of.lost, of.device, of.tester), (20_000, 10_000, [10_000; 2], 0), "{of:?}");
    assert_eq!(of.stall_affected, 20_000);
    assert!(of.tells(&[]) && of.tells(&[0.0]) && of.loss_ratio() == Some(0.5));
    // What the others lose in bursts is shared out as without it.
    let of = of_two(&[STILL], |stream, place| stream == 1 || (2_550..2_600).contains(&place), [0, 0]);
    assert_eq!((of.lost, of.tester, of.device), (10_050, 50, [10_000, 10_050]), "{of:?}");
    assert!(of.tells(&[]));
    // Of what was dropped unread for certain, all that the others do not lack was the stream's: it came out of the device.
    let of = of_two(&[], |stream, place| stream == 1 || place < 50, [8_050, 8_050]);
    assert_eq!((of.tester, of.device, of.unread), (8_050, [2_000, 2_000], 8_050), "{of:?}");
    assert!(!of.tells(&[]));
}

#[test]
fn a_stream_that_is_silent_when_others_are_too_or_of_which_a_frame_comes_is_judged_with_them() {
    let still: Vec<_> = (0..100).map(|n| (n * 20) * MILLI..(n * 20 + 19) * MILLI).collect();
    // One frame comes; nothing of any stream does; or the other's come only where none of its own left.
    let one = of_two(&still, |stream, place| stream == 1 && place > 0, [0, 0]);
    let all = of_two(&still, |_, _| true, [0, 0]);
    let turns = of_two(&still, |stream, place| stream == 1 || place % 2 == 0, [0, 0]);
    for of in [one, all] {
        assert!(of.device[0] < of.lost / 10 && !of.tells(&[]), "{of:?}");
    }
    // Each frame of the silent stream has one that was lost before it, or after it.
    assert!(turns.device[0] < turns.lost / 10, "{turns:?}");
}

#[test]
fn what_came_damaged_is_the_devices_loss_though_it_left_in_a_burst() {
    let mut of = of_two(&[STILL], |_, place| (2_550..2_555).contains(&place), [0, 0]);
    assert_eq!((of.lost, of.tester, of.device), (10, 10, [0, 10]), "{of:?}");
    of.came_damaged(4);
    assert_eq!((of.tester, of.device), (6, [4, 10]), "{of:?}");
    // All of them, and copies besides.
    of.came_damaged(12);
    assert_eq!((of.tester, of.device), (0, [10; 2]), "{of:?}");
    assert!(of.tells(&[]));
}
