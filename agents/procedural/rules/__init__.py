"""The typed grammar of hidden rules: terms, one file a family, and the rule that weighs them."""

from sandmle.agents.procedural.rules._rule import HiddenRule, Link, Signal, draw_signal
from sandmle.agents.procedural.rules._term import Term, term_kinds

__all__ = ["HiddenRule", "Link", "Signal", "Term", "draw_signal", "term_kinds"]
