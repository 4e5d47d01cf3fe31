"""The typed grammar of hidden rules: terms, one file a family, and the rule that weighs them."""

from sandmle.agents.procedural.rules._draw import NOISE, draw_rule
from sandmle.agents.procedural.rules._rule import HiddenRule, Part, RuleGrammar, Signal, WeightedTerm, draw_signal
from sandmle.agents.procedural.rules._term import Term, term_kinds
from sandmle.agents.procedural.rules.formula import FUNCTIONS, READERS, Formula
from sandmle.agents.procedural.rules.rewrite import RewriteRule

__all__ = [
    "FUNCTIONS",
    "NOISE",
    "READERS",
    "AnyRule",
    "Formula",
    "HiddenRule",
    "Part",
    "RewriteRule",
    "RuleGrammar",
    "Signal",
    "Term",
    "WeightedTerm",
    "draw_rule",
    "draw_signal",
    "term_kinds",
]

AnyRule = HiddenRule | RewriteRule
"""Every kind of rule; they share ``link``, ``terms``, ``primitives``, ``readable``, ``louder`` and ``easier``."""
