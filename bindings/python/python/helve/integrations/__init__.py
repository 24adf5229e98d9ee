"""Tools of a host for agent frameworks: one module each, which imports that framework."""
