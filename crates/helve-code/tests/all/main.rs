//! Code mode with a real Python in its real sandbox. Where there is none, what was not run is told.

mod escaping;
mod fidelity;
mod gate;
mod pages;
mod support;
