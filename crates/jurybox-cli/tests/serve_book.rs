//! The page of the book about the server: its commands are run as they stand there, and answer what it says.
#![cfg(unix)]

mod server;

use server::Server;
use std::process::Command;

/// Whether a text is as expected, where `[..]` stands for anything.
fn is_like(text: &str, expected: &str) -> bool {
    let mut rest = text;
    let mut parts = expected.split("[..]");
    let Some(begin) = parts.next().and_then(|first| rest.strip_prefix(first)) else { return false };
    rest = begin;
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty() || expected.ends_with("[..]")
}

#[test]
fn the_page_does_what_it_says() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/serve.md");
    let page = std::fs::read_to_string(page).unwrap();
    let server = Server::start("book", &[]);
    let mut blocks = page.split("```").skip(1).step_by(2).peekable();
    let mut run = 0;
    while let Some(block) = blocks.next() {
        let Some(script) = block.strip_prefix("sh\n") else { continue };
        let output = Command::new("sh")
            .args(["-ec", &script.replace("127.0.0.1:8686", &server.address)])
            .output()
            .expect("a shell and curl");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{script}{}", String::from_utf8_lossy(&output.stderr));
        let next = blocks.peek();
        if let Some(expected) =
            next.and_then(|next| next.strip_prefix("json\n").or(next.strip_prefix("text\n")))
        {
            assert!(
                is_like(said.trim(), expected.trim()),
                "{script}\nsaid:     {said}\nexpected: {expected}"
            );
        }
        run += 1;
    }
    assert!(run >= 9, "{run} commands were run");
}
