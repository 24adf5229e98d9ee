//! The token endpoint: what is asked, and what an answer means.

mod answer;
mod request;

pub(crate) use answer::{TokenAnswer, TokenType};
pub(crate) use request::{Form, TokenEndpoint, form, revocation};
