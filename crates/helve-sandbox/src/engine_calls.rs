//! The system calls that an engine may make: a list, and for some of them which arguments. Every other number is refused, the
//! other numbers of the same calls (x32) among them.

use std::collections::BTreeMap;

use rustix::process::getpid;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Compare, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

use crate::stage::StageError;

/// Allowed whatever the arguments are: they reach nothing but this process, the clock, and what it has open.
const ALLOWED: &[i64] = &[
    // What is open already.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_dup,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_getdents64,
    // Looking at paths; what may be opened is Landlock's to say.
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_faccessat,
    libc::SYS_readlinkat,
    libc::SYS_getcwd,
    // Memory.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    // Threads, signals of its own, its end.
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_rseq,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // Landlock lets it reach the interpreter alone, and these rules stay.
    libc::SYS_execve,
    // Identity, time, randomness.
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getrusage,
    libc::SYS_times,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
];

/// The same under their older names.
#[cfg(target_arch = "x86_64")]
const ALLOWED_OLD: &[i64] = &[
    libc::SYS_arch_prctl,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_getdents,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_time,
];
#[cfg(not(target_arch = "x86_64"))]
const ALLOWED_OLD: &[i64] = &[];

/// Declared unknown, so that libraries take the older way, whose arguments can be looked at.
const UNKNOWN: &[i64] = &[libc::SYS_clone3, libc::SYS_openat2, libc::SYS_faccessat2];

const PROT_EXEC: u64 = 4;
const MAP_ANONYMOUS: u64 = 0x20;
const CLONE_THREAD: u64 = 0x0001_0000;
/// Writing, `O_CREAT`, `O_TRUNC`, `O_APPEND`, and the bit of `O_TMPFILE` that no other flag has.
const OPENS_TO_WRITE: u64 = 0o3 | 0o100 | 0o1000 | 0o2000 | 0o20_000_000;
/// `F_GETFD`, `F_SETFD`, `F_GETFL`, `F_SETFL`, `F_DUPFD_CLOEXEC`.
const FCNTLS: [u64; 5] = [1, 2, 3, 4, 1030];
/// `O_ASYNC`: with it a pipe signals whoever is its owner.
const O_ASYNC: u64 = 0o20_000;
const F_SETFL: u64 = 4;
/// `TCGETS`, `FIOCLEX`, `FIONREAD`.
const IOCTLS: [u64; 3] = [0x5401, 0x5451, 0x541B];
/// `PR_SET_NAME`, and `PR_SET_VMA`, which names memory.
const PRCTLS: [u64; 2] = [15, 0x5356_4d41];

/// Puts the filters in force. This process's number must stay its own.
pub(crate) fn apply() -> Result<(), StageError> {
    let own = u64::from(getpid().as_raw_nonzero().get().cast_unsigned());
    for program in programs(own).map_err(|error| StageError::new("cannot filter an engine's system calls", error))? {
        seccompiler::apply_filter(&program)
            .map_err(|error| StageError::new("cannot filter an engine's system calls", error))?;
    }
    Ok(())
}

/// The unknown first: of two filters the stricter answer counts, and the second allows what the first declares unknown.
fn programs(own: u64) -> Result<[BpfProgram; 2], BackendError> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    let unknown = UNKNOWN.iter().map(|call| (*call, Vec::new())).collect();
    let unknown = SeccompFilter::new(unknown, SeccompAction::Allow, errno(libc::ENOSYS), architecture)?;
    let allowed = SeccompFilter::new(allowed(own)?, errno(libc::EPERM), SeccompAction::Allow, architecture)?;
    Ok([unknown.try_into()?, allowed.try_into()?])
}

fn errno(number: i32) -> SeccompAction {
    SeccompAction::Errno(number.cast_unsigned())
}

/// A list of alternatives for each call; an empty one means always.
fn allowed(own: u64) -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let mut calls: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().chain(ALLOWED_OLD).chain(UNKNOWN).map(|call| (*call, Vec::new())).collect();
    let lacks = |argument, bits| all(&[(argument, Compare::MaskedEq(bits), 0)]);
    let one_of = |argument: u8, values: &[u64]| -> Result<Vec<SeccompRule>, BackendError> {
        values.iter().map(|value| all(&[(argument, Compare::Eq, *value)])).collect()
    };
    calls.insert(libc::SYS_openat, vec![lacks(2, OPENS_TO_WRITE)?]);
    #[cfg(target_arch = "x86_64")]
    calls.insert(libc::SYS_open, vec![lacks(1, OPENS_TO_WRITE)?]);
    // Code comes from files that may be read, never from memory that may be written.
    calls.insert(libc::SYS_mmap, vec![lacks(2, PROT_EXEC)?, lacks(3, MAP_ANONYMOUS)?]);
    calls.insert(libc::SYS_mprotect, vec![lacks(2, PROT_EXEC)?]);
    calls.insert(libc::SYS_clone, vec![all(&[(0, Compare::MaskedEq(CLONE_THREAD), CLONE_THREAD)])?]);
    let mut fcntls = one_of(1, &FCNTLS.iter().copied().filter(|command| *command != F_SETFL).collect::<Vec<_>>())?;
    fcntls.push(all(&[(1, Compare::Eq, F_SETFL), (2, Compare::MaskedEq(O_ASYNC), 0)])?);
    calls.insert(libc::SYS_fcntl, fcntls);
    calls.insert(libc::SYS_ioctl, one_of(1, &IOCTLS)?);
    calls.insert(libc::SYS_prctl, one_of(0, &PRCTLS)?);
    // Its own limits can be read.
    let reads = SeccompRule::new(vec![SeccompCondition::new(2, Length::Qword, Compare::Eq, 0)?])?;
    calls.insert(libc::SYS_prlimit64, vec![reads]);
    calls.insert(libc::SYS_tgkill, vec![all(&[(0, Compare::Eq, own)])?]);
    Ok(calls)
}

/// All of these at once; arguments are compared by their lower half, which is all the kernel takes of them.
fn all(conditions: &[(u8, Compare, u64)]) -> Result<SeccompRule, BackendError> {
    let condition = |(argument, compare, value): &(u8, Compare, u64)| {
        SeccompCondition::new(*argument, Length::Dword, compare.clone(), *value)
    };
    SeccompRule::new(conditions.iter().map(condition).collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::{ALLOWED, ALLOWED_OLD, UNKNOWN, allowed, programs};

    #[test]
    fn no_call_is_listed_twice() {
        let mut seen = std::collections::BTreeSet::new();
        for call in ALLOWED.iter().chain(ALLOWED_OLD).chain(UNKNOWN) {
            assert!(seen.insert(call), "{call}");
        }
    }

    #[test]
    fn the_list_compiles_and_holds_no_way_out() {
        assert!(programs(1).unwrap().iter().all(|program| !program.is_empty()));
        let calls = allowed(1).unwrap();
        for call in [
            libc::SYS_socket,
            libc::SYS_socketpair,
            libc::SYS_vfork,
            libc::SYS_kill,
            libc::SYS_memfd_create,
            libc::SYS_ptrace,
            libc::SYS_execveat,
            libc::SYS_fchmod,
            libc::SYS_utimensat,
            libc::SYS_setrlimit,
            libc::SYS_chdir,
        ] {
            assert!(!calls.contains_key(&call), "{call}");
        }
        assert!(calls.len() < 90, "{}", calls.len());
    }
}
