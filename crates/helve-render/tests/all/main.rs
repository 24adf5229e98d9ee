//! Search and the system prompt, over the definitions of real servers.

mod definitions;
mod search_quality;
