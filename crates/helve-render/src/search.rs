//! Owns which tools fit some words, and in which order they are given.

/// How much a word counts in a tool's name, and in what is said about it.
const IN_NAME: usize = 3;
const IN_DESCRIPTION: usize = 1;

/// The names and descriptions that have any of the words of `query`, the best first; all of them where it has no words.
/// Of equals the first of `tools` stays first.
pub fn search<'a, D: AsRef<str>>(query: &str, tools: impl IntoIterator<Item = (&'a str, D)>) -> Vec<(&'a str, D)> {
    let query = query.to_lowercase();
    let words: Vec<&str> =
        query.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut found: Vec<(usize, &str, D)> = tools
        .into_iter()
        .filter_map(|(name, description)| {
            let (low_name, low_description) = (name.to_lowercase(), description.as_ref().to_lowercase());
            let score = words.iter().map(|word| {
                IN_NAME * usize::from(low_name.contains(word))
                    + IN_DESCRIPTION * usize::from(low_description.contains(word))
            });
            let score: usize = score.sum();
            (score > 0 || words.is_empty()).then_some((score, name, description))
        })
        .collect();
    found.sort_by_key(|(score, _, _)| std::cmp::Reverse(*score));
    found.into_iter().map(|(_, name, description)| (name, description)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_count_more_than_descriptions_and_equals_keep_their_order() {
        let tools = [("a/list", "Lists issues"), ("a/issue", "Reads one"), ("b/other", "Nothing"), ("c/issue", "Too")];
        let names = |query: &str| search(query, tools).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names("Issue"), ["a/issue", "c/issue", "a/list"]);
        assert_eq!(names("list ISSUES"), ["a/list"]);
        assert_eq!(names(" - "), ["a/list", "a/issue", "b/other", "c/issue"]);
        assert!(names("absent").is_empty());
    }
}
