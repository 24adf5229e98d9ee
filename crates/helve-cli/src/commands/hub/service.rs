//! What a connection to the hub meets: agents at their door, on the thread that has the connection; everything else on the
//! threads of the page.

use std::sync::Arc;

use helve_hub::{Body, Hub, LONGEST_BODY, RequestTarget};
use helve_serve::Peer;
use helve_serve::face::http::{self, HttpFace};
use http_body_util::{BodyExt as _, Either, Limited};
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::listening::Answers;

/// A hub behind a listener.
pub(super) struct HubService {
    hub: Arc<Hub>,
    face: Arc<HttpFace>,
    pages: Handle,
}

impl HubService {
    pub(super) const fn new(hub: Arc<Hub>, face: Arc<HttpFace>, pages: Handle) -> Self {
        Self { hub, face, pages }
    }

    async fn page(&self, request: Request<Incoming>, peer: Peer) -> Response<Body> {
        let (head, body) = request.into_parts();
        let Ok(body) = Limited::new(body, LONGEST_BODY).collect().await else {
            return status(StatusCode::PAYLOAD_TOO_LARGE);
        };
        let ends_with_caller = RequestTarget::ends_with_its_caller(head.uri.path());
        let request = Request::from_parts(head, body.to_bytes());
        let answer = self.pages.spawn(Arc::clone(&self.hub).handle(request, peer));
        let _ended = ends_with_caller.then(|| EndedOnDrop(answer.abort_handle()));
        answer.await.unwrap_or_else(|_| status(StatusCode::INTERNAL_SERVER_ERROR))
    }
}

/// Work that ends when whoever wanted it has gone: their connection is dropped, and this with it.
struct EndedOnDrop(AbortHandle);

impl Drop for EndedOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Answers for HubService {
    type Body = Either<http::Body, Body>;

    fn face(&self) -> &HttpFace {
        &self.face
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>, peer: Peer) -> Response<Self::Body> {
        match RequestTarget::of(request.uri().path()) {
            RequestTarget::Agents => self.face.handle(request, peer).await.map(Either::Left),
            RequestTarget::Hub => self.page(request, peer).await.map(Either::Right),
        }
    }
}

fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::Whole(None));
    *response.status_mut() = status;
    response
}
