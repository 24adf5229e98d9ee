//! Owns which known name was probably meant by an unknown one.

/// Names longer than this are not compared.
const MAX_NAME_BYTES: usize = 64;
/// Names compared for one suggestion.
const MAX_CANDIDATES: usize = 1_000;

/// The candidate nearest to `name`, if it is near enough to be a slip: a third of its letters, or another way of writing
/// the same words (`maxResults`, `max_results`, `max-results`), or another form of the same word (`denied` for `deny`).
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return None;
    }
    let plain = plain(name);
    let allowed = (plain.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .take(MAX_CANDIDATES)
        .filter(|candidate| candidate.len() <= MAX_NAME_BYTES && *candidate != name)
        .map(|candidate| (distance(&plain, &self::plain(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.chars().count())
        .min()
        .map(|(_, candidate)| candidate)
}

fn distance(name: &str, candidate: &str) -> usize {
    // A name that only begins the other one is a common short form: `repo` for `repository`.
    let begins = candidate.starts_with(name) || name.starts_with(candidate);
    let shorter = name.chars().count().min(candidate.chars().count());
    if begins && shorter >= 3 {
        return 1;
    }
    let shared = name.chars().zip(candidate.chars()).take_while(|(left, right)| left == right).count();
    let distance = strsim::osa_distance(name, candidate);
    if shared >= 3 && shared * 4 >= shorter * 3 { distance.min(2) } else { distance }
}

/// Letters and digits alone, in lower case.
fn plain(name: &str) -> String {
    let plain: String =
        name.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    if plain.is_empty() { name.to_owned() } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let known = ["query", "max_results", "repository", "owner", "id", "page", "per_page"];
        for (name, meant) in [
            ("quer", Some("query")),
            ("qeury", Some("query")),
            ("Query", Some("query")),
            ("maxResults", Some("max_results")),
            ("max-results", Some("max_results")),
            ("repo", Some("repository")),
            ("ownr", Some("owner")),
            ("pages", Some("page")),
            ("perpage", Some("per_page")),
            ("queried", Some("query")),
            ("query", None),
            ("colour", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, known), meant, "{name}");
        }
        assert_eq!(nearest(&"q".repeat(100), known), None);
    }
}
