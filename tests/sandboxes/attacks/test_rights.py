"""Attacks on the limits of what a process may do: namespaces, mounts, users, capabilities, the kernel's doors."""

from __future__ import annotations

import pytest

from sandmle.sandboxes import Sandbox

NAMESPACES = {
    "mount": 0x20000,
    "cgroup": 0x2000000,
    "uts": 0x4000000,
    "ipc": 0x8000000,
    "user": 0x10000000,
    "pid": 0x20000000,
    "net": 0x40000000,
}


@pytest.mark.parametrize("namespace", [*NAMESPACES, "time"])
async def test_unshare(outcomes, namespace: str):
    assert await outcomes(f"call('unshare', {NAMESPACES.get(namespace, 0x80)})") == ["EPERM"]


@pytest.mark.parametrize("namespace", NAMESPACES)
async def test_clone(outcomes, namespace: str):
    flags = NAMESPACES[namespace] | 17
    assert await outcomes(f"call('clone', {flags}, 0, 0, 0, 0)") == ["EPERM"]
    high = f"call('clone', ctypes.c_ulong({flags} | 1 << 40), 0, 0, 0, 0)"
    assert await outcomes(high) == ["EPERM"]


async def test_clone3(outcomes):
    assert await outcomes("call('clone3', (ctypes.c_ulong * 11)(0x10000000, 0, 0, 0, 17), 88)") == ["ENOSYS"]


@pytest.mark.parametrize("kind", ["user", "mnt", "pid", "net"])
async def test_setns(outcomes, kind: str):
    own = f"call('setns', os.open('/proc/self/ns/{kind}', os.O_RDONLY), 0)"
    init = "call('setns', os.pidfd_open(1), 0x20000)"
    assert await outcomes(own, init) == ["EPERM", "EPERM"]


@pytest.mark.parametrize(
    "attack",
    [
        "call('mount', b'x', b'/tmp', b'tmpfs', 0, None)",
        "call('mount', b'/', b'/tmp', None, 4096, None)",
        "call('mount', None, b'/workspace/input', None, 32 | 4096, None)",
        "call('mount', b'proc', b'/tmp', b'proc', 0, None)",
        "call('umount2', b'/workspace/input', 2)",
        "call('umount2', b'/tmp/step.py', 2)",
        "call('pivot_root', b'/tmp', b'/tmp')",
        "call('fsopen', b'tmpfs', 0)",
        "call('open_tree', -100, b'/', 1)",
        "call('move_mount', 0, b'', -100, b'/tmp', 4)",
        "call('mount_setattr', -100, b'/', 0, bytes(32), 32)",
    ],
)
async def test_mount(outcomes, attack: str):
    assert await outcomes(attack) == ["EPERM"]


@pytest.mark.parametrize(
    "attack",
    [
        "os.setuid(0)",
        "os.setresuid(0, 0, 0)",
        "os.setresgid(0, 0, 0)",
        "os.setreuid(-1, 65534)",
        "os.setgroups([0])",
        "os.chown('/workspace', 0, 0)",
        "socket.sethostname('x')",
        "call('reboot', 0xfee1dead, 672274793, 0, None)",
        "call('init_module', 0, 0, b'')",
        "call('finit_module', 0, b'', 0)",
        "call('kexec_load', 0, 0, 0, 0)",
        "call('swapon', b'/workspace/swap', 0)",
        "call('acct', b'/workspace/acct')",
        "call('quotactl', 0, b'/', 0, 0)",
        "call('bpf', 0, bytes(128), 128)",
        "call('io_uring_setup', 1, bytes(128))",
        "call('userfaultfd', 0)",
        "call('perf_event_open', bytes(128), 0, -1, -1, 0)",
        "call('vhangup')",
        "__import__('time').clock_settime(0, 0)",
        "fcntl.ioctl(0, 0x5412, b'x')",
        "fcntl.ioctl(1, 0x5412, b'x')",
        "os.open('/dev/tty', os.O_RDWR)",
    ],
)
async def test_privilege(outcomes, attack: str):
    assert (await outcomes(attack))[0] in ("EPERM", "EACCES", "EINVAL", "ENOTTY", "ENOENT", "ENXIO")


async def test_capabilities(sandbox: Sandbox, prelude: str):
    code = """
status = open("/proc/self/status").read()
sets = ("CapEff", "CapPrm", "CapInh", "CapAmb")
print(sorted({line.split()[1] for line in status.splitlines() if line.startswith(sets)}))
print([capability for capability in range(41) if libc.prctl(47, 2, capability, 0, 0) == 0])  # PR_CAP_AMBIENT_RAISE
print([line for line in status.splitlines() if line.startswith(("NoNewPrivs", "Seccomp:"))])
"""
    assert (await sandbox.run(prelude + code, timeout=30)).output == (
        "['0000000000000000']\n[]\n['NoNewPrivs:\\t1', 'Seccomp:\\t2']\n"
    )


async def test_setuid_programs(sandbox: Sandbox):
    code = """
import os, shutil, subprocess
print([m.split()[1] for m in open("/proc/mounts") if "nosuid" not in m.split()[3] and m.split()[1] != "/"])
shutil.copy("/usr/bin/id", "own"); os.chmod("own", 0o6755)
for command in (["./own", "-u"], ["/usr/bin/id", "-u"]):
    print(subprocess.run(command, capture_output=True, text=True).stdout.strip() == str(os.getuid()))
print(subprocess.run(["/bin/sh", "-c", "grep NoNewPrivs /proc/self/status"], capture_output=True, text=True).stdout)
for program in ("/usr/bin/su", "/usr/bin/mount", "/usr/bin/passwd", "/usr/bin/newgrp"):
    if os.path.exists(program):
        subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True)
"""
    assert (await sandbox.run(code, timeout=30)).output.split() == ["[]", "True", "True", "NoNewPrivs:", "1"]


X32 = 0x40000000
INT80 = """
import mmap
code = {"x86_64": bytes.fromhex("b814000000cd80c3")}[os.uname().machine]  # mov eax, 20 (getpid); int 0x80; ret
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(code)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
ctypes.CFUNCTYPE(ctypes.c_int)(address)()
print("SUCCEEDED")
"""


async def test_calls_of_another_architecture(sandbox: Sandbox, prelude: str):
    """A filter by number could be passed by numbers that mean something else."""
    machine = (await sandbox.run("import os; print(os.uname().machine)", timeout=30)).output.strip()
    if machine != "x86_64":
        return
    result = await sandbox.run(prelude + INT80, timeout=30)
    assert (result.status, "SUCCEEDED" in result.output) == ("error", False)
    x32 = f"print(libc.syscall({X32} | 272, 0x10000000), libc.syscall({X32} | 520, 0, 0, 0))"
    assert (await sandbox.run(prelude + x32, timeout=30)).output == "-1 -1\n"


async def test_filter_cannot_be_removed(sandbox: Sandbox, prelude: str):
    code = """
print(libc.prctl(22, 0, 0, 0, 0), libc.prctl(38, 0, 0, 0, 0))  # PR_SET_SECCOMP off, PR_SET_NO_NEW_PRIVS off
import subprocess
probe = "import ctypes; print(ctypes.CDLL(None).unshare(0x10000000))"
print(subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True).stdout)
"""
    assert (await sandbox.run(prelude + code, timeout=30)).output.split() == ["-1", "-1", "-1"]
