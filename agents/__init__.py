"""Who acts inside the graph nodes: the synthesis roles, chat models, and the tools an agent may call."""
