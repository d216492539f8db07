//! The rating of a call, in words.

use romer_record::document::{Measurement, ProbeDirection};
use romer_record::voice::{
    BufferChoice, DelayAndLoss, DelayBasis, LossBasis, Playout, Rating, Scale, Unrated, UnratedReason,
    VariationBasis, Voice,
};

use romer_units::counted;

use crate::number::{capital, percent, time};
use crate::table::{MeasuredPath, ways};
use crate::words::Words;

impl Words {
    /// The rating of a call in one direction.
    pub(crate) fn voice(self, m: &Measurement, voice: &Voice) -> String {
        let playout = &voice.playout;
        let verdict = match playout.r.zip(playout.mos) {
            Some((r, mos)) => score(voice, r, mos),
            None => unrated(voice),
        };
        let discards = if playout.discard_ratio > 0.0 {
            format!(
                " ({} lost, {} discarded by the jitter buffer)",
                percent((playout.loss_ratio - playout.discard_ratio).max(0.0)),
                percent(playout.discard_ratio)
            )
        } else {
            String::new()
        };
        let basis = match voice.loss_basis {
            LossBasis::RoundTrip => "; assumes that every lost probe was lost in this direction",
            LossBasis::OneWay => "",
        };
        let variation = match voice.variation_basis {
            VariationBasis::OneWay => "",
            VariationBasis::RoundTrip => "; late packets by round-trip delay variation, an upper bound",
        };
        let sentence = format!(
            "{verdict}; {}, effective loss {}{discards}{basis}{variation}",
            self.delay(voice),
            percent(playout.loss_ratio)
        );
        of_way(m, voice.direction, &sentence)
    }

    /// Why a direction has no rating.
    pub(crate) fn unrated(self, m: &Measurement, unrated: &Unrated) -> String {
        let Unrated { packets, packets_min, .. } = unrated;
        let why = match unrated.reason {
            UnratedReason::TooFewPackets => {
                format!("{} sent, at least {packets_min} needed", counted(*packets, "packet"))
            }
            UnratedReason::LossesUnknown => "the losses of this direction are unknown".into(),
            UnratedReason::DelaysUnknown => "the packets have neither one-way nor round-trip delays".into(),
        };
        of_way(m, unrated.direction, &format!("no rating: {why}"))
    }

    /// What jitter buffers of several lengths, and an adaptive one, make of a call; `None` where there is nothing to choose.
    pub(crate) fn jitter_buffers(self, m: &Measurement, voice: &Voice) -> Option<String> {
        let rated = |playout: &Playout| match playout.mos {
            Some(mos) => format!("MOS {mos:.2}"),
            None => format!("loss {}", percent(playout.loss_ratio)),
        };
        let one = |playout: &Playout| format!("{}: {}", self.nanos(playout.jitter_buffer_ns), rated(playout));
        let adaptive = |playout: &Playout| {
            format!("adaptive (mean {}): {}", self.nanos(playout.jitter_buffer_ns), rated(playout))
        };
        let constant = voice.jitter_buffers.iter().map(one);
        let each: Vec<String> = constant.chain(voice.adaptive.iter().map(adaptive)).collect();
        (!each.is_empty()).then(|| of_way(m, voice.direction, &each.join(", ")))
    }

    fn delay(self, voice: &Voice) -> String {
        let playout = &voice.playout;
        let choice = match voice.jitter_buffer {
            BufferChoice::Optimal if playout.r.is_some() => " (best MOS)",
            BufferChoice::Optimal => " (least loss)",
            BufferChoice::Fixed => "",
        };
        let buffer = format!("jitter buffer {}{choice}", self.nanos(playout.jitter_buffer_ns));
        let delay = match (playout.mouth_to_ear_ns, voice.delay_basis) {
            (Some(delay), Some(DelayBasis::OneWay)) => time(delay, self.unicode),
            (Some(delay), _) => format!("{} (path: half of the round trip)", time(delay, self.unicode)),
            (None, _) => {
                let ends = [voice.codec.packet_ns, voice.codec.lookahead_ns]
                    .into_iter()
                    .fold(playout.jitter_buffer_ns, i64::saturating_add);
                format!("over {} (path delay unknown)", self.nanos(ends))
            }
        };
        format!("mouth-to-ear delay {delay}, {buffer}")
    }

    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    fn nanos(self, nanos: i64) -> String {
        time(nanos as f64, self.unicode)
    }
}

fn of_way(m: &Measurement, direction: ProbeDirection, sentence: &str) -> String {
    let way =
        if direction == ProbeDirection::Reverse { MeasuredPath::Reverse } else { MeasuredPath::Forward };
    if ways(m) == [way] { capital(sentence) } else { format!("{}: {sentence}", way.name()) }
}

/// `MOS 4.29 (R 88.2, users satisfied), g711 (narrowband, G.107)`.
fn score(voice: &Voice, r: f64, mos: f64) -> String {
    let is_least =
        voice.loss_basis == LossBasis::RoundTrip || voice.variation_basis == VariationBasis::RoundTrip;
    let bound = match (voice.delay_basis, is_least) {
        (Some(_), false) => "",
        (Some(_), true) => "at least ",
        (None, false) => "at most ",
        (None, true) => "about ",
    };
    // Where the formula goes below zero, the score is that of zero (G.107 annex B).
    let r = r.max(0.0);
    let users = voice.playout.rating.map_or_else(String::new, |rating| format!(", {}", users(rating)));
    format!(
        "MOS {bound}{mos:.2} (R {bound}{r:.1}{users}), {} ({}, no echo)",
        voice.codec.name,
        scale(voice.codec.scale)
    )
}

/// Without a score: by delay and loss.
fn unrated(voice: &Voice) -> String {
    let lacks = if voice.codec.ie.is_none() { "Ie" } else { "Bpl" };
    let targets = match voice.playout.delay_and_loss {
        Some(DelayAndLoss::Preferred) => "within the preferred targets",
        Some(DelayAndLoss::WithinLimits) => "within the limits, beyond the preferred targets",
        Some(DelayAndLoss::BeyondLimits) => "beyond the limits",
        None => "not rated against the limits",
    };
    format!(
        "delay and loss {targets} of conversation (G.1010); no MOS, because G.113 has no {lacks} for {} (set --voice-ie and \
         --voice-bpl)",
        voice.codec.name
    )
}

fn scale(scale: Scale) -> String {
    format!("{scale}, {}", scale.recommendation())
}

const fn users(rating: Rating) -> &'static str {
    match rating {
        Rating::VerySatisfied => "users very satisfied",
        Rating::Satisfied => "users satisfied",
        Rating::SomeDissatisfied => "some users dissatisfied",
        Rating::ManyDissatisfied => "many users dissatisfied",
        Rating::NearlyAllDissatisfied => "nearly all users dissatisfied",
        Rating::NotRecommended => "not recommended",
    }
}
