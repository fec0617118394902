//! Payloads as reviewers see them: text, JSON, Markdown, pictures and HTML. All come from outside.

mod clean;
mod markdown;

use jurybox_server::Json;
use maud::{Markup, PreEscaped, html};

/// The payload of an item, or its id if it has none.
///
/// Text is shown as text, a `data:` picture as a picture, and an object as its fields. Several
/// fields have their names as titles. Fields named `markdown`, `html` and `image` are rendered as
/// such. Other values are shown as JSON.
pub(super) fn shown(item: &str, payload: Option<&Json>) -> Markup {
    match payload {
        None | Some(Json::Null) => {
            html! { p { code { (item) } } p class="none" { "This item came with nothing but its id." } }
        }
        Some(Json::Fields(fields)) => of_fields(fields),
        Some(other) => as_it_is(other),
    }
}

fn of_fields(fields: &[(String, Json)]) -> Markup {
    // A single field needs no title.
    let alone = fields.len() == 1;
    html! {
        @for (name, value) in fields {
            @let part = field(name, value);
            @if alone { (part) } @else { section class="field" { h3 { (name) } (part) } }
        }
    }
}

fn field(name: &str, value: &Json) -> Markup {
    match (name, value) {
        ("markdown", Json::Text(text)) => html! { div class="prose" { (markdown::rendered(text)) } },
        ("html", Json::Text(text)) => framed(text),
        ("image", Json::Text(source)) => picture(source),
        (_, value) => as_it_is(value),
    }
}

fn as_it_is(value: &Json) -> Markup {
    match value {
        Json::Text(text) if is_picture(text) => picture(text),
        Json::Text(text) => html! { p class="text" { (text) } },
        Json::Fields(_) | Json::List(_) => {
            html! { pre tabindex="0" { code { (serde_json::to_string_pretty(value).unwrap_or_default()) } } }
        }
        other => html! { p class="text" { (other.to_string()) } },
    }
}

/// Whether a text is a `data:` picture in a format that cannot contain scripts.
fn is_picture(text: &str) -> bool {
    let kinds = ["png", "jpeg", "gif", "webp", "avif"];
    let of = |kind: &str| text.strip_prefix("data:image/").and_then(|rest| rest.strip_prefix(kind));
    kinds.iter().filter_map(|kind| of(kind)).any(|rest| rest.starts_with(";base64,"))
}

/// A picture, blurred until the reviewer reveals it.
fn picture(source: &str) -> Markup {
    if is_picture(source) {
        return html! {
            figure class="picture" {
                img src=(source) alt="The item's picture";
                figcaption class="small" { "Hold " kbd { "space" } ", or the picture, to see it." }
            }
        };
    }
    // Loading a picture from elsewhere would tell that server who reviews what, and when.
    html! {
        p class="none" { "A picture that is elsewhere is not loaded:" }
        p class="text" { (source) }
    }
}

/// Sanitized HTML in a frame without scripts, with the source below if anything was dropped.
fn framed(text: &str) -> Markup {
    let clean::Cleaned { html: cleaned, is_all } = clean::cleaned(text);
    let inner = html! {
        link rel="stylesheet" href={ (super::assets::FOLDER.as_str()) "/page.css" };
        div class="framed" { (PreEscaped(cleaned)) }
    };
    html! {
        // With the same origin, the desk can measure the frame. Without `allow-scripts`, nothing in
        // the frame can make use of that.
        iframe sandbox="allow-same-origin" title="The item's page" srcdoc=(inner.into_string()) {}
        @if !is_all {
            p class="small" { "It has parts that are not shown above. All of it, as it was sent:" }
            p class="text" { (text) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn text(payload: &Value) -> String {
        shown("x1", Some(&payload.clone().into())).into_string()
    }

    #[test]
    fn what_others_wrote_stays_what_it_is() {
        let hostile = "<script>alert(1)</script>";
        let escaped = "&lt;script&gt;";
        for payload in
            [json!(hostile), json!({"text": hostile}), json!({"a": [hostile]}), json!({hostile: 1, "b": 2})]
        {
            let text = text(&payload);
            assert!(text.contains(escaped) && !text.contains("<script"), "{text}");
        }
        // The frame has no script.
        let framed = text(&json!({ "html": format!("<p onclick=x>hi{hostile}</p>") }));
        let (frame, source) = framed.split_once("</iframe>").unwrap();
        assert!(frame.contains("sandbox=\"allow-same-origin\"") && frame.contains("&lt;p&gt;hi"), "{framed}");
        assert!(!frame.contains("script&gt;") && !frame.contains("onclick"), "{framed}");
        // The source below has what the frame drops.
        assert!(source.contains("&lt;script&gt;alert(1)"), "{framed}");
        assert!(!text(&json!({ "html": "<p class=x>plain</p>" })).contains("as it was sent"));
    }

    #[test]
    fn only_pictures_that_are_here_are_shown() {
        let inline = "data:image/png;base64,AAAA";
        assert!(text(&json!(inline)).contains("<img src=\"data:image/png;base64,AAAA\""));
        for elsewhere in [
            "https://evil.test/a.png",
            "data:image/svg+xml;base64,AAAA",
            "javascript:alert(1)",
            "data:text/html,x",
        ] {
            let text = text(&json!({ "image": elsewhere }));
            assert!(!text.contains("<img") && text.contains("not loaded"), "{text}");
        }
    }

    #[test]
    fn fields_have_their_names_and_their_forms() {
        let text = text(&json!({"title": "A", "markdown": "**b**", "more": {"x": 1}}));
        assert!(text.contains("<h3>title</h3><p class=\"text\">A</p>"), "{text}");
        assert!(text.contains("<strong>b</strong>") && text.contains("&quot;x&quot;: 1"), "{text}");
        assert!(shown("p<17", None).into_string().starts_with("<p><code>p&lt;17</code>"));
        // Fields keep their order, at every depth.
        let sent =
            serde_json::from_str(r#"{"title": "first", "more": {"z": 1, "a": 2}, "about": "last"}"#).unwrap();
        let text = shown("x1", Some(&sent)).into_string();
        let places = ["first", "&quot;z&quot;", "&quot;a&quot;", "last"].map(|part| text.find(part).unwrap());
        assert!(places.is_sorted(), "{text}");
    }
}
