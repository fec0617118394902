//! HTML pages made from files with hostile content.

use jurybox_files::{Roles, Table, report};

#[test]
fn column_names_cannot_inject_html_into_a_report() {
    let names = ["\"><script>alert(1)</script>", "</title><img src=x>", "a & b's", "plain"];
    let reward = "<b onmouseover=x>";
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let header: Vec<String> = names.iter().chain([&reward]).map(|name| quoted(name)).collect();
    let row = |i: u32| format!("{},{},{},{},{}", i % 10, (i * 7) % 13, (i * 3) % 11, i % 4, (i + i / 9) % 10);
    let rows = (0..200).map(row).collect::<Vec<_>>().join("\n");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("scores.csv");
    std::fs::write(&path, format!("{}\n{rows}", header.join(","))).unwrap();
    let roles = Roles { reward: Some(reward.into()), ..Roles::default() };
    let html = report(&Table::open(&[path], &roles, false).unwrap(), None).unwrap().to_html();

    let page = html.strip_prefix("<!doctype html>").unwrap();
    let page = roxmltree::Document::parse(page).unwrap_or_else(|error| panic!("{error}: {page}"));
    for foreign in ["script", "img"] {
        assert!(!page.descendants().any(|node| node.has_tag_name(foreign)), "{foreign}");
    }
    assert!(!page.descendants().any(|node| node.attribute("onmouseover").is_some()));
    let text: String = page.descendants().filter(roxmltree::Node::is_text).filter_map(|n| n.text()).collect();
    for name in names.iter().chain([&reward]) {
        assert!(text.contains(name), "{name}");
    }
}
