//! Commands as lines of a shell.

/// A program and its arguments as a line.
pub(crate) fn line<T: AsRef<str>>(arguments: &[T]) -> String {
    arguments.iter().map(|argument| quoted(argument.as_ref())).collect::<Vec<_>>().join(" ")
}

/// Lines of which each runs if the one before it succeeded.
pub(crate) fn all(lines: &[String]) -> String {
    lines.join(" && ")
}

/// An argument as one word of a line.
fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.into()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arguments that a shell would split or interpret are quoted.
    #[test]
    fn arguments_are_quoted() {
        assert_eq!(line(&["sysctl", "-w", "net.core.rmem_max=4"]), "sysctl -w net.core.rmem_max=4");
        assert_eq!(line(&["ls", "/opt/it's here", ""]), r"ls '/opt/it'\''s here' ''");
        assert_eq!(all(&["a".into(), "b".into()]), "a && b");
    }
}
