//! Owns how much a program may use. Each limit has a name and one place.

use std::time::Duration;

/// What one program may use, and how many run at once.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of its source.
    pub source_bytes: usize,
    /// Time until it has told what it is going to do.
    pub plan_time: Duration,
    /// Processor time, in whole seconds.
    pub processor_seconds: u64,
    /// Time in which it computes: while no call of its own is under way.
    pub computing_time: Duration,
    /// Time in all, while nobody is asked.
    pub total_time: Duration,
    /// Memory.
    pub memory_bytes: u64,
    /// Calls in all.
    pub calls: usize,
    /// Calls under way; the rest wait.
    pub calls_at_once: usize,
    /// Searches and descriptions, which do not count as calls.
    pub lookups: usize,
    /// Bytes of one message of the program's, and of one result for it.
    pub message_bytes: usize,
    /// Bytes of the arguments of one call.
    pub argument_bytes: usize,
    /// Bytes of what it prints.
    pub print_bytes: usize,
    /// Bytes of its value, once that is shortened.
    pub result_bytes: usize,
    /// Programs that run at once. The rest wait; one whose call waits for a person does not count.
    pub programs: usize,
    /// Programs of one principal that run at once.
    pub programs_per_principal: usize,
    /// Programs of one principal that wait for a person.
    pub paused_per_principal: usize,
    /// For so long after the last program a worker is kept ready for the next; `None`: none is.
    pub spare_for: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            source_bytes: 64 << 10,
            plan_time: Duration::from_secs(10),
            processor_seconds: 30,
            computing_time: Duration::from_secs(30),
            total_time: Duration::from_secs(5 * 60),
            memory_bytes: 256 << 20,
            calls: 100,
            calls_at_once: 8,
            lookups: 200,
            message_bytes: 8 << 20,
            argument_bytes: 1 << 20,
            print_bytes: 64 << 10,
            result_bytes: 40 << 10,
            programs: 4,
            programs_per_principal: 2,
            paused_per_principal: 8,
            spare_for: Some(Duration::from_secs(10 * 60)),
        }
    }
}

impl Limits {
    /// The same with a change.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}
