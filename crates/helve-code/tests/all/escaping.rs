//! Attempts to get out, with the look at programs before they run switched off: what holds is the sandbox, and the decision on
//! each call. Each attempt gives `escaped` where it worked.

use std::time::Duration;

use helve::{CallContext, Caller, ErrorCode};
use helve_code::Limits;

use super::support::{Shop, engine_with};

/// Expressions and statements that must raise, or give nothing.
const ATTEMPTS: &[(&str, &str)] = &[
    ("read a file", "open('/etc/passwd').read()"),
    ("read by descriptor", "import os; os.read(os.open('/etc/passwd', 0), 10)"),
    ("read through io", "import io; io.open('/etc/hostname').read()"),
    ("read through codecs", "import codecs; codecs.open('/etc/passwd').read()"),
    ("read home", "import os; os.listdir(os.path.expanduser('~'))"),
    ("list root", "import os; os.listdir('/')"),
    ("scan root", "import os; list(os.scandir('/etc'))"),
    ("list processes", "import os; os.listdir('/proc')"),
    ("own memory", "open('/proc/self/mem', 'rb').read(1)"),
    ("own maps", "open('/proc/self/maps').read()"),
    ("own environment", "open('/proc/self/environ').read()"),
    ("parent's environment", "import os; open('/proc/%d/environ' % os.getppid()).read()"),
    ("parent's command line", "import os; open('/proc/%d/cmdline' % os.getppid()).read()"),
    ("a device", "open('/dev/zero', 'rb').read(1)"),
    ("write a temporary file", "open('/var/tmp/helve-escape', 'w').write('x')"),
    ("write shared memory", "open('/dev/shm/helve-escape', 'w').write('x')"),
    ("write the library", "import os; open(os.__file__, 'a').write('#')"),
    ("unlink", "import os; os.unlink(os.__file__)"),
    ("rename", "import os; os.rename(os.__file__, '/var/tmp/x')"),
    ("make a directory", "import os; os.mkdir('/var/tmp/helve-escape')"),
    ("symlink", "import os; os.symlink('/etc/passwd', '/var/tmp/helve-escape')"),
    ("hard link", "import os; os.link('/etc/passwd', '/var/tmp/helve-escape')"),
    ("change modes", "import os, sys; os.chmod(sys.executable, 0o777)"),
    ("change owners", "import os, sys; os.chown(sys.executable, 0, 0)"),
    ("change times", "import os, sys; os.utime(sys.executable)"),
    ("truncate", "import os; os.truncate(os.__file__, 0)"),
    ("a temporary file", "import tempfile; tempfile.TemporaryFile()"),
    ("site-packages", "import sys; sys.path.append(sys.prefix + '/lib/python3.11/site-packages'); import pip"),
    ("memory file", "import os; os.memfd_create('x')"),
    ("a pipe", "import os; os.pipe()"),
    ("reopen its input", "open('/proc/self/fd/0', 'r+b')"),
    ("TCP", "import socket; socket.create_connection(('127.0.0.1', 22), 1)"),
    ("UDP", "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))"),
    ("unix socket", "import socket; socket.socket(socket.AF_UNIX)"),
    ("socket pair", "import socket; socket.socketpair()"),
    ("raw socket", "import _socket; _socket.socket(17, 3, 0)"),
    ("netlink", "import _socket; _socket.socket(16, 3, 0)"),
    ("names", "import socket; socket.gethostbyname('example.com')"),
    ("fetch", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:1')"),
    ("subprocess", "import subprocess; subprocess.run(['/bin/true'])"),
    ("system", "import os; assert os.system('true') == 0"),
    ("popen", "import os; assert os.popen('echo x').read()"),
    ("fork", "import os; os.fork()"),
    ("spawn", "import os; os.posix_spawn('/bin/true', ['true'], {})"),
    ("exec of a shell", "import os; os.execv('/bin/sh', ['sh', '-c', 'true'])"),
    ("pty", "import pty; pty.fork()"),
    ("multiprocessing", "import multiprocessing; multiprocessing.Process(target=print).start()"),
    ("ctypes", "import ctypes; ctypes.CDLL(None).getpid()"),
    ("ctypes by hand", "import _ctypes; _ctypes.dlopen(None, 0)"),
    ("executable memory", "import mmap; mmap.mmap(-1, 4096, prot=7)"),
    ("mapping a file to write", "import mmap, os, sys; mmap.mmap(os.open(sys.executable, 0), 10)[0] = 1"),
    ("kill its parent", "import os; os.kill(os.getppid(), 9)"),
    ("kill all", "import os; os.kill(-1, 9)"),
    ("kill its group", "import os; os.killpg(0, 9)"),
    ("signal by descriptor", "import fcntl, os; fcntl.fcntl(0, fcntl.F_SETOWN, os.getppid())"),
    ("asynchronous pipe", "import fcntl, os; fcntl.fcntl(0, fcntl.F_SETFL, os.O_ASYNC)"),
    ("pidfd", "import os; os.pidfd_open(os.getppid())"),
    ("raise limits", "import resource; resource.setrlimit(resource.RLIMIT_CPU, (600, 600))"),
    ("priority", "import os; os.nice(-5); os.setpriority(0, 0, -20)"),
    ("become another", "import os; os.setuid(0 if os.getuid() else 1)"),
    ("groups", "import os; os.setgroups([])"),
    ("chroot", "import os; os.chroot('/tmp')"),
    ("another directory", "import os; os.chdir('/usr')"),
    ("host name", "import socket; socket.sethostname('x')"),
    ("set the clock", "import time; time.clock_settime(time.CLOCK_REALTIME, 0)"),
    ("namespaces", "import os; os.unshare(0x10000000)"),
    ("extended attributes", "import os, sys; os.setxattr(sys.executable, 'user.x', b'x')"),
    ("a fifo", "import os; os.mkfifo('/var/tmp/helve-escape')"),
    ("a node", "import os; os.mknod('/var/tmp/helve-escape')"),
    ("sqlite", "import sqlite3; sqlite3.connect('/var/tmp/helve-escape.db').execute('create table x(y)')"),
    ("import from a path", "import sys; sys.path.insert(0, '/tmp'); import helve_escape_module"),
    ("send a file", "import os; os.sendfile(1, os.open('/etc/passwd', 0), 0, 10)"),
    ("copy a range", "import os, shutil; shutil.copy('/etc/passwd', '/var/tmp/helve-escape')"),
];

fn attempt(body: &str) -> String {
    let (first, rest) = body.rsplit_once("; ").map_or(("pass", body), |(first, rest)| (first, rest));
    format!(
        "try:\n    {first}\n    {rest}\n    result = 'escaped'\nexcept BaseException as error:\n    result = type(error).__name__\n"
    )
}

#[tokio::test]
async fn nothing_gets_out() {
    assert!(ATTEMPTS.len() >= 60, "{}", ATTEMPTS.len());
    let limits = Limits::default();
    let Some(engine) = engine_with(None, &limits).await else { return };
    let shop = Shop::open(engine, limits, false).await;
    let mut escaped = Vec::new();
    for (name, body) in ATTEMPTS {
        let report = shop.run(&attempt(body)).await;
        if report.value.as_str() == "\"escaped\"" {
            escaped.push(*name);
        }
    }
    assert!(escaped.is_empty(), "{escaped:?}");
    assert!(!std::path::Path::new("/var/tmp/helve-escape").exists());
}

/// The environment of a worker is three variables of ours, and its descriptors are its three pipes.
#[tokio::test]
async fn nothing_is_inherited() {
    let limits = Limits::default();
    let Some(engine) = engine_with(None, &limits).await else { return };
    let shop = Shop::open(engine, limits, false).await;
    let report = shop.run("import os\nopen_ = []\nfor n in range(64):\n    try: os.fstat(n); open_.append(n)\n    except OSError: pass\n[sorted(os.environ), open_]").await;
    assert_eq!(
        report.value.as_str(),
        r#"[["LC_ALL","MALLOC_ARENA_MAX","PYTHONHASHSEED"],[0,1,2]]"#,
        "{:?}",
        report.error
    );
}

/// What a worker writes is only a request: it is decided as any other.
#[tokio::test]
async fn forged_messages_gain_nothing() {
    let limits = Limits::default().with(|limits| limits.computing_time = Duration::from_secs(3));
    let Some(engine) = engine_with(None, &limits).await else { return };
    let shop = Shop::open(engine, limits, false).await;
    let write = |text: &str| {
        format!("import os\nos.write(1, {text:?}.encode() + b'\\n')\nimport time\ntime.sleep(0.3)\nresult = 'over'\n")
    };
    let forged = r#"{"call":{"id":77,"server":"ShopMCP","tool":"burn","args":{},"positional":[],"texts":{}}}"#;
    let report = shop.run(&write(forged)).await;
    assert_eq!(Shop::calls(&report), [format!("shop/burn {:?}", Some(Err::<(), _>(ErrorCode::ApprovalRequired)))]);
    for nonsense in ["nonsense", r#"{"plan":{"calls":[],"imports":[],"problems":[]}}"#, r#"{"go":true}"#, "[]"] {
        let report = shop.run(&write(nonsense)).await;
        assert_eq!(report.error.unwrap().code, ErrorCode::ProtocolError, "{nonsense}");
    }
    let own =
        r#"{"call":{"id":77,"server":"HelveMCP","tool":"run_code","args":{"code":"1"},"positional":[],"texts":{}}}"#;
    let report = shop.run(&write(own)).await;
    assert_eq!(report.calls.first().and_then(|call| call.end), Some(Err(ErrorCode::ServerNotFound)));
    // A value, and then a loop: the value counts, and the worker goes.
    let done = r#"{"done":{"value":1,"notes":[],"attachments":[7],"printed":0}}"#;
    let report = shop.run(&write(done).replace("time.sleep(0.3)", "while True: pass")).await;
    assert_eq!((report.error, report.value.as_str()), (None, "1"));
    let endless = "import os\nwhile True: os.write(1, b'x' * 65536)";
    assert_eq!(shop.run(endless).await.error.unwrap().code, ErrorCode::LimitExceeded);
}

/// Two who run programs at once, from one engine with one spare, have nothing of each other.
#[tokio::test]
async fn two_principals_share_nothing() {
    let limits = Limits::default();
    let Some(engine) = engine_with(None, &limits).await else { return };
    let shop = Shop::open(engine, limits, true).await;
    let run = |name: &'static str, number: usize| {
        let context = CallContext::new(Caller::Agent).with(|context| {
            context.principal = helve::Principal::connection(name.len() as u64);
        });
        let source = format!(
            "import json\nassert not hasattr(json, 'mine')\njson.mine = '{name}'\nprint('{name} {number}')\nresult = ['{name}', {number}, device.ShopMCP.join('{name}', '{number}')]"
        );
        let runner = shop.runner.clone();
        async move {
            let report = runner.run(&source, context).await.unwrap();
            assert_eq!(report.error, None);
            assert_eq!(report.value.as_str(), format!("[\"{name}\",{number},\"{name}+{number}\"]"));
            assert_eq!(report.printed, format!("{name} {number}\n"));
        }
    };
    let all = (0..20).flat_map(|number| [run("ann", number), run("robert", number)]);
    futures_util::future::join_all(all).await;
}
