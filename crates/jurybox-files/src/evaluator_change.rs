//! Whether what a state has learnt fits what is asked of it now: one answer for all that rank, pick, learn and replay by it.

use crate::error::Error;
use jurybox::{Evaluator, Evaluators, Jury, Spec};

/// Which other evaluators a jury may be given than those it has learnt over.
///
/// ```
/// use jurybox_files::AllowedChange;
/// assert_ne!(AllowedChange::Same, AllowedChange::Subset);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowedChange<'a> {
    /// None: a round is picked from by all of them, in their order.
    Same,
    /// Some of them, in any order.
    Subset,
    /// Others beside them; of its own, only these may be left out, and are forgotten.
    Replace {
        /// Their names.
        forget: &'a [String],
    },
}

/// Who came and who left when a jury was given other evaluators.
///
/// ```
/// use jurybox::{Evaluators, Jury};
/// use jurybox_files::{AllowedChange, EvaluatorChange};
///
/// let mut jury = Jury::new(&"lin-ucb".parse()?, Evaluators::new(["spam", "abuse"])?)?;
/// let other = Evaluators::new(["abuse", "newcomer"])?;
/// let refused = EvaluatorChange::apply(&mut jury, &other, AllowedChange::Replace { forget: &[] }).unwrap_err();
/// assert_eq!(refused.code(), "would-forget");
/// let change = EvaluatorChange::apply(&mut jury, &other, AllowedChange::Replace { forget: &["spam".into()] })?;
/// assert_eq!((&change.added[..], &change.removed[..]), (&["newcomer".into()][..], &["spam".into()][..]));
/// assert_eq!(jury.evaluators(), &other);
/// assert_eq!(EvaluatorChange::apply(&mut jury, &Evaluators::new(["spam"])?, AllowedChange::Subset).unwrap_err().code(), "other-evaluators");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EvaluatorChange {
    /// Newcomers, which begin with nothing.
    pub added: Vec<String>,
    /// Those of which nothing is known any more.
    pub removed: Vec<String>,
}

impl EvaluatorChange {
    /// Gives a jury these evaluators in place of its own, as far as it may be. After an error it is as it was.
    pub fn apply(jury: &mut Jury, evaluators: &Evaluators, may: AllowedChange<'_>) -> Result<EvaluatorChange, Error> {
        let before = jury.evaluators().clone();
        if before == *evaluators {
            return Ok(EvaluatorChange::default());
        }
        let missing = |of: &Evaluators, from: &Evaluators| -> Vec<String> {
            of.names().filter(|name| from.position(name).is_none()).map(Into::into).collect()
        };
        let change = EvaluatorChange { added: missing(evaluators, &before), removed: missing(&before, evaluators) };
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
        jury.reseat(evaluators.clone())?;
        Ok(change)
    }

    /// The same for a history that a jury is held against: it may lack evaluators, and contexts that a jury does not know are not for it.
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

/// Leaves a jury with what its groups share, for whoever shows that; says which columns its contexts were.
///
/// ```
/// use jurybox::{Evaluator, Evaluators, Jury};
///
/// let mut jury = Jury::new(&"adaptive".parse()?, Evaluators::new(["spam".into(), Evaluator::context("language")])?)?;
/// assert_eq!(jurybox_files::without_contexts(&mut jury)?, ["language"]);
/// assert_eq!(jury.evaluators(), &Evaluators::new(["spam"])?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn without_contexts(jury: &mut Jury) -> Result<Vec<String>, Error> {
    let before = jury.evaluators().clone();
    let names: Vec<String> = before.contexts().map(|column| before.as_slice()[column].name.clone()).collect();
    if !names.is_empty() {
        jury.reseat(before.without_contexts()?)?;
    }
    Ok(names)
}

/// The evaluators of a state without those that are to be forgotten, which `named` may not name again.
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

/// Refuses a policy or options other than those that a jury has learnt by. What a spec turns round ends up in the evaluators, so
/// that asking for the same again is asking for the same.
///
/// ```
/// use jurybox::{Evaluators, Jury};
///
/// let asked = "adaptive(inverted=[1])".parse()?;
/// let jury = Jury::new(&asked, Evaluators::new(["spam", "trust"])?)?;
/// jurybox_files::same_policy(&jury, &asked)?;
/// assert_eq!(jurybox_files::same_policy(&jury, &"esag".parse()?).unwrap_err().code(), "other-policy");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn same_policy(jury: &Jury, asked: &Spec) -> Result<(), Error> {
    let same = Jury::new(asked, jury.evaluators().clone())
        .is_ok_and(|seated| (seated.spec(), seated.evaluators()) == (jury.spec(), jury.evaluators()));
    if same {
        Ok(())
    } else {
        Err(Error::OtherPolicy { learnt: jury.spec().to_string(), asked: asked.to_string() })
    }
}
