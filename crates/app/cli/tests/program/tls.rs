//! The protection of the control channel, and pairing.

use std::fs;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair, date_time_ymd,
};
use tempfile::TempDir;

use crate::common::lab::{FAR, Lab};
use crate::common::process::{self, Ended, PROGRAM, Process};
use crate::common::warned;

/// The state folders of several users, on both hosts.
struct Users(TempDir);

impl Users {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn folder(&self, user: &str) -> PathBuf {
        self.0.path().join(user)
    }

    fn file(&self, user: &str, name: &str) -> PathBuf {
        self.folder(user).join("romer").join(name)
    }

    fn known_peers(&self, user: &str) -> String {
        fs::read_to_string(self.file(user, "known_peers")).unwrap()
    }

    /// A responder of `user` on host B that is ready.
    fn respond(&self, lab: &Lab, user: &str, arguments: &[&str]) -> Process {
        let mut command = lab.romer("B", ["respond"]);
        let mut responder = Process::start(command.args(arguments).env("XDG_STATE_HOME", self.folder(user)));
        let line = responder.line();
        assert!(line.starts_with("responding: "), "{line:?} {:?}", responder.wait());
        responder
    }

    /// A short measurement by `user` on host A.
    fn measure(&self, lab: &Lab, user: &str, arguments: &[&str]) -> Ended {
        let (mut command, _home) = lab.measuring(&["--count", "3", "--interval", "5ms", "--json", "-"]);
        process::run(command.args(arguments).arg(FAR).env("XDG_STATE_HOME", self.folder(user)))
    }

    fn pair(&self, lab: &Lab, user: &str, code: &str) -> Ended {
        let mut command = lab.romer("A", ["pair", FAR, "--code", code]);
        process::run(command.env("XDG_STATE_HOME", self.folder(user)))
    }
}

fn end(responder: Process) {
    responder.signal("TERM");
    responder.wait().with_code(0);
}

/// The next line of `process` that begins with `start`, without that.
fn line_after(process: &mut Process, start: &str) -> String {
    loop {
        let line = process.line();
        assert!(!line.is_empty(), "no line begins with {start:?}");
        if let Some(rest) = line.strip_prefix(start) {
            return rest.trim_end().to_owned();
        }
    }
}

/// The identity of an unknown responder is stated as not verified, once. A key that has changed is refused, by both fingerprints.
#[test]
fn changed_keys_are_refused() {
    let (lab, users) = (Lab::path(), Users::new());
    let mut responder = users.respond(&lab, "far", &[]);
    let fingerprint = line_after(&mut responder, "key: ");
    let first = users.measure(&lab, "near", &[]).with_code(0);
    assert!(first.stderr.starts_with(&format!("note: first contact with the responder {FAR}")), "{first:?}");
    let warnings = warned(&first.document());
    assert!(warnings.contains("responder-not-verified") && warnings.contains(&fingerprint), "{warnings}");
    assert_eq!(users.known_peers("near"), format!("{FAR} {fingerprint}\n"));
    let second = users.measure(&lab, "near", &[]).with_code(0);
    assert!(second.stderr.is_empty() && !warned(&second.document()).contains("not-verified"), "{second:?}");
    end(responder);

    // Another key answers at this address, as that of a third party on the path would.
    let mut other = users.respond(&lab, "third", &[]);
    let presented = line_after(&mut other, "key: ");
    let refused = users.measure(&lab, "near", &[]).with_code(5);
    let start = format!(
        "error: the responder is not trusted ({FAR}:8862): its key has changed: {fingerprint} is known and {presented}"
    );
    assert!(refused.stderr.starts_with(&start), "{refused:?}");
    assert!(refused.stderr.contains("run `romer pair 198.18.0.3` or remove its line from "), "{refused:?}");
    assert_eq!(users.known_peers("near"), format!("{FAR} {fingerprint}\n"));
    end(other);
}

/// Both ends of one user know each other.
#[test]
fn own_keys_are_trusted() {
    let (lab, users) = (Lab::path(), Users::new());
    let _responder = users.respond(&lab, "one", &[]);
    let measured = users.measure(&lab, "one", &[]).with_code(0);
    assert!(
        measured.stderr.is_empty() && !warned(&measured.document()).contains("not-verified"),
        "{measured:?}"
    );
    assert!(!users.file("one", "known_peers").exists());
}

