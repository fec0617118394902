//! Entries of the table of policies: what a policy assumes, its options, and its place in the paper
//! ("Top K Ranking for Multi-Armed Bandit with Noisy Evaluations").

use crate::link::Link;
use serde::Serialize;

/// A policy in the table: its name, and facts for choosing it.
///
/// ```
/// let esag = jurybox::policies().iter().find(|entry| entry.name == "esag").unwrap();
/// assert!(esag.paper.contains("Alg. 2"));
/// assert_eq!(esag.option("sigma").unwrap().default, "unlabelled");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The name in specs.
    pub name: &'static str,
    /// The links that it offers.
    pub links: Links,
    /// The kind of receipt that it learns from.
    pub needs: Needs,
    /// What it assumes and does, in one line.
    pub assumes: &'static str,
    /// The algorithm, theorem or section of the paper, or the source of a baseline.
    pub paper: &'static str,
    /// Its own options, without `link` and `inverted`.
    pub options: &'static [OptionEntry],
}

impl Entry {
    /// The option with this name, if the policy has it. The link is an option of policies that
    /// offer one.
    pub fn option(&self, name: &str) -> Option<&OptionEntry> {
        self.all_options().find(|option| option.name == name)
    }

    /// All options: the policy's own, the link if there is a choice, and `inverted`, which every
    /// policy takes.
    ///
    /// ```
    /// let names = |policy: &str| -> Vec<&str> {
    ///     let entry = jurybox::policies().iter().find(|entry| entry.name == policy).unwrap();
    ///     entry.all_options().map(|option| option.name).collect()
    /// };
    /// assert_eq!(names("esag"), ["sigma", "current_round", "inverted"]);
    /// assert_eq!(names("glm-esag"), ["sigma", "current_round", "link", "inverted"]);
    /// ```
    pub fn all_options(&self) -> impl Iterator<Item = &OptionEntry> {
        let link = match self.links {
            Links::Identity => &[][..],
            Links::Glm => &GLM_LINK[..],
            Links::Any => &ANY_LINK[..],
        };
        self.options.iter().chain(link).chain(&INVERTED)
    }
}

/// An option of a policy: its values in a [`Spec`](crate::Spec), and what it does.
///
/// ```
/// let policy = jurybox::policies().iter().find(|p| p.name == "eps-greedy").unwrap();
/// let eps = policy.option("eps").unwrap();
/// assert_eq!(eps.kind, jurybox::OptionKind::Number);
/// assert_eq!((eps.default, eps.range), ("none", "0 to 1"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct OptionEntry {
    /// Its name.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: OptionKind,
    /// The default, as it would be written; `required` if the option must be set, and `none` if it
    /// can be left out but has no fixed default.
    pub default: &'static str,
    /// The valid values.
    pub range: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
    /// Options that cannot be set together with it. Of two such options only one lists the other.
    pub without: &'static [&'static str],
}

/// The kind of an option's values.
///
/// ```
/// use jurybox::OptionKind;
/// let json = serde_json::to_string(&OptionKind::OnePerEvaluator).unwrap();
/// assert_eq!(json, "\"one-per-evaluator\"");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OptionKind {
    /// A number.
    Number,
    /// An integer.
    Count,
    /// `true` or `false`.
    Flag,
    /// One of the words that the range lists.
    Word,
    /// A list of numbers, one per evaluator.
    OnePerEvaluator,
    /// A noise level: one number for all evaluators, a list with one per evaluator, or a word.
    Noise,
    /// A list of column numbers, from 0.
    Columns,
}

const INVERTED: [OptionEntry; 1] = [OptionEntry {
    name: "inverted",
    kind: OptionKind::Columns,
    default: "[]",
    range: "columns, from 0",
    help: "evaluators whose low scores speak for a high reward; kept as their direction",
    without: &[],
}];

const GLM_LINK: [OptionEntry; 1] = [OptionEntry {
    name: "link",
    kind: OptionKind::Word,
    default: "logistic",
    range: "logistic, probit",
    help: "the curve g between a reward and the scores it gets",
    without: &[],
}];

const ANY_LINK: [OptionEntry; 1] = [OptionEntry {
    name: "link",
    kind: OptionKind::Word,
    default: "identity",
    range: "identity, logistic, probit",
    help: "the curve g between a reward and the scores it gets",
    without: &[],
}];

/// What a [receipt](crate::Receipt) must have for a policy to learn from the pick. Other picks are
/// not learnt from.
///
/// ```
/// use jurybox::{Needs, Spec};
/// let needs = |text: &str| text.parse::<Spec>().unwrap().entry().unwrap().needs;
/// assert_eq!(needs("eps-greedy"), Needs::Explored);
/// assert_eq!(needs("eps-greedy-all"), Needs::Nothing);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Needs {
    /// Nothing: the policy also learns without a receipt.
    Nothing,
    /// The mark that the item was drawn at random.
    Explored,
    /// The evaluators' advice and bonus, which only `exp4p` writes.
    Advice,
}

/// The links that a policy offers.
///
/// ```
/// use jurybox::{Link, Links};
/// assert_eq!(Links::Glm.default_link(), Link::Logistic);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Links {
    /// The linear model; there is no `link` option.
    Identity,
    /// A `link` option: logistic (the default) or probit.
    Glm,
    /// A `link` option: identity (the default), logistic or probit.
    Any,
}

impl Links {
    /// The default link.
    pub fn default_link(self) -> Link {
        if self == Links::Glm { Link::Logistic } else { Link::Identity }
    }
}
