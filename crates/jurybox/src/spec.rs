//! A policy and its options as text: `eps-greedy(eps=0.1, slots=2)`.

use crate::error::Error;
use crate::policy::{Entry, OptionKind, policies};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;
use std::str::FromStr;

/// The name of a policy and the options that were set, not yet validated against the policy.
///
/// ```
/// use jurybox::Spec;
///
/// let spec: Spec = "eps-greedy(eps=0.1, sigma=[0.2,0.4])".parse()?;
/// assert_eq!(spec.name(), "eps-greedy");
/// assert_eq!(spec.to_string(), "eps-greedy(eps=0.1,sigma=[0.2,0.4])");
/// let json = r#"{"name": "eps-greedy", "options": {"eps": 0.1, "sigma": [0.2, 0.4]}}"#;
/// assert_eq!(serde_json::from_str::<Spec>(json).unwrap(), spec);
/// # Ok::<(), jurybox::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    name: String,
    options: Map<String, Value>,
}

impl Spec {
    /// A policy with its default options.
    pub fn new(name: impl Into<String>) -> Self {
        Spec { name: name.into(), options: Map::new() }
    }

    /// Sets an option, replacing an earlier value.
    #[must_use]
    pub fn with(mut self, option: &str, value: impl Into<Value>) -> Self {
        self.options.insert(option.into(), value.into());
        self
    }

    /// Parses policies separated by commas; commas within brackets and strings belong to the
    /// options. Errors if there is no policy.
    ///
    /// ```
    /// let list = jurybox::Spec::list("esag, eps-greedy(eps=0.1,slots=2)")?;
    /// assert_eq!(list[1].to_string(), "eps-greedy(eps=0.1,slots=2)");
    /// assert!(jurybox::Spec::list(" , ").is_err());
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn list(text: &str) -> Result<Vec<Spec>, Error> {
        let list: Vec<Spec> =
            split_outside_brackets(text).into_iter().map(str::parse).collect::<Result<_, _>>()?;
        if list.is_empty() {
            return Err(Error::Policy {
                policy: text.trim().into(),
                reason: "name at least one policy".into(),
            });
        }
        Ok(list)
    }

    /// Whether an option can still be set: the policy has it, it is not set, and no option of its
    /// [`without`](crate::OptionEntry::without) is set.
    ///
    /// ```
    /// let spec: jurybox::Spec = "eps-greedy(eps=0.1)".parse()?;
    /// assert!(spec.can_take("sigma"));
    /// assert!(!spec.can_take("colour") && !spec.can_take("eps") && !spec.can_take("horizon"));
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn can_take(&self, option: &str) -> bool {
        let set = |name: &str| self.options.contains_key(name);
        self.entry()
            .and_then(|entry| entry.option(option))
            .is_some_and(|option| !set(option.name) && !option.without.iter().any(|other| set(other)))
    }

    /// The entry of this policy in the table of policies, if there is one.
    ///
    /// ```
    /// let spec: jurybox::Spec = "glm-esag(link=probit)".parse()?;
    /// assert_eq!(spec.entry().unwrap().links, jurybox::Links::Glm);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn entry(&self) -> Option<&'static Entry> {
        policies().iter().find(|entry| entry.name == self.name)
    }

    /// Sets an option that the caller happens to know, if it [can be set](Self::can_take).
    ///
    /// ```
    /// use jurybox::Spec;
    /// let told = |text: &str| text.parse().map(|spec: Spec| spec.told("horizon", 50).to_string());
    /// assert_eq!(told("exp4p")?, "exp4p(horizon=50)");
    /// assert_eq!(told("esag")?, "esag");
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    #[must_use]
    pub fn told(self, option: &str, value: impl Into<Value>) -> Self {
        if self.can_take(option) { self.with(option, value) } else { self }
    }

    /// The spec without `inverted`, and the columns that it lists. Any policy accepts this option,
    /// because it sets the direction of evaluators.
    pub(crate) fn take_inverted(mut self) -> Result<(Self, Vec<usize>), Error> {
        let Some(value) = self.options.remove("inverted") else { return Ok((self, Vec::new())) };
        let columns = serde_json::from_value(value.clone()).map_err(|_| Error::Policy {
            policy: self.to_string(),
            reason: format!("inverted={value} is not a list of columns, such as [0,2]"),
        })?;
        Ok((self, columns))
    }

    /// Moves options with one value per evaluator to other columns. `columns` has the old column of
    /// each new one. Errors if such an option has no value for a new evaluator.
    pub(crate) fn with_columns(&self, columns: &[Option<usize>]) -> Result<Self, Error> {
        let mut spec = self.clone();
        let entry = self.entry();
        let per_evaluator = entry
            .iter()
            .flat_map(|entry| entry.all_options())
            .filter(|option| matches!(option.kind, OptionKind::OnePerEvaluator | OptionKind::Noise));
        for option in per_evaluator {
            let Some(Value::Array(list)) = spec.options.get_mut(option.name) else { continue };
            let moved: Option<Vec<Value>> = columns.iter().map(|from| list.get((*from)?).cloned()).collect();
            *list = moved.ok_or_else(|| Error::Policy {
                policy: self.to_string(),
                reason: format!("{} has one value per evaluator, and none for a newcomer", option.name),
            })?;
        }
        Ok(spec)
    }

    /// The name of the policy.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The options that were set.
    pub fn options(&self) -> &Map<String, Value> {
        &self.options
    }
}

