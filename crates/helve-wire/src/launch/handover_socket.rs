//! Where a confined process hands out its listener: a socket with a name that nobody guesses, which takes one message.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::Arc;
use std::time::Duration;

use helve_sandbox::HostPattern;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::host_proxy::{self, RefusedHosts};
use super::sandboxed_launcher::random_name;

/// How long a process may take from its start until it is confined.
const HAND_OVER_TIME: Duration = Duration::from_secs(30);

/// The socket, and where connections may lead once the listener is here.
#[derive(Debug)]
pub(super) struct HandoverSocket {
    pub(super) name: String,
    socket: UnixListener,
    hosts: Arc<[HostPattern]>,
}

/// Ends its task when it goes.
#[derive(Debug)]
pub(super) struct Proxy(JoinHandle<()>);

impl Drop for Proxy {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl HandoverSocket {
    pub(super) fn open(hosts: Vec<HostPattern>) -> io::Result<Self> {
        let name = format!("helve-sandbox-{}", random_name()?);
        let socket = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
        Ok(Self { name, socket, hosts: hosts.into() })
    }

    /// Takes the listener when it comes, and what comes in by it from then on.
    pub(super) fn wait_and_serve(self, refused: RefusedHosts) -> io::Result<Proxy> {
        let Self { socket, hosts, .. } = self;
        socket.set_nonblocking(true)?;
        let socket = tokio::net::UnixListener::from_std(socket)?;
        let task = tokio::spawn(async move {
            let Ok(taken) = timeout(HAND_OVER_TIME, take_listener(socket)).await else { return };
            let served = match taken {
                Ok(listener) => host_proxy::run(listener, hosts, refused).await,
                Err(error) => Err(error),
            };
            if let Err(error) = served {
                tracing::warn!(%error, "a confined server has no way to its hosts");
            }
        });
        Ok(Proxy(task))
    }
}

async fn take_listener(socket: tokio::net::UnixListener) -> io::Result<TcpListener> {
    let own = rustix::process::geteuid().as_raw();
    loop {
        let (stream, _) = socket.accept().await?;
        if stream.peer_cred()?.uid() == own {
            return receive(&stream).await;
        }
    }
}

async fn receive(stream: &UnixStream) -> io::Result<TcpListener> {
    loop {
        stream.readable().await?;
        let received = stream.try_io(Interest::READABLE, || {
            let mut byte = [0];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut ancillary = RecvAncillaryBuffer::new(&mut space);
            recvmsg(stream, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
            let descriptors = ancillary.drain().filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
                _ => None,
            });
            Ok(descriptors.flatten().collect::<Vec<OwnedFd>>())
        });
        match received {
            Ok(descriptors) => {
                let first = descriptors.into_iter().next();
                return first.map(TcpListener::from).ok_or_else(|| io::Error::other("no listener was handed out"));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}
