//! Recognition, by their first bytes, of file types that cannot be read.

use crate::error::ForeignKind;

/// First bytes of other file types, with the name of each type.
const BEGINNINGS: &[(&[u8], ForeignKind)] = &[
    (b"\xfd7zXZ\0", ForeignKind::Compressed("xz")),
    (b"BZh", ForeignKind::Compressed("bzip2")),
    (b"\x04\x22\x4d\x18", ForeignKind::Compressed("lz4")),
    (b"7z\xbc\xaf\x27\x1c", ForeignKind::Other("a 7-Zip archive")),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ForeignKind::Spreadsheet("an old Excel workbook")),
    (b"SQLite format 3\0", ForeignKind::Other("an SQLite database")),
    (b"ARROW1", ForeignKind::Other("an Arrow (Feather) file")),
    (b"ORC", ForeignKind::Other("an ORC file")),
    (b"Obj\x01", ForeignKind::Other("an Avro file")),
    (b"\x89HDF\r\n", ForeignKind::Other("an HDF5 file")),
    (b"\x93NUMPY", ForeignKind::Other("a NumPy array")),
];

/// The file type that begins with `head`, if it cannot be read.
pub(super) fn foreign(head: &[u8]) -> Option<ForeignKind> {
    let begins = |with: &[u8]| head.starts_with(with);
    if begins(b"PK\x03\x04") {
        let holds = |name: &[u8]| memchr::memmem::find(head, name).is_some();
        return Some(if holds(b"xl/") || holds(b"[Content_Types].xml") {
            ForeignKind::Spreadsheet("an Excel workbook")
        } else if holds(b"opendocument.spreadsheet") {
            ForeignKind::Spreadsheet("an OpenDocument spreadsheet")
        } else {
            ForeignKind::ZipArchive
        });
    }
    let fits = |(beginning, _): &&(&[u8], ForeignKind)| begins(beginning);
    let (beginning, what) = *BEGINNINGS.iter().find(fits)?;
    // A text may begin with the same letters, but binary files have control bytes soon after them.
    let text = beginning.is_ascii() && !head.iter().take(64).any(|&byte| byte < 9);
    (!text).then_some(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_first_bytes_and_headers_are_not_taken_for_them() {
        assert_eq!(
            foreign(b"PK\x03\x04...xl/workbook.xml"),
            Some(ForeignKind::Spreadsheet("an Excel workbook"))
        );
        assert_eq!(foreign(b"PK\x03\x04...scores.csv"), Some(ForeignKind::ZipArchive));
        assert_eq!(foreign(b"\xfd7zXZ\0\0"), Some(ForeignKind::Compressed("xz")));
        assert_eq!(foreign(b"BZh91AY\x01\x02"), Some(ForeignKind::Compressed("bzip2")));
        for text in ["ORC,elf\n1,2\n", "BZh,spam\n1,2\n", "ARROW1,b\n", "PK,spam\n", "", "spam\n"] {
            assert_eq!(foreign(text.as_bytes()), None, "{text}");
        }
    }
}
