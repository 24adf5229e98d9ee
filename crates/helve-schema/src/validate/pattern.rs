//! Owns what a regular expression of a schema may cost: its size is estimated from its text before it is compiled.
//!
//! Patterns run on a linear engine, so no text can make them explode; but compiling one, and running it, grows with its
//! size after repetitions are written out (`(a{1000}){1000}` is a million), which is what is counted here.

/// Atoms of one pattern, repetitions written out. Past this a pattern is not checked.
pub const MAX_PATTERN_ATOMS: u32 = 10_000;
/// Atoms of all patterns of one schema together.
pub const MAX_PATTERN_ATOMS_IN_SCHEMA: u32 = 40_000;

/// What a pattern counts for whatever it says.
const ATOMS_PER_PATTERN: u32 = 80;
/// What a class costs to compile, measured in single characters: `[^a]` and `.`, then `\S`, then `\p{L}` with its
/// hundreds of ranges.
const ATOMS_PER_OPEN_CLASS: u32 = 16;
const ATOMS_PER_SPACE_CLASS: u32 = 50;
const ATOMS_PER_UNICODE_CLASS: u32 = 800;
/// Deeper groups are not worth following.
const MAX_GROUPS: usize = 50;

type Characters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Keeps patterns while they are affordable, one by one and all together.
pub(crate) fn affordable() -> impl FnMut(&str) -> bool {
    let mut spent = 0_u32;
    move |pattern| {
        let atoms = atoms(pattern);
        let total = spent.saturating_add(atoms).saturating_add(ATOMS_PER_PATTERN);
        let affordable = atoms <= MAX_PATTERN_ATOMS && total <= MAX_PATTERN_ATOMS_IN_SCHEMA;
        if affordable {
            spent = total;
        }
        affordable
    }
}

/// An upper estimate of the atoms of a pattern once its repetitions are written out. It need not understand the
/// pattern: whatever the engine refuses is refused later.
pub(crate) fn atoms(pattern: &str) -> u32 {
    // One sum per open group; the last atom or group is what a repetition repeats.
    let mut sums = vec![0_u32];
    let mut last = 0_u32;
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        let atom = match character {
            '(' => {
                if sums.len() > MAX_GROUPS {
                    return u32::MAX;
                }
                sums.push(0);
                last = 0;
                continue;
            }
            ')' => {
                let group = if sums.len() > 1 { sums.pop().unwrap_or(0) } else { 0 };
                group.max(1)
            }
            '{' => {
                let repeat = repetition(&mut characters);
                if let Some(sum) = sums.last_mut() {
                    *sum = sum.saturating_add(last.saturating_mul(repeat.saturating_sub(1)));
                }
                last = last.saturating_mul(repeat.max(1));
                continue;
            }
            // One more copy of what stands before, at most.
            '*' | '+' | '?' => last,
            '[' => class(&mut characters),
            '\\' => match characters.next() {
                Some(class) => escape(class, &mut characters),
                None => 1,
            },
            '.' => ATOMS_PER_OPEN_CLASS,
            _ => 1,
        };
        if !matches!(character, '*' | '+' | '?') {
            last = atom;
        }
        if let Some(sum) = sums.last_mut() {
            *sum = sum.saturating_add(atom);
        }
    }
    sums.into_iter().fold(0, u32::saturating_add)
}

fn escape(character: char, rest: &mut Characters<'_>) -> u32 {
    // The name of a class in braces is not a repetition, nor is the number of a code point.
    if matches!(character, 'p' | 'P' | 'u' | 'x') && rest.peek() == Some(&'{') {
        rest.by_ref().take_while(|next| *next != '}').for_each(drop);
    }
    match character {
        'p' | 'P' => ATOMS_PER_UNICODE_CLASS,
        's' | 'S' => ATOMS_PER_SPACE_CLASS,
        'D' | 'W' => ATOMS_PER_OPEN_CLASS,
        _ => 1,
    }
}

/// The larger number of `{n}`, `{n,}` or `{n,m}`; 1 if it is none of them.
fn repetition(characters: &mut Characters<'_>) -> u32 {
    let mut numbers = [0_u32; 2];
    let mut which = 0;
    while let Some(&character) = characters.peek() {
        match character {
            ',' if which == 0 => which = 1,
            '}' => {
                characters.next();
                return numbers[0].max(numbers[1]);
            }
            digit => {
                let Some(digit) = digit.to_digit(10) else { return 1 };
                if let Some(number) = numbers.get_mut(which) {
                    *number = number.saturating_mul(10).saturating_add(digit);
                }
            }
        }
        characters.next();
    }
    1
}

/// Reads a class to its end; nested ones count with it.
fn class(characters: &mut Characters<'_>) -> u32 {
    let mut atoms = if characters.peek() == Some(&'^') { ATOMS_PER_OPEN_CLASS } else { 1 };
    let mut depth = 1;
    let mut first = true;
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                if let Some(class) = characters.next() {
                    atoms = atoms.saturating_add(escape(class, characters) - 1);
                }
            }
            '[' => depth += 1,
            ']' if !first => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            other if !other.is_ascii() => atoms = atoms.saturating_add(4),
            _ => {}
        }
        first = first && character == '^';
    }
    atoms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_written_out() {
        for (pattern, expected) in [
            ("", 0),
            ("^abc$", 5),
            ("a{10}", 10),
            ("a{2,10}", 10),
            ("a{3,}", 3),
            ("(ab){5}", 10),
            ("(a{1000}){1000}", 1_000_000),
            ("((((a{99}){99}){99}){99}){99}", u32::MAX),
            ("[a-z]{40}", 40),
            ("a{b}", 3),
            (r"\p{L}{3}", 3 * ATOMS_PER_UNICODE_CLASS),
            (r"\u{1F600}{3}", 3),
            ("[^a]{2}", 2 * ATOMS_PER_OPEN_CLASS),
            ("[]]", 1),
            ("a|b", 3),
            ("x*", 2),
            ("a{0}", 1),
        ] {
            assert_eq!(atoms(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn deep_groups_are_not_followed() {
        assert_eq!(atoms(&format!("{}a{}", "(".repeat(100), ")".repeat(100))), u32::MAX);
    }

    #[test]
    fn patterns_are_affordable_one_by_one_and_together() {
        let mut keep = affordable();
        assert!(!keep("a{10001}"));
        assert!((0..3).all(|_| keep("a{9000}")));
        assert!(keep("a{9000}"));
        assert!(!keep("a{9000}"), "the schema has had its share");
        assert!(keep("^a$"), "a small one still fits");
    }
}
