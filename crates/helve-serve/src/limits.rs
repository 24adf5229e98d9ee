//! Every limit of a face, by name, with its default.

use std::time::Duration;

use helve_model::PrivateIdle;

/// What one agent may make us hold, wait for or repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one message of an agent.
    pub message_bytes: usize,
    /// Requests of one agent that are being answered at one time; further ones wait unread.
    pub requests_in_flight: usize,
    /// Requests of all agents that are being answered at one time. A principal has at most half of what others left.
    pub requests: usize,
    /// Bytes waiting for an agent that does not read. Beyond it the oldest notifications go, and the agent is not read
    /// from until it reads.
    pub waiting_bytes: usize,
    /// Bytes of answers an agent may leave unread. Beyond it its connection is closed. The same for all of a principal over
    /// HTTP: beyond it its next large answers are refused.
    pub unread_bytes: usize,
    /// Bytes of requests of one principal over HTTP that are being read or answered.
    pub request_bytes: usize,
    /// Connections over HTTP at one time. A principal has at most half of what others left.
    pub connections: usize,
    /// Bytes of a stream's delivered events kept for an agent that comes back to it, besides its answer.
    pub replay_bytes: usize,
    /// Bytes of finished streams that one session keeps for an agent that did not get its answer whole. The oldest go
    /// first.
    pub session_answer_bytes: usize,
    /// The same for all sessions of one principal together.
    pub answer_bytes: usize,
    /// How long a finished stream is kept.
    pub answer_time: Duration,
    /// Streams of a session that can be resumed at one time; of finished ones the oldest goes first.
    pub resumable_streams: usize,
    /// How long a call goes on after its agent lost the stream, for it to come back.
    pub resume_time: Duration,
    /// Calls of one principal that wait for the answer of a modern agent at one time.
    pub parked_calls: usize,
    /// Bytes of what all of them say: their parameters, and what is asked.
    pub parked_bytes: usize,
    /// How long such a call waits.
    pub parked_time: Duration,
    /// How long the state of a modern server may take on its way through an agent.
    pub state_time: Duration,
    /// Tasks of one server that are remembered for one principal. Those unused longest are forgotten first.
    pub tasks: usize,
    /// Sessions over HTTP at one time. Beyond it one of the principal that has most makes room: one that never did
    /// anything, else the one that was idle longest.
    pub sessions: usize,
    /// Sessions over HTTP of one principal at one time. Beyond it one of its own makes room in the same way.
    pub sessions_per_principal: usize,
    /// How long a session over HTTP lives without being used.
    pub session_idle: Duration,
    /// How long the servers that are one session's alone run on once it is abandoned, unless their entries say otherwise: no
    /// connection that carried it is open, and nothing of it is under way. They are started again at their next use.
    pub private_idle: PrivateIdle,
    /// Agents of the modern era that one principal can be at one time, each by what it says it can do. Beyond it the one
    /// that was idle longest is forgotten.
    pub agents_per_principal: usize,
    /// Agents of one principal that have servers of their own at one time. Beyond it those of the one that was idle
    /// longest are ended, if it is not connected.
    pub own_hosts_per_principal: usize,
    /// Bytes of what a modern agent says it can do.
    pub capability_bytes: usize,
    /// How long nothing may come of a request over HTTP whose body has begun.
    pub body_stall: Duration,
    /// How long all of it may take.
    pub body_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 64 << 20,
            requests_in_flight: 1_024,
            requests: 4_096,
            waiting_bytes: 4 << 20,
            unread_bytes: 256 << 20,
            request_bytes: 256 << 20,
            connections: 1_024,
            replay_bytes: 8 << 10,
            session_answer_bytes: 16 << 20,
            answer_bytes: 128 << 20,
            answer_time: Duration::from_secs(5 * 60),
            resumable_streams: 16,
            resume_time: Duration::from_secs(60),
            parked_calls: 256,
            parked_bytes: 64 << 20,
            parked_time: Duration::from_secs(5 * 60),
            state_time: Duration::from_secs(60 * 60),
            tasks: 4_096,
            sessions: 10_000,
            sessions_per_principal: 1_000,
            session_idle: Duration::from_secs(30 * 60),
            private_idle: PrivateIdle::default(),
            agents_per_principal: 16,
            own_hosts_per_principal: 64,
            capability_bytes: 16 << 10,
            body_stall: Duration::from_secs(30),
            body_time: Duration::from_secs(10 * 60),
        }
    }
}
