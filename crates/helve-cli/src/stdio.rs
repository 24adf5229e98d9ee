//! Our own standard streams as asynchronous ones, without a thread in between where they are pipes or sockets.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;

use rustix::fs::FileType;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

pub(crate) type Reader = Pin<Box<dyn AsyncRead + Send>>;
pub(crate) type Writer = Pin<Box<dyn AsyncWrite + Send>>;

/// Standard input. Shells give pipes, Node gives sockets; a terminal or a file is read by a thread.
pub(crate) fn input() -> io::Result<Reader> {
    let stdin = owned(io::stdin())?;
    Ok(match kind(&stdin)? {
        FileType::Fifo => Box::pin(pipe::Receiver::from_owned_fd(stdin)?),
        FileType::Socket => Box::pin(socket(stdin)?),
        _ => Box::pin(through_a_thread()?),
    })
}

/// Standard output.
pub(crate) fn output() -> io::Result<Writer> {
    let stdout = owned(io::stdout())?;
    Ok(match kind(&stdout)? {
        FileType::Fifo => Box::pin(pipe::Sender::from_owned_fd(stdout)?),
        FileType::Socket => Box::pin(socket(stdout)?),
        _ => Box::pin(tokio::io::stdout()),
    })
}

fn owned(stream: impl AsFd) -> io::Result<OwnedFd> {
    stream.as_fd().try_clone_to_owned()
}

fn kind(stream: &OwnedFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(stream)?.st_mode))
}

fn socket(stream: OwnedFd) -> io::Result<UnixStream> {
    let stream = std::os::unix::net::UnixStream::from(stream);
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

/// The thread is left behind when the program ends: nothing else can interrupt a read from a terminal.
fn through_a_thread() -> io::Result<pipe::Receiver> {
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let mut writer = std::fs::File::from(writer);
    std::thread::Builder::new().spawn(move || io::copy(&mut io::stdin().lock(), &mut writer).map(drop))?;
    pipe::Receiver::from_owned_fd(reader)
}
