//! All commands and their options as one page of Markdown. It is made from the program's own
//! arguments; a test says when the page of the manual is not what is made here.

use std::fmt::Write;

use clap::{Arg, Command};

const HEAD: &str = "\
# Options of all commands

Made by `seqloom manual --markdown docs`, from what `--help` of a command prints.
";

/// The page. `command` is built.
pub(crate) fn page(command: &Command) -> String {
    let mut text = HEAD.to_owned();
    sections(command, &mut text);
    text
}

/// A section for each command below `command` that has no commands itself.
fn sections(command: &Command, text: &mut String) {
    let shown = command.get_subcommands().filter(|it| !it.is_hide_set() && it.get_name() != "help");
    for it in shown {
        match it.has_subcommands() {
            true => sections(it, text),
            false => section(it, text),
        }
    }
}

fn section(command: &Command, text: &mut String) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    put(text, format_args!("\n## {name}\n\n{}.\n", cell(&about)));
    let shown = |it: &&Arg| !it.is_hide_set() && it.get_id() != "help";
    let arguments: Vec<&Arg> = command.get_arguments().filter(shown).collect();
    let mut headings: Vec<Option<&str>> = Vec::new();
    for heading in arguments.iter().map(|it| it.get_help_heading()) {
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    headings.sort_by_key(Option::is_some); // those without one come first; the sort is stable
    for heading in headings {
        put(text, format_args!("\n| {} | |\n|---|---|\n", heading.unwrap_or("what")));
        for it in arguments.iter().filter(|it| it.get_help_heading() == heading) {
            put(text, format_args!("| {} | {} |\n", spelling(it), explanation(it)));
        }
    }
}

/// Appends to a text, which cannot fail.
fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    let _ = text.write_fmt(what);
}

/// How an argument is written, as code: `-t, --threads <N>`.
fn spelling(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    let value = names.iter().map(|it| format!("<{it}>")).collect::<Vec<_>>().join(" ");
    if argument.is_positional() {
        return code(&value);
    }
    let short = argument.get_short().map(|it| format!("-{it}"));
    let long = argument.get_long().map(|it| format!("--{it}"));
    let mut written = short.into_iter().chain(long).collect::<Vec<_>>().join(", ");
    if argument.get_action().takes_values() {
        let may_lack = argument.get_num_args().is_some_and(|it| it.min_values() == 0);
        written += &if may_lack { format!("[={value}]") } else { format!(" {value}") };
    }
    code(&written)
}

/// Help of an argument, its values and its default.
fn explanation(argument: &Arg) -> String {
    let help = argument.get_long_help().or(argument.get_help());
    let mut parts = vec![cell(&help.map(ToString::to_string).unwrap_or_default())];
    if !argument.get_action().takes_values() {
        return parts.remove(0);
    }
    let values = argument.get_possible_values();
    let shown = values.iter().filter(|it| !it.is_hide_set());
    let values: Vec<String> = shown.map(|it| code(it.get_name())).collect();
    if !values.is_empty() {
        parts.push(values.join(", "));
    }
    let defaults = argument.get_default_values();
    if let (Some(default), false) = (defaults.first(), argument.is_hide_default_value_set()) {
        parts.push(format!("default {}", code(&default.to_string_lossy())));
    }
    parts.join("; ")
}

/// A text within a cell of a table, on one line, with nothing outside code that is a mark or a tag.
fn cell(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain = |it: &str| it.replace('<', "&lt;").replace('*', "\\*").replace('_', "\\_");
    let parts = line.split('`').enumerate();
    let parts = parts.map(|(at, it)| if at % 2 == 0 { plain(it) } else { it.to_owned() });
    parts.collect::<Vec<_>>().join("`").replace('|', "\\|")
}

/// A text as code within a cell.
fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    /// Does things
    #[derive(Debug, Parser)]
    #[command(name = "x")]
    enum Example {
        /// Is <shown> as `a_b|c`, not a_b
        Shown {
            input: String,
            /// How much
            #[arg(short, long, default_value = "6", value_name = "N", help_heading = "More")]
            level: u8,
            #[arg(long, num_args = 0..=1, value_parser = ["a", "b"])]
            kind: Option<String>,
        },
        #[command(hide = true)]
        Hidden,
    }

    #[test]
    fn a_page_has_commands_headings_and_options() {
        use clap::CommandFactory;
        let mut command = Example::command();
        command.build();
        let text = page(&command);
        for what in [
            "\n## x shown\n\nIs &lt;shown> as `a_b\\|c`, not a\\_b.\n",
            "| what | |\n|---|---|\n| `<INPUT>` |  |\n| `--kind[=<KIND>]` | ; `a`, `b` |\n",
            "\n| More | |\n|---|---|\n| `-l, --level <N>` | How much; default `6` |\n",
        ] {
            assert!(text.contains(what), "no {what:?} in {text}");
        }
        assert!(!text.contains("hidden") && !text.contains("`-h"), "{text}");
    }
}
