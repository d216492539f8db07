//! How the program ends.

/// The exit code of the program by its meaning (docs/reference/exit-codes.md). Errors of the engines carry theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: what was to be done is done.
    Success,
    /// 1: a defect of the program.
    Fault,
    /// 2: an unknown option, a bad value, or a request that contradicts itself.
    Usage,
    /// 3: bad data in a file.
    BadData,
    /// 4: the environment, or a missing permission.
    Environment,
    /// 5: the other end refuses, or is unreachable.
    Unreachable,
    /// 6: a limit failed.
    LimitFailed,
    /// 130: interrupted; the results up to then are saved.
    Interrupted,
    /// That of a process which the program ran.
    Command(u8),
}

impl Exit {
    /// The number that the shell sees.
    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Fault => 1,
            Self::Usage => 2,
            Self::BadData => 3,
            Self::Environment => 4,
            Self::Unreachable => 5,
            Self::LimitFailed => 6,
            Self::Interrupted => 130,
            Self::Command(code) => code,
        }
    }

    /// That of a process of the program's own, which has printed its error. One that a signal ended has no code, and a fault.
    pub fn from_process(code: Option<i32>) -> Self {
        match code.map(u8::try_from) {
            Some(Ok(0)) => Self::Success,
            Some(Ok(code)) => Self::Command(code),
            _ => Self::Fault,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference page lists each code, and no other.
    #[test]
    fn codes_are_documented() {
        let page = include_str!("../../../../docs/reference/exit-codes.md");
        let listed =
            page.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" |")?.0.parse().ok());
        let all = [
            Exit::Success,
            Exit::Fault,
            Exit::Usage,
            Exit::BadData,
            Exit::Environment,
            Exit::Unreachable,
            Exit::LimitFailed,
            Exit::Interrupted,
        ];
        assert_eq!(listed.collect::<Vec<u8>>(), all.map(Exit::code));
    }
}
