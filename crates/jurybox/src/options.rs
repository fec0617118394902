//! Option values that are valid by their type: an option that parses can be used.

use serde::{Deserialize, Serialize};

macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $valid:expr, $says:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(try_from = "f64", into = "f64")]
        pub struct $name(f64);

        impl $name {
            /// The value.
            pub fn get(self) -> f64 {
                self.0
            }
        }

        impl TryFrom<f64> for $name {
            type Error = String;

            fn try_from(value: f64) -> Result<Self, String> {
                let valid: fn(f64) -> bool = $valid;
                if valid(value) { Ok($name(value)) } else { Err(format!(concat!("{} is not ", $says), value)) }
            }
        }

        impl From<$name> for f64 {
            fn from(number: $name) -> f64 {
                number.0
            }
        }
    };
}

number!(
    /// A number above 1e-100 and at most 1e100.
    ///
    /// ```
    /// use jurybox::options::Positive;
    /// assert_eq!(Positive::try_from(0.5).unwrap().get(), 0.5);
    /// assert!(Positive::try_from(0.0).is_err());
    /// ```
    Positive,
    |v| v > 1e-100 && v <= 1e100,
    "a positive number"
);

number!(
    /// A number from 0 to 1, both allowed.
    ///
    /// ```
    /// use jurybox::options::Probability;
    /// assert!(Probability::try_from(0.0).is_ok() && Probability::try_from(1.5).is_err());
    /// ```
    Probability,
    |v| (0.0..=1.0).contains(&v),
    "a probability between 0 and 1"
);

number!(
    /// A number strictly between 0 and 1, such as a confidence level.
    ///
    /// ```
    /// use jurybox::options::Fraction;
    /// assert!(Fraction::try_from(0.05).is_ok() && Fraction::try_from(1.0).is_err());
    /// ```
    Fraction,
    |v| v > 0.0 && v < 1.0,
    "strictly between 0 and 1"
);

number!(
    /// Any number within ±1e100.
    ///
    /// ```
    /// use jurybox::options::Finite;
    /// assert!(Finite::try_from(-3.0).is_ok() && Finite::try_from(f64::NAN).is_err());
    /// ```
    Finite,
    |v| v.abs() <= 1e100,
    "a number within ±1e100"
);

/// A whole number from 1 on.
///
/// ```
/// use jurybox::options::Count;
/// assert_eq!(Count::try_from(3).unwrap().get(), 3);
/// assert!(Count::try_from(0).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Count(u64);

impl Count {
    /// The value.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl TryFrom<u64> for Count {
    type Error = String;

    fn try_from(value: u64) -> Result<Self, String> {
        if value == 0 { Err("0 is not a whole number from 1 on".into()) } else { Ok(Count(value)) }
    }
}

impl From<Count> for u64 {
    fn from(count: Count) -> u64 {
        count.0
    }
}

/// The source of the evaluators' noise levels.
///
/// Parsed from a number (for all evaluators), a list (one per evaluator), `"unlabelled"` or
/// `"labelled"`:
///
/// ```
/// use jurybox::options::Sigma;
/// let read = |text: &str| serde_json::from_str::<Sigma>(text).map_err(|e| e.to_string());
/// assert!(matches!(read("[0.1, 0.2]"), Ok(Sigma::Each(list)) if list.len() == 2));
/// assert_eq!(read(r#""labelled""#), Ok(Sigma::Labelled));
/// assert!(read("[0.1, -2]").unwrap_err().contains("-2 is not a positive number"));
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(into = "serde_json::Value")]
pub enum Sigma {
    /// Estimated from the scores alone by the one-factor model. While the model is not identified,
    /// the standard deviations of the scores.
    #[default]
    Unlabelled,
    /// Estimated from the spread of the scores around `g(alpha r)` over the labelled examples, for
    /// link g, gain alpha and reward r.
    Labelled,
    /// Known, the same for every evaluator.
    All(Positive),
    /// Known, one per evaluator.
    Each(Vec<Positive>),
}

impl<'de> Deserialize<'de> for Sigma {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        use serde_json::Value;
        let value = Value::deserialize(deserializer)?;
        match &value {
            Value::String(word) if word == "unlabelled" => Ok(Sigma::Unlabelled),
            Value::String(word) if word == "labelled" => Ok(Sigma::Labelled),
            Value::Number(_) => serde_json::from_value(value).map(Sigma::All).map_err(D::Error::custom),
            Value::Array(_) => serde_json::from_value(value).map(Sigma::Each).map_err(D::Error::custom),
            other => Err(D::Error::custom(format!(
                "{other} is not a noise level; pass a number, a list, `unlabelled` or `labelled`"
            ))),
        }
    }
}

impl From<Sigma> for serde_json::Value {
    fn from(sigma: Sigma) -> Self {
        match sigma {
            Sigma::Unlabelled => "unlabelled".into(),
            Sigma::Labelled => "labelled".into(),
            Sigma::All(value) => value.get().into(),
            Sigma::Each(list) => list.into_iter().map(Positive::get).collect::<Vec<_>>().into(),
        }
    }
}
