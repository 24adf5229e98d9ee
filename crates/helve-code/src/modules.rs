//! Owns which modules a program may import, and what is said about the others. It gives good errors and is not a boundary:
//! that is the sandbox.

/// What a program may import, by its full name.
pub(crate) const ALLOWED: &[&str] = &[
    "__future__",
    "abc",
    "array",
    "ast",
    "asyncio",
    "base64",
    "binascii",
    "bisect",
    "bz2",
    "calendar",
    "cmath",
    "collections",
    "collections.abc",
    "colorsys",
    "concurrent.futures",
    "configparser",
    "contextlib",
    "contextvars",
    "copy",
    "csv",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "email.utils",
    "enum",
    "fnmatch",
    "fractions",
    "functools",
    "graphlib",
    "gzip",
    "hashlib",
    "heapq",
    "hmac",
    "html",
    "html.parser",
    "inspect",
    "io",
    "ipaddress",
    "itertools",
    "json",
    "keyword",
    "locale",
    "logging",
    "lzma",
    "math",
    "numbers",
    "operator",
    "pathlib",
    "posixpath",
    "pprint",
    "queue",
    "quopri",
    "random",
    "re",
    "reprlib",
    "secrets",
    "shlex",
    "statistics",
    "string",
    "struct",
    "sys",
    "textwrap",
    "threading",
    "time",
    "tomllib",
    "traceback",
    "types",
    "typing",
    "unicodedata",
    "urllib.parse",
    "uuid",
    "warnings",
    "weakref",
    "xml.etree.ElementTree",
    "zlib",
    "zoneinfo",
];

/// What these import when they are first used.
pub(crate) const BESIDES: &[&str] = &[
    "_strptime",
    "encodings.idna",
    "encodings.latin_1",
    "encodings.ascii",
    "encodings.utf_16",
    "select",
    "ssl",
    "_posixsubprocess",
];

/// What a spare has imported already.
pub(crate) const WARM: &[&str] = &[
    "json",
    "asyncio",
    "re",
    "datetime",
    "collections",
    "itertools",
    "functools",
    "math",
    "time",
    "typing",
    "dataclasses",
    "concurrent.futures",
    "concurrent.futures.thread",
    "statistics",
    "string",
    "textwrap",
    "csv",
    "random",
    "hashlib",
];

/// True when `import module`, or `from module import names`, is let through.
pub(crate) fn may_import(module: &str, names: &[String], there: &[String]) -> bool {
    let is_there = |name: &str| ALLOWED.contains(&name) && there.iter().any(|module| module == name);
    is_there(module) || (!names.is_empty() && names.iter().all(|name| is_there(&format!("{module}.{name}"))))
}

/// What to do instead.
pub(crate) fn advice(module: &str) -> &'static str {
    match module.split('.').next().unwrap_or_default() {
        "os" => "programs have no files and no environment: use a tool, and `pathlib` to put paths together",
        "shutil" | "tempfile" | "glob" | "fileinput" => "programs have no files: use a tool",
        "requests" | "httpx" | "aiohttp" | "urllib" | "urllib3" | "http" | "socket" | "ssl" | "ftplib" | "smtplib" => {
            "programs have no network: use a tool"
        }
        "subprocess" | "multiprocessing" | "signal" | "ctypes" | "pty" => "programs start no processes: use a tool",
        "numpy" | "pandas" | "bs4" | "yaml" | "dateutil" | "pytz" | "lxml" => "only Python's own library is there",
        _ if ALLOWED.contains(&module) => "this Python does not have it",
        _ => "it is not among the modules that programs may import",
    }
}
