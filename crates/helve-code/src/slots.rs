//! Owns how many programs run at once: so many in all, so many of one principal; one that waits for a person leaves its place.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use helve_model::Principal;
use helve_model::sync::lock;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::Limits;

/// The places of one host.
#[derive(Debug)]
pub(crate) struct Slots {
    all: Arc<Semaphore>,
    per_principal: usize,
    paused_per_principal: usize,
    principals: Mutex<HashMap<Principal, Counted>>,
}

#[derive(Debug)]
struct Counted {
    running: Arc<Semaphore>,
    programs: usize,
    paused: usize,
}

/// The place of one program, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    slots: Arc<Slots>,
    principal: Principal,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    permits: Option<(OwnedSemaphorePermit, OwnedSemaphorePermit)>,
    paused: usize,
}

/// A program that waits for a person, until it is dropped.
#[derive(Debug)]
pub(crate) struct Paused(Arc<Place>);

impl Slots {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            all: Arc::new(Semaphore::new(limits.programs.max(1))),
            per_principal: limits.programs_per_principal.max(1),
            paused_per_principal: limits.paused_per_principal,
            principals: Mutex::default(),
        })
    }

    /// A place for a program of this principal, when there is one.
    pub(crate) async fn take(self: &Arc<Self>, principal: &Principal) -> Arc<Place> {
        {
            let mut principals = lock(&self.principals);
            let counted = principals.entry(principal.clone()).or_insert_with(|| Counted {
                running: Arc::new(Semaphore::new(self.per_principal)),
                programs: 0,
                paused: 0,
            });
            counted.programs += 1;
        }
        // Made before it is waited for, so that whoever gives up is not counted any more.
        let place = Arc::new(Place { slots: Arc::clone(self), principal: principal.clone(), held: Mutex::default() });
        place.enter().await;
        place
    }

    fn running(&self, principal: &Principal) -> Option<Arc<Semaphore>> {
        lock(&self.principals).get(principal).map(|counted| Arc::clone(&counted.running))
    }
}

impl Place {
    async fn enter(&self) {
        let Some(running) = self.slots.running(&self.principal) else { return };
        let own = running.acquire_owned().await;
        let all = Arc::clone(&self.slots.all).acquire_owned().await;
        // Semaphores are never closed.
        if let (Ok(own), Ok(all)) = (own, all) {
            let mut held = lock(&self.held);
            if held.paused == 0 {
                held.permits = Some((own, all));
            }
        }
    }

    /// Leaves the place to others; `None` when too many programs of the principal wait already.
    pub(crate) async fn pause(self: &Arc<Self>, principal: &Principal) -> Option<Paused> {
        {
            let mut principals = lock(&self.slots.principals);
            let counted = principals.get_mut(principal)?;
            let mut held = lock(&self.held);
            if held.paused == 0 {
                if counted.paused >= self.slots.paused_per_principal {
                    return None;
                }
                counted.paused += 1;
                held.permits = None;
            }
            held.paused += 1;
        }
        Some(Paused(Arc::clone(self)))
    }

    /// Takes a place again where it has none and nobody is asked any more.
    pub(crate) async fn resume(&self) {
        let is_out = {
            let held = lock(&self.held);
            held.paused == 0 && held.permits.is_none()
        };
        if is_out {
            self.enter().await;
        }
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        let mut principals = lock(&self.0.slots.principals);
        let mut held = lock(&self.0.held);
        held.paused -= 1;
        if held.paused == 0
            && let Some(counted) = principals.get_mut(&self.0.principal)
        {
            counted.paused = counted.paused.saturating_sub(1);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut principals = lock(&self.slots.principals);
        if let Some(counted) = principals.get_mut(&self.principal) {
            counted.programs -= 1;
            if counted.programs == 0 {
                principals.remove(&self.principal);
            }
        }
    }
}
