//! A temporary folder in which tests run `jurybox` commands.
#![allow(dead_code, reason = "each test uses what it needs")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A temporary folder, deleted at the end of the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("jurybox-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// A `jurybox` command in this folder, at a fixed date and without the terminal's variables.
    pub(crate) fn jurybox<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jurybox"));
        command.args(arguments).current_dir(&self.0).stdin(Stdio::null());
        command.env("SOURCE_DATE_EPOCH", "1794787867");
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM"] {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn output_of<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Output {
        self.jurybox(arguments).output().unwrap()
    }

    /// Runs a command that must succeed, and returns its standard output.
    pub(crate) fn stdout<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> String {
        let output = self.output_of(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// A command from a line of arguments separated by blanks.
    pub(crate) fn command(&self, line: &str) -> Command {
        self.jurybox(line.split_whitespace())
    }

    pub(crate) fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// Runs a command that must succeed, and returns its messages.
    pub(crate) fn ok(&self, line: &str) -> String {
        let output = self.run(line);
        let messages = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{line}: {messages}");
        messages
    }

    /// Runs a command that must fail, and returns its messages.
    pub(crate) fn refused(&self, line: &str) -> String {
        let output = self.run(line);
        let messages = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{line}: {messages}");
        messages
    }

    pub(crate) fn seen(&self, state: &str) -> serde_json::Value {
        let text = fs::read_to_string(self.path(state)).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["jury"]["seen"].clone()
    }

    pub(crate) fn unfinished(&self) -> usize {
        let names = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().ends_with(".part")).count()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Ten rows with ids, two evaluators and a verdict; `of` makes files differ.
pub(crate) fn rows(of: usize) -> String {
    let line = |i: usize| format!("f{of}i{i},{},{},{}\n", (i * 7 + of) % 10, (i * 3 + of) % 10, (i + of) % 2);
    format!("id,a,b,verdict\n{}", (0..10).map(line).collect::<String>())
}
