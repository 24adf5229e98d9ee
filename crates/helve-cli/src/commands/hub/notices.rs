//! Where it is told that a call waits: addresses that the person named, by a POST that holds no arguments and decides nothing. Every
//! request goes through the egress policy that logins use.

use std::sync::Arc;

use helve::auth::egress::{Certificates, EgressClient, Policy};
use helve::auth::ports::{Http as _, HttpRequest};
use helve_hub::{Announcement, ApprovalQueue};
use helve_model::json::ObjectWriter;
use tokio::sync::mpsc;
use url::Url;

use crate::context::Context;

/// So many notices wait to be sent, to each address.
const QUEUE: usize = 64;

/// Tells these addresses of every new question, for ever. In the runtime of the page. Each has a queue of its own: one that
/// hangs delays no other.
pub(super) fn begin(
    context: &Context,
    approvals: &ApprovalQueue,
    addresses: &[String],
    runtime: &tokio::runtime::Handle,
) {
    let clients = addresses.iter().filter_map(|address| client(context, address));
    let queues: Vec<mpsc::Sender<Announcement>> = clients
        .map(|(url, client)| {
            let (sender, announced) = mpsc::channel(QUEUE);
            runtime.spawn(tell(url, client, announced));
            sender
        })
        .collect();
    if queues.is_empty() {
        return;
    }
    let (sender, announced) = mpsc::channel(QUEUE);
    approvals.announce_to(sender);
    runtime.spawn(hand_out(queues, announced));
}

/// Gives each address its copy; one that has too many waiting misses this one.
async fn hand_out(queues: Vec<mpsc::Sender<Announcement>>, mut announced: mpsc::Receiver<Announcement>) {
    while let Some(announcement) = announced.recv().await {
        for queue in &queues {
            if queue.try_send(announcement.clone()).is_err() {
                tracing::warn!(id = announcement.id, "an address does not keep up, and is not told of a question");
            }
        }
    }
}

fn client(context: &Context, address: &str) -> Option<(Url, EgressClient)> {
    let url = Url::parse(address).ok().filter(|url| url.scheme() == "https");
    let Some(url) = url else {
        context.printer.warning(format!("{address:?} is not an address that can be told of approvals"));
        return None;
    };
    let environment = &context.env;
    let certificates = Certificates { named: &[], system: environment.certificates()() };
    let proxies = environment.proxies().map(|proxies| Arc::clone(proxies.matcher()));
    match EgressClient::new(Policy::for_server(&url), certificates, proxies) {
        Ok(client) => Some((url, client)),
        Err(error) => {
            context.printer.warning(format!("{url} cannot be told of approvals: {}", error.message()));
            None
        }
    }
}

async fn tell(url: Url, client: EgressClient, mut announced: mpsc::Receiver<Announcement>) {
    while let Some(announcement) = announced.recv().await {
        match client.send(HttpRequest::notice(url.clone(), body(&announcement))).await {
            Ok(answer) if answer.status.is_success() => {}
            Ok(answer) => tracing::warn!(status = %answer.status, host = url.host_str(), "a notice was refused"),
            Err(error) => tracing::warn!(%error, host = url.host_str(), "a notice could not be sent"),
        }
    }
}

fn body(announcement: &Announcement) -> String {
    let Announcement { id, principal, tool, link } = announcement;
    ObjectWriter::new().text("id", id).text("principal", principal).text("tool", tool).text("link", link).into_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_says_who_what_and_where_and_nothing_else() {
        let announcement = Announcement {
            id: "A-7F3K".to_owned(),
            principal: "token:ci".to_owned(),
            tool: "github/delete_branch".to_owned(),
            link: "https://hub.example.com/approvals/A-7F3K".to_owned(),
        };
        let expected = r#"{"id":"A-7F3K","principal":"token:ci","tool":"github/delete_branch","link":"https://hub.example.com/approvals/A-7F3K"}"#;
        assert_eq!(body(&announcement), expected);
    }
}
