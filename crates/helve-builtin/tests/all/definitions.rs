//! What the tools say about themselves: part of the product, so every word of it is here.

use std::fmt::Write as _;

use helve::Toolbox;
use helve_model::Definition as _;
use helve_render::{Style, ToolText, signature};
use helve_schema::{ArgumentLimits, ArgumentVerdict, LazyValidator};
use insta::assert_snapshot;

use crate::support::{open, tree, without, writable};

/// Each tool as its signature, what it claims, and what it says.
fn described(toolbox: &Toolbox) -> String {
    let mut text = String::new();
    for tool in toolbox.tools() {
        let definition = tool.definition();
        assert!(!definition.raw().as_str().contains('\n'), "a definition is one line");
        definition.raw().check().unwrap();
        let view = definition.view();
        assert_eq!(view.warnings, Vec::<String>::new());
        let schema = view.input_schema.unwrap();
        let entry = ToolText::new(definition.name().as_str(), schema.as_str());
        let claims = &view.annotations;
        let claims: Vec<&str> = [
            (claims.read_only, "reads only"),
            (claims.destructive, "may destroy"),
            (claims.idempotent, "idempotent"),
            (claims.open_world, "open world"),
        ]
        .into_iter()
        .filter_map(|(claim, word)| claim.unwrap().then_some(word))
        .collect();
        writeln!(text, "{}", signature(&entry, Style::TypeScript, 1_000)).unwrap();
        writeln!(text, "    {}: {}", view.title.unwrap(), claims.join(", ")).unwrap();
        writeln!(text, "    {}", view.description.unwrap()).unwrap();
    }
    text
}

#[test]
fn filesystem() {
    let directory = tree(&[]);
    assert_snapshot!(described(&writable(&directory)), @r#"
    read_file(args: { path: string; head?: number; tail?: number; offset?: number; limit?: number }): Promise<unknown>
        Read a file: reads only, idempotent
        Reads a file: text as text, pictures and sound as such. Give head, tail, or offset and limit to read some lines of a long one.
    read_many(args: { paths: string[] }): Promise<unknown>
        Read several files: reads only, idempotent
        Reads several files at once, each under a line with its path. A file that cannot be read gives its reason instead and the others still come.
    list_directory(args?: { path?: string /* = "." */ }): Promise<unknown>
        List a directory: reads only, idempotent
        Lists what is in a directory, sorted by name, with the kind of each entry and the size of files. Links are shown, not followed.
    search_files(args?: { pattern?: string; contains?: string; path?: string /* = "." */; exclude?: string[] /* = [".git"] */; ignore_case?: boolean /* = false */; max_results?: number /* = 100 */ }): Promise<unknown>
        Search files: reads only, idempotent
        Finds files and directories by a glob over their paths, files by a text they contain, or both. Links are not followed, and files that are not text are not searched.
    file_info(args: { path: string }): Promise<unknown>
        Describe a file: reads only, idempotent
        Says what is at a path: kind, size, when it was changed, permissions, and the type of a file's content. A link is described itself.
    write_file(args: { path: string; content: string }): Promise<unknown>
        Write a file: may destroy, idempotent
        Writes a text file, replacing what was there. Its directory must exist.
    edit_file(args: { path: string; edits: Array<{ old_text: string; new_text: string; replace_all?: boolean /* = false */ }>; dry_run?: boolean /* = false */ }): Promise<unknown>
        Edit a file: may destroy
        Replaces exact pieces of text in a file, one after the other; all of them or none. Shows the lines that changed.
    create_directory(args: { path: string }): Promise<unknown>
        Create a directory: idempotent
        Creates a directory, and the ones above it that are missing. One that exists already is fine.
    move_file(args: { source: string; destination: string }): Promise<unknown>
        Move a file: may destroy
        Moves or renames a file or directory. Nothing is replaced: there must be nothing at the destination.
    delete_file(args: { path: string }): Promise<unknown>
        Delete a file: may destroy, idempotent
        Deletes a file, a link (not what it points to), or an empty directory. There is no way back.
    "#);
    let reading = open("filesystem", &[], directory.path());
    assert_eq!(reading.tools().len(), 5, "nothing that writes unless it is configured");
    assert_snapshot!(without(&directory, reading.instructions().unwrap()), @"Files below these directories can be read, not changed: [dir]. Relative paths start at the first of them; whatever leads out of them is refused.");
    assert_snapshot!(without(&directory, writable(&directory).instructions().unwrap()), @"Files below these directories can be read and changed: [dir]. Relative paths start at the first of them; whatever leads out of them is refused.");
}

#[test]
fn sqlite() {
    let directory = tree(&[("data.db", "")]);
    let options: &[(&str, &[&str])] = &[("database", &["data.db"]), ("writable", &["true"])];
    assert_snapshot!(described(&open("sqlite", options, directory.path())), @"
    list_tables(): Promise<unknown>
        List the tables: reads only, idempotent
        Lists the tables and views of the database.
    describe_table(args: { table: string }): Promise<unknown>
        Describe a table: reads only, idempotent
        Describes a table or view: columns with their types, keys, indexes, and the SQL that made it.
    query(args: { sql: string; params?: unknown[] | Record<string, unknown> }): Promise<unknown>
        Query the database: reads only, idempotent
        Runs one SQL statement that only reads, and gives its rows. Long results are cut and say so: use LIMIT and OFFSET.
    execute(args: { sql: string; params?: unknown[] | Record<string, unknown> }): Promise<unknown>
        Change the database: may destroy
        Runs one SQL statement that may change the database, as a transaction of its own.
    ");
    let reading = open("sqlite", &[("database", &["data.db"])], directory.path());
    assert_eq!(reading.tools().len(), 3, "nothing that writes unless it is configured");
    assert_snapshot!(without(&directory, reading.instructions().unwrap()), @"The SQLite database `[dir]/data.db`. It cannot be changed.");
}

#[test]
fn time() {
    let directory = tree(&[]);
    assert_snapshot!(described(&open("time", &[], directory.path())), @r#"
    now(args?: { timezone?: string /* = "UTC" */ }): Promise<unknown>
        What time it is: reads only
        Tells the current date and time in a time zone.
    convert(args: { time: string; from?: string /* = "UTC" */; to: string }): Promise<unknown>
        Convert a time: reads only
        Tells what time it is in one time zone when it is some time in another.
    "#);
}

/// A schema that cannot be checked would let everything pass.
#[test]
fn every_schema_can_be_checked() {
    let directory = tree(&[("data.db", "")]);
    let sqlite = open("sqlite", &[("database", &["data.db"]), ("writable", &["true"])], directory.path());
    for toolbox in [writable(&directory), sqlite, open("time", &[], directory.path())] {
        for tool in toolbox.tools() {
            let view = tool.definition().view();
            for schema in [view.input_schema, view.output_schema].into_iter().flatten() {
                let validator = LazyValidator::new(schema.as_str().to_owned());
                let verdict = validator.check("tool", r#"{"nonsense":1}"#, ArgumentLimits::default());
                assert!(matches!(verdict, ArgumentVerdict::Invalid(_)), "{verdict:?} {}", schema.as_str());
                assert!(validator.notices().is_empty());
            }
        }
    }
}
