//! Owns how the form of a tool is drawn: each control with its label, its help and its problem, groups inside groups. All
//! buttons are submit buttons, so that lists grow and alternatives change without script.

use std::fmt::Write as _;

use helve_schema::{Control, FormField, FormOption, LineKind, Switch};

use crate::escape::{exactly, marked, visible};

/// The fields as HTML; `action` is where the form posts to.
pub(crate) fn form(fields: &[FormField], action: &str) -> String {
    let mut drawing = Drawing { html: String::new(), next: 0, action };
    for field in fields {
        drawing.field(field);
    }
    drawing.html
}

struct Drawing<'a> {
    html: String,
    /// Names of fields are a server's words, so the elements are numbered instead.
    next: usize,
    action: &'a str,
}

impl Drawing<'_> {
    fn write(&mut self, arguments: std::fmt::Arguments<'_>) {
        // Writing into a String cannot fail.
        let _: std::fmt::Result = self.html.write_fmt(arguments);
    }

    fn number(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    fn field(&mut self, field: &FormField) {
        let id = self.number();
        let is_group = matches!(
            field.control,
            Control::Group { .. } | Control::List { .. } | Control::Either { .. } | Control::Choices { .. }
        );
        let required = if field.is_required { " <b class=\"must\" title=\"required\">*</b>" } else { "" };
        let fits =
            if field.fits.is_empty() { String::new() } else { format!(" <small>{}</small>", marked(&field.fits)) };
        if is_group {
            self.write(format_args!(
                "<fieldset id=\"f{id}\"><legend>{}{required}{fits}</legend>",
                marked(&field.label)
            ));
        } else {
            self.write(format_args!(
                "<div class=\"field\"><div class=\"label\"><label for=\"c{id}\">{}{required}{fits}</label>",
                marked(&field.label)
            ));
        }
        if is_group && (field.is_removable || field.switch != Switch::None) {
            self.html.push_str("<div class=\"corner\">");
            self.buttons(field);
            self.html.push_str("</div>");
        } else {
            self.buttons(field);
        }
        if !is_group {
            self.html.push_str("</div>");
        }
        let mut described = String::new();
        if let Some(description) = &field.description {
            self.write(format_args!("<p class=\"help\" id=\"h{id}\">{}</p>", marked(description)));
            let _: std::fmt::Result = write!(described, "h{id} ");
        }
        if let Some(problem) = &field.problem {
            self.write(format_args!(
                "<p class=\"problem\" id=\"p{id}\">{} {}</p>",
                marked(&field.label),
                marked(problem)
            ));
            let _: std::fmt::Result = write!(described, "p{id} ");
        }
        self.control(field, id, described.trim());
        self.html.push_str(if is_group { "</fieldset>" } else { "</div>" });
    }

    /// The buttons of a field: as JSON, as a form, away with it.
    fn buttons(&mut self, field: &FormField) {
        let (place, label) = (exactly(&field.place), visible(&field.label));
        let mut button = |what: &str, shown: &str, said: &str| {
            self.write(format_args!(
                "<button class=\"tiny\" name=\"do\" value=\"{what}:{place}\" formnovalidate aria-label=\"{said}: {label}\" title=\"{said}\">{shown}</button>"
            ));
        };
        match field.switch {
            Switch::None => {}
            Switch::ToJson => button("json", "{ }", "Write as JSON"),
            Switch::ToControls => button("controls", "form", "Fill in by a form"),
        }
        if field.is_removable {
            button("remove", "×", "Remove");
        }
    }

    fn control(&mut self, field: &FormField, id: usize, described: &str) {
        // As it is: what is posted has to name the very place.
        let place = exactly(&field.place);
        let required = if field.is_required { " required" } else { "" };
        let described = if described.is_empty() { String::new() } else { format!(" aria-describedby=\"{described}\"") };
        let invalid = if field.problem.is_some() { " aria-invalid=\"true\"" } else { "" };
        let more = format!("{required}{described}{invalid}");
        let default = field.default.as_deref().map(visible).unwrap_or_default();
        let placeholder = if default.is_empty() { String::new() } else { format!(" placeholder=\"{default}\"") };
        match &field.control {
            Control::Line { value, kind } => {
                let kind = match kind {
                    LineKind::Text => "type=\"text\"",
                    LineKind::Integer => "type=\"text\" inputmode=\"numeric\"",
                    LineKind::Number => "type=\"text\" inputmode=\"decimal\"",
                    LineKind::Date => "type=\"date\"",
                    LineKind::Uri => "type=\"text\" inputmode=\"url\"",
                    LineKind::Email => "type=\"text\" inputmode=\"email\"",
                };
                self.write(format_args!(
                    "<input id=\"c{id}\" name=\"a{place}\" {kind} value=\"{}\" autocomplete=\"off\"{placeholder}{more}>",
                    exactly(value)
                ));
            }
            Control::Text { value } => self.area(id, &place, value, &format!("{placeholder}{more}"), 4),
            Control::Json { value } => {
                if field.switch == Switch::ToControls {
                    self.write(format_args!("<input type=\"hidden\" name=\"m{place}\" value=\"json\">"));
                }
                self.area(id, &place, value, &format!(" class=\"code\" spellcheck=\"false\"{placeholder}{more}"), 5);
            }
            Control::Choice { options } => {
                self.write(format_args!("<select id=\"c{id}\" name=\"a{place}\"{more}>"));
                let empty = if default.is_empty() { "—".to_owned() } else { format!("— ({default})") };
                self.write(format_args!("<option value=\"\">{empty}</option>"));
                self.options(options);
                self.html.push_str("</select>");
            }
            Control::Choices { options } => {
                for option in options {
                    let checked = if option.is_chosen { " checked" } else { "" };
                    self.write(format_args!(
                        "<label class=\"check\"><input type=\"checkbox\" name=\"a{place}\" value=\"{}\"{checked}> {}</label>",
                        visible(&option.value),
                        marked(&option.label)
                    ));
                }
            }
            Control::File { value } => {
                if !value.is_empty() {
                    self.write(format_args!(
                        "<input type=\"hidden\" name=\"a{place}\" value=\"{}\"><p class=\"help\">{} characters of base64 are kept; choose another file to replace them.</p>",
                        exactly(value),
                        value.len()
                    ));
                }
                let more = if value.is_empty() { more } else { more.replace(" required", "") };
                self.write(format_args!("<input id=\"c{id}\" name=\"f{place}\" type=\"file\"{more}>"));
            }
            Control::Fixed { value } => {
                self.write(format_args!("<output id=\"c{id}\"><code>{}</code></output>", marked(value)));
            }
            Control::Group { fields, entries } => {
                for inside in fields {
                    self.field(inside);
                }
                let Some(entries) = entries else { return };
                self.write(format_args!("<input type=\"hidden\" name=\"n{place}\" value=\"{}\">", entries.len()));
                for entry in entries {
                    let (name, id) = (exactly(&entry.key_name), self.number());
                    self.write(format_args!(
                        "<div class=\"entry\"><div class=\"field\"><label for=\"c{id}\">name</label><input id=\"c{id}\" name=\"{name}\" value=\"{}\" autocomplete=\"off\"></div>",
                        exactly(&entry.key)
                    ));
                    self.field(&entry.field);
                    self.html.push_str("</div>");
                }
                self.add(&place, "Add an entry", &field.label);
            }
            Control::List { items, may_grow } => {
                if *may_grow {
                    self.write(format_args!("<input type=\"hidden\" name=\"n{place}\" value=\"{}\">", items.len()));
                }
                for item in items {
                    self.field(item);
                }
                if *may_grow {
                    self.add(&place, "Add an item", &field.label);
                }
            }
            Control::Either { options, field: inside } => {
                let action = self.action.to_owned();
                self.write(format_args!(
                    "<div class=\"field\"><label for=\"u{id}\">form</label><span class=\"row\"><select id=\"u{id}\" name=\"u{place}\" hx-post=\"{action}\" hx-trigger=\"change\" hx-include=\"closest form\" hx-target=\"#main\" hx-select=\"#main\" hx-swap=\"outerMorph\">"
                ));
                self.options(options);
                self.write(format_args!(
                    "</select><button class=\"tiny\" name=\"do\" value=\"show\" formnovalidate aria-label=\"Show this form: {}\">show</button></span></div>",
                    visible(&field.label)
                ));
                match &inside.control {
                    Control::Group { .. } | Control::List { .. } | Control::Choices { .. } => {
                        self.control(inside, id, "");
                    }
                    _ => {
                        self.write(format_args!(
                            "<div class=\"field\"><label for=\"c{id}\">{}</label>",
                            marked(&inside.label)
                        ));
                        if let Some(problem) = &inside.problem {
                            self.write(format_args!("<p class=\"problem\">{}</p>", marked(problem)));
                        }
                        self.control(inside, id, "");
                        self.html.push_str("</div>");
                    }
                }
            }
        }
    }

    fn area(&mut self, id: usize, place: &str, value: &str, more: &str, least: usize) {
        let rows = (value.lines().count() + 1).clamp(least, 20);
        // The first line feed of a text area is not part of its text.
        self.write(format_args!(
            "<textarea id=\"c{id}\" name=\"a{place}\" rows=\"{rows}\"{more}>\n{}</textarea>",
            exactly(value)
        ));
    }

    fn options(&mut self, options: &[FormOption]) {
        for option in options {
            let selected = if option.is_chosen { " selected" } else { "" };
            self.write(format_args!(
                "<option value=\"{}\"{selected}>{}</option>",
                visible(&option.value),
                visible(&option.label)
            ));
        }
    }

    fn add(&mut self, place: &str, said: &str, label: &str) {
        self.write(format_args!(
            "<button class=\"small\" name=\"do\" value=\"add:{place}\" formnovalidate>{said} <span class=\"vh\">to {}</span></button>",
            visible(label)
        ));
    }
}
