//! Stamps of network cards, as the packet log has them: beside the records of what happened, because they become known
//! later, and not all packets have them.

/// Which moment a network card's stamp is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardMoment {
    /// A probe left this host.
    Left,
    /// It arrived at the responder.
    ArrivedThere,
    /// Its reflection left the responder.
    LeftThere,
    /// The reflection arrived here.
    Returned,
    /// A one-way probe of the responder left there.
    TheirsLeft,
    /// A one-way probe of the responder arrived here.
    TheirsCame,
}

impl CardMoment {
    /// All of them, by their octet in the log.
    const ALL: [Self; 6] =
        [Self::Left, Self::ArrivedThere, Self::LeftThere, Self::Returned, Self::TheirsLeft, Self::TheirsCame];

    /// Whether it is of a one-way probe of the responder.
    pub const fn is_theirs(self) -> bool {
        matches!(self, Self::TheirsLeft | Self::TheirsCame)
    }

    pub(crate) fn octet(self) -> u8 {
        Self::ALL.iter().zip(0..).find(|(one, _)| **one == self).map_or(0, |(_, octet)| octet)
    }

    pub(crate) fn from_octet(octet: u8) -> Option<Self> {
        Self::ALL.get(usize::from(octet)).copied()
    }
}

/// A network card's stamp, on the real-time clock of its host, to which the card's own clock was related.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Card {
    /// Number of the probe.
    pub sequence: u64,
    /// What happened.
    pub moment: CardMoment,
    /// The arrival that it belongs to: the kernel's stamp of it, and the user's where there is none. Of a departure of
    /// [`CardMoment::LeftThere`] the arrival that was answered; of other departures 0.
    pub arrival_ns: i64,
    /// When.
    pub card_ns: i64,
    /// By how much that may be off, because the two clocks of the host are read one after the other.
    pub error_ns: u32,
}
