//! Owns what a URI template of a server means (RFC 6570, all four levels): its parts, the URI it makes of values, and the
//! values it finds in a URI.

mod expand;
mod matching;

use std::collections::BTreeMap;
use std::fmt;

use crate::text::{SHOWN_CHARACTERS, named, nearest, quoted};

/// Bytes of a template.
pub const MAX_TEMPLATE_BYTES: usize = 8 * 1024;
/// Variables of a template, each use counted.
pub const MAX_TEMPLATE_VARIABLES: usize = 100;
/// Bytes of a URI that a template makes or is compared with.
pub const MAX_URI_BYTES: usize = 64 * 1024;
/// The longest prefix the RFC knows.
const MAX_PREFIX: usize = 9_999;

/// A URI template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriTemplate {
    parts: Vec<Part>,
}

/// What a variable stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateValue {
    /// A text.
    Text(String),
    /// Some texts; an empty list counts as no value.
    List(Vec<String>),
    /// Names with texts, in order; an empty one counts as no value.
    Map(Vec<(String, String)>),
}

/// The values of variables, by name.
pub type TemplateValues = BTreeMap<String, TemplateValue>;

/// Why a text is not a URI template.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TemplateProblem {
    /// It is too long to be looked at.
    TooLong {
        /// Its length in bytes.
        bytes: usize,
        /// The cap.
        limit: usize,
    },
    /// It has more variables than are looked at.
    TooManyVariables {
        /// The cap.
        limit: usize,
    },
    /// A brace opens and does not close, or closes and did not open; where.
    Brace {
        /// The byte at which it stands.
        at: usize,
    },
    /// A character that no URI has room for, not even encoded by the template.
    HiddenCharacter {
        /// The byte at which it stands.
        at: usize,
    },
    /// `=`, `,`, `!`, `@` and `|` are kept for the future.
    UnknownOperator(char),
    /// What stands between braces is not a variable.
    BadVariable(String),
}

