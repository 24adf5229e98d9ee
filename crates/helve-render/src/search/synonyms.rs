//! Owns how the table of synonyms is read, and what a word of a query stands for besides itself.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::words::Stems;

/// The table, as people read and change it.
const TABLE: &str = include_str!("synonyms.txt");

/// The longest key, in words.
pub(super) const LONGEST_KEY: usize = 3;

/// What the table says.
pub(super) static SYNONYMS: LazyLock<Synonyms> = LazyLock::new(|| Synonyms::read(TABLE));

#[derive(Debug, Default)]
pub(super) struct Synonyms {
    /// From the stems of a word or phrase, with one space between, to terms and their share of the weight.
    by_key: HashMap<String, Vec<(String, f32)>>,
    weak: Vec<String>,
}

impl Synonyms {
    /// What else is looked for where these words stand.
    pub(super) fn of(&self, stems: &str) -> &[(String, f32)] {
        self.by_key.get(stems).map_or(&[], Vec::as_slice)
    }

    /// True for a word that people put around what they want.
    pub(super) fn is_weak(&self, stem: &str) -> bool {
        self.weak.binary_search_by(|weak| weak.as_str().cmp(stem)).is_ok()
    }

    fn read(table: &str) -> Self {
        let stems = Stems::new();
        let mut read = Self::default();
        let phrase =
            |text: &str| text.split_whitespace().map(|word| stems.of(word).into_owned()).collect::<Vec<String>>();
        let phrases = |text: &str| text.split(',').map(phrase).filter(|phrase| !phrase.is_empty()).collect::<Vec<_>>();
        for line in table.lines() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if let Some(weak) = line.strip_prefix("weak:") {
                read.weak.extend(phrases(weak).into_iter().flatten());
            } else if let Some((from, to)) = line.split_once("->") {
                let to = phrases(to);
                phrases(from).iter().for_each(|from| read.add(from, &to));
            } else {
                let group = phrases(line);
                group.iter().for_each(|from| read.add(from, &group));
            }
        }
        read.weak.sort_unstable();
        read.weak.dedup();
        read
    }

    fn add(&mut self, from: &[String], to: &[Vec<String>]) {
        let terms = self.by_key.entry(from.join(" ")).or_default();
        for phrase in to.iter().filter(|phrase| phrase.as_slice() != from) {
            // One word of a phrase is a weaker sign than a word that says it alone.
            let share = if phrase.len() == 1 { 1.0 } else { PART_OF_A_PHRASE };
            for word in phrase {
                match terms.iter_mut().find(|(term, _)| term == word) {
                    Some((_, known)) => *known = known.max(share),
                    None if from.contains(word) => {}
                    None => terms.push((word.clone(), share)),
                }
            }
        }
    }
}

/// How much one word of a phrase counts of what the phrase would.
const PART_OF_A_PHRASE: f32 = 0.6;
