//! What a call would be worth, in sentences.

use romer_record::document::{Measurement, Way as Asked};
use romer_record::voice::{DelayBasis, LossBasis, Rating, Voice};

use crate::figure::capital;
use crate::number::{percent, time};
use crate::table::{Way, ways};
use crate::words::Words;

impl Words {
    /// The verdict on a call in one way.
    pub(crate) fn voice(self, m: &Measurement, voice: &Voice) -> String {
        let time = |nanos: f64| time(nanos, self.unicode);
        let way = if voice.direction == Asked::Reverse { Way::Reverse } else { Way::Forward };
        let bound = match (voice.delay_basis, voice.loss_basis) {
            (Some(_), LossBasis::OneWay) => "",
            (Some(_), LossBasis::RoundTrip) => "at least ",
            (None, LossBasis::OneWay) => "at most ",
            (None, LossBasis::RoundTrip) => "about ",
        };
        let losses = match voice.loss_basis {
            LossBasis::OneWay => "in all",
            LossBasis::RoundTrip => "in all if this way lost every probe that did not come back",
        };
        let delay = match (voice.mouth_to_ear_ns, voice.delay_basis) {
            (Some(delay), Some(DelayBasis::OneWay)) => format!(", {} from mouth to ear", time(delay)),
            (Some(delay), _) => {
                format!(", {} from mouth to ear on the mean of both ways", time(delay))
            }
            (None, _) => {
                let ends = voice.jitter_buffer_ns + voice.codec.frame_ns + voice.codec.lookahead_ns;
                #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
                let ends = time(ends as f64);
                format!(", more than {ends} from mouth to ear, the path's delay not being known")
            }
        };
        #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
        let buffer = time(voice.jitter_buffer_ns as f64);
        // Where the formula goes below zero, the score is that of zero (G.107, annex B).
        let r =
            if voice.r > 0.0 { format!("{:.1}", voice.r) } else { "0, below which none is scored".into() };
        let sentence = format!(
            "a call with {}, its echo cancelled, has R {bound}{r}, MOS {bound}{:.2}: {}. A jitter buffer of {buffer} lets at most {} of the packets come too \
             late; {} are lost {losses}{delay}.",
            voice.codec.name,
            voice.mos,
            said(voice.rating),
            percent(voice.late_ratio),
            percent(voice.loss_ratio),
        );
        if ways(m) == [way] { capital(&sentence) } else { format!("{}: {sentence}", way.name()) }
    }
}

const fn said(rating: Rating) -> &'static str {
    match rating {
        Rating::VerySatisfied => "users very satisfied",
        Rating::Satisfied => "users satisfied",
        Rating::SomeDissatisfied => "some users dissatisfied",
        Rating::ManyDissatisfied => "many users dissatisfied",
        Rating::NearlyAllDissatisfied => "nearly all users dissatisfied",
        Rating::NotRecommended => "not recommended",
    }
}
