//! Ten thousand connections, one after the other: nothing is left of any of them.

use anyhow::Result;

use super::Holdings;
use crate::job::Era;
use crate::subject::{Server, StdioClient, StdioWork};

/// Cycles before the first look: what is set up once is not a leak.
const WARM_UP: usize = 20;

/// Allocators keep some of what was freed.
const MEMORY_ALLOWANCE: f64 = 8e6;

pub(super) struct Cycles {
    pub(super) server: Server,
    pub(super) count: usize,
}

impl StdioWork for Cycles {
    type Output = String;

    async fn run<C: StdioClient>(self, era: Era) -> Result<String> {
        self.cycle::<C>(WARM_UP, era).await?;
        let before = Holdings::now()?;
        self.cycle::<C>(self.count, era).await?;
        // Tasks that were told to end get one more turn to do so.
        tokio::task::yield_now().await;
        Holdings::now()?.check(before, MEMORY_ALLOWANCE)
    }
}

impl Cycles {
    async fn cycle<C: StdioClient>(&self, count: usize, era: Era) -> Result<()> {
        for _ in 0..count {
            let mut client = C::connect(&self.server, era).await?;
            client.echo().await?;
            client.close().await?;
        }
        Ok(())
    }
}
