"""The procedural team: deterministic stand-ins for every role that a language model may play in the synthesis graph."""
