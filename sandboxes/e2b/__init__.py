"""Sandboxes that are virtual machines of E2B (https://e2b.dev), behind the same protocol as the local ones.

Needs the extra ``e2b`` and a key in ``E2B_API_KEY``. Every sandbox is a machine of its own that can't reach the
internet, started from a template (``code-interpreter-v1`` by default) by the unmodified SDK, which also heeds its other
variables, such as ``E2B_DOMAIN``.

Steps do not go through E2B's own code interpreter, whose time limit fires late and spoils the next cell, but through a
small program of ours that is uploaded when a sandbox is made (see ``_guest``). It gives steps the same meaning as in
local sandboxes: an unprivileged user, a deadline kept inside the machine, output bounded before it travels, honest exit
codes and usage, whole process trees ended, cells that are rolled back when they are killed; and it does each request
exactly once, so that a broken connection never runs a step twice. Forks and snapshots are E2B's own, of whole machines.

A machine ends by itself some minutes after its host has gone: its time to live is short, and renewed while in use.
"""

from sandmle.sandboxes.e2b._backend import E2BBackend
from sandmle.sandboxes.e2b._faults import E2BFault, Patience

__all__ = ["E2BBackend", "E2BFault", "Patience"]
