"""Training with rLLM and verl: recipes, the configuration they compose to, and what is checked before a GPU is rented.

    recipe (TOML) ─▶ stages ─▶ overrides, key=value ─▶ effective configuration ─▶ checks, memory

Vocabulary:
    recipe      what we say: a model, tasks, how episodes are played, what is learnt, on which machines
    stage       one training of a recipe: ``sft`` (verl's SFT trainer) or ``grpo`` (rLLM's unified trainer on verl)
    key         a dotted path of their configuration, such as ``actor_rollout_ref.actor.optim.lr``
    override    a key and the value that replaces its default
    effective   said of a configuration: defaults, overrides, and what rLLM copies between its keys and verl's
    shared key  one of verl's that rLLM overwrites with its own of the same meaning

Recipes and checks import neither rLLM nor verl; ``keys.py`` wrote the keys of the pinned versions to
``known_keys.json``. What plays and trains in rLLM does:

    playing ─▶ flow, workflow     our scaffolds and grader, as an agent flow with its evaluator or as a Workflow
    grouping                      rLLM's groups, with our advantages on the embedded backend
    backend, serving, local       our embedded trainer under rLLM's ``UnifiedTrainer``, on this machine
    on_verl                       a recipe's stages, started
    records ─▶ episodes           the one mapping of episodes; tasks: rows of its datasets
"""
