//! Where a desk is, as it is said on the command line.

use jurybox_server::Place;
use std::ffi::OsString;

/// A folder; or a PostgreSQL database: `env:NAME`, the variable that has its URL, or `file:PATH`, the file that has it, so that a password is
/// on no command line, where others on this machine could read it; or the URL itself.
pub(crate) fn parse(said: OsString) -> Result<Place, String> {
    let Some(text) = said.to_str() else { return Ok(Place::Folder(said.into())) };
    if let Some(name) = text.strip_prefix("env:") {
        let url =
            std::env::var(name).map_err(|_| format!("there is no variable {name} in the environment"))?;
        return of_url(name, &url);
    }
    if let Some(path) = text.strip_prefix("file:") {
        let url = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        return of_url(path, url.trim());
    }
    Ok(if is_url(text) { Place::Database(text.into()) } else { Place::Folder(said.into()) })
}

/// The database of a URL that stood in a variable or a file of this name. What stood there is not told: it may be a password.
fn of_url(name: &str, url: &str) -> Result<Place, String> {
    if is_url(url) {
        Ok(Place::Database(url.into()))
    } else {
        Err(format!("what {name} has is no URL postgres://…"))
    }
}

fn is_url(text: &str) -> bool {
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

/// The same for clap.
pub(crate) fn parser() -> impl clap::builder::TypedValueParser<Value = Place> {
    use clap::builder::TypedValueParser;
    clap::builder::OsStringValueParser::new().try_map(parse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_may_stand_in_a_file() {
        let path = std::env::temp_dir().join(format!("jurybox-url-{}", std::process::id()));
        let said = || parse(format!("file:{}", path.display()).into());
        assert!(said().unwrap_err().contains("url"));
        std::fs::write(&path, "postgres://ann:secret@db/queues\n").unwrap();
        assert!(matches!(said(), Ok(Place::Database(url)) if url == "postgres://ann:secret@db/queues"));
        std::fs::write(&path, "ann:secret\n").unwrap();
        let refused = said().unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert!(refused.contains("no URL") && !refused.contains("secret"), "{refused}");
    }
}
