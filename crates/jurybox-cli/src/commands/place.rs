//! Where a desk is, as it is said on the command line.

use jurybox_server::Place;
use std::ffi::OsString;

/// A folder; a PostgreSQL database by its URL; or `env:NAME`, the variable that has the URL, so that its password is on no command line.
pub(crate) fn parse(said: OsString) -> Result<Place, String> {
    let Some(text) = said.to_str() else { return Ok(Place::Folder(said.into())) };
    if let Some(name) = text.strip_prefix("env:") {
        let url =
            std::env::var(name).map_err(|_| format!("there is no variable {name} in the environment"))?;
        return if is_url(&url) {
            Ok(Place::Database(url))
        } else {
            Err(format!("{name} is no URL postgres://…"))
        };
    }
    Ok(if is_url(text) { Place::Database(text.into()) } else { Place::Folder(said.into()) })
}

fn is_url(text: &str) -> bool {
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

/// The same for clap.
pub(crate) fn parser() -> impl clap::builder::TypedValueParser<Value = Place> {
    use clap::builder::TypedValueParser;
    clap::builder::OsStringValueParser::new().try_map(parse)
}