/// A plain connection needs both ends' consent, and neither end changes to one by itself.
#[test]
fn plain_connections_need_consent() {
    let (lab, users) = (Lab::path(), Users::new());
    let responder = users.respond(&lab, "far", &[]);
    let refused = users.measure(&lab, "near", &["--insecure"]).with_code(5);
    let why = format!(
        "error: the responder is not trusted ({FAR}:8862): it answers TLS connections only; omit --insecure"
    );
    assert!(refused.stderr.starts_with(&why), "{refused:?}");
    end(responder);
    let _responder = users.respond(&lab, "far", &["--insecure"]);
    let plain = users.measure(&lab, "near", &["--insecure"]).with_code(0);
    assert!(
        plain.stderr.is_empty() && !users.folder("near").join("romer/identity.pem").exists(),
        "{plain:?}"
    );
    // The same responder serves protected connections too, and they are preferred.
    let protected = users.measure(&lab, "near", &[]).with_code(0);
    assert!(warned(&protected.document()).contains("responder-not-verified"), "{protected:?}");
}

/// A wrong code pairs nobody and is followed by another one. The right one pairs both ends, after which a responder may serve only
/// paired initiators.
#[test]
fn pairing_verifies_both_ends() {
    let (lab, users) = (Lab::path(), Users::new());
    // The codes are on standard error.
    let mut command = lab.command("B", "sh");
    command.args(["-c", "exec \"$0\" respond --pair --paired-only 2>&1", PROGRAM]);
    let mut responder = Process::start(command.env("XDG_STATE_HOME", users.folder("far")));
    let code = |responder: &mut Process| line_after(responder, "pairing code: ")[..7].to_owned();
    let first = code(&mut responder);
    let wrong = if first == "000-000" { "000-001" } else { "000-000" };
    let refused = users.pair(&lab, "near", wrong).with_code(5);
    assert!(
        refused.stderr.contains("the code is wrong or no longer valid; start `romer respond --pair`"),
        "{refused:?}"
    );
    assert!(!users.file("near", "known_peers").exists() && !users.file("far", "known_peers").exists());
    assert_eq!(line_after(&mut responder, "pairing with "), "198.18.0.2 failed");
    let second = code(&mut responder);
    let stranger = users.measure(&lab, "near", &[]).with_code(5);
    assert!(stranger.stderr.contains("it answers paired initiators only"), "{stranger:?}");
    let paired = users.pair(&lab, "near", &second).with_code(0);
    assert!(paired.stdout.starts_with(&format!("paired with {FAR} (sha256:")), "{paired:?}");
    assert!(line_after(&mut responder, "paired with ").starts_with("198.18.0.2 (sha256:"));
    assert_eq!(line_after(&mut responder, "pairing is "), "closed");
    let known = users.known_peers("near");
    assert!(known.starts_with(&format!("{FAR} sha256:")) && known.ends_with(" paired\n"), "{known}");
    assert!(users.known_peers("far").ends_with(" paired\n"));
    let again = users.pair(&lab, "other", &second).with_code(5);
    assert!(again.stderr.contains("it shows no pairing code"), "{again:?}");
    end(responder);

    let responder = users.respond(&lab, "far", &["--paired-only"]);
    let measured = users.measure(&lab, "near", &[]).with_code(0);
    assert!(
        measured.stderr.is_empty() && !warned(&measured.document()).contains("not-verified"),
        "{measured:?}"
    );
    let other = users.measure(&lab, "other", &[]).with_code(5);
    assert!(other.stderr.contains("it answers paired initiators only"), "{other:?}");
    end(responder);
}

/// Probes are authenticated by keys of the control channel, without key files.
#[test]
fn channels_give_keys() {
    let (lab, users) = (Lab::path(), Users::new());
    let _responder = users.respond(&lab, "far", &[]);
    for direction in ["round-trip", "both"] {
        let measured =
            users.measure(&lab, "near", &["--authenticate", "--direction", direction]).with_code(0);
        let document = measured.document();
        let protocol = document["traffic"]["protocol"].as_str().unwrap();
        assert!(protocol.ends_with("authenticated"), "{protocol}");
        for way in ["forward", "reverse"] {
            assert_eq!(document[way]["packets"]["received"], 3, "{document:#}");
        }
    }
    let small = users.measure(&lab, "near", &["--authenticate", "--size", "64"]).with_code(2);
    assert!(
        small.stderr.contains("an authenticated probe does not fit; use at least 112 bytes"),
        "{small:?}"
    );
    let plain = users.measure(&lab, "near", &["--authenticate", "--insecure"]).with_code(2);
    assert!(plain.stderr.contains("--insecure"), "{plain:?}");
}

