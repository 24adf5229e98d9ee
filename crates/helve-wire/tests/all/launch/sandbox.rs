//! Real processes in real sandboxes, by either launcher. `cargo xtask escapes` attacks them; here is what holds and what works.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use helve_sandbox::{Demand, Limits, Machine, Network, PlanRefusal, Policy, Profile};
use helve_wire::launch::{
    ExitReport, Launched, Launcher, PlainLauncher, RefusedHosts, Sandbox, SandboxedLauncher, ServerCommand,
    WardenProgram, probe,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{read_to_end, shell, wait_until, warden};

pub(super) fn stage() -> WardenProgram {
    WardenProgram { path: env!("CARGO_BIN_EXE_helve-warden").into(), leading: Vec::new() }
}

pub(super) fn machine() -> Machine {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    *MACHINE.get_or_init(|| probe(&stage()).unwrap())
}

/// A home with a key, a project, and a place for sandboxes.
pub(super) struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for path in ["home/.ssh", "home/project", "home/out"] {
            fs_err::create_dir_all(root.join(path)).unwrap();
        }
        fs_err::write(root.join("home/.ssh/id"), "the key").unwrap();
        fs_err::write(root.join("home/project/readme"), "the project").unwrap();
        Self { directory }
    }

    pub(super) fn path(&self, path: &str) -> std::path::PathBuf {
        self.directory.path().join(path)
    }

    pub(super) fn sandbox(&self, policy: Policy) -> Sandbox {
        Sandbox {
            policy,
            machine: machine(),
            stage: stage(),
            directory: self.path("cache/sandbox/s"),
            home: Some(self.path("home")),
            own: vec![self.path("home/.config/helve")],
            named_variables: Vec::new(),
            refused: RefusedHosts::default(),
        }
    }

    pub(super) fn command(&self, script: &str) -> ServerCommand {
        let mut command = shell(script);
        command.program = "bash".into();
        command.working_directory = Some(self.path("home/project"));
        command.environment.set("HOME", self.path("home"));
        command
    }

    async fn run(&self, policy: Policy, script: &str) -> String {
        self.run_by(warden(), policy, script).await
    }

    async fn run_by(&self, launcher: impl Launcher, policy: Policy, script: &str) -> String {
        let launcher = SandboxedLauncher::new(launcher, Arc::new(self.sandbox(policy)));
        let Launched { stdin, mut stdout, mut stderr, process } = launcher.launch(&self.command(script)).unwrap();
        drop(stdin);
        let (out, err) = tokio::join!(read_to_end(&mut stdout), read_to_end(&mut stderr));
        let exit = process.wait().await;
        if exit == ExitReport::Exited(0) { out } else { format!("{out}{err}{exit}") }
    }
}

pub(super) fn policy(profile: Profile) -> Policy {
    Policy { demand: Demand::Weaker, ..Policy::new(profile) }
}

/// Says what the machine cannot do; CI shows it.
#[expect(clippy::print_stdout, reason = "what was not looked at is told")]
pub(super) fn has_mounts() -> bool {
    if !machine().mounts {
        println!("not looked at: this machine gives no user namespaces");
    }
    machine().mounts
}

#[tokio::test]
async fn it_reads_its_project_and_writes_its_temporary_directory_by_either_launcher() {
    let place = Place::new();
    let script = r#"cat readme; echo; echo note > "$TMPDIR/note" && cat "$TMPDIR/note"; cat ../.ssh/id; touch here"#;
    for profile in Profile::ALL {
        let named = Policy { read: vec![".".into()], ..policy(profile) };
        for by_warden in [true, false] {
            let said = match by_warden {
                true => place.run_by(warden(), named.clone(), script).await,
                false => place.run_by(PlainLauncher, named.clone(), script).await,
            };
            assert!(said.starts_with("the project\nnote\n"), "{profile}: {said}");
            assert!(said.contains("cat: ../.ssh/id: Permission denied"), "{profile}: {said}");
            assert!(said.contains("touch: "), "{profile}: {said}");
            assert!(!place.path("home/project/here").exists());
        }
    }
    // Nothing is left of a run.
    wait_until("the run's directory is gone", || {
        fs_err::read_dir(place.path("cache/sandbox/s/runs")).unwrap().next().is_none()
    });
}

#[tokio::test]
async fn what_is_named_can_be_written_and_not_run() {
    let place = Place::new();
    let named = Policy { write: vec!["../out".into()], ..policy(Profile::Offline) };
    let script = "cp /bin/true ../out/it && chmod 700 ../out/it && ls ../out; ../out/it; echo $?";
    let said = place.run(named, script).await;
    assert!(said.contains("it\n") && said.trim_end().ends_with("126"), "{said}");
    let run = Policy { exec: vec!["../out".into()], ..policy(Profile::Offline) };
    assert!(place.run(run, script).await.trim_end().ends_with('0'));
}

