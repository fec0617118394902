//! Remarks on all claims together, derived from their findings.

use super::finding::{Finding, PaperClaim};
use super::theorem::THEOREM;

pub(super) fn before_the_table(claims: &[PaperClaim]) -> Vec<String> {
    readings(claims).into_iter().chain(multiplicity(claims)).collect()
}

/// A remark on whether one way to truncate the noise gives both Fig. 1a and Fig. 1b.
fn readings(claims: &[PaperClaim]) -> Option<String> {
    let of = |id: &str, reading: &str| {
        let id = format!("{id}-{reading}");
        claims.iter().find(|claim| claim.id == id).map(|claim| claim.finding)
    };
    let mut both = Vec::new();
    let mut each = Vec::new();
    for reading in ["interval", "symmetric"] {
        let ahead = of("oracle-beats-average-logistic", reading)?;
        let (falls, stays) =
            (of("error-of-eps-greedy-falls", reading)?, of("error-of-all-samples-stays", reading)?);
        if [ahead, falls, stays] == [Finding::Reproduced; 3] {
            both.push(reading);
        }
        each.push(format!(
            "{reading} noise: the oracle beats the average (1a) {ahead}, the error of glm-eps-greedy falls (1b) {falls}, \
             that of glm-eps-greedy-all stays (1b) {stays}"
        ));
    }
    let found = if both.is_empty() {
        "No single reading of the logistic noise gives both Fig. 1a and Fig. 1b".to_owned()
    } else {
        format!(
            "Both Fig. 1a and Fig. 1b come out under this reading of the logistic noise: {}",
            both.join(", ")
        )
    };
    Some(format!(
        "{found}. The paper does not say how its noise is truncated. {}. Claims about the logistic case are therefore \
         judged under both readings, and no count of them describes one experiment.",
        each.join("; ")
    ))
}

fn multiplicity(claims: &[PaperClaim]) -> Option<String> {
    let judged = claims.iter().filter(|claim| !claim.id.starts_with(THEOREM)).count();
    (judged > 1).then(|| {
        format!(
            "{judged} claims are judged by 95% intervals, each on its own and without correction: about {:.1} of these \
             intervals miss what they estimate by chance alone, and as claims share runs, misses come together.",
            0.05 * judged as f64
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(found: [Finding; 6]) -> Vec<PaperClaim> {
        let ids =
            ["oracle-beats-average-logistic", "error-of-eps-greedy-falls", "error-of-all-samples-stays"];
        let ids = ["interval", "symmetric"].into_iter().flat_map(|r| ids.map(|id| format!("{id}-{r}")));
        ids.zip(found).map(|(id, finding)| PaperClaim::new(id, "", String::new(), finding)).collect()
    }

    #[test]
    fn the_remark_on_the_readings_says_what_was_found() {
        let (yes, no) = (Finding::Reproduced, Finding::NotReproduced);
        let remarks = before_the_table(&claims([yes, no, yes, no, yes, yes]));
        assert!(remarks[0].starts_with("No single reading"), "{}", remarks[0]);
        assert!(remarks[1].contains("about 0.3 of these"), "{}", remarks[1]);
        let remarks = before_the_table(&claims([yes, no, yes, yes, yes, yes]));
        assert!(remarks[0].contains("this reading of the logistic noise: symmetric"), "{}", remarks[0]);
        // Without the claims of both figures there is no remark on the truncation.
        assert_eq!(before_the_table(&claims([yes; 6])[..2]).len(), 1);
    }
}
