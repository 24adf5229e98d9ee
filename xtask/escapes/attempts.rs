//! Attempts to get out of a sandbox, one program with nothing but the standard library: `cargo xtask escapes` compiles it with
//! `rustc` alone and runs it inside. Each attempt is a process of its own and says by its exit status what came of it.
//!
//! It is not part of the product and no package of the workspace, because it makes system calls by number: an attacker does.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{symlink, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{exit, Command, Stdio};

type Outcome = Result<(), String>;

/// It worked; it was refused; it makes no sense here.
const WORKED: i32 = 0;
const REFUSED: i32 = 1;

/// Seconds that one attempt may take.
const LONGEST: usize = 5;

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let own = std::env::current_exe().ok();
    match arguments.next().as_deref().and_then(|word| word.to_str()) {
        Some("one") => {
            let name = arguments.next().unwrap_or_default();
            let name = name.to_str().unwrap_or_default();
            let attempt = ATTEMPTS.iter().find(|(known, _)| *known == name).map(|(_, attempt)| attempt);
            let Some(attempt) = attempt else { exit(3) };
            // An attempt that hangs ends by the signal of its alarm, and says nothing.
            raw(37, &[LONGEST]).ok();
            match attempt() {
                Ok(()) => exit(WORKED),
                Err(why) => {
                    print!("{why}");
                    exit(REFUSED)
                }
            }
        }
        _ => {
            // Where the list of processes cannot be read, the caller says where this program is.
            let program = variable_path("ESCAPES_PROGRAM").or(own).unwrap_or_default();
            for (name, _) in ATTEMPTS {
                let output = Command::new(&program).args(["one", name]).stdin(Stdio::null()).output();
                let (word, why) = match output {
                    Ok(output) => match output.status.code() {
                        Some(WORKED) => ("worked", String::new()),
                        Some(REFUSED) => ("refused", String::from_utf8_lossy(&output.stdout).into_owned()),
                        other => ("ended", format!("{other:?}")),
                    },
                    Err(error) => ("ended", error.to_string()),
                };
                println!("{name}\t{word}\t{}", why.replace(['\n', '\t'], " "));
            }
            println!("end");
        }
    }
}

