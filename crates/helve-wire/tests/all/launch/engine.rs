//! The narrowest sandbox with a real interpreter in it: it computes and talks, and everything else fails.

use std::path::PathBuf;

use helve_sandbox::{Disk, Engine, engine};
use helve_wire::launch::{Confinement, ExitReport, Launched, Launcher as _, ServerCommand};
use tokio::io::AsyncWriteExt as _;

use super::sandbox::{machine, stage};
use super::{read_to_end, shell, warden};

/// Says what belongs to the interpreter: its own file, what it has mapped, and where its modules are.
const PROBE: &str = "\
import sys, os, json, threading, math, re, _json
print(os.path.realpath(sys.executable))
print(os.path.dirname(os.__file__))
for line in open('/proc/self/maps'):
    path = line.split(None, 5)[5:]
    if path and path[0].startswith('/'): print(path[0].strip())
";

/// Where Python is not, nothing is looked at; CI has it.
#[expect(clippy::print_stdout, reason = "what was not looked at is told")]
async fn python() -> Option<Engine> {
    let mut command = shell("exec python3 -I -S -c \"$PROBE\"");
    command.environment.set("PROBE", PROBE);
    command.environment.set("PATH", "/usr/local/bin:/usr/bin:/bin");
    let Launched { stdin, mut stdout, mut stderr, process } = warden().launch(&command).unwrap();
    drop(stdin);
    let (said, _) = tokio::join!(read_to_end(&mut stdout), read_to_end(&mut stderr));
    if process.wait().await != ExitReport::Exited(0) {
        println!("not looked at: there is no python3");
        return None;
    }
    let mut lines = said.lines().map(PathBuf::from);
    let (program, modules) = (lines.next().unwrap(), lines.next().unwrap());
    let mut libraries: Vec<PathBuf> = lines.filter(|path| *path != program && path.exists()).collect();
    libraries.dedup();
    let is_loader = |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ld-"));
    let mut programs: Vec<PathBuf> = libraries.iter().filter(is_loader).cloned().collect();
    programs.push(program);
    libraries.extend(["/etc/ld.so.cache".into(), modules.clone()]);
    libraries.retain(|path| path.exists());
    Some(Engine { programs, libraries, listed: vec![modules], limits: Engine::LIMITS, ..Engine::default() })
}

async fn run(python: &Engine, program: &str, input: &str) -> (String, String, ExitReport) {
    let rules = engine(python, &machine(), &Disk).unwrap();
    let command = ServerCommand {
        program: python.programs.last().unwrap().into(),
        args: ["-I", "-S", "-E", "-B", "-c", program].into_iter().map(Into::into).collect(),
        environment: [("LC_ALL", "C.UTF-8"), ("PYTHONHASHSEED", "0"), ("MALLOC_ARENA_MAX", "1")].into_iter().collect(),
        confinement: Some(Confinement::new(&rules, stage()).unwrap()),
        ..ServerCommand::default()
    };
    let Launched { mut stdin, mut stdout, mut stderr, process } = warden().launch(&command).unwrap();
    stdin.write_all(input.as_bytes()).await.ok();
    drop(stdin);
    let (said, complained) = tokio::join!(read_to_end(&mut stdout), read_to_end(&mut stderr));
    (said, complained, process.wait().await)
}

#[tokio::test]
async fn an_engine_computes_and_talks() {
    let Some(python) = python().await else { return };
    let program = "\
import json, threading, math, re, time, random
done = []
threads = [threading.Thread(target=lambda: done.append(1)) for _ in range(8)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
time.sleep(0.001)
print(json.dumps({'input': input(), 'threads': len(done), 'root': math.isqrt(144), 'found': re.findall('a+', 'caat')}))
";
    let (said, complained, exit) = run(&python, program, "hello\n").await;
    let expected = "{\"input\": \"hello\", \"threads\": 8, \"root\": 12, \"found\": [\"aa\"]}\n";
    assert_eq!((said.as_str(), exit), (expected, ExitReport::Exited(0)), "{complained}");
}

#[tokio::test]
async fn an_engine_does_nothing_else() {
    let Some(python) = python().await else { return };
    for attempt in [
        "open('/etc/passwd')",
        "os.listdir('/')",
        "os.listdir('/proc/self')",
        "open('/proc/self/environ')",
        "open('/proc/%d/environ' % os.getppid())",
        "open('/dev/shm/engine-made', 'w')",
        "os.mkdir('/dev/shm/engine-made')",
        "os.chmod(sys.executable, 0o777)",
        "os.utime(sys.executable)",
        "os.fork()",
        "os.posix_spawn('/bin/sh', ['sh'], {})",
        "os.execv('/bin/sh', ['sh'])",
        "os.memfd_create('x')",
        "os.pipe()",
        "os.kill(os.getppid(), 0)",
        "os.kill(-1, 0)",
        "os.chdir('/usr')",
        "mmap.mmap(-1, 4096, prot=7)",
        "resource.setrlimit(resource.RLIMIT_CPU, (60, 60))",
        "fcntl.fcntl(0, fcntl.F_SETOWN, os.getppid())",
        "fcntl.fcntl(0, fcntl.F_SETFL, os.O_ASYNC)",
        "__import__('_socket').socket()",
        "__import__('_socket').socketpair()",
        "__import__('ctypes').CDLL(None)",
        "open('/proc/self/fd/1', 'r+')",
    ] {
        let program = format!(
            "import os, sys\ntry:\n    import mmap, resource, fcntl\nexcept ImportError: pass\ntry:\n    {attempt}\n    print('worked')\nexcept (OSError, NameError, ImportError, ValueError) as error: print('refused')"
        );
        let (said, complained, _) = run(&python, &program, "").await;
        assert_eq!(said, "refused\n", "{attempt}: {complained}");
    }
    // Memory, and time: the first is an error that the program sees, the second its end.
    let (said, ..) = run(&python, "try: x = bytearray(1 << 30)\nexcept MemoryError: print('full')", "").await;
    assert_eq!(said, "full\n");
    let impatient =
        Engine { limits: helve_sandbox::Limits { processor_seconds: Some(1), ..Engine::LIMITS }, ..python.clone() };
    let (_, _, exit) = run(&impatient, "while True: pass", "").await;
    assert!(matches!(exit, ExitReport::Signalled(9 | 24)), "{exit}");
}
