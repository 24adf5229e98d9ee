//! One way to take a lock: a panic elsewhere must not become a panic here.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks; every critical section of this crate leaves its state whole at each step, so what a panicking holder left
/// behind can be used.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
