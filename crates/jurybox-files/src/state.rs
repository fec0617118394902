//! State files: a jury, and the record of what it has learnt.

use crate::error::Error;
use crate::state_memory::StateMemory;
use crate::write::FinishedFile;
use jurybox::Jury;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

const FORMAT: &str = "jurybox-state";
const VERSION: u32 = 2;

/// A jury with the record of what it has learnt: the content of a state file.
///
/// In the file, the jury is a document under `jury`, as [`Jury::to_json`] writes it. A file with
/// only such a document can be read as well; its record is empty.
///
/// ```
/// use jurybox::{Evaluators, Jury};
/// use jurybox_files::State;
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("model.json");
/// let jury = Jury::new(&"lin-ucb".parse()?, Evaluators::new(["spam", "abuse"])?)?;
/// std::fs::write(&path, jury.to_json())?; // as written by a program of one's own
/// let mut state = State::read(&path)?;
/// state.memory.learnt_file("0123456789abcdef".into());
/// state.write(&path)?;
/// let again = State::read(&path)?;
/// assert!(again.memory.knows_file("0123456789abcdef"));
/// assert_eq!(again.jury.to_json(), jury.to_json());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct State {
    /// The jury.
    pub jury: Jury,
    /// The record of what it has learnt.
    pub memory: StateMemory,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StateFile {
    format: String,
    version: u32,
    taught_with: StateMemory,
    jury: Box<RawValue>,
}

#[derive(Deserialize)]
struct StateHeader {
    format: Option<String>,
    version: Option<u64>,
}

impl From<Jury> for State {
    /// A state with this jury and an empty record.
    fn from(jury: Jury) -> Self {
        State { jury, memory: StateMemory::default() }
    }
}

/// The largest state file, in bytes. Half a year of hourly rounds with hundreds of verdicts each
/// takes less.
const LARGEST: u64 = 1 << 30;

/// Reads a file or pipe. Errors on devices, which may be endless, and above [`LARGEST`] bytes.
fn read_bounded(path: &Path) -> io::Result<String> {
    let about = std::fs::metadata(path)?;
    let too_large =
        || io::Error::other(format!("it is larger than any state: {} MiB at most", LARGEST >> 20));
    if about.len() > LARGEST {
        return Err(too_large());
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = about.file_type();
        if kind.is_char_device() || kind.is_block_device() {
            return Err(io::Error::other("it is not a regular file"));
        }
    }
    let mut text = String::new();
    File::open(path)?.take(LARGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST {
        return Err(too_large());
    }
    Ok(text)
}

impl State {
    /// Reads a state file of at most 1 GiB.
    pub fn read(path: &Path) -> Result<State, Error> {
        let text = read_bounded(path).map_err(|e| Error::io(path, "read", e))?;
        State::parse(&text).map_err(|source| Error::State { path: path.into(), source })
    }

    /// Parses a state file, or a document with only a jury.
    fn parse(text: &str) -> Result<State, jurybox::Error> {
        let refuse = |reason: String| jurybox::Error::State(reason);
        match serde_json::from_str::<StateHeader>(text) {
            Ok(StateHeader { format: Some(format), version }) if format == FORMAT => {
                if version != Some(u64::from(VERSION)) {
                    let version = version.map_or("no version".into(), |version| format!("version {version}"));
                    return Err(refuse(format!("it is of {version}; this program reads version {VERSION}")));
                }
            }
            // A document with only a jury, or else something that `from_json` refuses.
            _ => return Jury::from_json(text).map(State::from),
        }
        let saved: StateFile = serde_json::from_str(text).map_err(|e| refuse(e.to_string()))?;
        if let Some(fault) = saved.taught_with.fault() {
            return Err(refuse(fault));
        }
        Ok(State { jury: Jury::from_json(saved.jury.get())?, memory: saved.taught_with })
    }

    /// Whether its expected rewards are calibrated. They are if every observed item has a label and
    /// the state has not picked from any round: then nobody chose the labelled items by their
    /// scores. Otherwise values rank items, but may not be calibrated.
    ///
    /// ```
    /// use jurybox::{Evaluators, Example, Jury};
    /// use jurybox_files::State;
    /// let mut state = State::from(Jury::new(&"adaptive".parse()?, Evaluators::numbered(1)?)?);
    /// state.jury.observe(&state.jury.scores(&[0.1, 0.9])?, 0)?;
    /// state.jury.learn(&[Example { scores: &[0.9], reward: 1.0, receipt: None }], 0)?;
    /// assert!(!state.is_calibrated());
    /// state.jury.learn(&[Example { scores: &[0.1], reward: 0.0, receipt: None }], 0)?;
    /// assert!(state.is_calibrated());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_calibrated(&self) -> bool {
        let seen = self.jury.seen();
        seen.items > 0 && seen.used == seen.items && !self.memory.knows_rounds()
    }

    /// Writes the state, in whole or not at all, after checking that it can be read again.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        self.prepare(path)?.publish()
    }

    /// Writes the state to a temporary file, which [`FinishedFile::publish`] renames. Before that,
    /// the caller can deliver results that the state counts already.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// # use jurybox_files::State;
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("model.json");
    /// let state = State::from(Jury::new(&"average".parse()?, Evaluators::new(["spam"])?)?);
    /// let ready = state.prepare(&path)?; // on disk, under a temporary name
    /// assert!(!path.exists());
    /// ready.publish()?;
    /// assert_eq!(State::read(&path)?.jury.to_json(), state.jury.to_json());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prepare(&self, path: &Path) -> Result<FinishedFile, Error> {
        let fault = |e: serde_json::Error| Error::State {
            path: path.into(),
            source: jurybox::Error::State(e.to_string()),
        };
        let jury = self.jury.to_json();
        let saved = StateFile {
            format: FORMAT.into(),
            version: VERSION,
            taught_with: self.memory.clone(),
            jury: RawValue::from_string(jury).map_err(fault)?,
        };
        let mut text = serde_json::to_string_pretty(&saved).map_err(fault)?;
        text.push('\n');
        State::parse(&text).map_err(|source| Error::State { path: path.into(), source })?;
        FinishedFile::new(path, text)
    }
}
