# ruff: noqa: PTH102, PTH103, PTH123, PTH208
"""Starts a machine of the local E2B server: ``machine_init.py LINK SOURCE PLAN``, run as root.

    LINK    descriptor of a socket to the server, one JSON message a packet, descriptors beside it
    SOURCE  descriptors of the user and pid namespaces that this machine is to lie in, or -1,-1
    PLAN    JSON: ``root``, a folder that becomes the root; ``shown``, host paths and where they are shown read-only;
            ``internet``, whether the network is the host's

A machine has all namespaces of its own. Those of a copy lie within those of its source, and its user namespace belongs
to code's user there, so that processes of that user may move into the copy (see ``copying.py``).
"""

import ctypes
import json
import os
import select
import signal
import socket
import sys

from _guest import linux

CODE_UID = 64321
LIBC = ctypes.CDLL(None, use_errno=True)
NAMESPACES = ("user", "net", "ipc", "uts", "pid", "mnt")
DEVICES = ("null", "zero", "full", "random", "urandom")


def main():
    link, plan = socket.socket(fileno=int(sys.argv[1])), json.loads(sys.argv[3])
    enter_user_namespace(*map(int, sys.argv[2].split(",")))
    others = linux.CLONE_NEWNS | linux.CLONE_NEWIPC | linux.CLONE_NEWUTS
    linux.unshare(others | (0 if plan["internet"] else linux.CLONE_NEWNET))
    wait_for(os.fork())  # the child is in the source's pid namespace
    linux.unshare(linux.CLONE_NEWPID)
    wait_for(os.fork())
    build_root(plan)
    if not plan["internet"]:
        linux.loopback_up()
    names = [name for name in NAMESPACES if name != "net" or not plan["internet"]]
    socket.send_fds(link, [b"ready"], [os.open(f"/proc/self/ns/{name}", os.O_RDONLY) for name in names])
    os.closerange(link.fileno() + 1, 1000)
    serve(link)


def wait_for(child):
    """In the parent, end with the child; in the child, die with the parent."""
    if child:
        os.waitpid(child, 0)
        os._exit(0)
    linux.die_with_parent()


def enter_user_namespace(user, pid):
    if user >= 0:
        join(user)
    os.setresgid(0, 0, 0)
    made, tell = os.pipe()
    writer = os.fork()
    if writer == 0:  # only a process of the namespace around the new one may write its maps
        os.read(made, 1)
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{os.getppid()}/{name}", "w") as stream:
                stream.write("0 0 65536")
        os._exit(0)
    if pid >= 0:
        join(pid)
    os.seteuid(CODE_UID)
    linux.unshare(linux.CLONE_NEWUSER)
    os.write(tell, b"1")
    if os.waitpid(writer, 0)[1]:
        raise OSError("the maps of the user namespace can't be written")
    os.setresgid(0, 0, 0)
    os.setgroups([])
    os.setresuid(0, 0, 0)


def join(namespace):
    if LIBC.setns(namespace, 0):
        raise OSError(ctypes.get_errno(), "setns")


def build_root(plan):
    root = plan["root"]
    linux.mount_private()
    linux.bind(root, root)
    for host, target in plan["shown"]:
        os.makedirs(root + target, exist_ok=True)
        linux.bind(host, root + target)
        linux.set_mount_attributes(root + target, read_only=True)
    linux.mount_proc(f"{root}/proc")
    linux.mount_tmpfs(f"{root}/dev", mib=1, mode=0o755)
    for name in DEVICES:
        os.close(os.open(f"{root}/dev/{name}", os.O_CREAT | os.O_RDONLY))
        linux.bind(f"/dev/{name}", f"{root}/dev/{name}")
    os.mkdir(f"{root}/dev/shm")
    linux.mount_tmpfs(f"{root}/dev/shm", mib=64, mode=0o1777)
    os.makedirs(f"{root}/.old", exist_ok=True)
    linux.pivot_root(root, f"{root}/.old")
    os.chdir("/")
    linux.unmount("/.old")


def serve(link):
    woken, wake = os.pipe()
    for fd in (woken, wake):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running = {}
    while True:
        ready = select.select([link, woken], [], [])[0]
        if woken in ready:
            os.read(woken, 4096)
            for pid, status in reap():
                if pid in running:
                    code = os.waitstatus_to_exitcode(status)
                    link.send(json.dumps({"ended": running.pop(pid), "code": code}).encode())
        if link in ready:
            text, fds, _, _ = socket.recv_fds(link, 1 << 20, 3)
            if not text:
                return
            message = json.loads(text)
            if "signal" in message:
                link.send(json.dumps({"signalled": send_signal(message["signal"])}).encode())
            elif "kill" in message:
                for pid in [pid for pid, number in running.items() if number == message["kill"]]:
                    os.kill(pid, signal.SIGKILL)
            else:
                running[start(message, fds)] = message["start"]
                for fd in fds:
                    os.close(fd)


def reap():
    try:
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            yield ended
    except ChildProcessError:
        pass


def start(message, fds):
    pid = os.fork()
    if pid:
        return pid
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        for target, fd in enumerate(fds):
            os.dup2(fd, target)
        os.closerange(3, 1000)
        os.setgroups([])
        os.setresgid(message["uid"], message["uid"], message["uid"])
        os.setresuid(message["uid"], message["uid"], message["uid"])
        os.chdir(message["cwd"])
        os.execvpe(message["argv"][0], message["argv"], message["env"])
    finally:
        os._exit(127)


def send_signal(number):
    """To all processes of code's user, but for those in copies; returns how many."""
    count = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        with open(f"/proc/{name}/status") as stream:
            fields = dict(line.split(":\t", 1) for line in stream.read().splitlines() if ":\t" in line)
        here = len(fields["NSpid"].split()) == 1
        if here and int(fields["Uid"].split()[0]) == CODE_UID and fields["State"][0] not in "ZX":
            os.kill(int(name), number)
            count += 1
    return count


main()
