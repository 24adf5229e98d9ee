//! `helve man`: manual pages, made from the same definitions as the help.

use std::path::PathBuf;

use clap::{CommandFactory as _, ValueHint};

use crate::context::Context;
use crate::failure::Failure;
use crate::options::Cli;
use helve_model::text::nearest;

/// Print the manual page of helve or of one command, or write all of them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  helve man | man -l -
  helve man add | man -l -
  helve man --dir ~/.local/share/man/man1")]
pub(crate) struct Args {
    /// The command whose page is wanted; without one it is helve's own
    #[arg(conflicts_with = "directory")]
    command: Option<String>,

    /// Write all pages to this directory
    #[arg(long = "dir", value_name = "DIR", value_hint = ValueHint::DirPath)]
    directory: Option<PathBuf>,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let mut helve = Cli::command();
    helve.build();
    let pages: Vec<&clap::Command> =
        std::iter::once(&helve).chain(helve.get_subcommands().filter(|command| !command.is_hide_set())).collect();
    if let Some(directory) = &args.directory {
        let directory = context.env.working_directory().join(directory);
        fs_err::create_dir_all(&directory).map_err(|error| Failure::file(&error))?;
        for page in pages {
            let path = directory.join(format!("{}.1", page_name(page)));
            fs_err::write(&path, render(page)?).map_err(|error| Failure::file(&error))?;
        }
        return Ok(());
    }
    let wanted = args.command.as_deref().unwrap_or("helve");
    let Some(page) = pages.iter().find(|page| page.get_name() == wanted) else {
        let names: Vec<&str> = pages.iter().map(|page| page.get_name()).collect();
        let failure = Failure::usage(format!("there is no command `{wanted}`"));
        return Err(match nearest(wanted, names.iter().copied()) {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure.hint("`helve --help` lists them all"),
        });
    };
    context.printer.block(&render(page)?)
}

fn page_name(page: &clap::Command) -> String {
    if page.get_name() == "helve" { "helve".to_owned() } else { format!("helve-{}", page.get_name()) }
}

fn render(page: &clap::Command) -> Result<String, Failure> {
    let mut text = Vec::new();
    clap_mangen::Man::new(page.clone()).render(&mut text).map_err(|error| Failure::file(&error))?;
    Ok(headed(&String::from_utf8_lossy(&text)))
}

/// What stands behind the options gets the headings that manual pages have: clap calls all of it EXTRA.
fn headed(page: &str) -> String {
    let Some((before, extra)) = page.split_once(".SH EXTRA\n") else { return page.to_owned() };
    let examples = extra.replacen("Examples:\n", ".SH EXAMPLES\n", 1);
    let heading = if examples.starts_with(".SH") { "" } else { ".SH NOTES\n" };
    format!("{before}{heading}{examples}")
}
