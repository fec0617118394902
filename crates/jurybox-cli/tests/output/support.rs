//! What the tests of the command share: a folder of its own, and the command in it.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A folder that goes with the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("jurybox-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
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

    /// The command in this folder; the day is always the same.
    pub(crate) fn jurybox<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jurybox"));
        command.args(arguments).current_dir(&self.0).stdin(Stdio::null());
        command.env("SOURCE_DATE_EPOCH", "1794787867");
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM"] {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn run<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Output {
        self.jurybox(arguments).output().unwrap()
    }

    /// What it says on standard output, once it has ended well.
    pub(crate) fn ok<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A history of `rows` rows: `good` rises with the verdict, `bad` falls, `noise` does neither, `copy` is `good` in other
/// units. Reproducible without a generator of random numbers: the digits of multiples of an irrational number will do.
pub(crate) fn history(rows: u32) -> String {
    let even = |i: u32, step: f64| (f64::from(i) * step).fract();
    let mut text = String::from("id,good,copy,bad,noise,verdict\n");
    for i in 1..=rows {
        let verdict = even(i, 0.618_033_988_75) < 0.3;
        let shift = f64::from(u8::from(verdict));
        let good = even(i, 0.414_213_562_37) + 0.5 * shift;
        let bad = even(i, 0.732_050_807_57) - 0.5 * shift;
        let noise = even(i, 0.236_067_977_5);
        let _ = writeln!(
            text,
            "p{i},{good:.4},{:.4},{bad:.4},{noise:.4},{}",
            3.0 - 2.0 * good,
            u8::from(verdict)
        );
    }
    text
}