/// Why values do not make a URI.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FillProblem {
    /// Variables without a value.
    Missing(Vec<String>),
    /// Values for variables that the template does not have, each with the name probably meant.
    Unknown(Vec<(String, Option<String>)>),
    /// The first characters of a list or a map were asked for.
    PrefixOfMany(String),
    /// The URI would be too long.
    TooLong {
        /// The cap in bytes.
        limit: usize,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    Expression(Expression),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Expression {
    operator: Operator,
    variables: Vec<Variable>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Variable {
    name: String,
    modifier: Modifier,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Modifier {
    None,
    Prefix(usize),
    Explode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    /// `{x}`
    Simple,
    /// `{+x}`
    Reserved,
    /// `{#x}`
    Fragment,
    /// `{.x}`
    Label,
    /// `{/x}`
    Path,
    /// `{;x}`
    Parameter,
    /// `{?x}`
    Query,
    /// `{&x}`
    Continuation,
}

impl UriTemplate {
    /// Reads a template. Names may have a hyphen, which the RFC does not allow and servers use.
    ///
    /// # Errors
    /// When it is not a template, or beyond the limits.
    pub fn parse(template: &str) -> Result<Self, TemplateProblem> {
        if template.len() > MAX_TEMPLATE_BYTES {
            return Err(TemplateProblem::TooLong { bytes: template.len(), limit: MAX_TEMPLATE_BYTES });
        }
        if let Some((at, _)) = template.char_indices().find(|(_, character)| character.is_control()) {
            return Err(TemplateProblem::HiddenCharacter { at });
        }
        let mut parts = Vec::new();
        let mut variables = 0;
        let mut rest = template;
        while !rest.is_empty() {
            let here = template.len() - rest.len();
            let (literal, expression) =
                rest.split_once('{').map_or((rest, None), |(before, after)| (before, Some(after)));
            if let Some(brace) = literal.find('}') {
                return Err(TemplateProblem::Brace { at: here + brace });
            }
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.to_owned()));
            }
            let Some(expression) = expression else { break };
            let unclosed = TemplateProblem::Brace { at: here + literal.len() };
            let (inside, after) = expression.split_once('}').ok_or_else(|| unclosed.clone())?;
            if inside.contains('{') {
                return Err(unclosed);
            }
            let expression = Expression::parse(inside)?;
            variables += expression.variables.len();
            if variables > MAX_TEMPLATE_VARIABLES {
                return Err(TemplateProblem::TooManyVariables { limit: MAX_TEMPLATE_VARIABLES });
            }
            parts.push(Part::Expression(expression));
            rest = after;
        }
        Ok(Self { parts })
    }

    /// The names of the variables, in order, each once.
    pub fn variables(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for variable in self.expressions().flat_map(|expression| &expression.variables) {
            if !names.contains(&variable.name.as_str()) {
                names.push(&variable.name);
            }
        }
        names
    }

    /// The names of the variables without which the URI would have a hole: all but those of queries and parameters,
    /// which are left out with their name.
    pub fn required_variables(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for expression in self.expressions() {
            if matches!(expression.operator, Operator::Parameter | Operator::Query | Operator::Continuation) {
                continue;
            }
            for variable in &expression.variables {
                if !names.contains(&variable.name.as_str()) {
                    names.push(&variable.name);
                }
            }
        }
        names
    }

    /// The URI for these values, by the letter of the RFC: variables without a value are left out.
    ///
    /// # Errors
    /// When a prefix of a list or a map is asked for, or the URI would be too long.
    pub fn expand(&self, values: &TemplateValues) -> Result<String, FillProblem> {
        expand::expand(&self.parts, values)
    }

    /// The URI for these values, as a person wants it: every required variable has a value, and every value a variable.
    ///
    /// # Errors
    /// When one is missing or unknown, and as [`UriTemplate::expand`].
    pub fn fill(&self, values: &TemplateValues) -> Result<String, FillProblem> {
        let names = self.variables();
        let unknown: Vec<(String, Option<String>)> = values
            .keys()
            .filter(|name| !names.contains(&name.as_str()))
            .map(|name| (name.clone(), nearest(name, names.iter().copied()).map(str::to_owned)))
            .collect();
        if !unknown.is_empty() {
            return Err(FillProblem::Unknown(unknown));
        }
        let is_missing = |name: &&str| values.get(*name).is_none_or(TemplateValue::is_nothing);
        let missing: Vec<String> =
            self.required_variables().into_iter().filter(is_missing).map(str::to_owned).collect();
        if missing.is_empty() { self.expand(values) } else { Err(FillProblem::Missing(missing)) }
    }

    /// The values with which this template makes a URI, or nothing if it does not make it.
    ///
    /// A variable outside queries and parameters takes at least one character. `{x}` stops at `/`, `?`, `#` and `,`;
    /// `{+x}` and `{#x}` stop nowhere and give the value as it stands in the URI, the others decoded. Queries have their
    /// variables in the order of the template. A prefix (`{x:3}`), and a map (`{?x*}`), cannot be taken back: such
    /// templates match nothing.
    pub fn matches(&self, uri: &str) -> Option<TemplateValues> {
        matching::matches(&self.parts, uri)
    }

    fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.parts.iter().filter_map(|part| match part {
            Part::Expression(expression) => Some(expression),
            Part::Literal(_) => None,
        })
    }
}

impl TemplateValue {
    /// An empty list and an empty map count as no value; an empty text is one.
    fn is_nothing(&self) -> bool {
        match self {
            Self::Text(_) => false,
            Self::List(items) => items.is_empty(),
            Self::Map(members) => members.is_empty(),
        }
    }
}

impl From<&str> for TemplateValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for TemplateValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl Expression {
    fn parse(inside: &str) -> Result<Self, TemplateProblem> {
        let mut rest = inside.chars();
        let (operator, list) = match rest.next() {
            Some(reserved @ ('=' | ',' | '!' | '@' | '|')) => return Err(TemplateProblem::UnknownOperator(reserved)),
            Some(first) => Operator::of(first).map_or((Operator::Simple, inside), |operator| (operator, rest.as_str())),
            None => return Err(TemplateProblem::BadVariable(String::new())),
        };
        let variables = list.split(',').map(Variable::parse).collect::<Result<_, _>>()?;
        Ok(Self { operator, variables })
    }
}

impl Variable {
    fn parse(text: &str) -> Result<Self, TemplateProblem> {
        let bad = || TemplateProblem::BadVariable(text.to_owned());
        let (name, modifier) = if let Some(name) = text.strip_suffix('*') {
            (name, Modifier::Explode)
        } else if let Some((name, length)) = text.split_once(':') {
            let is_number = length.bytes().all(|byte| byte.is_ascii_digit()) && !length.starts_with('0');
            let length = length.parse().ok().filter(|length| is_number && *length <= MAX_PREFIX).ok_or_else(bad)?;
            (name, Modifier::Prefix(length))
        } else {
            (text, Modifier::None)
        };
        if is_name(name) { Ok(Self { name: name.to_owned(), modifier }) } else { Err(bad()) }
    }
}

