//! The list of commands in `jurybox --help`, in groups.
//!
//! Clap has no groups of subcommands, so the list is written into the help template.

use clap::Command;
use std::fmt::Write;

/// The commands of each group, in the order of `--help`.
pub(crate) const GROUPS: [(&str, &[&str]); 4] = [
    ("Every day", &["rank", "pick", "learn", "report", "prevalence", "merge"]),
    ("Queues", &["queue", "serve", "server", "export"]),
    ("Research", &["replay", "simulate", "reproduce", "policies", "demo"]),
    ("Tools", &["completions", "man", "help"]),
];

/// The one-line description of a command. `help`, which clap adds later, gets a fixed description.
pub(crate) fn summary(command: &Command, name: &str) -> String {
    let about = command.find_subcommand(name).and_then(Command::get_about);
    about.map_or_else(|| "Print this text, or the help of a command".into(), ToString::to_string)
}

/// The help template of the root command: clap's usual parts, with a list of commands per group.
pub(crate) fn help_template(command: &Command) -> String {
    let style = command.get_styles().get_header();
    let literal = command.get_styles().get_literal();
    let width = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or(0);
    let mut lists = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(lists, "{style}{group}:{style:#}");
        for name in names {
            let _ = writeln!(lists, "  {literal}{name:width$}{literal:#}  {}", summary(command, name));
        }
        lists.push('\n');
    }
    format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{lists}\
         {style}Options:{style:#}\n{{options}}{{after-help}}"
    )
}

#[cfg(test)]
mod tests {
    use super::GROUPS;

    #[test]
    fn every_command_stands_in_one_group() {
        let mut command = crate::command_line();
        command.build();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut commands: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        listed.sort_unstable();
        commands.sort_unstable();
        assert_eq!(listed, commands);
        let help = command.render_long_help().to_string();
        for name in listed {
            let lines = help.lines().filter(|line| line.split_whitespace().next() == Some(name));
            assert_eq!(lines.count(), 1, "{name}: {help}");
        }
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }
}
