//! Names for contents: the same bytes have the same one, on every machine and in every version.

use crate::error::Error;
use std::fs::File;
use std::hash::Hasher;
use std::io::Read;
use std::path::Path;
use twox_hash::XxHash64;

/// A name for what is fed to it piece by piece. It guards against accidents, not against forgery.
pub(crate) struct Fingerprint(XxHash64);

impl Fingerprint {
    pub(crate) fn new() -> Self {
        Fingerprint(XxHash64::with_seed(0))
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// Text with an end, so that `a, bc` and `ab, c` differ.
    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
        self.bytes(&[0xff]);
    }

    /// A number; every way of being missing is one.
    pub(crate) fn number(&mut self, value: f64) {
        let bits = if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() };
        self.bytes(&bits.to_le_bytes());
    }

    pub(crate) fn value(&self) -> u64 {
        self.0.finish()
    }
}

/// A name for the contents of a file; none for a pipe or a device, which can be read only once.
///
/// ```
/// let dir = tempfile::tempdir()?;
/// let (one, other) = (dir.path().join("a.csv"), dir.path().join("b.csv"));
/// for path in [&one, &other] {
///     std::fs::write(path, "spam\n0.5\n")?;
/// }
/// assert_eq!(jurybox_files::fingerprint(&one)?, jurybox_files::fingerprint(&other)?);
/// assert_eq!(jurybox_files::fingerprint("-".as_ref())?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fingerprint(path: &Path) -> Result<Option<String>, Error> {
    if !path.is_file() {
        return Ok(None);
    }
    let failed = |e| Error::io(path, "read", e);
    let mut file = File::open(path).map_err(failed)?;
    let (mut name, mut buffer) = (Fingerprint::new(), vec![0; 1 << 18]);
    loop {
        match file.read(&mut buffer).map_err(failed)? {
            0 => return Ok(Some(format!("{:016x}", name.value()))),
            n => name.bytes(&buffer[..n]),
        }
    }
}
