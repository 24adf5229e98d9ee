//! Owns how values are found in a URI again. The template becomes a small program, run so that no state is visited
//! twice: the work is the length of the program times the length of the URI, whatever the template.

use std::collections::BTreeMap;

use super::{Expression, MAX_URI_BYTES, Modifier, Operator, Part, TemplateValue, TemplateValues, Variable};

/// States looked at in one match: instructions times positions.
const MAX_STATES: usize = 8 * 1024 * 1024;

pub(super) fn matches(parts: &[Part], uri: &str) -> Option<TemplateValues> {
    if uri.len() > MAX_URI_BYTES || uri.chars().any(|character| character.is_control() || character == ' ') {
        return None;
    }
    let program = Program::of(parts)?;
    let found = program.run(uri.as_bytes())?;
    let mut values = BTreeMap::new();
    for (capture, span) in program.captures.iter().zip(found) {
        let Some((start, end)) = span else { continue };
        let value = capture.value(uri.get(start..end)?)?;
        // One name has one value, however often it stands there.
        match values.get(&capture.name) {
            Some(earlier) if *earlier != value => return None,
            _ => drop(values.insert(capture.name.clone(), value)),
        }
    }
    Some(values)
}

enum Instruction {
    /// This text.
    Text(String),
    /// One byte that is not among these.
    Other(&'static [u8]),
    /// First the one, then the other.
    Try(usize, usize),
    Start(usize),
    End(usize),
    Done,
}

struct Capture {
    name: String,
    kind: Captured,
}

enum Captured {
    /// As it stands.
    Kept,
    /// Decoded.
    Decoded,
    /// Decoded, and split here.
    Split(char),
}

#[derive(Default)]
struct Program {
    instructions: Vec<Instruction>,
    captures: Vec<Capture>,
}

type Spans = Vec<Option<(usize, usize)>>;

impl Program {
    fn of(parts: &[Part]) -> Option<Self> {
        let mut program = Self::default();
        for part in parts {
            match part {
                Part::Literal(text) => program.text(text),
                Part::Expression(expression) => program.expression(expression)?,
            }
        }
        program.instructions.push(Instruction::Done);
        Some(program)
    }

    fn expression(&mut self, expression: &Expression) -> Option<()> {
        let (operator, variables) = (expression.operator, &expression.variables);
        if variables.iter().any(|variable| matches!(variable.modifier, Modifier::Prefix(_))) {
            return None;
        }
        if operator.is_named() {
            return self.named(operator, variables);
        }
        // Values are left out from the end: `{x,y}` is found as `x` alone.
        let is_optional = !matches!(operator, Operator::Simple | Operator::Reserved);
        let mut skips = Vec::new();
        for (index, variable) in variables.iter().enumerate() {
            if is_optional || index > 0 {
                skips.push(self.skip());
            }
            self.text(if index == 0 { operator.first() } else { operator.separator() });
            self.value(operator, variable, variables.len() > 1);
        }
        let end = self.instructions.len();
        skips.into_iter().for_each(|skip| self.land(skip, end));
        Some(())
    }

    /// Any of the variables, in their order: `?a=1&b=2`, `?b=2`, or nothing.
    fn named(&mut self, operator: Operator, variables: &[Variable]) -> Option<()> {
        if variables.iter().any(|variable| variable.modifier == Modifier::Explode) {
            return None;
        }
        // Two rows: no value yet, and some. The first row leads into the second at each variable.
        let mut entries = Vec::new();
        for variable in variables {
            let skip = self.skip();
            self.text(operator.first());
            let capture = self.capture(variable, Captured::Decoded);
            self.named_value(operator, variable, capture);
            let jump = self.skip();
            entries.push((jump, capture));
            let here = self.instructions.len();
            self.land(skip, here);
        }
        let nothing = self.skip();
        for (index, variable) in variables.iter().enumerate() {
            if index > 0 {
                let skip = self.skip();
                self.text(operator.separator());
                if let Some((_, capture)) = entries.get(index) {
                    self.named_value(operator, variable, *capture);
                }
                let here = self.instructions.len();
                self.land(skip, here);
            }
            let here = self.instructions.len();
            if let Some((jump, _)) = entries.get(index) {
                self.jump(*jump, here);
            }
        }
        let end = self.instructions.len();
        self.jump(nothing, end);
        Some(())
    }

    /// `x=1`; a parameter of an empty value stands without the sign.
    fn named_value(&mut self, operator: Operator, variable: &Variable, capture: usize) {
        self.text(&variable.name);
        let without_sign = (operator == Operator::Parameter).then(|| self.skip());
        self.text("=");
        self.instructions.push(Instruction::Start(capture));
        self.some(if operator == Operator::Parameter { b"/?#&;," } else { b"#&," });
        self.instructions.push(Instruction::End(capture));
        if let Some(without_sign) = without_sign {
            let over = self.skip();
            let here = self.instructions.len();
            self.land(without_sign, here);
            self.instructions.push(Instruction::Start(capture));
            self.instructions.push(Instruction::End(capture));
            let end = self.instructions.len();
            self.jump(over, end);
        }
    }

