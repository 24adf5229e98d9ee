//! Prints the document of the hub's interface, which is kept in `schemas/hub-openapi.json`.

#![expect(clippy::print_stdout, reason = "that is what it is for")]

fn main() -> Result<(), serde_json::Error> {
    println!("{}", serde_json::to_string_pretty(&helve_hub::openapi())?);
    Ok(())
}
