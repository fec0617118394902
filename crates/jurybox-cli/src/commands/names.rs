//! Lists on the command line: names separated by commas. Names with a comma are in double quotes.

use std::ops::Deref;
use std::str::FromStr;

/// A list of names: `spam,abuse`, or `spam,"abuse, strict"`.
#[derive(Debug, Clone, Default)]
pub(crate) struct NameList(Vec<String>);

impl FromStr for NameList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(NameList(pieces(text)?.iter().map(|piece| unquoted(piece)).collect()))
    }
}

impl Deref for NameList {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.0
    }
}

/// All names of an option that may be repeated.
pub(crate) fn all(lists: &[NameList]) -> Vec<String> {
    lists.iter().flat_map(|names| names.0.iter().cloned()).collect()
}

/// A list of names, each with a number: `spam=0.2,"abuse, strict"=0.5`.
#[derive(Debug, Clone, Default)]
pub(crate) struct NameNumbers(Vec<(String, f64)>);

impl FromStr for NameNumbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(NameNumbers(pieces(text)?.into_iter().map(|piece| pair(&piece)).collect::<Result<_, _>>()?))
    }
}

impl NameNumbers {
    pub(crate) fn all(lists: &[NameNumbers]) -> Vec<(String, f64)> {
        lists.iter().flat_map(|pairs| pairs.0.iter().cloned()).collect()
    }
}

/// Parses `name=number`.
fn pair(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.rsplit_once('=').ok_or("write name=number, such as spam=0.2")?;
    let number: f64 = value.trim().parse().map_err(|_| format!("`{}` is not a number", value.trim()))?;
    Ok((unquoted(name), number))
}

/// Splits a list at the commas outside of quotes.
fn pieces(text: &str) -> Result<Vec<String>, String> {
    let (mut pieces, mut quoted, mut begins) = (vec![String::new()], false, true);
    for character in text.chars() {
        let inside = quoted;
        match character {
            // Two quotes within quotes stand for one: the first closes, the second opens again.
            '"' if quoted || begins => quoted = !quoted,
            ',' if !quoted => {
                pieces.push(String::new());
                begins = true;
                continue;
            }
            ' ' if begins => continue,
            _ => {}
        }
        begins = inside && !quoted;
        if let Some(piece) = pieces.last_mut() {
            piece.push(character);
        }
    }
    if quoted { Err(format!("a quote is opened and never closed in `{text}`")) } else { Ok(pieces) }
}

/// A name without the quotes around it. Inside them, `""` stands for `"`.
fn unquoted(piece: &str) -> String {
    let piece = piece.trim();
    match piece.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inside) => inside.replace("\"\"", "\""),
        None => piece.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_commas_are_quoted() {
        for (text, says) in [
            ("spam,abuse", vec!["spam", "abuse"]),
            ("spam, \"abuse, strict\" ,x", vec!["spam", "abuse, strict", "x"]),
            ("\"say \"\"no\"\", twice\"", vec!["say \"no\", twice"]),
            ("5\" pipe,b", vec!["5\" pipe", "b"]),
            ("-spam", vec!["-spam"]),
        ] {
            assert_eq!(*text.parse::<NameList>().unwrap(), *says, "{text}");
        }
        assert!("\"spam".parse::<NameList>().is_err());
        let pairs = NameNumbers::all(&["spam=0.2,\"abuse, strict\"=-1".parse().unwrap()]);
        assert_eq!(pairs, [("spam".into(), 0.2), ("abuse, strict".into(), -1.0)]);
        for bad in ["spam", "spam=x", "spam="] {
            assert!(bad.parse::<NameNumbers>().is_err(), "{bad}");
        }
    }
}
