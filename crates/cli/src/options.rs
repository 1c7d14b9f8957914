//! What commands and options there are, as JSON: what a program that calls seqloom is generated
//! from. It is made from the program's own arguments, so that it is never after them.

use std::any::TypeId;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::ValueRange;
use clap::{Arg, ArgAction, Command};
use seqloom_terminal::print;
use serde_json::{Value, json};

/// Prints all commands that are not hidden.
pub(crate) fn dump(mut command: Command) -> seqloom_terminal::Result<()> {
    command.build();
    let version = env!("CARGO_PKG_VERSION");
    let dumped = json!({ "version": version, "commands": commands(&command) });
    Ok(print(&format!("{dumped:#}\n"))?)
}

/// Commands below `command`, by their names as they are typed.
fn commands(command: &Command) -> Vec<Value> {
    let shown = command.get_subcommands().filter(|it| !it.is_hide_set() && it.get_name() != "help");
    let mut all = Vec::new();
    for it in shown {
        if it.has_subcommands() {
            all.extend(commands(it));
        } else {
            all.push(described(it));
        }
    }
    all
}

fn described(command: &Command) -> Value {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let shown =
        |it: &&Arg| !it.is_hide_set() && !matches!(it.get_id().as_str(), "help" | "version");
    let arguments: Vec<Value> = command.get_arguments().filter(shown).map(argument).collect();
    json!({
        "command": name.split(' ').skip(1).collect::<Vec<_>>(),
        "about": command.get_about().map(ToString::to_string),
        "arguments": arguments,
    })
}

fn argument(argument: &Arg) -> Value {
    let range = argument.get_num_args().unwrap_or(ValueRange::SINGLE);
    let takes_value = argument.get_action().takes_values();
    let choices = argument.get_possible_values();
    let choices = choices.iter().filter(|it| !it.is_hide_set() && takes_value);
    let help = argument.get_long_help().or(argument.get_help());
    let value_name = argument.get_value_names().and_then(|names| names.first());
    json!({
        "name": argument.get_id().as_str(),
        "long": argument.get_long(),
        "short": argument.get_short(),
        "positional": argument.is_positional(),
        "required": argument.is_required_set(),
        "repeated": matches!(argument.get_action(), ArgAction::Append),
        "takes_value": takes_value,
        "value_optional": takes_value && range.min_values() == 0,
        "value_name": value_name.map(|it| it.as_str()),
        "type": kind(argument),
        "choices": choices.map(|it| it.get_name().to_owned()).collect::<Vec<_>>(),
        "default": argument.get_default_values().first().map(|it| it.to_string_lossy()),
        "section": argument.get_help_heading(),
        "help": help.map(ToString::to_string),
    })
}

/// What values of an argument are: `flag`, `integer`, `path`, `text`, or `other`, which is text of
/// some form of its own.
fn kind(argument: &Arg) -> &'static str {
    if !argument.get_action().takes_values() {
        return "flag";
    }
    let value = argument.get_value_parser().type_id();
    let is_one_of = |types: &[TypeId]| types.iter().any(|it| value == *it);
    let integers = [
        TypeId::of::<u8>(),
        TypeId::of::<u16>(),
        TypeId::of::<u32>(),
        TypeId::of::<u64>(),
        TypeId::of::<i32>(),
        TypeId::of::<i64>(),
        TypeId::of::<usize>(),
        TypeId::of::<NonZeroUsize>(),
    ];
    match value {
        _ if is_one_of(&integers) => "integer",
        _ if is_one_of(&[TypeId::of::<f32>(), TypeId::of::<f64>()]) => "number",
        _ if is_one_of(&[TypeId::of::<PathBuf>()]) => "path",
        _ if is_one_of(&[TypeId::of::<String>()]) => "text",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Example {
        inputs: Vec<PathBuf>,
        #[arg(long)]
        quiet: bool,
        #[arg(long, num_args = 0..=1, value_parser = ["plain", "strict"])]
        filter: Option<String>,
        #[arg(long, default_value = "6")]
        level: u8,
        #[arg(long)]
        size: Option<std::net::Ipv4Addr>,
    }

    #[test]
    fn arguments_are_described() {
        use clap::CommandFactory;
        let mut command = Example::command();
        command.build();
        let found: Vec<Value> = command.get_arguments().map(argument).collect();
        let t = |name: &str, key: &str, expected: Value| {
            let argument = found.iter().find(|it| it["name"] == name).unwrap();
            assert_eq!(argument[key], expected, "{name} {key}");
        };
        t("inputs", "positional", true.into());
        t("inputs", "repeated", true.into());
        t("inputs", "type", "path".into());
        t("quiet", "type", "flag".into());
        t("filter", "choices", json!(["plain", "strict"]));
        t("filter", "value_optional", true.into());
        t("level", "type", "integer".into());
        t("level", "default", "6".into());
        t("size", "type", "other".into());
        t("size", "required", false.into());
    }
}
