//! helve for Python: the extension module behind the package `helve`. It has no logic of its own; what it owns is how Python and the
//! runtime meet.
//!
//! `mailbox` is the only way from the runtime's threads to Python, `opening` the only place that looks at the environment; `core`, `view`,
//! `code` and `watching` are the host's methods, `callbacks` what Python functions are asked, `outcome` and `error` what Python gets.

mod callbacks;
mod code;
mod core;
mod error;
mod mailbox;
mod opening;
mod outcome;
mod runtime;
mod value;
mod view;
mod watching;

use pyo3::prelude::*;

#[pymodule]
mod _helve {
    #[pymodule_export]
    use crate::callbacks::Parent;
    #[pymodule_export]
    use crate::core::{Core, open};
    #[pymodule_export]
    use crate::error::codes;
    #[pymodule_export]
    use crate::mailbox::{Mailbox, Responder};
    #[pymodule_export]
    use crate::outcome::CallResult;
    #[pymodule_export]
    use crate::view::View;
    #[pymodule_export]
    use crate::watching::Watch;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python spells it so")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
