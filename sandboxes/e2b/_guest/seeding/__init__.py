"""What the Python of a seeded script finds first on its path: see ``sitecustomize``."""
