//! Content hashes: equal bytes have equal hashes, on every machine and in every version.

use crate::error::Error;
use crate::input::decompressed;
use crate::open_regular::open_plain;
use std::hash::Hasher;
use std::io::{self, Read};
use std::path::Path;
use twox_hash::XxHash64;

/// A 64-bit hash (XXH64) of data added piece by piece. It guards against accidents, not forgery.
#[derive(Clone)]
pub(crate) struct Fingerprint(XxHash64);

impl Fingerprint {
    pub(crate) fn new() -> Self {
        Fingerprint(XxHash64::with_seed(0))
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// Adds text with a terminator, so that `a, bc` and `ab, c` differ.
    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
        self.bytes(&[0xff]);
    }

    /// Adds a number; all NaN values are treated as equal.
    pub(crate) fn number(&mut self, value: f64) {
        let bits = if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() };
        self.bytes(&bits.to_le_bytes());
    }

    /// The hash of the data so far.
    pub(crate) fn value(&self) -> u64 {
        self.0.finish()
    }
}

/// The hash of everything that a reader returns, as 16 hexadecimal digits.
pub(crate) fn of_contents(mut from: impl Read) -> io::Result<String> {
    let (mut name, mut buffer) = (Fingerprint::new(), vec![0; 1 << 18]);
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(format!("{:016x}", name.value())),
            Ok(n) => name.bytes(&buffer[..n]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// The hash of a file's content, the same whether it is compressed or not.
///
/// `None` for whatever is not a regular file, such as a pipe, which can be read only once. `None`
/// also for a file that cannot be decompressed: its error comes when its rows are read.
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
    let file = open_plain(path, None).map_err(|e| Error::io(path, "read", e))?;
    Ok(decompressed(Box::new(file)).and_then(of_contents).ok())
}
