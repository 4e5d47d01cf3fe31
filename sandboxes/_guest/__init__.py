"""What runs on the far side of the local sandboxes: the zygote, the inits, the steps.

    host ── zygote            one an image; has imported the image's libraries, forks the sandboxes
              └─ init         one a sandbox, pid 1 of its namespaces; serves the host, forks the steps
                   └─ step    runs one script in the libraries it has inherited

Of these modules only ``warm`` and ``streams`` may import a third-party package, and none imports sandmle: they are
found by their folder, by whichever interpreter the image names. All but ``warm`` and ``script`` act with rights that
code must not have, so they keep to plain system calls. That rules out pathlib (ruff's PTH), and makes the imports
relative, which ruff mistakes for bare ones (TID251).

    wire      frames between host and init
    forks     forks something for every channel the host hands over
    launch    starts a zygote from a program that code can't change
    zygote    does that for new sandboxes
    warm      imports and primes the libraries of an image
    main      the init: enters the namespaces and serves requests
    branch    the init of a fork, which goes on from the state of its parent
    namespaces  enters namespaces
    linux     the system calls that Python does not wrap
    seccomp   the filter of forbidden system calls
    root      builds the file system that code sees
    alone     stands in for namespaces where there are none, with
    landlock  the rules about files and signals,
    seccomp_alone  what else code may not do, and
    semaphores  those of multiprocessing, which would be shared with the whole machine
    staging   copies inputs where they can't be mounted
    starting  forks a process in which code runs
    group     the control group, from inside
    confine   gives up every right before untrusted code starts
    steps     runs one script and ends its whole process tree
    cells     does the same for the cells of a stateful sandbox
    state     speaks to the process that holds its variables
    inspection  judges that process before and after it is forked
    processes the processes of a sandbox
    script    makes a forked process look as if Python had just started with the script
    notebook  the interpreter that holds the variables of a stateful sandbox
    streams   where its random numbers come from
    output    keeps the head and the tail of what a step prints
    files     reads and writes workspace files without following links
    removal   removes whatever code has left
"""

SCRIPT = "/tmp/step.py"
"""The path under which a step's script is shown, whatever the tier: it appears in tracebacks."""
