//! Whether a policer passes what conforms and nothing else, frame by frame (Chadda 2004 section 1.3.2).
//!
//! A bucket of the stated rate and depth is filled by the clock and emptied by every frame that it holds, whether the
//! device passed that frame or not: one wrong decision is one finding, and does not make others of those after it. Only
//! around the edge, where the device's clock and ours may differ by the tolerance, the bucket follows the device. What it
//! owes then is not forgotten: a device that again and again decides in its own favour leaves the edge.
//!
//! A frame that was at the device later than it was sent met a bucket that had gone on filling, or had been full meanwhile
//! and lost what no longer fitted. Which of these it was cannot be seen, so that the bucket then holds something between two
//! bounds, until it is full again or what the device decides brings them together.
//!
//! Where such delays fill much of the bucket, hardly a frame is away from the edge. What a trial comes to is bounded then all
//! the same, by two arguments of network calculus (RFC 2697's bucket is an arrival curve):
//!
//! * Between any two frames that passed, no more passed than the depth and what filled the bucket from the sending of the
//!   first to the latest that any up to the second was at the device.
//! * Behind its last refusal a policer has passed all that came; between the moment at which the bucket was last full before a
//!   refusal and that, all but a frame of the depth and of what filled it. A frame that was sent before that moment may come
//!   after it by its delay at most, so that in the end no less passed than a bucket lets pass to which the frames came without
//!   delay, and whose depth is less by a frame and by what fills it during the delay.

/// What a policer is to let through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Tokens a second: frames, or octets of IP packets.
    pub rate: f64,
    /// Tokens that the bucket holds; it is full at the beginning.
    pub depth: f64,
    /// What a frame takes out of it.
    pub unit: TokenUnit,
    /// How far from the edge a decision still counts as right, in frames of the size of the one that is decided about.
    pub tolerance: f64,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenUnit {
    /// A frame.
    Frames,
    /// An octet of the IP packet.
    Octets,
}

impl TokenUnit {
    /// Tokens that a frame takes.
    fn size(self, frame: &Policed) -> f64 {
        match self {
            Self::Frames => 1.0,
            Self::Octets => f64::from(frame.octets),
        }
    }
}

/// A frame as the policer saw it, in order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policed {
    /// When it was sent, nanoseconds.
    pub at: i64,
    /// So much later, nanoseconds, it may have been at the device than others.
    pub blur: i64,
    /// Octets of its IP packet.
    pub octets: u32,
    /// It came out unchanged: dropped and remarked ones did not.
    pub passed: bool,
}

/// What a policer did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PolicerVerdict {
    /// In profile, and passed.
    pub conforming_passed: u64,
    /// In profile, and stopped: wrong.
    pub conforming_stopped: u64,
    /// Out of profile, and stopped.
    pub excess_stopped: u64,
    /// Out of profile, and passed: wrong.
    pub excess_passed: u64,
    /// So near the edge that either is right.
    pub at_boundary: u64,
    /// Of these, how many were stopped.
    pub at_boundary_stopped: u64,
}

impl PolicerVerdict {
    /// Whether every decision was right.
    pub const fn holds(&self) -> bool {
        self.conforming_stopped == 0 && self.excess_passed == 0
    }
}

/// Judges every frame. `frames` are in order of time.
pub fn evaluate(profile: &Profile, frames: &[Policed]) -> PolicerVerdict {
    let mut verdict = PolicerVerdict::default();
    // What the bucket holds: between these.
    let [mut low, mut high] = [profile.depth; 2];
    let mut last = frames.first().map_or(0, |frame| frame.at);
    for frame in frames {
        let filled = nanos(frame.at - last) * profile.rate / 1e9;
        [low, high] = [low, high].map(|tokens| (tokens + filled).min(profile.depth));
        last = frame.at;
        let size = profile.unit.size(frame);
        let blur = nanos(frame.blur) * profile.rate / 1e9;
        let edge = profile.tolerance * size + blur;
        let conforms = low - size > edge;
        let at_boundary = !conforms && high - size >= -edge;
        let count = match (at_boundary, conforms, frame.passed) {
            (true, _, _) => &mut verdict.at_boundary,
            (_, true, true) => &mut verdict.conforming_passed,
            (_, true, false) => &mut verdict.conforming_stopped,
            (_, false, false) => &mut verdict.excess_stopped,
            (_, false, true) => &mut verdict.excess_passed,
        };
        *count += 1;
        verdict.at_boundary_stopped += u64::from(at_boundary && !frame.passed);
        // What it decided there says more of what the bucket held.
        match (at_boundary, frame.passed) {
            (true, true) => low = low.max(size - edge).min(high),
            (true, false) => high = high.min(size + edge).max(low),
            (false, _) => {}
        }
        // Where it came late to a bucket that was nearly full, what would have filled it meanwhile is lost.
        low = low.min(profile.depth - blur);
        if if at_boundary { frame.passed } else { conforms } {
            [low, high] = [low - size, high - size];
        }
    }
    verdict
}

