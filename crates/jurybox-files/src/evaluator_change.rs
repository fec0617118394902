//! Checks of evaluators and policies against those of a state, for ranking, picking, learning and
//! replay; and changes of a jury's evaluators.

use crate::error::Error;
use jurybox::{Evaluator, Evaluators, Jury, Spec};

/// The changes of evaluators that a jury accepts.
///
/// ```
/// use jurybox_files::AllowedChange;
/// assert_ne!(AllowedChange::Same, AllowedChange::Subset);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowedChange<'a> {
    /// No change, not even of the order: picking uses all evaluators.
    Same,
    /// Evaluators may be left out, and their order may change.
    Subset,
    /// Evaluators may be added; only those in `forget` may be removed.
    Replace {
        /// Names of evaluators to forget.
        forget: &'a [String],
    },
}

/// The evaluators that a change has added and removed.
///
/// ```
/// use jurybox::{Evaluators, Jury};
/// use jurybox_files::{AllowedChange, EvaluatorChange};
///
/// let mut jury = Jury::new(&"lin-ucb".parse()?, Evaluators::new(["spam", "abuse"])?)?;
/// let other = Evaluators::new(["abuse", "fraud"])?;
/// let none = AllowedChange::Replace { forget: &[] };
/// assert_eq!(
///     EvaluatorChange::apply(&mut jury, &other, none).unwrap_err().code(),
///     "would-forget"
/// );
/// let spam = AllowedChange::Replace { forget: &["spam".into()] };
/// let change = EvaluatorChange::apply(&mut jury, &other, spam)?;
/// assert_eq!((change.added, change.removed), (vec!["fraud".into()], vec!["spam".into()]));
/// assert_eq!(jury.evaluators(), &other);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EvaluatorChange {
    /// Names of new evaluators, about which nothing is known yet.
    pub added: Vec<String>,
    /// Names of evaluators about which everything is forgotten.
    pub removed: Vec<String>,
}

impl EvaluatorChange {
    /// Gives a jury other evaluators. If the change is not allowed, it errors and leaves the jury
    /// unchanged.
    pub fn apply(
        jury: &mut Jury,
        evaluators: &Evaluators,
        may: AllowedChange<'_>,
    ) -> Result<EvaluatorChange, Error> {
        let before = jury.evaluators().clone();
        if before == *evaluators {
            return Ok(EvaluatorChange::default());
        }
        let missing = |of: &Evaluators, from: &Evaluators| -> Vec<String> {
            of.names().filter(|name| from.position(name).is_none()).map(Into::into).collect()
        };
        let change =
            EvaluatorChange { added: missing(evaluators, &before), removed: missing(&before, evaluators) };
        let known = |evaluator| before.as_slice().contains(evaluator);
        match may {
            AllowedChange::Subset if evaluators.as_slice().iter().all(known) => {}
            AllowedChange::Same | AllowedChange::Subset => {
                return Err(Error::OtherEvaluators {
                    learnt: Box::new(before),
                    here: Box::new(evaluators.clone()),
                });
            }
            AllowedChange::Replace { forget } => {
                if let Some(evaluator) = change.removed.iter().find(|name| !forget.contains(name)) {
                    return Err(Error::WouldForget { evaluator: evaluator.clone() });
                }
            }
        }
        jury.set_evaluators(evaluators.clone())?;
        Ok(change)
    }

    /// Gives a jury the evaluators of a table of past rows. The table may lack evaluators of the
    /// jury. Contexts of the table are ignored if the jury has none.
    ///
    /// ```
    /// use jurybox::{Evaluator, Evaluators, Jury};
    /// use jurybox_files::EvaluatorChange;
    ///
    /// let table = Evaluators::new(["spam".into(), Evaluator::context("language")])?;
    /// let mut jury = Jury::new(&"lin-ucb".parse()?, Evaluators::new(["spam", "abuse"])?)?;
    /// EvaluatorChange::for_history(&mut jury, &table)?;
    /// assert_eq!(jury.evaluators().names().collect::<Vec<_>>(), ["spam"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_history(jury: &mut Jury, evaluators: &Evaluators) -> Result<EvaluatorChange, Error> {
        if jury.evaluators().contexts().next().is_some() {
            return EvaluatorChange::apply(jury, evaluators, AllowedChange::Subset);
        }
        EvaluatorChange::apply(jury, &evaluators.without_contexts()?, AllowedChange::Subset)
    }
}

/// Removes the contexts of a jury, which then uses the weights that all groups share. Returns the
/// names of the contexts.
///
/// ```
/// use jurybox::{Evaluator, Evaluators, Jury};
///
/// let mut jury = Jury::new(
///     &"adaptive".parse()?,
///     Evaluators::new(["spam".into(), Evaluator::context("language")])?,
/// )?;
/// assert_eq!(jurybox_files::without_contexts(&mut jury)?, ["language"]);
/// assert_eq!(jury.evaluators(), &Evaluators::new(["spam"])?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn without_contexts(jury: &mut Jury) -> Result<Vec<String>, Error> {
    let before = jury.evaluators().clone();
    let names: Vec<String> = before.contexts().map(|column| before.as_slice()[column].name.clone()).collect();
    if !names.is_empty() {
        jury.set_evaluators(before.without_contexts()?)?;
    }
    Ok(names)
}

/// The evaluators in `known` without those in `forget`. Errors if an evaluator to forget is not in
/// `known`, or is in `named`, or if none is left.
pub(crate) fn without_forgotten(
    known: &[Evaluator],
    forget: &[String],
    named: &[String],
) -> Result<Vec<Evaluator>, Error> {
    for name in forget {
        if !known.iter().any(|evaluator| evaluator.name == *name) {
            return Err(Error::NotInState { evaluator: name.clone() });
        }
        if named.contains(name) {
            return Err(Error::ForgottenAndNamed { evaluator: name.clone() });
        }
    }
    let kept = known.iter().filter(|evaluator| !forget.contains(&evaluator.name));
    let kept: Vec<Evaluator> = kept.cloned().collect();
    if kept.is_empty() && !known.is_empty() { Err(Error::AllForgotten) } else { Ok(kept) }
}

/// Errors if `asked` is not the policy of the jury, with the same options. Inverted evaluators are
/// compared as well: a jury keeps them as directions of its evaluators.
///
/// ```
/// use jurybox::{Evaluators, Jury};
///
/// let asked = "adaptive(inverted=[1])".parse()?;
/// let jury = Jury::new(&asked, Evaluators::new(["spam", "trust"])?)?;
/// jurybox_files::same_policy(&jury, &asked)?;
/// assert_eq!(
///     jurybox_files::same_policy(&jury, &"esag".parse()?).unwrap_err().code(),
///     "other-policy"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn same_policy(jury: &Jury, asked: &Spec) -> Result<(), Error> {
    let same = Jury::new(asked, jury.evaluators().clone())
        .is_ok_and(|other| (other.spec(), other.evaluators()) == (jury.spec(), jury.evaluators()));
    if same {
        Ok(())
    } else {
        Err(Error::OtherPolicy { learnt: jury.spec().to_string(), asked: asked.to_string() })
    }
}
