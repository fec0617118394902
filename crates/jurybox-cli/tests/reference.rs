//! The committed reference of the command line is what `jurybox man --markdown` writes.

mod folder;

use folder::Folder;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The most words on a page.
const MAX_WORDS: usize = 1500;

/// Pages of the folder that are written by hand.
const HAND_WRITTEN: [&str; 4] = ["file-formats.md", "output.md", "policy-contract.md", "policy-guide.md"];

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let pages = names.filter(|name| Path::new(name).extension().is_some_and(|end| end == "md"));
    pages.filter(|name| !HAND_WRITTEN.contains(&name.as_str())).collect()
}

#[test]
fn the_reference_in_the_book_is_current() {
    let folder = Folder::new("reference");
    folder.ok("man --markdown pages");
    let book: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../docs/src/reference"].iter().collect();
    let written = folder.path("pages");
    if env::var("TRYCMD").is_ok_and(|mode| mode == "overwrite") {
        for stale in names(&book).difference(&names(&written)) {
            fs::remove_file(book.join(stale)).unwrap();
        }
        fs::create_dir_all(&book).unwrap();
        for name in names(&written) {
            fs::copy(written.join(&name), book.join(&name)).unwrap();
        }
    }
    let how = "to rewrite docs/src/reference: TRYCMD=overwrite cargo test -p jurybox-cli --test reference";
    assert_eq!(names(&book), names(&written), "{how}");
    for name in names(&written) {
        let text = fs::read_to_string(written.join(&name)).unwrap();
        assert!(text == fs::read_to_string(book.join(&name)).unwrap(), "{name} is stale; {how}");
        let words = text.split_whitespace().count();
        assert!(words <= MAX_WORDS, "{name}: {words} words, more than {MAX_WORDS}");
    }
}
