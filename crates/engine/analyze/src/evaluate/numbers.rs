//! What the numbers of replies give of losses, where the far end keeps no log.

use romer_record::warning::{MeasurementWarning, Numbering, ReplyLosses};
use romer_singletons::ReplyNumbers;

/// The warnings.
pub(super) fn warnings(told: Option<&ReplyNumbers>) -> Vec<MeasurementWarning> {
    let numbering = told.map_or(Numbering::Unknown, |told| told.numbering);
    let mut all = vec![MeasurementWarning::NoResponderLog { numbering }];
    let by_count = told.filter(|told| told.numbering == Numbering::Stateful);
    all.extend(by_count.map(|told| {
        MeasurementWarning::LossesByReplyNumber(ReplyLosses {
            missing: told.missing,
            forward: told.there,
            forward_exact: told.all_there,
            reverse: told.back,
            reverse_exact: told.all_back,
            unnamed: told.unnamed,
            unknown: told.unknown,
            copies: told.copies,
            restarts: told.restarts,
        })
    }));
    all
}