#[tokio::test]
async fn modes_and_times_outside_stay_with_read_only_mounts() {
    if !has_mounts() {
        return;
    }
    let place = Place::new();
    let script = "exec 2>&1; chmod 777 ../.ssh/id; touch -d 2001-01-01 ../.ssh/id; stat -c %a ../.ssh/id";
    let said = place.run(policy(Profile::Standard), script).await;
    assert!(said.contains("Read-only file system"), "{said}");
    assert!(said.lines().all(|line| line != "777"), "{said}");
}

#[tokio::test]
async fn a_rule_that_cannot_be_enforced_ends_the_process_before_the_program_runs() {
    let place = Place::new();
    let mut sandbox = place.sandbox(policy(Profile::Offline));
    // More than any kernel has that is known here.
    sandbox.machine.landlock_abi = if machine().landlock_abi >= 9 { return } else { 9 };
    let launcher = SandboxedLauncher::new(warden(), Arc::new(sandbox));
    let mut launched = launcher.launch(&place.command("touch $TMPDIR/ran; echo ran")).unwrap();
    assert_eq!(read_to_end(&mut launched.stdout).await, "");
    let said = read_to_end(&mut launched.stderr).await;
    assert!(said.starts_with("helve-warden: cannot confine the server: Landlock"), "{said}");
    assert_eq!(launched.process.wait().await, ExitReport::Exited(125));
}

#[tokio::test]
async fn a_refusal_is_an_error_with_its_reason() {
    let place = Place::new();
    let named = Policy { read: vec![place.path("home")], ..policy(Profile::Standard) };
    let launcher = SandboxedLauncher::new(warden(), Arc::new(place.sandbox(named)));
    let error = launcher.launch(&place.command("echo")).unwrap_err();
    let refusal = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<PlanRefusal>());
    assert!(matches!(refusal, Some(PlanRefusal::Reaches { .. })), "{error}");
}

#[tokio::test]
async fn limits_hold_and_the_rest_of_the_world_does_not_notice() {
    let place = Place::new();
    let limits = Limits {
        memory: Some(512 << 20),
        open_files: Some(32),
        file_size: Some(1 << 20),
        processor_seconds: Some(2),
        processes: None,
    };
    let limited = Policy { limits, ..policy(Profile::Offline) };
    let said = place
        .run(limited.clone(), r#"head -c 3000000 /dev/zero > "$TMPDIR/big"; stat -c %s "$TMPDIR/big"; ulimit -n"#)
        .await;
    assert!(said.contains("1048576\n32\n"), "{said}");
    let said = place.run(limited, "while :; do :; done").await;
    assert!(said.contains("SIGXCPU") || said.contains("SIGKILL"), "{said}");
}

#[tokio::test]
async fn an_offline_server_has_no_sockets() {
    let place = Place::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached");
    assert!(!place.run(policy(Profile::Offline), &script).await.contains("reached"));
    assert_eq!(place.run(policy(Profile::Standard), &script).await, "reached\n");
}

#[tokio::test]
async fn named_hosts_are_reached_through_the_proxy_and_nothing_else_is() {
    if !machine().network {
        println!("not looked at: this machine gives no network namespaces");
        return;
    }
    let place = Place::new();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = [0; 64];
            let length = stream.read(&mut asked).await.unwrap_or(0);
            stream.write_all(&asked[..length]).await.ok();
        }
    });
    let asking = |host: &str| {
        format!(
            r#"exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT {host}:{port} HTTP/1.1\r\n\r\nhello' >&3; read -r line <&3; echo "$line"; timeout 5 cat <&3"#
        )
    };
    let hosts = |pattern: String| Policy {
        network: Some(Network::Hosts(vec![pattern.parse().unwrap()])),
        ..policy(Profile::Standard)
    };
    let reached = place.run(hosts(format!("private:localhost:{port}")), &asking("localhost")).await;
    assert!(reached.starts_with("HTTP/1.1 200") && reached.ends_with("hello"), "{reached}");
    // A name in the list that leads to this machine.
    let refused = place.run(hosts(format!("localhost:{port}")), &asking("localhost")).await;
    assert!(refused.starts_with("HTTP/1.1 403") && refused.contains("private:localhost"), "{refused}");
    // A name that is not in the list, and no name at all.
    let sandbox = Arc::new(place.sandbox(hosts("api.example".to_owned())));
    let launcher = SandboxedLauncher::new(warden(), Arc::clone(&sandbox));
    let script = format!("{}; exec 4<>/dev/tcp/127.0.0.1/{port} && echo reached", asking("other.example"));
    let mut launched = launcher.launch(&place.command(&script)).unwrap();
    let said = read_to_end(&mut launched.stdout).await;
    assert!(said.starts_with("HTTP/1.1 403") && !said.contains("reached"), "{said}");
    assert_eq!(sandbox.refused.list(), [format!("other.example:{port}")]);
}

#[tokio::test]
async fn what_the_plan_says_needs_no_start() {
    let place = Place::new();
    let sandbox = place.sandbox(policy(Profile::Standard));
    let plan = sandbox.plan(&place.command("echo")).unwrap();
    assert_eq!(plan.report.landlock_abi, machine().landlock_abi);
    assert!(!place.path("cache").exists());
    assert!(Path::new("/usr/bin/bash").exists() || Path::new("/bin/bash").exists());
}