/// What a trial comes to, whatever the delays of its frames do to the verdicts on each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrialTotals {
    /// What passed, in frames of the trial's mean size (as all that follow).
    pub passed: f64,
    /// What the bucket lets pass if each frame was at the device when it was sent.
    pub nominal: f64,
    /// By so much less passed than the bucket lets pass with any such delays.
    pub missing: f64,
    /// By so much more passed, between some two frames, than it lets pass with any such delays.
    pub beyond: f64,
    /// The edge, and a frame.
    pub edge: f64,
    /// The longest delay, nanoseconds.
    pub blur: i64,
    /// In what time the empty bucket is full, nanoseconds.
    pub fills_in: f64,
}

/// Judges all `frames` together, which are in order of time.
pub fn trial_totals(profile: &Profile, frames: &[Policed]) -> TrialTotals {
    let Some(first) = frames.first() else { return TrialTotals::default() };
    let size = |frame: &Policed| profile.unit.size(frame);
    let largest = frames.iter().map(size).fold(0.0, f64::max);
    let edge = profile.tolerance * largest;
    // The bucket of the profile, and what is left of it when each frame may be late: what they hold and have let pass.
    let [mut nominal, mut least] = [(profile.depth, 0.0); 2];
    let mut last = first.at;
    // What passed, what filled the bucket until the latest frame of it, and the most that it had to spare before.
    let (mut passed, mut latest, mut spare) = (0.0, 0.0_f64, f64::NEG_INFINITY);
    let (mut beyond, mut sum) = (0.0_f64, 0.0);
    for frame in frames {
        let size = size(frame);
        let [filled, blur, at] =
            [frame.at - last, frame.blur, frame.at - first.at].map(|time| nanos(time) * profile.rate / 1e9);
        last = frame.at;
        sum += size;
        nominal.0 = (nominal.0 + filled).min(profile.depth);
        if nominal.0 >= size {
            nominal = (nominal.0 - size, nominal.1 + size);
        }
        least.0 = (least.0 + filled).min(profile.depth - largest - edge - blur);
        let some = least.0.min(size).max(0.0);
        least = (least.0 - some, least.1 + some);
        if frame.passed {
            spare = spare.max(at - passed);
            passed += size;
            latest = latest.max(at + blur);
            beyond = beyond.max(passed - latest + spare - profile.depth - edge);
        }
    }
    let mean = sum / frames.iter().map(|_| 1.0).sum::<f64>();
    let [passed, nominal, missing, beyond, edge] =
        [passed, nominal.1, (least.1 - passed).max(0.0), beyond, edge + largest].map(|tokens| tokens / mean);
    TrialTotals {
        passed,
        nominal,
        missing,
        beyond,
        edge,
        blur: frames.iter().map(|frame| frame.blur).max().unwrap_or(0),
        fills_in: profile.depth * 1e9 / profile.rate,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a trial's nanoseconds, below 2^53")]
const fn nanos(value: i64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PROFILE: Profile = Profile { rate: 625.0, depth: 20.0, unit: TokenUnit::Frames, tolerance: 0.5 };

    /// Frames of 100 octets every `gap` nanoseconds through a true policer of this rate and depth.
    fn through(count: i64, gap: i64, rate: f64, depth: f64) -> Vec<Policed> {
        let mut tokens = depth;
        (0..count)
            .map(|n| {
                if n > 0 {
                    tokens = (tokens + nanos(gap) * rate / 1e9).min(depth);
                }
                let passed = tokens >= 1.0;
                tokens -= if passed { 1.0 } else { 0.0 };
                Policed { at: n * gap, blur: 0, octets: 100, passed }
            })
            .collect()
    }

    proptest! {
        #[test]
        fn a_true_policer_is_right_about_every_frame(gap in 10_000i64..5_000_000) {
            let verdict = evaluate(&PROFILE, &through(2_000, gap, 625.0, 20.0));
            prop_assert!(verdict.holds(), "{verdict:?}");
        }
    }

    #[test]
    fn a_policer_of_another_rate_or_depth_is_found_out() {
        // 1,000 frames a second for two seconds, as in the lab: 1,270 of 2,000 pass.
        let frames = through(2_000, 1_000_000, 625.0, 20.0);
        let passed = frames.iter().filter(|frame| frame.passed).count();
        assert!((1_268..=1_272).contains(&passed), "{passed}");
        let generous = evaluate(&PROFILE, &through(2_000, 1_000_000, 700.0, 20.0));
        assert!(generous.excess_passed > 50 && generous.conforming_stopped == 0, "{generous:?}");
        let strict = evaluate(&PROFILE, &through(2_000, 1_000_000, 500.0, 20.0));
        assert!(strict.conforming_stopped > 50 && strict.excess_passed == 0, "{strict:?}");
        let shallow = evaluate(&PROFILE, &through(2_000, 1_000_000, 625.0, 5.0));
        assert!(shallow.conforming_stopped > 0, "{shallow:?}");
        // The bucket of one whole second that nftables has for octets.
        let deep = evaluate(&PROFILE, &through(2_000, 1_000_000, 625.0, 645.0));
        assert!(deep.excess_passed > 500, "{deep:?}");
    }

    #[test]
    fn within_a_frame_of_the_edge_what_is_too_much_is_still_found_out() {
        // Once the bucket is empty, every decision is within a frame of the edge: a frame in three passes.
        let wide = Profile { tolerance: 1.0, ..PROFILE };
        let right = evaluate(&wide, &through(2_000, 500_000, 625.0, 20.0));
        assert!(right.holds() && right.at_boundary_stopped > 1_000, "{right:?}");
        assert_eq!(right.excess_stopped, 0);
        let generous = evaluate(&wide, &through(2_000, 500_000, 700.0, 20.0));
        // 75 a second for a second, of which one is forgiven.
        assert!(generous.excess_passed > 50, "{generous:?}");
        let strict = evaluate(&wide, &through(2_000, 500_000, 550.0, 20.0));
        assert!(strict.conforming_stopped > 50, "{strict:?}");
    }

    #[test]
    fn frames_that_came_late_to_the_device_are_no_fault_of_its() {
        // Every tenth frame is at the device 5 ms, three tokens, later than it was sent.
        let late = |n: i64| if n % 10 == 5 { 5_000_000 } else { 0 };
        let mut tokens = 20.0_f64;
        let mut last = 0;
        let mut order: Vec<i64> = (0..2_000).collect();
        order.sort_by_key(|n| n * 1_000_000 + late(*n));
        let mut passed = vec![false; 2_000];
        for n in order {
            let at = n * 1_000_000 + late(n);
            tokens = (tokens + nanos(at - last) * 625.0 / 1e9).min(20.0);
            last = at;
            passed[usize::try_from(n).unwrap()] = tokens >= 1.0;
            tokens -= if tokens >= 1.0 { 1.0 } else { 0.0 };
        }
        let frames = |blur: i64| -> Vec<Policed> {
            let of = |n: i64| Policed {
                at: n * 1_000_000,
                blur,
                octets: 100,
                passed: passed[usize::try_from(n).unwrap()],
            };
            (0..2_000).map(of).collect()
        };
        let tight = Profile { tolerance: 0.1, ..PROFILE };
        assert!(!evaluate(&tight, &frames(0)).holds());
        assert!(evaluate(&tight, &frames(5_000_000)).holds());
    }

    /// Frames each millisecond through a policer of this rate and depth, to which the host brings those that were sent in the
    /// first `stall` milliseconds of each hundred only at the end of these, all at once.
    fn stalled(count: i64, stall: i64, rate: f64, depth: f64) -> Vec<Policed> {
        let (mut tokens, mut last) = (depth, 0);
        (0..count)
            .map(|n| {
                let late = (stall - n % 100).max(0) * 1_000_000;
                let at = n * 1_000_000 + late;
                tokens = (tokens + nanos(at - last) * rate / 1e9).min(depth);
                last = at;
                let passed = tokens >= 1.0;
                tokens -= if passed { 1.0 } else { 0.0 };
                Policed { at: n * 1_000_000, blur: late, octets: 100, passed }
            })
            .collect()
    }

    #[test]
    fn a_bucket_that_was_full_while_the_host_stood_still_has_lost_what_no_longer_fitted() {
        let wide = Profile { tolerance: 1.0, ..PROFILE };
        for stall in [0, 8, 20, 37] {
            // At the beginning the bucket is full: all that comes late then finds no more than its depth.
            let right = evaluate(&wide, &stalled(2_000, stall, 625.0, 20.0));
            assert!(right.holds(), "{stall} ms: {right:?}");
            // Whatever the host does, what is far off is found out.
            let generous = evaluate(&wide, &stalled(2_000, stall, 800.0, 20.0));
            assert!(generous.excess_passed > 50, "{stall} ms: {generous:?}");
            let strict = evaluate(&wide, &stalled(2_000, stall, 400.0, 20.0));
            assert!(strict.conforming_stopped > 50, "{stall} ms: {strict:?}");
        }
    }

    /// The verdict on frames each millisecond that a path brings to such a policer up to 20 ms late, and the sender's frame.
    fn jittery(rate: f64, depth: f64, seed: u64) -> (PolicerVerdict, TrialTotals) {
        let mut word = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut free = 0;
        let times: Vec<(i64, i64)> = (0..3_000)
            .map(|n| {
                word ^= word << 13;
                word ^= word >> 7;
                word ^= word << 17;
                let sent = n * 1_000_000;
                // In order: none overtakes one that was sent before it.
                free = (sent + i64::try_from(word % 20_000_000).unwrap()).max(free);
                (sent, free.min(sent + 20_000_000))
            })
            .collect();
        let (mut tokens, mut last) = (depth, 0);
        let police = |(sent, at): (i64, i64)| {
            tokens = (tokens + nanos(at - last) * rate / 1e9).min(depth);
            last = at;
            let passed = tokens >= 1.0;
            tokens -= if passed { 1.0 } else { 0.0 };
            Policed { at: sent, blur: at - sent, octets: 100, passed }
        };
        let frames: Vec<Policed> = times.into_iter().map(police).collect();
        let wide = Profile { tolerance: 1.0, ..PROFILE };
        (evaluate(&wide, &frames), trial_totals(&wide, &frames))
    }

    #[test]
    fn behind_a_path_of_varying_latency_the_whole_trial_tells() {
        for seed in 0..50 {
            let (right, all) = jittery(625.0, 20.0, seed);
            assert!(right.holds() && all.missing <= 0.0 && all.beyond <= 0.0, "{right:?} {all:?}");
            let (strict, all) = jittery(300.0, 20.0, seed);
            // 900 passed, where 1,895 are to.
            assert!(strict.excess_passed == 0, "{strict:?}");
            assert!(all.missing > 900.0 && all.beyond <= 0.0, "{all:?}");
            let (_, all) = jittery(800.0, 20.0, seed);
            assert!(all.beyond > 400.0 && all.missing <= 0.0, "{all:?}");
            // Less depth than the path takes: nothing is held against it, and less passes than is to.
            let (_, all) = jittery(625.0, 10.0, seed);
            assert!(all.beyond <= 0.0, "{all:?}");
        }
    }

    proptest! {
        #[test]
        fn a_true_policer_passes_what_it_is_to_with_any_delays(
            depth in 1.0f64..40.0,
            rate in 50.0f64..3_000.0,
            frames in proptest::collection::vec((0i64..4_000_000, 0i64..30_000_000, 40u32..1_500), 1..400),
            octets in any::<bool>(),
        ) {
            let (unit, scale) = if octets { (TokenUnit::Octets, 1_500.0) } else { (TokenUnit::Frames, 1.0) };
            let profile = Profile { rate: rate * scale, depth: depth * scale, unit, tolerance: 0.0 };
            let mut sent = 0;
            let mut frames: Vec<Policed> = frames
                .into_iter()
                .map(|(gap, blur, octets)| {
                    sent += gap;
                    Policed { at: sent, blur, octets, passed: false }
                })
                .collect();
            let mut order: Vec<usize> = (0..frames.len()).collect();
            order.sort_by_key(|place| frames[*place].at + frames[*place].blur);
            let (mut tokens, mut last) = (profile.depth, 0);
            for place in order {
                let frame = &mut frames[place];
                let at = frame.at + frame.blur;
                tokens = (tokens + nanos(at - last) * profile.rate / 1e9).min(profile.depth);
                last = at;
                frame.passed = tokens >= unit.size(frame);
                tokens -= if frame.passed { unit.size(frame) } else { 0.0 };
            }
            let all = trial_totals(&profile, &frames);
            prop_assert!(all.missing < 1e-6 && all.beyond < 1e-6, "{all:?}");
        }
    }

    #[test]
    fn one_wrong_decision_is_one_finding() {
        let mut frames = through(2_000, 1_000_000, 625.0, 20.0);
        let stopped = frames.iter().rposition(|frame| !frame.passed).unwrap();
        frames[stopped].passed = true;
        let early = frames.iter().position(|frame| frame.passed).unwrap();
        frames[early + 3].passed = false;
        let verdict = evaluate(&PROFILE, &frames);
        assert_eq!((verdict.conforming_stopped, verdict.excess_passed), (1, 1), "{verdict:?}");
    }

    #[test]
    fn octets_are_counted_where_they_are_the_token() {
        let profile = Profile { rate: 8_000.0, depth: 300.0, unit: TokenUnit::Octets, tolerance: 0.1 };
        // Three of 100 octets at once pass, the fourth does not.
        let frames: Vec<Policed> =
            (0..4).map(|n| Policed { at: n, blur: 0, octets: 99, passed: n < 3 }).collect();
        assert!(evaluate(&profile, &frames).holds());
        let all: Vec<Policed> = frames.iter().map(|frame| Policed { passed: true, ..*frame }).collect();
        assert_eq!(evaluate(&profile, &all).excess_passed, 1);
    }
}
