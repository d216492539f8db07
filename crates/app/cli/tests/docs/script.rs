//! Runs a page as a script of bash, in namespaces of its own.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::page::{Block, BlockHost, Page, PageStep};

/// Seconds after which a block is taken to hang.
const TIMEOUT_SECONDS: u32 = 120;
/// Names of the far host of a path.
const HOSTS: &str = "127.0.0.1 localhost\n198.18.0.3 far.example HOST\n";

/// What every page begins with: namespaces of its own have what its commands use.
const BEGIN: &str = r#"
set -mu
mount -t tmpfs tmpfs /run
mount --bind "$PAGE/hosts" /etc/hosts
ip link set lo up
cd "$PAGE/work"
# A block that goes on is ready when it has said something.
ready() {
    local turn
    for turn in {1..300}; do
        [ ! -s "$PAGE/$1.out" ] || return 0
        sleep 0.1
    done
    echo "$2: nothing was said in 30 s"
    exit 1
}
# The exit codes of a block's commands, beside those that are expected: line, which one has a code of its own, that code, file,
# number of commands.
codes() {
    local line=$1 number=0 code wanted
    while read -r code; do
        wanted=0
        [ "$number" != "$2" ] || wanted=$3
        if [[ "/$wanted/" != *"/$code/"* ]]; then
            echo "$line: exit code $code and not $wanted: $(cat "$PAGE/$4.command.$number")"
            cat "$PAGE/$4.out"
            exit 1
        fi
        number=$((number + 1))
    done <"$PAGE/$4.codes"
    [ "$number" = "$5" ] || { echo "$line: $number of $5 commands ended"; cat "$PAGE/$4.out"; exit 1; }
}
"#;

/// Runs the page.
///
/// # Errors
/// `LINE: WHY`, with what the block has said.
pub(crate) fn run(page: &Page) -> Result<(), String> {
    if !page.steps.iter().any(|step| matches!(step, PageStep::Run(_))) {
        return Ok(());
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for name in ["work", "home", "bin"] {
        fs::create_dir(root.join(name)).unwrap();
    }
    fs::write(root.join("hosts"), HOSTS).unwrap();
    executable(&root.join("bin/sudo"), "#!/bin/sh\nexec \"$@\"\n");
    let script = script(page, root);
    fs::write(root.join("page.sh"), script).unwrap();
    let mut command = Command::new("unshare");
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        command.args(["--user", "--map-root-user"]);
    }
    // With the first process of its namespace everything ends that the page has started.
    command.args(["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "bash"]);
    let program = Path::new(env!("CARGO_BIN_EXE_romer")).parent().unwrap();
    let path =
        format!("{}:{}:{}", root.join("bin").display(), program.display(), std::env::var("PATH").unwrap());
    command
        .arg(root.join("page.sh"))
        .env("PATH", path)
        .env("PAGE", root)
        .env("HOME", root.join("home"))
        .env_remove("XDG_STATE_HOME")
        .env_remove("XDG_RUNTIME_DIR")
        .stdin(Stdio::null());
    let output = command.output().unwrap();
    let text =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    if output.status.success() { Ok(()) } else { Err(text) }
}

fn executable(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The script of a page; that of each block is written to `root`.
fn script(page: &Page, root: &Path) -> String {
    let mut script = String::from(BEGIN);
    let mut lab: Option<&str> = None;
    for (number, step) in page.steps.iter().enumerate() {
        let block = match step {
            PageStep::Save { name, content } => {
                let file = format!("file{number}");
                fs::write(root.join(&file), content).unwrap();
                let _ = writeln!(script, "cp \"$PAGE/{file}\" '{name}'");
                continue;
            }
            PageStep::Run(block) => block,
        };
        if let BlockHost::Lab { kind, .. } = &block.place
            && lab != Some(kind)
        {
            let down = if lab.is_some() { "romer lab down\n" } else { "" };
            let _ = writeln!(
                script,
                "{down}romer lab up {kind} >/dev/null || exit 1\n\
                 romer lab run B -- romer respond >\"$PAGE/respond.out\" 2>&1 &\nready respond {}",
                block.line
            );
            lab = Some(kind);
        }
        if let Some(name) = &block.interrupt {
            let _ =
                writeln!(script, "kill -INT -- -\"${{{name}_job}}\"\nwait \"${{{name}_job}}\"\n{name}_codes");
        }
        if !block.commands.is_empty() {
            run_block(&mut script, block, number, root);
        }
    }
    script
}

/// Adds a block to the script of its page.
fn run_block(script: &mut String, block: &Block, number: usize, root: &Path) {
    let name = block.background.clone().unwrap_or_else(|| format!("block{number}"));
    // What a command leaves in `$?` is there for the next one.
    let mut own = String::from("trap : INT\nlast=0\n");
    if let Some(before) = &block.before {
        let _ =
            writeln!(own, "{{ {before}\n}} >\"$PAGE/{name}.first\" 2>&1 || echo $? >>\"$PAGE/{name}.codes\"");
    }
    for (place, command) in block.commands.iter().enumerate() {
        fs::write(root.join(format!("{name}.command.{place}")), command).unwrap();
        // A block that goes on is ready by what its last command says.
        let is_last = place + 1 == block.commands.len();
        let to = match block.background.is_some() && !is_last {
            true => format!(" >\"$PAGE/{name}.first\" 2>&1"),
            false => String::new(),
        };
        let _ =
            writeln!(own, "(exit $last)\n{{ {command}\n}}{to}\nlast=$?; echo $last >>\"$PAGE/{name}.codes\"");
    }
    fs::write(root.join(format!("{name}.sh")), own).unwrap();
    let on = match &block.place {
        BlockHost::Here => String::new(),
        BlockHost::Lab { host, .. } => format!("romer lab run {host} -- "),
    };
    let (line, code, count) = (block.line, &block.code, block.commands.len());
    let at = if block.background.is_some() { count - 1 } else { 0 };
    let _ = writeln!(script, ": >\"$PAGE/{name}.codes\"");
    if block.background.is_some() {
        let _ = writeln!(
            script,
            "{on}bash \"$PAGE/{name}.sh\" >\"$PAGE/{name}.out\" 2>&1 &\n{name}_job=$!\nready {name} {line}\n\
             {name}_codes() {{ codes {line} {at} {code} {name} {count}; }}"
        );
    } else {
        let _ = writeln!(
            script,
            "timeout --foreground {TIMEOUT_SECONDS} {on}bash \"$PAGE/{name}.sh\" >\"$PAGE/{name}.out\" 2>&1\n\
             codes {line} {at} {code} {name} {count}"
        );
    }
}