const ATTEMPTS: &[(&str, fn() -> Outcome)] = &[
    // Secrets.
    ("read the key", || read(&key())),
    ("read the key by a link", || {
        let link = fresh("link");
        symlink(key(), &link).map_err(text)?;
        read(&link)
    }),
    ("read the key by dots", || read(Path::new("../.ssh/id"))),
    ("read the key by a hard link", || {
        let link = fresh("hard");
        fs::hard_link(key(), &link).map_err(text)?;
        read(&link)
    }),
    ("read the key by the root of a process", || read(&PathBuf::from(format!("/proc/self/root{}", key().display())))),
    ("read the key by the directory of a process", || read(Path::new("/proc/self/cwd/../.ssh/id"))),
    ("read the key by the host's root", || read(&PathBuf::from(format!("/proc/{}/root{}", host(), key().display())))),
    ("read the key moved here", || {
        let here = fresh("moved");
        fs::rename(key(), &here).map_err(text)?;
        let outcome = read(&here);
        fs::rename(&here, key()).map_err(text)?;
        outcome
    }),
    ("read the key by a path descriptor", || {
        let file = OpenOptions::new().read(true).custom_flags(0o10000000).open(key()).map_err(text)?;
        read(&PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())))
    }),
    ("list the home", || fs::read_dir(home()).map(drop).map_err(text)),
    ("read the agent's configuration", || read(&home().join(".claude.json"))),
    ("read the token of a registry", || read(&home().join(".npmrc"))),
    ("read helve's state", || read(&home().join(".local/state/helve/trust.json"))),
    ("read helve's configuration", || read(&home().join(".config/helve/helve.toml"))),
    ("read another server's cache", || read(&home().join(".cache/helve/sandbox/other/cache/x"))),
    ("read the passwords of the system", || read(Path::new("/etc/shadow"))),
    ("read the mail of the system", || fs::read_dir("/var/lib").map(drop).map_err(text)),
    ("read by a grandchild in a session of its own", || {
        let output = Command::new("setsid").args(["sh", "-c", "sh -c \"cat $0\"", &key().display().to_string()]).output();
        let output = output.map_err(text)?;
        if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
    }),
    ("run a program of the home", || succeed(Command::new(home().join("tools/true")))),
    // Writing.
    ("write the key", || write(&key())),
    ("truncate the key", || call(76, &[c(&key()).as_ptr() as usize, 4])),
    ("remove the key", || {
        fs::remove_file(key()).map_err(text)?;
        fs::write(key(), "the key").map_err(text)
    }),
    ("make a file in the home", || make(&home().join("made"))),
    ("make a directory in the home", || {
        let path = home().join("directory");
        fs::create_dir(&path).map_err(text)?;
        fs::remove_dir(path).map_err(text)
    }),
    ("make a link in the home", || {
        let path = home().join("a-link");
        symlink("/", &path).map_err(text)?;
        fs::remove_file(path).map_err(text)
    }),
    ("make a pipe in the home", || {
        let path = home().join("pipe");
        call(133, &[c(&path).as_ptr() as usize, 0o010600, 0])?;
        fs::remove_file(path).map_err(text)
    }),
    ("make a nameless file in the home", || {
        OpenOptions::new().write(true).custom_flags(0o20200000).open(home()).map(drop).map_err(text)
    }),
    ("rename in the home", || {
        let (one, two) = (home().join("notes"), home().join("renamed"));
        fs::rename(&one, &two).map_err(text)?;
        fs::rename(two, one).map_err(text)
    }),
    ("append to the shell's start", || write(&home().join(".bashrc"))),
    ("poison the cache of npm", || make(&home().join(".npm/_cacache/poison"))),
    ("poison the cache of uv", || make(&home().join(".cache/uv/poison"))),
    ("poison the cache of pip", || make(&home().join(".cache/pip/poison"))),
    ("poison the tools of uv", || make(&home().join(".local/share/uv/poison"))),
    ("write a program on the path", || make(&home().join(".local/bin/poison"))),
    ("write helve's configuration", || make(&home().join(".config/helve/poison"))),
    ("write the project", || make(&home().join("project/made"))),
    ("write the common temporary directory", || make(&Path::new("/").join("tmp").join(format!("escape-{}", std::process::id())))),
    ("write the shared memory", || make(&PathBuf::from(format!("/dev/shm/escape-{}", std::process::id())))),
    ("write this program", || OpenOptions::new().append(true).open(own()).map(drop).map_err(text)),
    ("write to a device of the system", || OpenOptions::new().write(true).open("/dev/kmsg").map(drop).map_err(text)),
    // Modes, times, owners.
    ("change the mode of the key", || {
        fs::set_permissions(key(), fs::Permissions::from_mode(0o644)).map_err(text)?;
        fs::set_permissions(key(), fs::Permissions::from_mode(0o600)).map_err(text)
    }),
    ("change the time of the key", || call(280, &[-100_isize as usize, c(&key()).as_ptr() as usize, 0, 0])),
    // To whom it belongs already: nothing changes but a time.
    ("take the key again", || call(92, &[c(&key()).as_ptr() as usize, uid(), usize::MAX])),
    ("change the owner of the key", || {
        let path = c(&key());
        call(92, &[path.as_ptr() as usize, uid() ^ 1, usize::MAX])?;
        call(92, &[path.as_ptr() as usize, uid(), usize::MAX])
    }),
    ("change the group of the key", || {
        let path = c(&key());
        call(260, &[-100_isize as usize, path.as_ptr() as usize, usize::MAX, uid() ^ 1, 0])?;
        call(260, &[-100_isize as usize, path.as_ptr() as usize, usize::MAX, uid(), 0])
    }),
    ("label the key", || {
        let (name, value) = (CString::new("user.escape").unwrap(), [1_u8]);
        call(188, &[c(&key()).as_ptr() as usize, name.as_ptr() as usize, value.as_ptr() as usize, 1, 0])
    }),
    ("make a program that runs as its owner", || {
        let path = fresh("set-id");
        fs::copy("/bin/true", &path).map_err(text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o4755)).map_err(text)
    }),
    ("open a new file that runs as its owner", || {
        OpenOptions::new().write(true).create_new(true).mode(0o4755).open(fresh("set-id")).map(drop).map_err(text)
    }),
    ("make a device", || call(133, &[c(&fresh("device")).as_ptr() as usize, 0o020600, 0x0103])),
    ("give a file capabilities", || {
        let path = fresh("capable");
        fs::copy("/bin/true", &path).map_err(text)?;
        let value = [1, 0, 0, 2, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0_u8];
        let name = CString::new("security.capability").unwrap();
        call(188, &[c(&path).as_ptr() as usize, name.as_ptr() as usize, value.as_ptr() as usize, value.len(), 0])
    }),
    // Other processes.
    ("read the host's environment", || read(&PathBuf::from(format!("/proc/{}/environ", host())))),
    ("read the host's command line", || read(&PathBuf::from(format!("/proc/{}/cmdline", host())))),
    ("open the host's memory", || File::open(format!("/proc/{}/mem", host())).map(drop).map_err(text)),
    ("list the host's files", || fs::read_dir(format!("/proc/{}/fd", host())).map(drop).map_err(text)),
    // It is let go when this process ends.
    ("trace the host", || call(101, &[0x4206, host(), 0, 0])),
    ("read the host's memory", || {
        let mut byte = [0_u8];
        let local = [byte.as_mut_ptr() as usize, 1];
        let maps = fs::read_to_string(format!("/proc/{}/maps", host())).unwrap_or_default();
        let start = maps.split('-').next().and_then(|start| usize::from_str_radix(start, 16).ok()).unwrap_or(0x1000);
        let remote = [start, 1];
        call(310, &[host(), local.as_ptr() as usize, 1, remote.as_ptr() as usize, 1, 0])
    }),
    ("take a file of the host", || {
        let process = raw(434, &[host(), 0])?;
        let _process = unsafe { OwnedFd::from_raw_fd(process as i32) };
        let file = raw(438, &[process, 0, 0])?;
        drop(unsafe { OwnedFd::from_raw_fd(file as i32) });
        Ok(())
    }),
    ("signal the host", || call(62, &[host(), 18])),
    ("limit the host", || {
        let mut limit = [0_u64; 2];
        call(302, &[host(), 7, 0, limit.as_mut_ptr() as usize])?;
        call(302, &[host(), 7, limit.as_ptr() as usize, 0])
    }),
    ("slow the host", || {
        let now = raw(140, &[0, host()])?;
        call(141, &[0, host(), 20_usize.wrapping_sub(now)])
    }),
    ("enter the host's namespaces", || {
        let file = File::open(format!("/proc/{}/ns/mnt", host())).map_err(text)?;
        call(308, &[file.as_raw_fd() as usize, 0])
    }),
    // The network.
    ("connect to a port of this machine", || TcpStream::connect(("127.0.0.1", port())).map(drop).map_err(text)),
    ("connect to a port by another address", || TcpStream::connect(("127.8.8.8", port())).map(drop).map_err(text)),
    ("be an agent of helve's own port", || {
        let mut stream = TcpStream::connect(("127.0.0.1", number("ESCAPES_HELVE") as u16)).map_err(text)?;
        let mut answer = [0; 7];
        stream.read_exact(&mut answer).map_err(text)?;
        if &answer == b"welcome" { Ok(()) } else { Err(String::from_utf8_lossy(&answer).into_owned()) }
    }),
    ("be an agent of helve's own port unseen", || {
        // A process that cannot be looked at by others of its user.
        call(157, &[4, 0])?;
        let mut stream = TcpStream::connect(("127.0.0.1", number("ESCAPES_HELVE") as u16)).map_err(text)?;
        let mut answer = [0; 7];
        stream.read_exact(&mut answer).map_err(text)?;
        if &answer == b"welcome" { Ok(()) } else { Err(String::from_utf8_lossy(&answer).into_owned()) }
    }),
    ("be an agent of helve's own port by a daemon", || {
        let port = number("ESCAPES_HELVE");
        let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}; head -c 7 <&3");
        let output = Command::new("setsid").args(["bash", "-c", &format!("(setsid bash -c '{script}' &) | cat")]).output();
        let output = output.map_err(text)?;
        if output.stdout == b"welcome" { Ok(()) } else { Err(String::from_utf8_lossy(&output.stdout).into_owned()) }
    }),
    ("send a datagram", || {
        let socket = UdpSocket::bind("127.0.0.1:0").map_err(text)?;
        socket.send_to(b"x", ("127.0.0.1", port())).map(drop).map_err(text)
    }),
    ("listen", || TcpListener::bind("127.0.0.1:0").map(drop).map_err(text)),
    ("make a raw socket", || socket(2, 3, 1)),
    ("make a packet socket", || socket(17, 3, 0x300)),
    ("make a socket to virtual machines", || socket(40, 1, 0)),
    ("make a socket to the kernel's cryptography", || socket(38, 5, 0)),
    ("hear the kernel's devices", || socket(16, 2, 15)),
    ("connect to a socket by path", || UnixStream::connect(variable_path("ESCAPES_SOCKET").unwrap_or_default()).map(drop).map_err(text)),
    ("connect to a socket by name", || {
        use std::os::linux::net::SocketAddrExt;
        let name = std::env::var("ESCAPES_NAME").unwrap_or_default();
        let address = std::os::unix::net::SocketAddr::from_abstract_name(name).map_err(text)?;
        UnixStream::connect_addr(&address).map(drop).map_err(text)
    }),
    ("send to a socket by path from a pair", || {
        let (one, _two) = UnixDatagram::pair().map_err(text)?;
        one.send_to(b"x", variable_path("ESCAPES_DATAGRAMS").unwrap_or_default()).map(drop).map_err(text)
    }),
    ("reach a listed name on this machine", || ask_proxy(&format!("localhost:{}", port()))),
    ("reach a host that is not listed", || ask_proxy(&format!("127.0.0.1:{}", port()))),
    // The kernel.
    ("make a ring", || {
        let mut parameters = [0_u64; 15];
        close(raw(425, &[1, parameters.as_mut_ptr() as usize])?)
    }),
    ("make a user namespace", || call(272, &[0x1000_0000])),
    ("make a user namespace by clone", || child(56, &[0x1000_0011, 0, 0, 0, 0])),
    ("make a user namespace by clone3", || {
        let arguments = [0x1000_0000_u64, 0, 0, 0, 17, 0, 0, 0];
        child(435, &[arguments.as_ptr() as usize, 64])
    }),
    ("make a user namespace by the other numbers", || call(272 | 0x4000_0000, &[0x1000_0000])),
    ("make a socket by the other numbers", || close(raw(41 | 0x4000_0000, &[16, 3, 15])?)),
    ("mount", || {
        let (kind, place) = (CString::new("tmpfs").unwrap(), fresh("mount"));
        fs::create_dir(&place).map_err(text)?;
        call(165, &[kind.as_ptr() as usize, c(&place).as_ptr() as usize, kind.as_ptr() as usize, 0, 0])?;
        call(166, &[c(&place).as_ptr() as usize, 0])
    }),
    ("mount the new way", || close(raw(430, &[CString::new("tmpfs").unwrap().as_ptr() as usize, 0])?)),
    ("copy a mount", || close(raw(428, &[-100_isize as usize, c(Path::new("/")).as_ptr() as usize, 1])?)),
    ("remount", || call(165, &[0, c(Path::new("/")).as_ptr() as usize, 0, 32 | 4096, 0])),
    ("change the root", || call(161, &[c(Path::new("/")).as_ptr() as usize])),
    ("open by handle", || {
        let mut handle = [0_u8; 136];
        handle[0] = 128;
        let mut mount = 0_i32;
        call(303, &[-100_isize as usize, c(&key()).as_ptr() as usize, handle.as_mut_ptr() as usize, &mut mount as *mut i32 as usize, 0])?;
        let directory = File::open(home()).map_err(text)?;
        close(raw(304, &[directory.as_raw_fd() as usize, handle.as_ptr() as usize, 0])?)
    }),
    ("load a program into the kernel", || {
        let mut attributes = [0_u32; 32];
        (attributes[0], attributes[1], attributes[2], attributes[3]) = (2, 4, 4, 1);
        close(raw(321, &[0, attributes.as_mut_ptr() as usize, 128])?)
    }),
    ("count the kernel's events", || {
        let mut attributes = [0_u32; 32];
        (attributes[0], attributes[1]) = (1, 128);
        close(raw(298, &[attributes.as_mut_ptr() as usize, 0, usize::MAX, usize::MAX, 0])?)
    }),
    ("make a key", || {
        let (kind, name) = (CString::new("user").unwrap(), CString::new("escape").unwrap());
        call(248, &[kind.as_ptr() as usize, name.as_ptr() as usize, name.as_ptr() as usize, 3, -1_isize as usize])
    }),
    ("handle page faults", || close(raw(323, &[1])?)),
    ("open the second way", || {
        let how = [0_u64; 3];
        let path = c(&key());
        close(raw(437, &[-100_isize as usize, path.as_ptr() as usize, how.as_ptr() as usize, 24])?)
    }),
    ("read the kernel's log", || call(103, &[10, 0, 0])),
    ("watch the file system", || close(raw(300, &[0, 0])?)),
    ("type into a terminal", || {
        // Without a terminal the call itself tells: refused by a filter, or by the kernel because of the file.
        let file = File::open("/dev/null").map_err(text)?;
        match raw(16, &[file.as_raw_fd() as usize, 0x5412, &0_u8 as *const u8 as usize]) {
            Err(why) if why.ends_with(" 25") => Ok(()),
            other => other.map(drop),
        }
    }),
];

