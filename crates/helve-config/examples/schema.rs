//! Prints the JSON Schema of `helve.toml`:
//! `cargo run -p helve-config --example schema > schemas/helve.schema.json`.

#![expect(clippy::print_stdout, reason = "printing is what this program is for")]

fn main() {
    println!("{:#}", helve_config::schema::helve_toml());
}
