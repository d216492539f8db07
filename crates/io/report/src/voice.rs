//! The rating of a call, in sentences.

use romer_record::document::{Measurement, Way as Asked};
use romer_record::voice::{
    BufferChoice, DelayAndLoss, DelayBasis, LossBasis, Playout, Rating, Scale, Unrated, UnratedReason,
    VariationBasis, Voice,
};

use romer_units::counted_as;

use crate::figure::capital;
use crate::number::{percent, time};
use crate::table::{Way, ways};
use crate::words::Words;

impl Words {
    /// The rating of a call in one direction.
    pub(crate) fn voice(self, m: &Measurement, voice: &Voice) -> String {
        let playout = &voice.playout;
        let verdict = match playout.r.zip(playout.mos) {
            Some((r, mos)) => score(voice, r, mos),
            None => unrated(voice),
        };
        let losses = match (playout.loss_ratio > 0.0, playout.discard_ratio > 0.0) {
            (false, _) => "no packet is lost or discarded".to_owned(),
            (true, false) => format!("{} of the packets are lost", percent(playout.loss_ratio)),
            (true, true) => format!(
                "{} of the packets are lost, {} of all by coming too late for the buffer",
                percent(playout.loss_ratio),
                percent(playout.discard_ratio)
            ),
        };
        let basis = match voice.loss_basis {
            LossBasis::RoundTrip => ", if this way lost every probe that did not come back",
            LossBasis::OneWay => "",
        };
        let variation = match voice.variation_basis {
            VariationBasis::OneWay => "",
            VariationBasis::RoundTrip => {
                "; there are no one-way delays, and what the buffer discards is by the variation of the round trip, the most \
                 that it can be"
            }
        };
        let sentence = format!("{verdict}, {}; {losses}{basis}{variation}.", self.delay(voice));
        of_way(m, voice.direction, &sentence)
    }

    /// Why a direction has no rating.
    pub(crate) fn unrated(self, m: &Measurement, unrated: &Unrated) -> String {
        let Unrated { packets, packets_min, .. } = unrated;
        let why = match unrated.reason {
            UnratedReason::TooFewPackets => {
                format!(
                    "{} sent, and a rating takes at least {packets_min}",
                    counted_as(*packets, "packet was", "packets were")
                )
            }
            UnratedReason::LossesUnknown => {
                "no packet is known to have arrived, and not whether this direction lost them".into()
            }
            UnratedReason::DelaysUnknown => {
                "the packets that arrived have neither one-way delays nor round trips".into()
            }
        };
        of_way(m, unrated.direction, &format!("no rating: {why}."))
    }

    /// What jitter buffers of several lengths make of a call; `None` where there is nothing to choose.
    pub(crate) fn jitter_buffers(self, m: &Measurement, voice: &Voice) -> Option<String> {
        let one = |playout: &Playout| {
            let rated = match playout.mos {
                Some(mos) => format!("MOS {mos:.2}"),
                None => format!("{} lost", percent(playout.loss_ratio)),
            };
            format!("{} {rated}", self.nanos(playout.jitter_buffer_ns))
        };
        let each: Vec<String> = voice.jitter_buffers.iter().map(one).collect();
        (!each.is_empty()).then(|| of_way(m, voice.direction, &format!("{}.", each.join(", "))))
    }

    fn delay(self, voice: &Voice) -> String {
        let playout = &voice.playout;
        let choice = match voice.jitter_buffer {
            BufferChoice::Optimal if playout.r.is_some() => ", the best one",
            BufferChoice::Optimal => ", which loses least",
            BufferChoice::Fixed => "",
        };
        let buffer = format!("a jitter buffer of {}{choice}", self.nanos(playout.jitter_buffer_ns));
        match (playout.mouth_to_ear_ns, voice.delay_basis) {
            (Some(delay), Some(DelayBasis::OneWay)) => {
                format!("{} from mouth to ear with {buffer}", time(delay, self.unicode))
            }
            (Some(delay), _) => format!(
                "{} from mouth to ear, if the path takes half of the round trip, with {buffer}",
                time(delay, self.unicode)
            ),
            (None, _) => {
                let ends = [voice.codec.packet_ns, voice.codec.lookahead_ns]
                    .into_iter()
                    .fold(playout.jitter_buffer_ns, i64::saturating_add);
                format!(
                    "more than {} from mouth to ear, as the path's delay is not known, with {buffer}",
                    self.nanos(ends)
                )
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    fn nanos(self, nanos: i64) -> String {
        time(nanos as f64, self.unicode)
    }
}

fn of_way(m: &Measurement, direction: Asked, sentence: &str) -> String {
    let way = if direction == Asked::Reverse { Way::Reverse } else { Way::Forward };
    if ways(m) == [way] { capital(sentence) } else { format!("{}: {sentence}", way.name()) }
}

/// `MOS 4.29 (R 88.2, narrowband scale of G.107, users satisfied) for g711 without echo`.
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
    let r = if r > 0.0 { format!("{r:.1}") } else { "0, below which none is scored".into() };
    let said = voice.playout.rating.map_or_else(String::new, |rating| format!(", {}", users(rating)));
    format!(
        "MOS {bound}{mos:.2} (R {bound}{r}, {}{said}) for {} without echo",
        scale(voice.codec.scale),
        voice.codec.name
    )
}

/// Without a score: by delay and loss.
fn unrated(voice: &Voice) -> String {
    let lacks = if voice.codec.ie.is_none() { "Ie" } else { "Bpl, and packets were lost" };
    let targets = match voice.playout.delay_and_loss {
        Some(DelayAndLoss::Preferred) => "are within the preferred targets of conversation",
        Some(DelayAndLoss::WithinLimits) => {
            "are within the limits of conversation, but not the preferred targets"
        }
        Some(DelayAndLoss::BeyondLimits) => "are beyond the limits of conversation",
        None => "cannot be judged",
    };
    format!(
        "delay and loss {targets} (G.1010); no MOS, because G.113 has for {} no {lacks} (--voice-ie and --voice-bpl state them)",
        voice.codec.name
    )
}

fn scale(scale: Scale) -> String {
    format!("{scale} scale of {}", scale.recommendation())
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