/// The policy to start with: `adaptive`.
impl Default for Spec {
    fn default() -> Self {
        Spec::new("adaptive")
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        for (i, (key, value)) in self.options.iter().enumerate() {
            write!(f, "{}{key}=", if i == 0 { "(" } else { "," })?;
            match value {
                Value::String(word) if is_plain_word(word) => f.write_str(word)?,
                other => write!(f, "{other}")?,
            }
        }
        if self.options.is_empty() { Ok(()) } else { f.write_str(")") }
    }
}

impl FromStr for Spec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refuse = |reason: String| Error::Policy { policy: text.trim().into(), reason };
        let text = text.trim();
        let Some((name, rest)) = text.split_once('(') else {
            if text.is_empty() || text.contains([')', '=', ',']) {
                return Err(refuse("write a name, or name(option=value, ...)".into()));
            }
            return Ok(Spec::new(text));
        };
        let Some(inside) = rest.strip_suffix(')') else {
            return Err(refuse("the closing parenthesis is missing".into()));
        };
        let mut spec = Spec::new(name.trim());
        for part in split_outside_brackets(inside) {
            let Some((key, value)) = part.split_once('=') else {
                return Err(refuse(format!("`{}` is not of the form option=value", part.trim())));
            };
            let (key, value) = (key.trim(), value.trim());
            if spec.options.contains_key(key) {
                return Err(refuse(format!("option `{key}` is set twice")));
            }
            // Valid JSON, such as a number or a list, is taken as such; anything else is a word.
            let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.into()));
            spec.options.insert(key.into(), value);
        }
        Ok(spec)
    }
}

/// Whether a word is parsed as itself without quotes. It must not be empty, begin or end with a
/// space, contain a delimiter, backslash or control character, or be valid JSON.
fn is_plain_word(word: &str) -> bool {
    let ends = |c: char| matches!(c, ',' | '"' | '\\' | '(' | ')' | '[' | ']' | '{' | '}') || c.is_control();
    !word.is_empty()
        && word.trim() == word
        && !word.contains(ends)
        && serde_json::from_str::<Value>(word).is_err()
}

/// Whether the name of a policy or an option can be written and parsed again.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.trim() == name
        && !name.contains(|c: char| {
            matches!(c, ',' | '=' | '"' | '(' | ')' | '[' | ']' | '{' | '}') || c.is_control()
        })
}

/// The parts between commas outside every bracket and string, without empty ones.
fn split_outside_brackets(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in text.char_indices() {
        if quoted {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        match c {
            '"' => quoted = true,
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

impl Serialize for Spec {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Spec {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Text(String),
            Parts(Parts),
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Parts {
            name: String,
            #[serde(default)]
            options: Map<String, Value>,
        }
        match Form::deserialize(deserializer)? {
            Form::Text(text) => text.parse().map_err(serde::de::Error::custom),
            Form::Parts(Parts { name, options }) => {
                match std::iter::once(&name).chain(options.keys()).find(|name| !is_name(name)) {
                    Some(bad) => {
                        Err(serde::de::Error::custom(format!("`{bad}` is no name of a policy or an option")))
                    }
                    None => Ok(Spec { name, options }),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        for text in ["esag", "lin-ucb(lambda=0.5)", "a(b=word,c=true,d=[1,2.5],e=-1e-7)"] {
            let spec: Spec = text.parse().unwrap();
            assert_eq!(spec.to_string().parse::<Spec>().unwrap(), spec);
            let json = serde_json::to_string(&spec).unwrap();
            assert_eq!(serde_json::from_str::<Spec>(&json).unwrap(), spec);
        }
        assert_eq!("esag()".parse::<Spec>().unwrap(), Spec::new("esag"));
    }

    /// Specs are written so that they parse again, even if no policy accepts them: messages and
    /// states quote them.
    #[test]
    fn words_of_any_kind_round_trip() {
        for word in [
            "1", "true", "null", "[1", "a,b", "a)", " a ", "", "\"", "a\"b,c", "\\", "\\\"", "[1,2]", "x=y",
            "é",
        ] {
            let spec = Spec::new("a").with("b", word).with("c", 1);
            assert_eq!(spec.to_string().parse::<Spec>().unwrap(), spec, "{spec}");
        }
        for json in [r#"{"name": "a(b"}"#, r#"{"name": ""}"#, r#"{"name": "a", "options": {"b=c": 1}}"#] {
            let message = serde_json::from_str::<Spec>(json).unwrap_err().to_string();
            assert!(message.contains("is no name"), "{json}: {message}");
        }
    }

    #[test]
    fn bad_text_is_refused_with_the_reason() {
        for (text, says) in [
            ("", "write a name"),
            ("esag(sigma=1", "closing parenthesis"),
            ("esag(sigma)", "`sigma` is not of the form"),
            ("esag(a=1, a=2)", "set twice"),
            ("esag=3", "write a name"),
        ] {
            let message = text.parse::<Spec>().unwrap_err().to_string();
            assert!(message.contains(says), "{text}: {message}");
        }
    }
}
