//! `jurybox demo --serve`: a simulated queue that learns, can be disturbed, and leaves no files.
#![cfg(unix)]

mod server;

use server::{Server, read};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

struct Demo(Child);

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ask(address: &str, method: &str, path: &str) -> server::Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    read(&mut stream)
}

#[test]
fn a_desk_is_at_work_can_be_made_to_go_wrong_and_leaves_nothing() {
    let temporary = std::env::temp_dir().join(format!("jurybox-demo-serve-{}", std::process::id()));
    std::fs::create_dir_all(&temporary).unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_jurybox"))
        .args(["demo", "--serve", "--port", "0"])
        .env("TMPDIR", &temporary)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut demo = Demo(child);
    let mut lines = BufReader::new(demo.0.stderr.take().unwrap()).lines().map_while(Result::ok);
    let address =
        lines.find_map(|line| Some(line.strip_prefix("listening on http://")?.to_string())).unwrap();
    let began = Instant::now();
    loop {
        let evaluators = ask(&address, "GET", "/v1/queues/demo/evaluators").ok();
        assert_eq!(evaluators["evaluators"].as_array().unwrap().len(), 6);
        if evaluators["learnt_from"].as_u64().unwrap() >= 10 {
            break;
        }
        assert!(began.elapsed() < Duration::from_mins(1), "nothing is learnt: {evaluators}");
        std::thread::sleep(Duration::from_millis(200));
    }
    let swapped = ask(&address, "POST", "/demo/swap").ok();
    assert_eq!((&swapped["swaps"], &swapped["swapped"][0]), (&1.into(), &"LLM judge".into()));
    // A server without the demo does not have this route.
    let other = Server::start("no-demo", &[]);
    assert_eq!(other.ask("POST", "/demo/swap", "").problem(404), "no_route");
    let interrupted = Command::new("kill").args(["-INT", &demo.0.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    assert!(demo.0.wait().unwrap().success());
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
    std::fs::remove_dir(&temporary).unwrap();
}
