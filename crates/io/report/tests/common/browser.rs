//! A page in a real browser.

use std::process::Command;

/// The text between `from` and `to`, from the first `from` on.
pub(crate) fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let rest = text.split_once(from).unwrap_or_else(|| panic!("no {from}")).1;
    rest.split_once(to).unwrap_or_else(|| panic!("no {to}")).0
}

/// What a browser with a window of that size makes of a page, and what it says.
pub(crate) fn opened(page: &str, size: &str) -> (String, String) {
    let (dom, said, _) = seen(page, size, &[]);
    (dom, said)
}

/// The same with more arguments, and the picture that a `--screenshot` of them took.
pub(crate) fn seen(page: &str, size: &str, more: &[&str]) -> (String, String, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    std::fs::write(&file, page).unwrap();
    let mut command = Command::new("chromium");
    command.env("HOME", folder.path()).args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
    ]);
    command.args(["--enable-logging=stderr", "--no-first-run", "--virtual-time-budget=5000", "--dump-dom"]);
    command.arg(format!("--window-size={size}"));
    command.arg(format!("--user-data-dir={}", folder.path().join("profile").display()));
    // Pictures go where the browser stands.
    command.current_dir(folder.path()).args(more);
    let ended = command.arg(format!("file://{}", file.display())).output();
    let ended =
        ended.unwrap_or_else(|error| panic!("chromium does not start ({error}): scripts/need chromium"));
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    let picture = std::fs::read(folder.path().join("screenshot.png")).unwrap_or_default();
    (text(&ended.stdout), text(&ended.stderr), picture)
}

/// Frames by a timer: a browser without a screen makes none while its page's time is a virtual one, or too late.
pub(crate) const FRAMES: &str = r"
window.requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 16);
";

/// The page with other scripts let in, beside its own: one before all else, and one behind.
pub(crate) fn with_scripts(page: &str, first: &str, last: &str) -> String {
    let policy = between(page, "<meta http-equiv=\"Content-Security-Policy\"", ">");
    page.replace(
        &format!("<meta http-equiv=\"Content-Security-Policy\"{policy}>"),
        &format!("<script>{first}</script>"),
    )
    .replace("</body>", &format!("<script>{last}</script></body>"))
}
