//! What is said where the far end keeps no log, by whether it counts its replies.

use romer_passages::{Numbering, ReplyNumbers};
use romer_units::{counted, counted_as, was};

/// Notes for readers.
pub(super) fn words(told: Option<&ReplyNumbers>) -> Vec<String> {
    let numbering = told.map_or(Numbering::Untold, |told| told.numbering);
    let about = match numbering {
        Numbering::Untold => {
            "the direction of a loss is not known, and its departure stamp is taken before sending"
        }
        Numbering::Ours => {
            "the direction of a loss is not known (its replies have the numbers of our probes, which tells nothing), and its \
             departure stamp is taken before sending"
        }
        Numbering::Senseless => {
            "the direction of a loss is not known (its replies have numbers of its own, but not as one counts the replies of \
             this stream), and its departure stamp is taken before sending"
        }
        Numbering::Own => "its departure stamp is taken before sending",
    };
    let mut words = vec![format!("the responder keeps no log for this run: {about}")];
    words.extend(told.filter(|told| told.numbering == Numbering::Own).into_iter().flat_map(by_its_count));
    words
}

/// Of a far end that counts its replies.
fn by_its_count(told: &ReplyNumbers) -> Vec<String> {
    let mut words = Vec::new();
    let least = |all: bool| if all { "" } else { "at least " };
    if told.copies > 0 {
        words.push(format!(
            "the far end counts its replies: of {} that did not come back, {}{} lost on the way there, or not answered; {}{} \
             lost on the way back, those to copies among them",
            counted(told.missing, "probe"),
            least(told.all_there),
            were(told.there),
            least(told.all_back),
            counted_as(told.back, "reply was", "replies were"),
        ));
    } else if told.missing == 0 {
        words.push(
            "the far end counts its replies, by which the direction of a loss would be known: all came back"
                .into(),
        );
    } else {
        words.push(format!(
            "the far end counts its replies: of {} that did not come back, {}{} lost on the way there, or not answered, \
             and {}{} lost on the way back",
            counted(told.missing, "probe"),
            least(told.all_there),
            were(told.there),
            least(told.all_back),
            were(told.back),
        ));
    }
    if told.unnamed > 0 {
        words.push(format!(
            "of {} of these it is known how many were lost on which way, not which: {}",
            told.unnamed,
            if told.copies > 0 {
                "probes of both kinds may lie between two replies, for a reply that was lost may have been to a copy"
            } else {
                "probes of both kinds lie between two replies"
            }
        ));
    }
    if told.unknown > 0 {
        words.push(format!(
            "of {} of these the direction is not known: they lie behind the last reply, or where the far end's count may have \
             begun anew",
            told.unknown
        ));
    }
    if told.copies > 0 {
        words.push(format!(
            "{} of probes came there besides, as the numbers of their replies tell; a copy whose reply was lost is not among them, \
             and its number is missing like that of a probe's reply",
            counted_as(told.copies, "copy", "copies")
        ));
    }
    if told.restarts > 0 {
        words.push(format!(
            "the far end's count began anew {}: it was restarted, or had forgotten the session",
            if told.restarts == 1 { "once".into() } else { format!("{} times", told.restarts) }
        ));
    }
    words
}

fn were(count: u64) -> String {
    format!("{count} {}", was(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: ReplyNumbers = ReplyNumbers {
        numbering: Numbering::Own,
        missing: 0,
        there: 0,
        back: 0,
        all_there: true,
        all_back: true,
        unnamed: 0,
        unknown: 0,
        copies: 0,
        restarts: 0,
        overtaken: false,
    };

    #[test]
    fn what_is_not_known_is_said_and_why() {
        let of = |numbering| words(Some(&ReplyNumbers { numbering, ..NOTHING }));
        let unknown = "the direction of a loss is not known";
        assert!(words(None)[0].contains(unknown));
        assert!(of(Numbering::Ours)[0].contains("the numbers of our probes"));
        assert!(of(Numbering::Senseless)[0].contains("not as one counts"));
        assert!(of(Numbering::Own).iter().all(|words| !words.contains(unknown)));
        assert!(of(Numbering::Own)[1].ends_with("all came back"));
    }

    #[test]
    fn counts_are_exact_or_said_to_be_the_least() {
        let all = ReplyNumbers { missing: 9, there: 5, back: 4, unnamed: 2, ..NOTHING };
        let all = words(Some(&all));
        assert!(all[1].contains(
            "of 9 probes that did not come back, 5 were lost on the way there, or not answered, and 4"
        ));
        assert!(all[2].starts_with("of 2 of these it is known how many"));
        assert!(all[2].ends_with("probes of both kinds lie between two replies"));
        let copies =
            words(Some(&ReplyNumbers { missing: 90, back: 90, copies: 141, unnamed: 90, ..NOTHING }));
        assert!(copies[2].ends_with("a reply that was lost may have been to a copy"), "{copies:?}");
        let copied = ReplyNumbers { missing: 3, there: 1, back: 7, copies: 2, all_there: false, ..NOTHING };
        let copied = words(Some(&copied));
        assert!(copied[1].ends_with(
            "of 3 probes that did not come back, at least 1 was lost on the way there, or not answered; 7 replies were lost on \
             the way back, those to copies among them"
        ));
        assert!(copied[2].starts_with("2 copies of probes came there besides"), "{}", copied[2]);
        let some = ReplyNumbers {
            missing: 3,
            there: 1,
            back: 1,
            unknown: 1,
            all_there: false,
            all_back: false,
            restarts: 2,
            ..NOTHING
        };
        let some = words(Some(&some));
        assert!(some[1].contains("at least 1 was lost on the way there"), "{}", some[1]);
        assert!(some[2].starts_with("of 1 of these the direction is not known"));
        assert!(some[3].contains("anew 2 times"));
    }
}
