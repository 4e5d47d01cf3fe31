"""What runs inside an E2B machine: a program that does one request, and the interpreter of the cells.

    host ── command ── request         root; one short process a request
                         ├─ script     code's user; one a step
                         └┈ kernel     code's user; stays between the requests, where the sandbox is stateful
                              └─ cell  a fork of the kernel that takes its place if the cell ends by itself

A request carries a number, under which it is done exactly once: whoever comes with a number that was seen before waits
for its answer. So the host may send one again when the connection broke and nobody knows how far it came.

These modules are uploaded together with those of the local sandboxes (``sandboxes/_guest``), whose file operations and
output buffer they use, and run with whatever Python, 3.11 or later, the machine has. So they import no third-party
package, and ours by relative names alone (ruff's TID). Like those they keep to plain system calls (PTH).

    request   the entry: does the request of a number, or waits for it
    setup     makes the workspace, unpacks the inputs
    people    code's user: becoming it, killing all its processes
    watching  follows a step to its end: output, deadline, cancelling
    scripts   a step that is a script
    seeding   what starts its random generators from a seed
    cells     a step that is a cell, from the outside
    kernel    the cells from the inside; runs alone
"""

PROGRAM = "/opt/sandmle/program"
"""Where these modules lie in the machine."""
PRIVATE = "/opt/sandmle/private"
"""What code can't see: configuration, uploads, answers."""
CELLS = "/opt/sandmle/cells"
"""The pipes between requests and kernel."""
UPLOADS = f"{PRIVATE}/uploads"
"""What the host has sent: the inputs as ``inputs.tar``, and large requests under their numbers."""
SCRIPT = "/tmp/step.py"
"""The path under which a step's script is shown, the same as in other backends: it appears in tracebacks."""
