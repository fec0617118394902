//! The location of queues on the command line: a folder or a PostgreSQL database.

use jurybox_server::StoreLocation;
use std::ffi::OsString;

/// Parses a location: a folder, `env:NAME` or `file:PATH` with the URL of a database, or the URL
/// itself.
///
/// In a variable or a file, other users cannot read a password, as they could on the command line.
pub(crate) fn parse(argument: OsString) -> Result<StoreLocation, String> {
    let Some(text) = argument.to_str() else { return Ok(StoreLocation::Folder(argument.into())) };
    if let Some(name) = text.strip_prefix("env:") {
        let url = std::env::var(name).map_err(|_| format!("the environment has no variable {name}"))?;
        return of_url(name, &url);
    }
    if let Some(path) = text.strip_prefix("file:") {
        let url = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        return of_url(path, url.trim());
    }
    Ok(if is_url(text) {
        StoreLocation::Database(text.into())
    } else {
        StoreLocation::Folder(argument.into())
    })
}

/// The database of a URL that was found in the variable or file `name`. The error for other text
/// does not repeat it, since it may be a password.
fn of_url(name: &str, url: &str) -> Result<StoreLocation, String> {
    if is_url(url) {
        Ok(StoreLocation::Database(url.into()))
    } else {
        Err(format!("{name} does not hold a URL postgres://..."))
    }
}

fn is_url(text: &str) -> bool {
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

/// [`parse`] as a value parser for clap.
pub(crate) fn parser() -> impl clap::builder::TypedValueParser<Value = StoreLocation> {
    use clap::builder::TypedValueParser;
    clap::builder::OsStringValueParser::new().try_map(parse)
}

/// A location as an argument of a suggested command. A URL may have a password, so it is not
/// repeated.
pub(crate) fn argument(place: &StoreLocation) -> String {
    match place {
        StoreLocation::Folder(folder) => crate::messages::shell(folder.display()),
        StoreLocation::Database(_) => "env:VARIABLE".into(),
    }
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
        assert!(
            matches!(said(), Ok(StoreLocation::Database(url)) if url == "postgres://ann:secret@db/queues")
        );
        std::fs::write(&path, "ann:secret\n").unwrap();
        let refused = said().unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert!(refused.contains("a URL") && !refused.contains("secret"), "{refused}");
    }
}
