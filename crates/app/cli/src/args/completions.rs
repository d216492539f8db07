//! Arguments of `romer completions`.

use clap::Args;
use clap_complete::Shell;

/// Arguments of `romer completions`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  romer completions bash > ~/.local/share/bash-completion/completions/romer\n  \
        romer completions fish > ~/.config/fish/completions/romer.fish"
)]
pub(crate) struct CompletionsArgs {
    /// Shell for which completions are printed
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}
