# ruff: noqa: PTH109
"""Makes processes in machines of the local E2B server copyable, as the ``sitecustomize`` of the machines' Python.

A real machine is copied with all its memory. Here, on a signal, a Python process forks a child, which moves into the
namespaces of the copy and goes on there with what the process was doing, such as waiting for a pipe to be opened.
"""

import signal

SIGNAL = 64
SOCKET = "/run/copying.sock"


def copy(*_):
    import ctypes
    import os
    import random
    import socket

    folder, state = os.getcwd(), random.getstate()
    line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    line.connect(SOCKET)
    _, namespaces, _, _ = socket.recv_fds(line, 100, 16)
    child = os.fork()
    if child:
        for fd in namespaces:
            os.close(fd)
        line.close()
        os.waitpid(child, 0)
        return
    libc = ctypes.CDLL(None, use_errno=True)
    for fd in namespaces:
        if libc.setns(fd, 0):
            line.send(f"setns: {os.strerror(ctypes.get_errno())}".encode())
            os._exit(1)
        os.close(fd)
    if os.fork():
        os._exit(0)
    libc.capset(ctypes.create_string_buffer(b"\x22\x05\x08\x20" + bytes(4)), ctypes.create_string_buffer(24))
    random.setstate(state)
    os.chdir(folder)
    line.send(b"ok")
    line.close()


signal.signal(SIGNAL, copy)
