//! What a confined program is told by variables: where it may write, and how the network is reached.

use std::ffi::OsString;
use std::path::Path;

use helve_model::sandbox::Profile;

use crate::PROXY_PORT;
use crate::plan::Private;
use crate::policy::Policy;
use crate::rules::{NetworkRule, Rules};

/// The variables for these rules.
pub(crate) fn tell(policy: &Policy, private: &Private, rules: &Rules) -> Vec<(&'static str, OsString)> {
    let Private { temporary, cache } = private;
    let mut variables: Vec<(&'static str, OsString)> = Vec::new();
    let mut set = |name, value: &Path| variables.push((name, value.as_os_str().to_owned()));
    for name in ["TMPDIR", "TMP", "TEMP"] {
        set(name, temporary);
    }
    let caches = if policy.profile == Profile::Strict { &temporary.join("cache") } else { cache };
    for (name, directory) in [
        ("npm_config_cache", "npm"),
        ("YARN_CACHE_FOLDER", "yarn"),
        ("COREPACK_HOME", "corepack"),
        ("BUN_INSTALL_CACHE_DIR", "bun"),
        ("DENO_DIR", "deno"),
        ("UV_CACHE_DIR", "uv"),
        ("UV_TOOL_DIR", "uv-tools"),
        ("UV_PYTHON_INSTALL_DIR", "uv-python"),
        ("PIP_CACHE_DIR", "pip"),
        ("XDG_CACHE_HOME", "cache"),
    ] {
        set(name, &caches.join(directory));
    }
    // A look at the registry that nobody asked for, and a word about it on stderr.
    set("npm_config_update_notifier", Path::new("false"));
    // Files of the home that cannot be read: some programs give up where they could do without.
    set("GIT_CONFIG_GLOBAL", Path::new("/dev/null"));
    set("npm_config_userconfig", &temporary.join("npmrc"));
    if policy.profile == Profile::Strict {
        set("HOME", &temporary.join("home"));
    }
    if rules.network == NetworkRule::Closed {
        variables.push(("npm_config_offline", "true".into()));
        variables.push(("UV_OFFLINE", "1".into()));
    }
    if let NetworkRule::Proxy { .. } = rules.network {
        let proxy = format!("http://127.0.0.1:{PROXY_PORT}");
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
            variables.push((name, proxy.clone().into()));
        }
        for name in ["NO_PROXY", "no_proxy"] {
            variables.push((name, "127.0.0.1,localhost,::1".into()));
        }
        // Node looks at the variables above only when told to.
        variables.push(("NODE_USE_ENV_PROXY", "1".into()));
    }
    variables
}
