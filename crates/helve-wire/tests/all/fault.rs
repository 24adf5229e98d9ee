//! What bad peers do, and what it costs: their own calls an error, nobody else anything.
