//! A page of the documentation, as far as it is run.

/// Before the comment of a block that is run.
const RUN: &str = "<!-- run: ";
/// Before the comment of a block that is saved.
const FILE: &str = "<!-- file: ";
const END: &str = " -->";
/// Between the parts of a comment.
const SEPARATOR: &str = " ;; ";

/// Where the commands of a block run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BlockHost {
    Here,
    /// On a host of the lab of this kind.
    Lab {
        kind: String,
        host: String,
    },
}

/// Commands that are run one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Line of its fence, from 1.
    pub(crate) line: usize,
    pub(crate) place: BlockHost,
    pub(crate) commands: Vec<String>,
    /// Exit codes of the first command, or of one that goes on, with a slash between them.
    pub(crate) code: String,
    /// A command that prepares what the page does not show.
    pub(crate) before: Option<String>,
    /// The last command goes on under this name.
    pub(crate) background: Option<String>,
    /// What goes on under this name is interrupted first.
    pub(crate) interrupt: Option<String>,
}

/// What a page does, in its order.
#[derive(Clone, Debug)]
pub(crate) enum PageStep {
    Run(Block),
    Save { name: String, content: String },
}

/// A page.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) steps: Vec<PageStep>,
}

impl Page {
    /// Reads a page.
    ///
    /// # Errors
    /// `LINE: WHY` of the first block that does not state how it is run, or of a comment that cannot be read.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut steps = Vec::new();
        let mut lines = text.lines().zip(1..).peekable();
        // The comment before the next block, and its line.
        let mut comment: Option<(&str, usize)> = None;
        while let Some((line, number)) = lines.next() {
            if line.starts_with(RUN) || line.starts_with(FILE) {
                comment = Some((line, number));
                continue;
            }
            if let Some(language) = line.trim_start().strip_prefix("```") {
                let mut content = Vec::new();
                for (line, _) in lines.by_ref() {
                    if line.trim_start() == "```" {
                        break;
                    }
                    content.push(line);
                }
                match comment.take() {
                    Some((said, of)) => steps.extend(step(said, of, number, &content)?),
                    None if language == "console" => {
                        return Err(format!(
                            "{number}: the block has no comment: write <!-- run: ... --> before it"
                        ));
                    }
                    None => {}
                }
            } else if !line.is_empty()
                && let Some((_, of)) = comment
            {
                return Err(format!("{of}: no block follows"));
            }
        }
        match comment {
            Some((_, of)) => Err(format!("{of}: no block follows")),
            None => Ok(Self { steps }),
        }
    }
}

/// What a block with a comment does; `None` of one that is not run.
fn step(said: &str, of: usize, line: usize, content: &[&str]) -> Result<Option<PageStep>, String> {
    let body = |start: &str| said.strip_prefix(start).and_then(|rest| rest.strip_suffix(END));
    if let Some(name) = body(FILE) {
        let content = content.join("\n") + "\n";
        return Ok(Some(PageStep::Save { name: name.into(), content }));
    }
    let parts = body(RUN).ok_or_else(|| format!("{of}: the comment does not end with{END}"))?;
    if let Some(reason) = parts.strip_prefix("no") {
        let has_reason = reason.strip_prefix(", ").is_some_and(|reason| !reason.trim().is_empty());
        return if has_reason { Ok(None) } else { Err(format!("{of}: `no` without a reason")) };
    }
    let mut block = Block {
        line,
        place: BlockHost::Here,
        commands: commands(content),
        code: "0".into(),
        before: None,
        background: None,
        interrupt: None,
    };
    for part in parts.split(SEPARATOR) {
        let unknown = || format!("{of}: unknown part {part:?}");
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        match key {
            "here" => block.place = BlockHost::Here,
            "lab" => block.place = BlockHost::Lab { kind: value.into(), host: "A".into() },
            "on" => match &mut block.place {
                BlockHost::Lab { host, .. } => *host = value.into(),
                BlockHost::Here => return Err(unknown()),
            },
            "code" => block.code = value.into(),
            "before" => block.before = Some(value.into()),
            "background" => block.background = Some(value.into()),
            "interrupt" => block.interrupt = Some(value.into()),
            "replace" => {
                let (old, new) = value.split_once(" => ").ok_or_else(unknown)?;
                if !block.commands.iter().any(|command| command.contains(old)) {
                    return Err(format!("{of}: no command has {old:?}"));
                }
                for command in &mut block.commands {
                    *command = command.replace(old, new);
                }
            }
            _ => return Err(unknown()),
        }
    }
    if block.commands.is_empty() && block.interrupt.is_none() {
        return Err(format!("{line}: the block has no command"));
    }
    Ok(Some(PageStep::Run(block)))
}

/// The commands of a block: what follows `$ `, and the lines that continue it.
fn commands(content: &[&str]) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    // It goes on after a backslash, or within quotes.
    let is_open = |command: &String| command.ends_with('\\') || command.matches('\'').count() % 2 == 1;
    for line in content {
        if let Some(command) = line.strip_prefix("$ ") {
            commands.push(command.to_owned());
        } else if let Some(last) = commands.last_mut().filter(|last| is_open(last)) {
            last.push('\n');
            last.push_str(line);
        }
    }
    commands
}
