//! Owns what a form for a tool's arguments looks like, filled in as far as it is: plain data for whoever draws it.

/// A form with what was filled in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FilledForm {
    /// The fields, in the order of the schema.
    pub fields: Vec<FormField>,
    /// The arguments as JSON, as far as they could be read.
    pub arguments: String,
    /// How many fields have a problem; with any, nothing should be called.
    pub problems: usize,
    /// Whether a field takes a file, so that the form has to be posted in parts.
    pub takes_files: bool,
}

/// One field.
#[derive(Debug, Clone, PartialEq)]
pub struct FormField {
    /// Where its value goes, as a pointer: what the controls post begins with it.
    pub place: String,
    /// Its name, in the server's words; for an item of a list its number.
    pub label: String,
    /// What it means, in the server's words.
    pub description: Option<String>,
    /// What fits, as in `whole number, at least 1`.
    pub fits: String,
    /// Whether it must be given, with everything around it.
    pub is_required: bool,
    /// What the server assumes without it, as JSON.
    pub default: Option<String>,
    /// How it is filled in.
    pub control: Control,
    /// What is wrong with what was filled in.
    pub problem: Option<String>,
    /// Whether the field can be written as JSON instead, or as a form again.
    pub switch: Switch,
    /// Whether it is an item that can be taken away.
    pub is_removable: bool,
}

/// Whether a field can be filled in another way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Switch {
    /// There is one way.
    #[default]
    None,
    /// It can be written as JSON.
    ToJson,
    /// It can be filled in by controls.
    ToControls,
}

/// How a field is filled in.
#[derive(Debug, Clone, PartialEq)]
pub enum Control {
    /// One line.
    Line {
        /// What was written.
        value: String,
        /// What the line is, for keyboards and pickers.
        kind: LineKind,
    },
    /// Several lines.
    Text {
        /// What was written.
        value: String,
    },
    /// One of several values.
    Choice {
        /// What there is; an optional field also has an empty choice, which is not among these.
        options: Vec<FormOption>,
    },
    /// Any of several values.
    Choices {
        /// What there is.
        options: Vec<FormOption>,
    },
    /// The content of a file, in base64.
    File {
        /// What was chosen before, in base64: a browser does not keep it.
        value: String,
    },
    /// JSON.
    Json {
        /// What was written.
        value: String,
    },
    /// Named fields.
    Group {
        /// The fields.
        fields: Vec<FormField>,
        /// Entries beside them, if any names are taken.
        entries: Option<Vec<FormEntry>>,
    },
    /// Items, each a field of its own.
    List {
        /// The items.
        items: Vec<FormField>,
        /// Whether there may be more.
        may_grow: bool,
    },
    /// One of several forms.
    Either {
        /// Which there are; the chosen one is marked.
        options: Vec<FormOption>,
        /// The chosen one.
        field: Box<FormField>,
    },
    /// A value that is always the same.
    Fixed {
        /// As JSON.
        value: String,
    },
}

/// An entry whose name is free.
#[derive(Debug, Clone, PartialEq)]
pub struct FormEntry {
    /// Its name, as far as it was written.
    pub key: String,
    /// What the control of the name posts.
    pub key_name: String,
    /// Its value.
    pub field: FormField,
}

/// What a line is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LineKind {
    /// Any text.
    #[default]
    Text,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// A day.
    Date,
    /// An address of the web.
    Uri,
    /// An address for mail.
    Email,
}

/// One thing to choose.
#[derive(Debug, Clone, PartialEq)]
pub struct FormOption {
    /// What is posted.
    pub value: String,
    /// What is read.
    pub label: String,
    /// Whether it is chosen.
    pub is_chosen: bool,
}
