//! A mark stands for one secret of one file, and gives nothing else back.

use std::collections::HashMap;

use super::{KEPT, Masks};

#[test]
fn a_mark_says_nothing_and_is_known_again() {
    let (masks, others) = (Masks::new([1; 32]), Masks::new([2; 32]));
    let mark = masks.mark("hunter2");
    assert_ne!(mark, others.mark("hunter2"), "it depends on the key");
    assert!(!mark.contains("hunter2"));
    let known = HashMap::from([(mark.clone(), "hunter2".to_owned())]);
    assert_eq!(masks.unmasked(&format!("a = \"{mark}\"\nb"), &known), Ok("a = \"hunter2\"\nb".to_owned()));
    assert_eq!(masks.unmasked("plain\ntext", &known), Ok("plain\ntext".to_owned()));
    assert_eq!(masks.unmasked("one\ntwo •••0123456789ab", &known), Err(2), "nobody's");
    assert_eq!(masks.unmasked("•••", &known), Err(1), "half a mark");
}

#[test]
fn what_is_typed_is_forgotten_in_the_end() {
    let masks = Masks::new([1; 32]);
    let first = masks.remember("first");
    assert_eq!(masks.unmasked(&first, &HashMap::new()), Ok("first".to_owned()));
    for number in 0..KEPT {
        masks.remember(&number.to_string());
    }
    assert_eq!(masks.unmasked(&first, &HashMap::new()), Err(1));
}
