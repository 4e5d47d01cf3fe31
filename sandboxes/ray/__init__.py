"""Sandboxes on the machines of a Ray cluster (https://ray.io), so that one orchestrator uses many of them.

Needs the extra ``ray`` and a cluster whose machines have sandmle installed too; which cluster, ``RAY_ADDRESS`` says.

Sandboxes live in *places*. A place is an actor that reserves a sandbox's cores, and its share of a GPU, on one of the
machines, and owns a local backend there (``sandmle.sandboxes.LocalBackend``), warm interpreters included. So code is
shut in by the very same means as at home, and each place proves the tier of its machine before it takes code. What
goes there and comes back are bytes: inputs are packed and unpacked, and no path of one machine means anything on
another.

A sandbox has a place to itself, together with its forks and snapshots, which are branches of its processes. When all of
them are closed, the next sandbox of that size gets the place, warm as it is. So there are never more places than
sandboxes at one time, and where the cluster is full, a sandbox waits until one becomes free.

A machine that is lost takes its sandboxes with it: whoever uses one of them gets an ``InfraError``. Places end with
their backend, and with our process however that ends; their sandboxes end with them.
"""

from sandmle.sandboxes.ray._backend import RayBackend

__all__ = ["RayBackend"]