fn key() -> PathBuf {
    home().join(".ssh/id")
}

fn home() -> PathBuf {
    variable_path("ESCAPES_HOME").unwrap_or_default()
}

fn own() -> PathBuf {
    variable_path("ESCAPES_PROGRAM").unwrap_or_default()
}

fn variable_path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from)
}

fn number(name: &str) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn host() -> usize {
    number("ESCAPES_HOST")
}

fn port() -> u16 {
    number("ESCAPES_PORT") as u16
}

fn uid() -> usize {
    raw(102, &[]).unwrap_or(0)
}

/// A path in the one directory that may be written.
fn fresh(name: &str) -> PathBuf {
    let directory = variable_path("TMPDIR").unwrap_or_else(|| "/tmp".into());
    directory.join(format!("{name}-{}", std::process::id()))
}

fn text(error: std::io::Error) -> String {
    format!("error {}", error.raw_os_error().unwrap_or(-1))
}

fn c(path: &Path) -> CString {
    use std::os::unix::ffi::OsStrExt;
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}

fn read(path: &Path) -> Outcome {
    let mut bytes = Vec::new();
    File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).map(drop).map_err(text)
}

fn write(path: &Path) -> Outcome {
    OpenOptions::new().append(true).open(path).and_then(|mut file| file.write_all(b"")).map_err(text)
}

