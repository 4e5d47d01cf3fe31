"""What runs on the far side of a local sandbox: its init process, in standard-library Python alone.

The host starts ``python -I -S -c 'from _guest.main import main; main(FD)'`` with this package's parent on the path, so
no module here may import sandmle, a third-party package, or anything slow: every sandbox pays for it.
That rules out pathlib (ruff's PTH), and makes the imports relative, which ruff mistakes for bare ones (TID251).

    wire      frames between host and init
    linux     the system calls that Python does not wrap
    seccomp   the filter of forbidden system calls
    root      builds the file system that code sees
    staging   copies inputs where they can't be mounted
    confine   gives up every right before untrusted code starts
    steps     runs one step and ends its whole process tree
    output    keeps the head and the tail of what a step prints
    files     reads, writes and removes workspace files without following links
    main      enters the namespaces and serves requests
"""

SCRIPT = "/tmp/step.py"
"""The path under which a step's script is shown, whatever the tier: it appears in tracebacks."""
