"""Attacks on the network, and on sockets that no network namespace separates."""

from __future__ import annotations

import secrets
import socket

import pytest

from sandmle.sandboxes import Sandbox

SEND = """
import socket
def outcome(family, kind, address):
    with socket.socket(family, kind) as s:
        s.settimeout(3)
        try:
            s.connect(address)
            s.send(b"hello")
        except OSError as error:
            return type(error).__name__
        return "SENT"
"""


async def test_loopback(sandbox: Sandbox):
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = f"print(outcome(socket.AF_INET, socket.SOCK_STREAM, {server.getsockname()!r}))"
        assert (await sandbox.run(SEND + code, timeout=30)).output == "ConnectionRefusedError\n"


async def test_loopback_by_udp(sandbox: Sandbox):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(0.3)
        code = f"print(outcome(socket.AF_INET, socket.SOCK_DGRAM, {server.getsockname()!r}))"
        await sandbox.run(SEND + code, timeout=30)
        with pytest.raises(TimeoutError):
            server.recv(10)


@pytest.mark.parametrize(
    "address",
    ["('1.1.1.1', 53)", "('8.8.8.8', 443)", "('169.254.169.254', 80)", "('10.0.0.1', 80)", "('224.0.0.1', 9)"],
)
@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
async def test_far_address(sandbox: Sandbox, address: str, kind: str):
    code = f"print(outcome(socket.AF_INET, socket.{kind}, {address}))"
    assert (await sandbox.run(SEND + code, timeout=30)).output == "OSError\n"


@pytest.mark.parametrize("address", ["2606:4700:4700::1111", "fe80::1", "ff02::1"])
async def test_ipv6(sandbox: Sandbox, address: str):
    code = f"print(outcome(socket.AF_INET6, socket.SOCK_DGRAM, ({address!r}, 53)))"
    assert (await sandbox.run(SEND + code, timeout=30)).output == "OSError\n"


async def test_names(sandbox: Sandbox):
    code = (
        "import socket\ntry:\n    print(socket.getaddrinfo('example.com', 80))\nexcept OSError as e:\n    print('none')"
    )
    assert (await sandbox.run(code, timeout=30)).output == "none\n"


async def test_abstract_unix_socket(sandbox: Sandbox):
    name = secrets.token_hex(8)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0" + name)
        server.listen()
        code = f"print(outcome(socket.AF_UNIX, socket.SOCK_STREAM, '\\x00{name}'))"
        assert (await sandbox.run(SEND + code, timeout=30)).output == "ConnectionRefusedError\n"


async def test_interfaces(sandbox: Sandbox):
    code = "import socket; print(socket.if_nameindex())"
    found = (await sandbox.run(code, timeout=30)).output
    assert not any(f"'{name}" in found for name in ("e", "w", "docker", "br"))


async def test_talking_to_itself_works(sandbox: Sandbox):
    code = """
import socket
with socket.create_server(("127.0.0.1", 0)) as own:
    print(outcome(socket.AF_INET, socket.SOCK_STREAM, own.getsockname()))
a, b = socket.socketpair()
a.send(b"pair"); print(b.recv(4).decode())
"""
    assert (await sandbox.run(SEND + code, timeout=30)).output == "SENT\npair\n"


@pytest.mark.parametrize(
    ("family", "kind", "protocol"),
    [
        ("vsock", "socket.AF_VSOCK, socket.SOCK_STREAM", 0),
        ("vsock datagrams", "socket.AF_VSOCK, socket.SOCK_DGRAM", 0),
        ("kernel cryptography", "socket.AF_ALG, socket.SOCK_SEQPACKET", 0),
        ("packets", "socket.AF_PACKET, socket.SOCK_RAW", 0),
        ("bluetooth", "31, socket.SOCK_RAW", 1),
        ("can", "29, socket.SOCK_RAW", 1),
        ("tipc", "30, socket.SOCK_SEQPACKET", 0),
        ("rds", "21, socket.SOCK_SEQPACKET", 0),
        ("xdp", "44, socket.SOCK_RAW", 0),
        ("netlink uevents", "socket.AF_NETLINK, socket.SOCK_RAW", 15),
        ("netlink audit", "socket.AF_NETLINK, socket.SOCK_RAW", 9),
        ("netlink sock_diag", "socket.AF_NETLINK, socket.SOCK_RAW", 4),
        ("netlink netfilter", "socket.AF_NETLINK, socket.SOCK_RAW", 12),
        ("netlink generic", "socket.AF_NETLINK, socket.SOCK_RAW", 16),
    ],
    ids=lambda value: value if isinstance(value, str) and "." not in value else "",
)
async def test_family(outcomes, family: str, kind: str, protocol: int):
    """In a virtual machine vsock reaches the hypervisor, whatever the network namespace."""
    assert await outcomes(f"socket.socket({kind}, {protocol})", f"socket.socketpair({kind}, {protocol})") == [
        "EAFNOSUPPORT",
        "EAFNOSUPPORT",
    ]


@pytest.mark.parametrize("kind", ["SOCK_RAW, socket.IPPROTO_ICMP", "SOCK_RAW, socket.IPPROTO_RAW"])
async def test_raw_socket(outcomes, kind: str):
    assert await outcomes(f"socket.socket(socket.AF_INET, socket.{kind})") == ["EPERM"]


async def test_netlink_routes_cannot_be_changed(outcomes):
    """Asking for addresses is allowed; bringing up a device is not."""
    add = (
        "[s.bind((0, 0)), s.send(struct.pack('=IHHII', 32, 16, 0x605, 1, 0) + bytes(16)),"
        " 1 / (struct.unpack_from('=i', s.recv(100), 16)[0] == 0)]"
    )
    attack = f"(lambda s, struct: {add})(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0), __import__('struct'))"
    assert await outcomes(attack) == ["ZeroDivisionError"]