/// Another implementation completes a handshake of TLS 1.3, and none of TLS 1.2.
#[test]
fn only_tls13_is_spoken() {
    let (lab, users) = (Lab::path(), Users::new());
    let _responder = users.respond(&lab, "far", &[]);
    let shake = |version: &str| {
        let mut command = lab.command("A", "openssl");
        command.args(["s_client", "-connect", &format!("{FAR}:8862"), "-alpn", "romer", version]);
        let ended: Ended = command.stdin(Stdio::null()).output().unwrap().into();
        ended
    };
    let current = shake("-tls1_3");
    assert!(
        current.stdout.contains("TLSv1.3") && current.stdout.contains("ALPN protocol: romer"),
        "{current:?}"
    );
    let former = shake("-tls1_2");
    assert_ne!(former.code, Some(0), "{former:?}");
    assert!(former.stdout.contains("no peer certificate available"), "{former:?}");
}

/// An authority, and the files of those that it has signed.
struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let mut parameters = named(name, &[]);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        fs::write(folder.path().join("ca.pem"), parameters.self_signed(&key).unwrap().pem()).unwrap();
        Self { folder, issuer: Issuer::new(parameters, key) }
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// The options of an end with a certificate of these parameters, which trusts `trusted`.
    fn end(&self, name: &str, parameters: &CertificateParams, trusted: &Self) -> Vec<String> {
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        let (key_file, certificate_file) =
            (self.file(&format!("{name}.key")), self.file(&format!("{name}.pem")));
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(Path::new(&key_file))
            .unwrap();
        std::io::Write::write_all(&mut file, key.serialize_pem().as_bytes()).unwrap();
        fs::write(&certificate_file, certificate.pem()).unwrap();
        ["--tls-key", &key_file, "--tls-cert", &certificate_file, "--tls-ca", &trusted.file("ca.pem")]
            .map(str::to_owned)
            .to_vec()
    }
}

/// A certificate with this name, for these hosts.
fn named(name: &str, hosts: &[&str]) -> CertificateParams {
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let mut parameters = CertificateParams::new(hosts).unwrap();
    let mut distinguished_name = DistinguishedName::new();
    distinguished_name.push(DnType::CommonName, name);
    parameters.distinguished_name = distinguished_name;
    parameters
}

/// With certificates of an authority, both ends verify each other: name, time and authority.
#[test]
fn authorities_decide() {
    let (lab, users) = (Lab::path(), Users::new());
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let near = ours.end("near", &named("near", &["near.test"]), &ours);
    let stranger = theirs.end("stranger", &named("stranger", &["near.test"]), &ours);
    let mut expired = named("expired", &[FAR]);
    expired.not_after = date_time_ymd(2020, 1, 1);
    let measure = |options: &[String]| {
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        users.measure(&lab, "near", &options)
    };
    for (name, parameters, authority, why) in [
        ("far", named("far", &[FAR]), &ours, None),
        ("expired", expired, &ours, Some("expired")),
        ("elsewhere", named("elsewhere", &["198.18.0.9"]), &ours, Some("not valid for name")),
        ("foreign", named("foreign", &[FAR]), &theirs, Some("UnknownIssuer")),
    ] {
        let far = authority.end(name, &parameters, &ours);
        let far: Vec<&str> = far.iter().map(String::as_str).collect();
        let responder = users.respond(&lab, "far", &far);
        let measured = measure(&near);
        match why {
            None => {
                let measured = measured.with_code(0);
                assert!(measured.stderr.is_empty(), "{measured:?}");
                assert!(!warned(&measured.document()).contains("not-verified"));
                // Nor does the responder trust a certificate of another authority, or none of any.
                for options in [&stranger[..], &["--tls-ca".to_owned(), ours.file("ca.pem")]] {
                    let refused = measure(options).with_code(5);
                    assert!(refused.stderr.contains("the responder is not trusted"), "{refused:?}");
                }
            }
            Some(why) => {
                let refused = measured.with_code(5);
                assert!(refused.stderr.contains("its certificate is refused: "), "{refused:?}");
                assert!(refused.stderr.contains(why), "{name}: {refused:?}");
            }
        }
        end(responder);
    }
}

/// Files that cannot be used are refused before anything is sent, with the remedy.
#[test]
fn unusable_files_are_named() {
    let (lab, users) = (Lab::path(), Users::new());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("some.pem");
    fs::write(&file, "nothing").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let path = file.to_str().unwrap();
    let _responder = users.respond(&lab, "far", &[]);
    let refused = users.measure(&lab, "near", &["--tls-ca", path]).with_code(3);
    assert!(refused.stderr.contains("it has no certificate; name a file in PEM"), "{refused:?}");
    let respond = |options: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(["respond", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0"]).args(options);
        process::run(&mut command)
    };
    let readable = respond(&["--tls-key", path, "--tls-cert", path]).with_code(4);
    assert!(readable.stderr.contains("it needs 0600: chmod 600 "), "{readable:?}");
    let lonely = respond(&["--tls-key", path]).with_code(2);
    assert!(lonely.stderr.contains("--tls-cert"), "{lonely:?}");
}