impl Operator {
    const fn of(character: char) -> Option<Self> {
        match character {
            '+' => Some(Self::Reserved),
            '#' => Some(Self::Fragment),
            '.' => Some(Self::Label),
            '/' => Some(Self::Path),
            ';' => Some(Self::Parameter),
            '?' => Some(Self::Query),
            '&' => Some(Self::Continuation),
            _ => None,
        }
    }

    /// What stands before the first value.
    const fn first(self) -> &'static str {
        match self {
            Self::Simple | Self::Reserved => "",
            Self::Fragment => "#",
            Self::Label => ".",
            Self::Path => "/",
            Self::Parameter => ";",
            Self::Query => "?",
            Self::Continuation => "&",
        }
    }

    /// What stands between two values.
    const fn separator(self) -> &'static str {
        match self {
            Self::Simple | Self::Reserved | Self::Fragment => ",",
            Self::Label => ".",
            Self::Path => "/",
            Self::Parameter => ";",
            Self::Query | Self::Continuation => "&",
        }
    }

    /// Whether values stand with their names.
    const fn is_named(self) -> bool {
        matches!(self, Self::Parameter | Self::Query | Self::Continuation)
    }

    /// Whether reserved characters stand as they are.
    const fn keeps_reserved(self) -> bool {
        matches!(self, Self::Reserved | Self::Fragment)
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            match part {
                Part::Literal(text) => f.write_str(text)?,
                Part::Expression(Expression { operator, variables }) => {
                    f.write_str("{")?;
                    f.write_str(if *operator == Operator::Reserved { "+" } else { operator.first() })?;
                    for (index, variable) in variables.iter().enumerate() {
                        f.write_str(if index > 0 { "," } else { "" })?;
                        f.write_str(&variable.name)?;
                        match variable.modifier {
                            Modifier::None => {}
                            Modifier::Prefix(length) => write!(f, ":{length}")?,
                            Modifier::Explode => f.write_str("*")?,
                        }
                    }
                    f.write_str("}")?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for TemplateProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { bytes, limit } => write!(f, "a URI template of {bytes} bytes, the limit is {limit}"),
            Self::TooManyVariables { limit } => write!(f, "a URI template of more than {limit} variables"),
            Self::Brace { at } => write!(f, "the brace at byte {at} of the URI template has no other half"),
            Self::HiddenCharacter { at } => write!(f, "a control character at byte {at} of the URI template"),
            Self::UnknownOperator(operator) => {
                write!(f, "the operator {operator:?} of the URI template is kept for the future")
            }
            Self::BadVariable(text) => {
                write!(f, "{} is not a variable of a URI template", quoted(text, SHOWN_CHARACTERS))
            }
        }
    }
}

impl std::error::Error for TemplateProblem {}

impl fmt::Display for FillProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(names) => {
                let names: Vec<String> = names.iter().map(|name| named(name)).collect();
                let noun = if names.len() == 1 { "variable" } else { "variables" };
                write!(f, "the URI template needs a value for the {noun} {}", names.join(", "))
            }
            Self::Unknown(names) => {
                let told: Vec<String> = names
                    .iter()
                    .map(|(name, meant)| match meant {
                        Some(meant) => format!("{} (did you mean {}?)", named(name), named(meant)),
                        None => named(name),
                    })
                    .collect();
                let noun = if names.len() == 1 { "variable" } else { "variables" };
                write!(f, "the URI template has no {noun} {}", told.join(", "))
            }
            Self::PrefixOfMany(name) => {
                write!(f, "the URI template takes the first characters of {}, which must be one text", named(name))
            }
            Self::TooLong { limit } => write!(f, "the URI would have more than {limit} bytes"),
        }
    }
}

impl std::error::Error for FillProblem {}

/// Letters, digits, `_`, `-` and encoded bytes, with single dots between them.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.split('.').all(is_name_part)
}

fn is_name_part(part: &str) -> bool {
    let mut bytes = part.bytes();
    let mut empty = true;
    while let Some(byte) = bytes.next() {
        empty = false;
        let fits = match byte {
            b'%' => {
                bytes.next().is_some_and(|byte| byte.is_ascii_hexdigit())
                    && bytes.next().is_some_and(|byte| byte.is_ascii_hexdigit())
            }
            byte => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
        };
        if !fits {
            return false;
        }
    }
    !empty
}

#[cfg(test)]
#[path = "uri_template_tests.rs"]
mod tests;
