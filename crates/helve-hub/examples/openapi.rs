//! Prints the document of the hub's interface:
//! `cargo run -p helve-hub --example openapi > schemas/hub-openapi.json`.

#![expect(clippy::print_stdout, reason = "printing is what this program is for")]

fn main() {
    println!("{:#}", helve_hub::openapi());
}
