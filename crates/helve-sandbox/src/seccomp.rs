//! System calls that are answered with an error: two filters, since one filter has one answer.
//!
//! Most are refused (`EPERM`). A few are declared unknown (`ENOSYS`), because their arguments lie in memory where a filter cannot
//! look and every library has an older way: with `EPERM` in place of it, programs give up at their first thread.
//!
//! On x86-64 the kernel takes the same calls with another bit set (x32): there they are all unknown, as on a kernel without x32.

use std::collections::BTreeMap;

use rustix::process::{getegid, geteuid};
#[cfg(target_arch = "x86_64")]
use seccompiler::sock_filter;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Compare, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use crate::rules::{NetworkRule, Rules};
use crate::stage::StageError;

/// The bit of the x32 calls.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// Calls that the library of system calls has no names for yet; new ones have the same number everywhere.
const SYS_MOUNT_SETATTR: i64 = 442;
const SYS_QUOTACTL_FD: i64 = 443;
const SYS_PROCESS_MRELEASE: i64 = 448;
const SYS_FCHMODAT2: i64 = 452;
const SYS_LISTMOUNT: i64 = 458;
const SYS_SETXATTRAT: i64 = 463;
const SYS_REMOVEXATTRAT: i64 = 466;
const SYS_OPEN_TREE_ATTR: i64 = 467;
const SYS_FILE_SETATTR: i64 = 469;

