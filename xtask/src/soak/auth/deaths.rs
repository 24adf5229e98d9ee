//! Owns the run in which programs are killed at random moments of a renewal: what is kept can be read after each of them, and the
//! login is lost only where the authorization server had already given away the old token.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::Value;

use super::world::World;
use crate::attack::Figure;

/// How long after the request for a token has arrived the program may live.
const LONGEST: Duration = Duration::from_millis(12);
/// How long a program may take to ask for a token.
const PATIENCE: Duration = Duration::from_secs(30);

/// Every second one dies at any moment of its run, the others around their request.
pub(super) fn run(world: &World, kills: usize) -> Result<Vec<Figure>> {
    world.login()?;
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let whole = a_whole_call(world)?;
    let (mut readable, mut lost, mut rotated, mut unjustified) = (0, 0, 0, Vec::new());
    for round in 0..kills {
        world.authority.end_access_tokens();
        let (before, asked) = (world.authority.refreshes(), world.authority.count("/token"));
        let mut helve = world.command(&["call", "far/echo", "text=hello"]).spawn()?;
        if round % 2 == 0 {
            std::thread::sleep(dice.up_to(whole));
        } else {
            let started = Instant::now();
            while world.authority.count("/token") == asked && helve.try_wait()?.is_none() {
                ensure!(started.elapsed() < PATIENCE, "a call does not end");
                std::thread::sleep(Duration::from_micros(100));
            }
            std::thread::sleep(dice.up_to(LONGEST));
        }
        helve.kill()?;
        helve.wait()?;
        let was_rotated = world.authority.refreshes() > before;
        rotated += usize::from(was_rotated);
        let kept = fs_err::read_to_string(world.vault())?;
        let is_whole = serde_json::from_str::<Value>(&kept).is_ok_and(|kept| kept["records"].is_object());
        let (status, said) = world.call()?;
        // Whoever cannot open the vault says so with another status than whoever has to sign in again.
        readable += usize::from(is_whole && matches!(status, Some(0 | 6)));
        if status != Some(0) {
            lost += 1;
            if !was_rotated || status != Some(6) {
                unjustified.push(said);
            }
            world.login()?;
        }
    }
    let mut justified = Figure::none_of("logins lost although the server had not rotated", kills, unjustified.len());
    justified.reached.push_str(&format!("; {lost} lost of {rotated} whose token was rotated before they died"));
    if let Some(said) = unjustified.first() {
        justified.reached.push_str(&format!("; the first: {}", said.lines().next().unwrap_or_default()));
    }
    Ok(vec![Figure::all_of("killed in the middle of a renewal: the vault can be read", kills, readable), justified])
}

/// How long a call with a renewal takes.
fn a_whole_call(world: &World) -> Result<Duration> {
    world.authority.end_access_tokens();
    let started = Instant::now();
    let (status, said) = world.call()?;
    ensure!(status == Some(0), "a call fails: {said}");
    Ok(started.elapsed())
}

/// Numbers that are the same in each run (xorshift).
struct Dice(u64);

impl Dice {
    fn up_to(&mut self, most: Duration) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let share = (self.0 >> 11) as f64 / (1_u64 << 53) as f64;
        most.mul_f64(share)
    }
}
