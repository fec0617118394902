//! Policies that take part in a simulation, with the options that the simulation sets for them.

use crate::error::Error;
use crate::setting::Setting;
use crate::truth::Truth;
use jurybox::{Evaluators, Jury, Link, Links, Spec, policies};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A policy in a simulation, with its label.
///
/// The simulation sets link (other than the identity), noise levels, horizon and range of rewards,
/// where the policy has such options and the spec leaves them open. It sets the gains for `oracle`.
///
/// ```
/// use jurybox_lab::{Contender, Setting};
///
/// let esag = Contender::of("esag".parse()?);
/// assert!(esag.check(&Setting::default()).is_ok());
/// let slip = Contender::of("esgag".parse()?).check(&Setting::default()).unwrap_err();
/// assert_eq!(slip.code(), "policy");
/// # Ok::<(), jurybox::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contender {
    /// Name in tables and plots.
    pub label: String,
    /// The policy.
    pub spec: Spec,
    /// Number of rounds that it takes part in, which is also its horizon. None means all rounds.
    pub stop: Option<u64>,
}

impl Contender {
    /// A contender with this policy, labelled by its spec.
    pub fn of(spec: Spec) -> Contender {
        Contender { label: spec.to_string(), spec, stop: None }
    }

    /// Parses a list of policies such as `esag, eps-greedy(eps=0.1,slots=2)`.
    ///
    /// ```
    /// let two = jurybox_lab::Contender::list("esag, eps-greedy(eps=0.1,slots=2)")?;
    /// assert_eq!(two[1].label, "eps-greedy(eps=0.1,slots=2)");
    /// # Ok::<(), jurybox_lab::Error>(())
    /// ```
    pub fn list(text: &str) -> Result<Vec<Contender>, Error> {
        Ok(Spec::list(text)?.into_iter().map(Contender::of).collect())
    }

    /// This contender under another label.
    #[must_use]
    pub fn called(mut self, label: &str) -> Contender {
        self.label = label.into();
        self
    }

    /// Every policy but `oracle` that suits the link, without options.
    pub fn all_that_fit(link: Link) -> Vec<Contender> {
        let names: Vec<&str> = policies().iter().map(|entry| entry.name).collect();
        let fits = |name: &str, links: Links| match links {
            Links::Glm => link != Link::Identity,
            // With a link other than the identity, a linear policy that has a GLM form takes part
            // in that form only.
            Links::Identity => link == Link::Identity || !names.contains(&format!("glm-{name}").as_str()),
            Links::Any => true,
        };
        policies()
            .iter()
            .filter(|entry| entry.name != "oracle" && fits(entry.name, entry.links))
            .map(|entry| Contender::of(Spec::new(entry.name)))
            .collect()
    }

    /// Errors if the policy cannot be made for the setting.
    pub fn check(&self, setting: &Setting) -> Result<(), Error> {
        let n = setting.evaluators;
        let ones = vec![1.0; n];
        let truth = Truth {
            alpha: ones.clone(),
            sigma: ones.clone(),
            intercept: ones.clone(),
            unit: ones.clone(),
            power: ones,
        };
        self.jury_for(setting, &truth).map(|_| ())
    }

    /// A jury of this policy, with the options that the setting and the truth provide.
    pub(crate) fn jury_for(&self, setting: &Setting, truth: &Truth) -> Result<Jury, Error> {
        let evaluators = Evaluators::numbered(setting.evaluators)?;
        let link = serde_json::to_value(setting.link).expect("a name");
        let told: [(&[&str], Vec<Value>); 5] = [
            (&["link"], vec![link]),
            (&["alpha", "sigma"], vec![json!(truth.reported_alpha()), json!(truth.reported_sigma())]),
            (&["sigma"], vec![json!(truth.reported_sigma())]),
            (&["horizon"], vec![json!(self.stop.unwrap_or(setting.rounds))]),
            (&["low", "high"], vec![json!(0.0), json!(highest_reward(setting))]),
        ];
        let mut spec = self.spec.clone();
        for (names, values) in told {
            let linear = names == ["link"] && setting.link == Link::Identity;
            if !linear && names.iter().all(|name| spec.can_take(name)) {
                spec = names.iter().zip(values).fold(spec, |spec, (name, value)| spec.with(name, value));
            }
        }
        Ok(Jury::new(&spec, evaluators)?)
    }
}

/// The upper end of the reward range for `exp4p`, because it scales rewards to [0, 1].
fn highest_reward(setting: &Setting) -> f64 {
    // Close to the expected maximum of |N(0, 1)| over all items of a run.
    (2.0 * (setting.items as f64 * setting.rounds as f64).ln()).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contenders_get_the_options_they_have() {
        let setting = Setting { rounds: 500, ..Setting::default() };
        let truth = crate::simulated_queue::SimulatedQueue::new(&setting, 1, 0).truth().clone();
        let seated = |spec: &str| {
            Contender::of(spec.parse().unwrap()).jury_for(&setting, &truth).unwrap().spec().to_string()
        };
        assert!(seated("esag").starts_with("esag(sigma=["));
        assert!(seated("eps-greedy").contains("horizon=500"));
        assert!(!seated("eps-greedy(eps=0.1)").contains("horizon"));
        assert_eq!(seated("esag(sigma=unlabelled)"), "esag(sigma=unlabelled)");
        assert_eq!(seated("average"), "average");
        assert!(seated("exp4p").contains("high="));
        assert!(seated("oracle").contains("alpha=["));
    }

    #[test]
    fn glm_forms_enter_with_a_link_and_plain_ones_without() {
        let names = |link| -> Vec<String> {
            Contender::all_that_fit(link).into_iter().map(|contender| contender.label).collect()
        };
        let (linear, logistic) = (names(Link::Identity), names(Link::Logistic));
        assert!(linear.contains(&"esag".into()) && !linear.contains(&"glm-esag".into()));
        assert!(logistic.contains(&"glm-esag".into()) && !logistic.contains(&"esag".into()));
        assert!(linear.contains(&"average".into()) && logistic.contains(&"average".into()));
        let probit = Setting { link: Link::Probit, ..Setting::default() };
        let truth = crate::simulated_queue::SimulatedQueue::new(&probit, 1, 0).truth().clone();
        let jury = Contender::of(Spec::new("glm-esag")).jury_for(&probit, &truth).unwrap();
        assert!(jury.spec().to_string().contains("link=probit"));
    }
}