/// Never answered with anything but a refusal.
const REFUSED: &[i64] = &[
    // Other namespaces, other mounts, another root.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_fsconfig,
    libc::SYS_fspick,
    SYS_MOUNT_SETATTR,
    SYS_OPEN_TREE_ATTR,
    SYS_LISTMOUNT,
    // Files by handle, past every path.
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    SYS_PROCESS_MRELEASE,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    // The kernel itself.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    SYS_QUOTACTL_FD,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_nfsservctl,
    // Labels of files.
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SYS_SETXATTRAT,
    SYS_REMOVEXATTRAT,
    SYS_FILE_SETATTR,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_OLD: &[i64] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS__sysctl,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
    libc::SYS_lookup_dcookie,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_OLD: &[i64] = &[libc::SYS_lookup_dcookie];

/// Declared unknown.
const UNKNOWN: &[i64] = &[
    libc::SYS_clone3,
    libc::SYS_openat2,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Flags of `clone` that make a namespace.
const NEW_NAMESPACES: [u64; 7] =
    [0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000];

/// The owner or group that leaves a file with its own.
const UNCHANGED: u64 = 0xFFFF_FFFF;

/// Bits by which a program runs as its file's user or group.
const SET_ID_BITS: [u64; 2] = [0o4000, 0o2000];

/// `O_CREAT`, and the bit of `O_TMPFILE` that no other flag has.
const CREATES: [u64; 2] = [0o100, 0o20_000_000];

/// `ioctl`s that type into a terminal, or change a file's attributes past its mode.
const IOCTLS: [u64; 5] = [0x5412, 0x541C, 0x4008_6602, 0x401C_5820, 0x4004_6602];

const FILE_TYPE: u64 = 0o170_000;
const DEVICES: [u64; 2] = [0o020_000, 0o060_000];

const AF_UNIX: u64 = 1;
const AF_INET: u64 = 2;
const AF_INET6: u64 = 10;
const AF_NETLINK: u64 = 16;
const NETLINK_ROUTE: u64 = 0;
const SOCKET_TYPE: u64 = 0xF;
/// Sockets that a pair of which can be sent to an address with, and so leave the pair.
const LOOSE_PAIRS: [u64; 2] = [2, 3];

/// Puts both filters in force.
pub(crate) fn apply(rules: &Rules) -> Result<(), StageError> {
    let failed = |error: seccompiler::Error| StageError::new("cannot filter system calls", error);
    // Nothing of the second may be needed to put it in force: `seccomp` is in neither.
    for program in programs(rules)? {
        seccompiler::apply_filter(&program).map_err(failed)?;
    }
    Ok(())
}

fn programs(rules: &Rules) -> Result<[BpfProgram; 2], StageError> {
    let failed = |error: seccompiler::BackendError| StageError::new("cannot filter system calls", error);
    let architecture = TargetArch::try_from(std::env::consts::ARCH).map_err(failed)?;
    let filter = |calls: BTreeMap<i64, Vec<SeccompRule>>, answer: i32| {
        SeccompFilter::new(calls, SeccompAction::Allow, errno(answer), architecture)?.try_into()
    };
    let unknown: BpfProgram =
        filter(UNKNOWN.iter().map(|call| (*call, Vec::new())).collect(), libc::ENOSYS).map_err(failed)?;
    let refused = refused(rules).map_err(failed)?;
    Ok([without_x32(unknown), filter(refused, libc::EPERM).map_err(failed)?])
}

const fn errno(number: i32) -> SeccompAction {
    SeccompAction::Errno(number.cast_unsigned())
}

/// The program behind a look at the number: one check, where listing every number twice would make both filters twice as long
/// to build and to run.
fn without_x32(program: BpfProgram) -> BpfProgram {
    #[cfg(target_arch = "x86_64")]
    let program = {
        /// `BPF_LD | BPF_W | BPF_ABS` at 0, where the number is; `BPF_JMP | BPF_JGE | BPF_K`; `BPF_RET | BPF_K`.
        const LOAD: u16 = 0x20;
        const JUMP_UNLESS_BELOW: u16 = 0x35;
        const ANSWER: u16 = 0x06;
        let step = |code, jf, k| sock_filter { code, jt: 0, jf, k };
        let unknown = u32::from(errno(libc::ENOSYS));
        let mut checked = vec![step(LOAD, 0, 0), step(JUMP_UNLESS_BELOW, 1, X32), step(ANSWER, 0, unknown)];
        checked.extend(program);
        checked
    };
    program
}

/// A list of alternatives for each call; an empty one means always.
fn refused(rules: &Rules) -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::BackendError> {
    let mut calls: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().chain(REFUSED_OLD).map(|call| (*call, Vec::new())).collect();
    let has_bits = |argument, bits| all(&[(argument, Compare::MaskedEq(bits), bits)]);
    calls.insert(libc::SYS_clone, NEW_NAMESPACES.into_iter().map(|flag| has_bits(0, flag)).collect::<Result<_, _>>()?);
    for (call, argument) in modes() {
        let rules = SET_ID_BITS.into_iter().map(|bit| has_bits(argument, bit)).collect::<Result<Vec<_>, _>>()?;
        calls.insert(call, rules);
    }
    // To itself a program may give a file: package managers do that with all they write, where they run as root.
    let (user, group) = (u64::from(geteuid().as_raw()), u64::from(getegid().as_raw()));
    for (call, argument) in owners() {
        let another = |argument: u8, own| all(&[(argument, Compare::Ne, own), (argument, Compare::Ne, UNCHANGED)]);
        calls.insert(call, vec![another(argument, user)?, another(argument + 1, group)?]);
    }
    for (call, flags, mode) in opens() {
        let mut rules = Vec::new();
        // Only then is there a mode; else the argument is whatever was there.
        for (creates, bit) in CREATES.into_iter().flat_map(|flag| SET_ID_BITS.map(|bit| (flag, bit))) {
            let conditions = [(flags, Compare::MaskedEq(creates), creates), (mode, Compare::MaskedEq(bit), bit)];
            rules.push(all(&conditions)?);
        }
        calls.insert(call, rules);
    }
    for (call, argument) in nodes() {
        let devices = DEVICES.into_iter().map(|kind| all(&[(argument, Compare::MaskedEq(FILE_TYPE), kind)]));
        let bits = SET_ID_BITS.into_iter().map(|bit| has_bits(argument, bit));
        calls.insert(call, devices.chain(bits).collect::<Result<_, _>>()?);
    }
    calls.insert(
        libc::SYS_ioctl,
        IOCTLS.into_iter().map(|request| all(&[(1, Compare::Eq, request)])).collect::<Result<_, _>>()?,
    );
    // Limits, priorities and schedules of processes that are not its own.
    let another = || {
        SeccompRule::new(vec![
            SeccompCondition::new(0, Length::Dword, Compare::Ne, 0)?,
            SeccompCondition::new(2, Length::Qword, Compare::Ne, 0)?,
        ])
    };
    calls.insert(libc::SYS_prlimit64, vec![another()?]);
    for call in [libc::SYS_setpriority, libc::SYS_ioprio_set] {
        calls.insert(call, vec![all(&[(1, Compare::Ne, 0)])?]);
    }
    for call in [libc::SYS_sched_setscheduler, libc::SYS_sched_setparam, libc::SYS_sched_setattr] {
        calls.insert(call, vec![all(&[(0, Compare::Ne, 0)])?]);
    }
    calls.extend(sockets(rules)?);
    Ok(calls)
}

fn sockets(rules: &Rules) -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::BackendError> {
    let mut families = Vec::new();
    if rules.network != NetworkRule::Closed {
        families.extend([AF_INET, AF_INET6, AF_NETLINK]);
    }
    if rules.unix {
        families.push(AF_UNIX);
    }
    let others: Vec<(u8, Compare, u64)> = families.iter().map(|family| (0, Compare::Ne, *family)).collect();
    let mut socket = if others.is_empty() { Vec::new() } else { vec![all(&others)?] };
    if families.contains(&AF_NETLINK) {
        // Addresses of interfaces, and nothing else of the kernel's.
        socket.push(all(&[(0, Compare::Eq, AF_NETLINK), (2, Compare::Ne, NETLINK_ROUTE)])?);
    }
    let mut calls = BTreeMap::from([(libc::SYS_socket, socket)]);
    let mut pairs = vec![all(&[(0, Compare::Ne, AF_UNIX)])?];
    if !rules.unix {
        for kind in LOOSE_PAIRS {
            pairs.push(all(&[(1, Compare::MaskedEq(SOCKET_TYPE), kind)])?);
        }
    }
    calls.insert(libc::SYS_socketpair, pairs);
    Ok(calls)
}

/// All of these at once; arguments are compared by their lower half, which is all the kernel takes of them.
fn all(conditions: &[(u8, Compare, u64)]) -> Result<SeccompRule, seccompiler::BackendError> {
    let condition = |(argument, compare, value): &(u8, Compare, u64)| {
        SeccompCondition::new(*argument, Length::Dword, compare.clone(), *value)
    };
    SeccompRule::new(conditions.iter().map(condition).collect::<Result<_, _>>()?)
}

/// Calls with the owner of a file, and which argument it is; the group comes next.
fn owners() -> Vec<(i64, u8)> {
    #[cfg(target_arch = "x86_64")]
    let old = [(libc::SYS_chown, 1), (libc::SYS_lchown, 1)];
    #[cfg(not(target_arch = "x86_64"))]
    let old = [];
    [(libc::SYS_fchown, 1), (libc::SYS_fchownat, 2)].into_iter().chain(old).collect()
}

/// Calls with the mode of a file, and which argument it is.
fn modes() -> Vec<(i64, u8)> {
    #[cfg(target_arch = "x86_64")]
    let old = [(libc::SYS_chmod, 1), (libc::SYS_creat, 1)];
    #[cfg(not(target_arch = "x86_64"))]
    let old = [];
    [(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (SYS_FCHMODAT2, 2)].into_iter().chain(old).collect()
}

/// Calls that open files, and which arguments are the flags and the mode.
fn opens() -> Vec<(i64, u8, u8)> {
    #[cfg(target_arch = "x86_64")]
    let old = [(libc::SYS_open, 1, 2)];
    #[cfg(not(target_arch = "x86_64"))]
    let old = [];
    [(libc::SYS_openat, 2, 3)].into_iter().chain(old).collect()
}

/// Calls that make special files, and which argument is the mode.
fn nodes() -> Vec<(i64, u8)> {
    #[cfg(target_arch = "x86_64")]
    let old = [(libc::SYS_mknod, 1)];
    #[cfg(not(target_arch = "x86_64"))]
    let old = [];
    [(libc::SYS_mknodat, 2)].into_iter().chain(old).collect()
}

#[cfg(test)]
mod tests {
    use super::{REFUSED, REFUSED_OLD, UNKNOWN, programs, refused};
    use crate::rules::{NetworkRule, Rules};

    #[test]
    fn no_call_is_listed_twice_or_in_both_lists() {
        let mut seen = std::collections::BTreeSet::new();
        for call in REFUSED.iter().chain(REFUSED_OLD).chain(UNKNOWN) {
            assert!(seen.insert(call), "{call}");
        }
    }

    #[test]
    fn every_kind_of_rules_compiles() {
        for network in [NetworkRule::Open, NetworkRule::Closed] {
            for unix in [false, true] {
                let mut rules = Rules::new(7);
                (rules.network, rules.unix) = (network.clone(), unix);
                let programs = programs(&rules).unwrap();
                assert!(programs.iter().all(|program| !program.is_empty()));
            }
        }
    }

    #[test]
    fn a_closed_network_refuses_every_socket() {
        let mut rules = Rules::new(7);
        rules.network = NetworkRule::Closed;
        assert_eq!(refused(&rules).unwrap().get(&libc::SYS_socket).map(Vec::len), Some(0));
        rules.unix = true;
        assert_eq!(refused(&rules).unwrap().get(&libc::SYS_socket).map(Vec::len), Some(1));
    }
}
