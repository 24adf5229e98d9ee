//! The borrower's end: a connection to whoever keeps a program becomes the program.

use std::io;

use helve_wire::launch::{ExitReport, Launched, Loan, lend};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, ReadHalf, WriteHalf};

use super::KeeperConnection;
use super::frame::Frame;

/// Bytes of input that are passed on at once.
const PIECE: usize = 64 << 10;

/// The program with this number at the other end of a connection, as if it had been started here. It is given back when
/// nobody uses it any more. Must be called within a runtime.
///
/// # Errors
/// When no pipes can be had.
pub fn lease(connection: KeeperConnection, process: u32) -> io::Result<Launched> {
    let (launched, loan) = lend(process)?;
    let state = loan.state();
    drop(tokio::spawn(async move {
        let (reader, writer) = tokio::io::split(connection);
        let Loan { stdin, stdout, stderr, .. } = loan;
        let end = tokio::select! {
            end = hear(reader, stdout, stderr) => end,
            // Whoever closes the input is done with it.
            _ = say(stdin, writer) => ExitReport::Exited(0),
            () = state.given_back() => ExitReport::Exited(0),
        };
        state.ended(end);
    }));
    Ok(launched)
}

type Receiver = tokio::net::unix::pipe::Receiver;
type Sender = tokio::net::unix::pipe::Sender;

/// Passes on what the program writes, until it ends; says how it did.
async fn hear(mut reader: ReadHalf<KeeperConnection>, mut stdout: Sender, mut stderr: Sender) -> ExitReport {
    loop {
        let written = match Frame::read(&mut reader).await {
            Ok(Some(Frame::Output(bytes))) => stdout.write_all(&bytes).await,
            Ok(Some(Frame::Diagnostics(bytes))) => stderr.write_all(&bytes).await,
            Ok(Some(Frame::Ended(report))) => return report,
            Ok(None) | Err(_) => return ExitReport::Unknown,
        };
        if written.is_err() {
            // Nobody reads here any more.
            return ExitReport::Exited(0);
        }
    }
}

/// Passes on what the program is told, until nobody tells it anything any more.
async fn say(mut stdin: Receiver, mut writer: WriteHalf<KeeperConnection>) -> io::Result<()> {
    let mut piece = Vec::with_capacity(PIECE);
    loop {
        piece.clear();
        if stdin.read_buf(&mut piece).await? == 0 {
            return writer.shutdown().await;
        }
        writer.write_all(&piece).await?;
    }
}
