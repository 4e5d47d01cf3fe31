"""LangGraph state machines: synthesis, and the scaffolds."""
