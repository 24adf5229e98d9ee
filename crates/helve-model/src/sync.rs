//! One way to take a lock: a panic elsewhere must not become a panic here.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks; what a panicking holder left behind is taken as it is: every critical section of this workspace leaves its state
/// whole at each step.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
