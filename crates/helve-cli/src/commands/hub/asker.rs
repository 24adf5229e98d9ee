//! What the system says about a process that asks the hub something: whether it runs below the hub, and whether it has a terminal.

/// So many parents are looked at.
const MOST_PARENTS: usize = 256;

/// What is known of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asker {
    /// It is a descendant of this process: a server, or something that one started.
    pub(super) is_below_us: bool,
    /// Its session has a terminal.
    pub(super) has_terminal: bool,
}

/// Looks at a process; `None` when the system does not tell.
pub(super) fn look(process: i32) -> Option<Asker> {
    let first = read(process)?;
    let us = i32::try_from(std::process::id()).ok()?;
    let mut parent = first.parent;
    let mut is_below_us = false;
    for _ in 0..MOST_PARENTS {
        if parent == us {
            is_below_us = true;
            break;
        }
        // A parent that has just gone was not ours: ours stay below our wardens.
        match read(parent).filter(|_| parent > 1) {
            Some(next) => parent = next.parent,
            None => break,
        }
    }
    Some(Asker { is_below_us, has_terminal: first.terminal != 0 })
}

struct Entry {
    parent: i32,
    terminal: i32,
}

/// `PID (name) state parent group session terminal …`: the name may hold anything, so it is read from its end.
fn read(process: i32) -> Option<Entry> {
    parse(&fs_err::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

fn parse(stat: &str) -> Option<Entry> {
    let (_, behind) = stat.rsplit_once(')')?;
    let mut words = behind.split_whitespace().skip(1);
    let parent = words.next()?.parse().ok()?;
    let terminal = words.nth(2)?.parse().ok()?;
    Some(Entry { parent, terminal })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_is_read_from_its_end() {
        let entry = parse("7 (a) S 1 (b) R 42 7 7 34816 7 4194304").expect("an entry");
        assert_eq!((entry.parent, entry.terminal), (42, 34_816));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a child to look at, which is ended at once")]
    fn a_child_is_below_us_and_a_parent_is_not() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("a child");
        let of_child = look(i32::try_from(child.id()).expect("a number")).expect("a process");
        child.kill().expect("an end");
        child.wait().expect("an end");
        assert!(of_child.is_below_us);
        let parent = read(i32::try_from(std::process::id()).expect("a number")).expect("this one").parent;
        assert!(look(parent).is_none_or(|parent| !parent.is_below_us));
    }
}
