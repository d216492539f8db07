//! The names of ports.

use std::fmt;
use std::str::FromStr;

use crate::error::PortError;

/// An interface, in this network namespace or a named one: `[NETNS/]IFACE`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PortName {
    namespace: Option<String>,
    interface: String,
}

impl PortName {
    /// The named network namespace; `None` for the one that the program runs in.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }
    /// The interface's name.
    pub fn interface(&self) -> &str {
        &self.interface
    }
    /// The command line of `ip` with these arguments, for the port's network namespace.
    pub fn ip(&self, arguments: &str) -> String {
        match &self.namespace {
            Some(namespace) => format!("ip -n {namespace} {arguments}"),
            None => format!("ip {arguments}"),
        }
    }
}

impl fmt::Display for PortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.interface)
    }
}

impl FromStr for PortName {
    type Err = PortError;

    fn from_str(name: &str) -> Result<Self, PortError> {
        let bad = |why| PortError::BadName { name: name.into(), why };
        let (namespace, interface) = match name.split_once('/') {
            Some((namespace, interface)) => (Some(namespace), interface),
            None => (None, name),
        };
        if namespace == Some("") {
            return Err(bad("the network namespace has no name"));
        }
        if interface.is_empty() {
            return Err(bad("the interface has no name"));
        }
        if interface.len() >= libc::IFNAMSIZ {
            return Err(bad("an interface's name has 15 bytes at most"));
        }
        if interface.contains(|c: char| c == '/' || c == ':' || c.is_whitespace() || c.is_control()) {
            return Err(bad("an interface's name holds no slash, colon, white space or control character"));
        }
        if matches!(interface, "." | "..") {
            return Err(bad("it means a folder"));
        }
        Ok(Self { namespace: namespace.map(str::to_owned), interface: interface.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_an_interface_here_or_in_a_namespace() {
        let here: PortName = "eth0".parse().unwrap();
        assert_eq!((here.namespace(), here.interface()), (None, "eth0"));
        let there: PortName = "romerE/e0".parse().unwrap();
        assert_eq!((there.namespace(), there.interface()), (Some("romerE"), "e0"));
        for name in ["eth0", "romerE/e0"] {
            assert_eq!(name.parse::<PortName>().unwrap().to_string(), name);
        }
    }

    /// A command for a port acts in the namespace of the port.
    #[test]
    fn command_names_the_namespace() {
        let commands = ["eth0", "romerE/e0"].map(|name| name.parse::<PortName>().unwrap().ip("link"));
        assert_eq!(commands, ["ip link", "ip -n romerE link"]);
    }

    #[test]
    fn names_that_the_kernel_would_not_take_are_refused() {
        for bad in ["", "/", "/e0", "x/", "a/b/c", "sixteen-letters-", "a b", "a:1", "x/..", "a\0"] {
            let error = bad.parse::<PortName>().unwrap_err();
            assert!(error.to_string().contains("is not a port"), "{bad:?}: {error}");
        }
    }
}
