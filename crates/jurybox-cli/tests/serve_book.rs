//! Two pages of the book about the server. Their shell commands run in order against one server.
//! Each must answer what the `json` or `text` block after it says.
#![cfg(unix)]

mod server;

use server::Server;
use std::process::Command;

/// The pages in reading order: later pages use queues of earlier ones.
const PAGES: [&str; 2] = ["server.md", "review-page.md"];

/// Whether a text is as expected. `[..]` stands for any text.
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

/// Runs the `sh` blocks of a page, compares their answers, and returns how many were run.
fn run_page(page: &str, server: &Server) -> usize {
    let mut blocks = page.split("```").skip(1).step_by(2).peekable();
    let mut run = 0;
    while let Some(block) = blocks.next() {
        let Some(script) = block.strip_prefix("sh\n") else { continue };
        let output = Command::new("sh")
            .args(["-ec", &script.replace("127.0.0.1:8686", &server.address)])
            .output()
            .expect("a shell and curl");
        let answer = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{script}{}", String::from_utf8_lossy(&output.stderr));
        let next = blocks.peek();
        if let Some(expected) =
            next.and_then(|next| next.strip_prefix("json\n").or(next.strip_prefix("text\n")))
        {
            assert!(
                is_like(answer.trim(), expected.trim()),
                "{script}\nanswer:   {answer}\nexpected: {expected}"
            );
        }
        run += 1;
    }
    run
}

#[test]
fn the_pages_do_what_they_say() {
    let server = Server::start("book", &[]);
    let mut run = 0;
    for page in PAGES {
        let page = format!("{}/../../docs/src/how-to/{page}", env!("CARGO_MANIFEST_DIR"));
        run += run_page(&std::fs::read_to_string(page).unwrap(), &server);
    }
    assert!(run >= 11, "{run} commands were run");
}
