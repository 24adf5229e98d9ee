//! `helve completions`: the few lines that make a shell ask helve itself what could come next.

use clap::ValueEnum;

use crate::context::Context;
use crate::failure::Failure;

/// Print the script that completes commands, options and server names in your shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Install:
  bash  echo 'source <(helve completions bash)' >> ~/.bashrc
  zsh   echo 'source <(helve completions zsh)' >> ~/.zshrc    (behind compinit)
  fish  helve completions fish > ~/.config/fish/completions/helve.fish")]
pub(crate) struct Args {
    shell: Shell,
}

/// A shell helve can complete in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    context.printer.block(match args.shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
    })
}

/// bash breaks words at `:` and `=`, which names and options hold; helve gets the whole line and is told where bash
/// thinks the last word begins.
const BASH: &str = r#"_helve() {
    local IFS=$'\n'
    COMPREPLY=($(helve __complete bash --line "${COMP_LINE:0:COMP_POINT}" --current "$2" 2>/dev/null))
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/:] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o bashdefault -o default -F _helve helve
"#;

/// zsh hands words out as they are typed, quotes and all; the last one may have a quote that is still open. What ends in `=` or `/` goes on
/// without a space.
const ZSH: &str = r#"#compdef helve
_helve() {
    local -a candidates
    candidates=("${(@f)$(helve __complete zsh -- "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    local -a open closed
    open=("${(@M)candidates:#*[=/](|:*)}")
    closed=("${(@)candidates:#*[=/](|:*)}")
    if [[ -n ${candidates[1]} ]]; then
        _describe -V 'helve' closed -- open -S ''
    else
        _files
    fi
}
if [[ ${funcstack[1]} == _helve ]]; then
    _helve "$@"
elif (( $+functions[compdef] )); then
    compdef _helve helve
fi
"#;

/// fish unquotes whole words; the last one may have a quote that is still open.
const FISH: &str = r#"function __helve_complete
    set --local word (commandline --current-token | string trim --left --chars "'\"")
    helve __complete fish -- (commandline --current-process --tokenize --cut-at-cursor) "$word" 2>/dev/null
end
complete --command helve --keep-order --no-files --arguments '(__helve_complete)'
"#;
