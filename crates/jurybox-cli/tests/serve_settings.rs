//! The settings of a server by options, the environment and a file; TLS; SIGHUP.
#![cfg(unix)]

mod server;

use server::{Server, folder};
use std::process::Command;

fn jurybox() -> Command {
    Command::new(env!("CARGO_BIN_EXE_jurybox"))
}

#[test]
fn flags_come_before_the_environment_and_that_before_the_file() {
    let folder = folder("settings");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("jurybox.toml");
    let data = folder.join("data");
    let text =
        format!("data = {:?}\nport = 1\nmax-body = 1000\nrate = 0\nlog = \"off\"\n", data.to_str().unwrap());
    std::fs::write(&file, text).unwrap();
    let config = file.to_str().unwrap();
    // Server::over passes --port 0 and --data, which come before the file.
    let server = Server::over(&data, &["--config", config]);
    let large = format!("{{\"id\": \"{}\"}}", "x".repeat(1000));
    server.ask("PUT", "/v1/queues/q", r#"{"evaluators": [{"name": "a"}]}"#).ok();
    assert_eq!(server.ask("POST", "/v1/queues/q/items", &large).problem(413), "too_large");
    assert!(!server.log().contains("request_id"), "the file turned the log off");
    drop(server);
    for (text, said) in [
        ("colour = \"red\"", "colour"),
        ("port = \"many\"", "port"),
        ("tls-key = \"key.pem\"", "--tls-certificate"),
        ("proxy-header = \"X-User\"", "--proxy-from"),
        ("proxy-from = [\"127.0.0.1\"]", "--proxy-header"),
        ("proxy-header = \"X User\"\nproxy-from = [\"127.0.0.1\"]", "is not a valid header name"),
        ("proxy-header = \"Cookie\"\nproxy-from = [\"127.0.0.1\"]", "`cookie` has another meaning"),
        ("data = 5", "`data` is not text"),
        ("port = [", "jurybox.toml"),
    ] {
        std::fs::write(&file, text).unwrap();
        let refused = jurybox().args(["serve", "--config", config]).current_dir(&folder).output().unwrap();
        let message = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && message.contains(said), "{text}: {message}");
    }
    assert!(
        String::from_utf8_lossy(
            &jurybox().args(["serve", "--config", config]).current_dir(&folder).output().unwrap().stderr
        )
        .lines()
        .count()
            > 2,
        "the message shows the wrong place"
    );
    let refused = jurybox()
        .args(["serve", "--data", data.to_str().unwrap()])
        .env("JURYBOX_PORT", "none")
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2), "the environment is read, and its port is refused");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_the_environment_denies_no_file_allows() {
    let folder = folder("denied");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("jurybox.toml");
    std::fs::write(&file, "webhook-allow-private = true\n").unwrap();
    let allows = |more: &[(&str, &str)], flags: &[&str]| {
        let mut command = jurybox();
        command.envs(more.iter().copied());
        let flags = [&["--config", file.to_str().unwrap()], flags].concat();
        let server = Server::by(command, &folder.join("data"), &flags);
        server.ask("PUT", "/v1/queues/q", r#"{"evaluators": [{"name": "a"}]}"#).ok();
        let put = server.ask("PUT", "/v1/queues/q/webhooks/w", r#"{"url": "http://127.0.0.1:9/"}"#);
        server.ask("DELETE", "/v1/queues/q", "").ok();
        put.status < 300
    };
    let denied = [("JURYBOX_WEBHOOK_ALLOW_PRIVATE", "false")];
    assert!(allows(&[], &[]));
    assert!(!allows(&denied, &[]));
    assert!(allows(&denied, &["--webhook-allow-private"]));
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn who_looks_for_keys_where_there_are_none_makes_nothing() {
    let folder = folder("no-keys");
    std::fs::create_dir_all(&folder).unwrap();
    for asked in [&["server", "key", "list"][..], &["server", "key", "revoke", "ann"]] {
        let refused = jurybox().args(asked).current_dir(&folder).output().unwrap();
        assert_eq!(refused.status.code(), Some(1), "{asked:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("there is no queue in this folder"));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "{asked:?}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn it_speaks_tls_by_option() {
    let folder = folder("tls");
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_string();
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
        ])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"])
        .args(["-keyout", &path("key.pem"), "-out", &path("cert.pem")])
        .output()
        .expect("openssl, to make a certificate with");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let (cert, key) = (path("cert.pem"), path("key.pem"));
    let server = Server::over(&folder.join("data"), &["--tls-certificate", &cert, "--tls-key", &key]);
    let url = format!("https://{}/readyz", server.address);
    let said = Command::new("curl").args(["-s", "--cacert", &cert, &url]).output().expect("curl");
    assert_eq!(String::from_utf8_lossy(&said.stdout), r#"{"status":"ready"}"#);
    assert_eq!(
        server.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").status,
        0,
        "plain HTTP gets no answer"
    );
    drop(server);
    let empty = path("empty.pem");
    std::fs::write(&empty, "").unwrap();
    let refused = jurybox()
        .args([
            "serve",
            "--port",
            "0",
            "--data",
            &path("data"),
            "--tls-certificate",
            &empty,
            "--tls-key",
            &key,
        ])
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && message.contains("empty.pem"), "{message}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A server may wait for a folder that another process has. A SIGHUP, which asks it to read its
/// certificate again, must not end it meanwhile.
#[cfg(target_os = "linux")]
#[test]
fn a_server_that_waits_for_its_records_is_not_ended_by_a_hangup() {
    use std::io::{BufRead, BufReader};
    let mut first = Server::start("hangup", &[]);
    let mut second = jurybox()
        .args(["serve", "--port", "0", "--wait", "60", "--data"])
        .arg(&first.folder)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let pid = second.id();
    let notes_hangups = || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() & 1 == 1
    };
    let began = std::time::Instant::now();
    while !notes_hangups() && began.elapsed().as_secs() < 20 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(Command::new("kill").args(["-HUP", &pid.to_string()]).status().unwrap().success());
    first.terminate();
    let lines = BufReader::new(second.stderr.take().unwrap()).lines().map_while(Result::ok);
    let listens = lines.into_iter().any(|line| line.starts_with("listening on "));
    let _ = second.kill();
    let ended = second.wait();
    assert!(listens, "{ended:?}");
}
