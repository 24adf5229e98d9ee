//! Which parts of SQL a statement may use: asked by SQLite for every one of them while it compiles the statement.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use super::connection::Access;
use crate::words::quoted;

/// Pragmas that only tell something, and whose value, if any, says about what.
const TELLING: &[&str] = &[
    "collation_list",
    "compile_options",
    "database_list",
    "foreign_key_check",
    "foreign_key_list",
    "function_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "module_list",
    "pragma_list",
    "quick_check",
    "table_info",
    "table_list",
    "table_xinfo",
];

/// Pragmas that tell something without a value and change it with one.
const TELLING_ALONE: &[&str] = &[
    "application_id",
    "data_version",
    "encoding",
    "foreign_keys",
    "freelist_count",
    "journal_mode",
    "page_count",
    "page_size",
    "schema_version",
    "user_version",
];

/// Functions that reach out of the database.
const REACHING: &[&str] = &["load_extension", "fts3_tokenizer"];

/// Kinds of virtual tables that keep to the database.
const MODULES: &[&str] = &["fts3", "fts4", "fts5", "fts5vocab", "fts4aux", "rtree", "rtree_i32", "geopoly"];

/// Why the last statement was refused.
#[derive(Debug, Clone, Default)]
pub(super) struct Refused(Arc<Mutex<Option<String>>>);

impl Refused {
    pub(super) fn reason(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn note(&self, reason: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
    }
}

/// Decides about one part of a statement.
pub(super) fn decide(context: &AuthContext<'_>, access: Access, refused: &Refused) -> Authorization {
    match refusal(context.action, access) {
        None => Authorization::Allow,
        Some(reason) => {
            refused.note(reason);
            Authorization::Deny
        }
    }
}

/// Why an action is not allowed.
fn refusal(action: AuthAction<'_>, access: Access) -> Option<String> {
    match action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => None,
        AuthAction::Function { function_name } if is_one_of(function_name, REACHING) => {
            Some(format!("the function {} is not available", quoted(function_name)))
        }
        AuthAction::Function { .. } => None,
        AuthAction::Pragma { pragma_name, pragma_value } => {
            let is_fine =
                is_one_of(pragma_name, TELLING) || (pragma_value.is_none() && is_one_of(pragma_name, TELLING_ALONE));
            (!is_fine).then(|| format!("PRAGMA {} is not available", quoted(pragma_name)))
        }
        // VACUUM attaches a nameless database to itself; one with a name would be another file.
        AuthAction::Attach { filename: "" } | AuthAction::Detach { .. } if access == Access::Write => None,
        AuthAction::Attach { .. } | AuthAction::Detach { .. } => {
            Some("it would attach or write to another file".to_owned())
        }
        AuthAction::CreateVtable { module_name, .. } | AuthAction::DropVtable { module_name, .. }
            if !is_one_of(module_name, MODULES) =>
        {
            Some(format!("virtual tables of the kind {} are not available", quoted(module_name)))
        }
        AuthAction::Unknown { .. } => Some("the statement does something unknown".to_owned()),
        _ if access == Access::Write => None,
        _ => Some("this only reads; the statement would change something".to_owned()),
    }
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}