fn make(path: &Path) -> Outcome {
    File::create(path).map_err(text)?;
    fs::remove_file(path).map_err(text)
}

fn succeed(mut command: Command) -> Outcome {
    let status = command.arg0("true").status().map_err(text)?;
    if status.success() { Ok(()) } else { Err(status.to_string()) }
}

fn ask_proxy(target: &str) -> Outcome {
    let mut stream = TcpStream::connect("127.0.0.1:3128").map_err(text)?;
    stream.write_all(format!("CONNECT {target} HTTP/1.1\r\n\r\n").as_bytes()).map_err(text)?;
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).map_err(text)?;
    if &answer == b"HTTP/1.1 200" { Ok(()) } else { Err(String::from_utf8_lossy(&answer).into_owned()) }
}

fn socket(family: usize, kind: usize, protocol: usize) -> Outcome {
    close(raw(41, &[family, kind, protocol])?)
}

fn close(descriptor: usize) -> Outcome {
    drop(unsafe { OwnedFd::from_raw_fd(descriptor as i32) });
    Ok(())
}

/// A call that returns twice: the child ends at once.
fn child(call: usize, arguments: &[usize]) -> Outcome {
    match raw(call, arguments)? {
        0 => {
            raw(231, &[0]).ok();
            unreachable!()
        }
        process => self::call(61, &[process, 0, 0, 0]),
    }
}

fn call(number: usize, arguments: &[usize]) -> Outcome {
    raw(number, arguments).map(drop)
}

#[cfg(target_arch = "x86_64")]
fn raw(number: usize, arguments: &[usize]) -> Result<usize, String> {
    let argument = |index: usize| arguments.get(index).copied().unwrap_or(0);
    let result: isize;
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") argument(0),
            in("rsi") argument(1),
            in("rdx") argument(2),
            in("r10") argument(3),
            in("r8") argument(4),
            in("r9") argument(5),
            out("rcx") _,
            out("r11") _,
        );
    }
    if (-4095..0).contains(&result) { Err(format!("error {}", -result)) } else { Ok(result as usize) }
}
