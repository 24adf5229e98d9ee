//! A native tool that is a function: a name, a description and what it does. Its schema comes from the type of its argument,
//! or is written by hand.

use std::any::Any;
use std::fmt;

use helve_model::json::RawJson;
use helve_model::{ErrorCode, Outcome, ToolDefinition};
use helve_policy::Permit;
use helve_wire::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::tool::{Tool, ToolContext, ToolFailure, definition};

/// A tool made of a function.
///
/// ```
/// # #[cfg(feature = "derive")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), helve::CallError> {
/// use helve::{CallContext, Caller, FunctionTool, Host, Toolbox};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use serde_json::json;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Greet {
///     /// The name to greet.
///     who: String,
/// }
///
/// let greet = FunctionTool::new("greet", "Greets somebody", |arguments: Greet, _| async move {
///     format!("hello, {}", arguments.who)
/// });
/// let host = Host::builder().toolbox(Toolbox::new("manners").with(greet.only_reads())).start().await?;
/// let called = host.call("manners/greet", json!({"who": "you"}), CallContext::new(Caller::Agent)).await?;
/// assert_eq!(called.to_text(), "hello, you");
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "derive"))]
/// # fn main() {}
/// ```
pub struct FunctionTool {
    name: String,
    description: String,
    schema: Value,
    annotations: Map<String, Value>,
    function: Box<Function>,
}

type Function = dyn Fn(&RawJson, ToolContext) -> BoxFuture<'static, Result<Outcome, ToolFailure>> + Send + Sync;

/// What a function may return to be a tool: an [`Outcome`], a text, a JSON value, [`Structured`], nothing, or a `Result` of
/// these. An error that is a [`ToolFailure`] says that the tool could not be run; any other, that it ran and failed.
pub trait ToolOutput {
    /// As the result of a call.
    ///
    /// # Errors
    /// When the tool could not be run at all.
    fn into_outcome(self) -> Result<Outcome, ToolFailure>;
}

/// A value that is given as structured content, and as JSON text for those who read text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Structured<T>(pub T);

impl FunctionTool {
    /// A tool whose schema is that of `A`, a struct of its arguments.
    #[cfg(feature = "derive")]
    pub fn new<A, W>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: impl Fn(A, ToolContext) -> W + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned + schemars::JsonSchema,
        W: Future<Output: ToolOutput> + Send + 'static,
    {
        Self::with_schema(name, description, schemars::schema_for!(A).to_value(), function)
    }

    /// A tool whose schema is written by hand. `A` is whatever arguments that fit it can be read as: a
    /// [`serde_json::Value`], if nothing else.
    pub fn with_schema<A, W>(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: Value,
        function: impl Fn(A, ToolContext) -> W + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned,
        W: Future<Output: ToolOutput> + Send + 'static,
    {
        let call = move |arguments: &RawJson, context: ToolContext| -> BoxFuture<'static, _> {
            match arguments.parse::<A>() {
                Ok(arguments) => {
                    let work = function(arguments, context);
                    Box::pin(async move { work.await.into_outcome() })
                }
                Err(error) => {
                    let message = format!("the arguments cannot be read: {error}");
                    Box::pin(std::future::ready(Err(ToolFailure::new(ErrorCode::InvalidParams, message))))
                }
            }
        };
        Self {
            name: name.into(),
            description: description.into(),
            schema: of_an_object(schema),
            annotations: Map::new(),
            function: Box::new(call),
        }
    }

    /// The same tool, which changes nothing: rules may let it run without asking.
    #[must_use]
    pub fn only_reads(self) -> Self {
        self.annotated("readOnlyHint", true)
    }

    /// The same tool with one of the protocol's annotations, such as `idempotentHint`.
    #[must_use]
    pub fn annotated(mut self, annotation: &str, value: impl Into<Value>) -> Self {
        self.annotations.insert(annotation.to_owned(), value.into());
        self
    }
}

impl Tool for FunctionTool {
    fn definition(&self) -> ToolDefinition {
        definition(&self.name, &self.description, &self.schema, &Value::from(self.annotations.clone()))
    }

    fn call<'a>(&'a self, permit: &'a Permit, context: &'a ToolContext) -> BoxFuture<'a, Result<Outcome, ToolFailure>> {
        (self.function)(permit.arguments(), context.clone())
    }
}

/// Arguments are an object, whatever else the schema says: a struct's is that already, `Value`'s is anything.
fn of_an_object(schema: Value) -> Value {
    let mut schema = match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    schema.insert("type".to_owned(), Value::from("object"));
    Value::from(schema)
}

impl ToolOutput for Outcome {
    fn into_outcome(self) -> Result<Outcome, ToolFailure> {
        Ok(self)
    }
}

impl ToolOutput for String {
    fn into_outcome(self) -> Result<Outcome, ToolFailure> {
        Ok(Outcome::text(&self))
    }
}

impl ToolOutput for &'static str {
    fn into_outcome(self) -> Result<Outcome, ToolFailure> {
        Ok(Outcome::text(self))
    }
}

impl ToolOutput for () {
    fn into_outcome(self) -> Result<Outcome, ToolFailure> {
        Ok(Outcome::text("done"))
    }
}

impl ToolOutput for Value {
    fn into_outcome(self) -> Result<Outcome, ToolFailure> {
        Structured(self).into_outcome()
    }
}

impl<T: Serialize> ToolOutput for Structured<T> {
    fn into_outcome(self) -> Result<Outcome, ToolFailure> {
        let unwritable =
            |error| ToolFailure::new(ErrorCode::ToolError, format!("the result has no JSON form: {error}"));
        let value = RawJson::from_value(&self.0).map_err(unwritable)?;
        Ok(Outcome::structured(&value, value.as_str()))
    }
}

impl<T: ToolOutput, E: fmt::Display + 'static> ToolOutput for Result<T, E> {
    fn into_outcome(self) -> Result<Outcome, ToolFailure> {
        match self {
            Ok(output) => output.into_outcome(),
            Err(error) => match (&error as &dyn Any).downcast_ref::<ToolFailure>() {
                Some(failure) => Err(failure.clone()),
                None => Ok(Outcome::failure(&error.to_string())),
            },
        }
    }
}

impl fmt::Debug for FunctionTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FunctionTool").field("name", &self.name).finish_non_exhaustive()
    }
}