    fn value(&mut self, operator: Operator, variable: &Variable, has_neighbours: bool) {
        let explodes = variable.modifier == Modifier::Explode;
        let (stops, kind): (&'static [u8], Captured) = match (operator, explodes) {
            (Operator::Reserved | Operator::Fragment, true) => (b"", Captured::Kept),
            (Operator::Reserved | Operator::Fragment, false) if has_neighbours => (b",", Captured::Kept),
            (Operator::Reserved | Operator::Fragment, false) => (b"", Captured::Kept),
            (Operator::Label, true) => (b"/?#,", Captured::Split('.')),
            (Operator::Label, false) if has_neighbours => (b"/?#,.", Captured::Decoded),
            (Operator::Path, true) => (b"?#,", Captured::Split('/')),
            (Operator::Simple, true) => (b"/?#", Captured::Split(',')),
            _ => (b"/?#,", Captured::Decoded),
        };
        let capture = self.capture(variable, kind);
        self.instructions.push(Instruction::Start(capture));
        self.instructions.push(Instruction::Other(stops));
        self.some(stops);
        self.instructions.push(Instruction::End(capture));
    }

    /// Any number of bytes that are not among these, as many as possible.
    fn some(&mut self, stops: &'static [u8]) {
        let here = self.instructions.len();
        self.instructions.push(Instruction::Try(here + 1, here + 3));
        self.instructions.push(Instruction::Other(stops));
        self.instructions.push(Instruction::Try(here, here));
    }

    fn text(&mut self, text: &str) {
        self.instructions.push(Instruction::Text(text.to_owned()));
    }

    fn capture(&mut self, variable: &Variable, kind: Captured) -> usize {
        self.captures.push(Capture { name: variable.name.clone(), kind });
        self.captures.len() - 1
    }

    /// A fork: first what follows, then where it will land.
    fn skip(&mut self) -> usize {
        let here = self.instructions.len();
        self.instructions.push(Instruction::Try(here + 1, here + 1));
        here
    }

    fn land(&mut self, fork: usize, target: usize) {
        if let Some(instruction) = self.instructions.get_mut(fork) {
            *instruction = Instruction::Try(fork + 1, target);
        }
    }

    fn jump(&mut self, fork: usize, target: usize) {
        if let Some(instruction) = self.instructions.get_mut(fork) {
            *instruction = Instruction::Try(target, target);
        }
    }

    fn run(&self, uri: &[u8]) -> Option<Spans> {
        let positions = uri.len() + 1;
        let states = self.instructions.len().checked_mul(positions).filter(|states| *states <= MAX_STATES)?;
        let mut visited = vec![false; states];
        let mut spans: Spans = vec![None; self.captures.len()];
        let mut starts = vec![0; self.captures.len()];
        let mut waiting = vec![Step::At(0, 0)];
        while let Some(step) = waiting.pop() {
            let (mut at, mut position) = match step {
                Step::At(at, position) => (at, position),
                Step::Restore(capture, span) => {
                    *spans.get_mut(capture)? = span;
                    continue;
                }
                Step::RestoreStart(capture, start) => {
                    *starts.get_mut(capture)? = start;
                    continue;
                }
            };
            while !std::mem::replace(visited.get_mut(at * positions + position)?, true) {
                match self.instructions.get(at)? {
                    Instruction::Text(text) if uri.get(position..)?.starts_with(text.as_bytes()) => {
                        (at, position) = (at + 1, position + text.len());
                    }
                    Instruction::Other(stops) if uri.get(position).is_some_and(|byte| !stops.contains(byte)) => {
                        (at, position) = (at + 1, position + 1);
                    }
                    Instruction::Text(_) | Instruction::Other(_) => break,
                    Instruction::Try(first, second) => {
                        if first != second {
                            waiting.push(Step::At(*second, position));
                        }
                        at = *first;
                    }
                    Instruction::Start(capture) => {
                        let start = starts.get_mut(*capture)?;
                        waiting.push(Step::RestoreStart(*capture, *start));
                        *start = position;
                        at += 1;
                    }
                    Instruction::End(capture) => {
                        let span = spans.get_mut(*capture)?;
                        waiting.push(Step::Restore(*capture, *span));
                        *span = Some((*starts.get(*capture)?, position));
                        at += 1;
                    }
                    Instruction::Done if position == uri.len() => return Some(spans),
                    Instruction::Done => break,
                }
            }
        }
        None
    }
}

/// What is left to try, and what to undo before.
enum Step {
    At(usize, usize),
    Restore(usize, Option<(usize, usize)>),
    RestoreStart(usize, usize),
}

impl Capture {
    fn value(&self, text: &str) -> Option<TemplateValue> {
        match self.kind {
            Captured::Kept => Some(TemplateValue::Text(text.to_owned())),
            Captured::Decoded => decoded(text).map(TemplateValue::Text),
            Captured::Split(separator) => {
                text.split(separator).map(decoded).collect::<Option<_>>().map(TemplateValue::List)
            }
        }
    }
}

/// The text without its encoding; nothing if that is broken or is not UTF-8.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16));
            let (high, low) = (digit()?, digit()?);
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
