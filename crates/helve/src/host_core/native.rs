//! Servers whose tools run in this process: opened, switched on and off, published without a supervisor.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use helve_model::sync::lock;
use helve_model::{
    BuiltinSpec, DisabledReason, ErrorCode, Failure, ServerName, ServerSpec, ServerStatus, TransportSpec,
};

use super::{HostCore, HostState, Kept, Supervised, unknown_server};
use crate::catalog::{Listed, ServerCatalog};
use crate::error::CallError;
use crate::event::HostEvent;
use crate::server_handle::unavailable;
use crate::tool::Toolbox;

impl HostCore {
    pub(crate) fn change_toolbox(
        &self,
        name: &ServerName,
        change: impl FnOnce(Option<Toolbox>) -> Toolbox,
    ) -> Result<(), CallError> {
        let mut state = lock(&self.state);
        if state.servers.contains_key(name) {
            let message = format!("a configured server has the name `{name}`, which native tools are to have");
            return Err(CallError::new(ErrorCode::Config, message).at_server(name));
        }
        let toolbox = change(state.toolboxes.remove(name));
        state.toolboxes.insert(name.clone(), toolbox);
        self.compile(&mut state);
        self.publish_state(&mut state);
        Ok(())
    }

    /// The tools that ship inside, for a server that asks for them.
    pub(super) fn open(&self, spec: &ServerSpec, builtin: &BuiltinSpec) -> Result<Arc<ServerCatalog>, CallError> {
        let Some(builtins) = &self.builtins else {
            return Err(CallError::new(ErrorCode::Config, "this program has no built-in tools").at_server(&spec.name));
        };
        // Code that is not ours, run in the middle of a change of ours: what it breaks must stay its own.
        match catch_unwind(AssertUnwindSafe(|| builtins.open(spec, builtin))) {
            Ok(opened) => opened.map(|toolbox| native_catalog(&toolbox)),
            Err(_) => {
                let message = format!("the built-in tools `{}` panicked while they were opened", builtin.kind);
                Err(CallError::new(ErrorCode::ServerUnavailable, message).at_server(&spec.name))
            }
        }
    }

    /// Opens tools that run in this process anew.
    pub(crate) fn reopen(&self, name: &str) -> Result<(), CallError> {
        let mut state = lock(&self.state);
        let state = &mut *state;
        let server = state.servers.get(name).ok_or_else(|| unknown_server(name))?;
        match &server.kept {
            Kept::Native { status: status @ ServerStatus::Disabled(_), .. } => {
                Err(unavailable(&server.planned.spec.name, status))
            }
            _ => self.open_again(state, name),
        }
    }

    pub(super) fn toggle_native(&self, state: &mut HostState, name: &str, on: bool) -> Result<(), CallError> {
        let Some(Supervised { kept: Kept::Native { status, catalog }, .. }) =
            state.servers.get_mut(name).map(|server| &mut **server)
        else {
            return Err(unknown_server(name));
        };
        match (on, &status) {
            (true, ServerStatus::Connected) | (false, ServerStatus::Disabled(_)) => return Ok(()),
            (true, _) if catalog.is_none() => return self.open_again(state, name),
            (true, _) => *status = ServerStatus::Connected,
            (false, _) => *status = ServerStatus::Disabled(DisabledReason::Toggled),
        }
        self.publish_native(state, name);
        Ok(())
    }

    fn open_again(&self, state: &mut HostState, name: &str) -> Result<(), CallError> {
        let Some(Supervised { planned, kept: Kept::Native { status, catalog } }) =
            state.servers.get_mut(name).map(|server| &mut **server)
        else {
            return Err(unknown_server(name));
        };
        let TransportSpec::Builtin(builtin) = &planned.spec.transport else { return Ok(()) };
        let opened = self.open(&planned.spec, builtin);
        let result = match opened {
            Ok(opened) => {
                *catalog = Some(opened);
                *status = ServerStatus::Connected;
                Ok(())
            }
            Err(error) => {
                *catalog = None;
                *status = ServerStatus::Failed(Failure { code: error.code(), message: error.chain() });
                Err(error)
            }
        };
        self.publish_native(state, name);
        result
    }

    fn publish_native(&self, state: &mut HostState, name: &str) {
        self.compile(state);
        self.publish_state(state);
        if let Some((name, server)) = state.servers.get_key_value(name)
            && let Kept::Native { status, .. } = &server.kept
        {
            self.events.send(|| HostEvent::Status { server: name.clone(), status: status.clone() });
        }
    }
}

/// The tools of a toolbox as a server's.
pub(super) fn native_catalog(toolbox: &Toolbox) -> Arc<ServerCatalog> {
    let native = toolbox.definitions.iter().zip(&toolbox.tools);
    let tools = native.map(|(definition, tool)| Listed::Native(definition.clone(), Arc::clone(tool))).collect();
    Arc::new(ServerCatalog { tools, instructions: toolbox.instructions.clone(), ..ServerCatalog::default() })
}
