//! Owns the runs in which a token ends under many calls at once: in one process, and in fifty.

use anyhow::Result;

use super::agent::Agent;
use super::world::World;
use crate::attack::Figure;

/// Calls at once in one process.
const CALLS: usize = 100;
/// Processes at once, and how many calls each makes.
const PROCESSES: usize = 50;
const EACH: usize = 2;

/// One process, a hundred calls at once, round after round.
pub(super) fn calls(world: &World, rounds: usize) -> Result<Vec<Figure>> {
    world.login()?;
    renew(world, vec![Agent::start(world)?], CALLS, rounds, "100 calls at once in one process")
}

/// Fifty processes with two calls each.
pub(super) fn processes(world: &World, rounds: usize) -> Result<Vec<Figure>> {
    world.login()?;
    let agents: Result<Vec<Agent>> = (0..PROCESSES).map(|_| Agent::start(world)).collect();
    renew(world, agents?, EACH, rounds, "50 processes with 2 calls each")
}

fn renew(world: &World, mut agents: Vec<Agent>, each: usize, rounds: usize, what: &str) -> Result<Vec<Figure>> {
    let (mut exact, mut answered, mut most) = (0, 0, 0);
    for _ in 0..rounds {
        let before = world.authority.count("/token");
        world.authority.end_access_tokens();
        let firsts: Result<Vec<u64>> = agents.iter_mut().map(|agent| agent.ask(each)).collect();
        for (agent, first) in agents.iter_mut().zip(firsts?) {
            answered += agent.answered(first, each)?;
        }
        let requests = world.authority.count("/token") - before;
        exact += usize::from(requests == 1);
        most = most.max(requests);
    }
    let calls = rounds * each * agents.len();
    let mut renewals = Figure::all_of(&format!("{what}: rounds with exactly one request for a token"), rounds, exact);
    renewals.reached.push_str(&format!(", at most {most}"));
    Ok(vec![
        renewals,
        Figure::all_of(&format!("{what}: calls answered, no login lost"), calls, answered),
        Figure::none_of(&format!("{what}: refresh tokens that came twice"), rounds, world.authority.reuses()),
    ])
}
