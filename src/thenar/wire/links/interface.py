"""Network interfaces: which there are, and keeping sockets of a library on the one that was chosen."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Iterable

from thenar.errors import BadValue

SIOCGIFADDR = 0x8915
SO_ATTACH_FILTER = 26
_SKF_AD_IFINDEX = 0xFFFFF000 + 8  # where a packet filter reads the number of the interface


def ip_address(interface: str) -> str:
    """The IPv4 address of an interface; an unknown one lists those that exist."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            answer = fcntl.ioctl(probe.fileno(), SIOCGIFADDR, struct.pack("256s", interface.encode()[:15]))
        except OSError:
            names = ", ".join(name for _, name in socket.if_nameindex())
            raise BadValue("interface", interface, f"one with an IPv4 address; this machine has {names}") from None
    return socket.inet_ntoa(answer[20:24])


def open_sockets() -> set[int]:
    """Descriptors of this process that are sockets."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                found.add(int(name))
        except OSError:  # it was the descriptor of the listing itself
            continue
    return found


def keep_on_interface(descriptors: Iterable[int], interface: str) -> None:
    """Let sockets hear only what comes in on one interface, or from this host to that interface's address.

    DDS libraries listen on every address whatever they are told; this closes the other doors in the kernel.
    """
    numbers = {socket.if_nametoindex(interface), socket.if_nametoindex("lo")}
    for descriptor in descriptors:
        # A second descriptor of the same socket, so that closing it here leaves the library's own alone.
        with socket.socket(fileno=os.dup(descriptor)) as one:
            if one.type != socket.SOCK_DGRAM or one.getsockname()[0] != "0.0.0.0":
                continue
            if interface == "lo":
                one.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")
            else:
                _only_from(one, sorted(numbers))


def _only_from(one: socket.socket, interfaces: list[int]) -> None:
    """Attach a packet filter: load the interface's number, let it pass if it is one of these, drop the rest."""
    load = (0x20, 0, 0, _SKF_AD_IFINDEX)
    # A match jumps over what is left of the list and over the drop behind it.
    tests = [(0x15, len(interfaces) - n, 0, number) for n, number in enumerate(interfaces)]
    drop, accept = (0x06, 0, 0, 0), (0x06, 0, 0, 0xFFFFFFFF)
    program = [load, *tests, drop, accept]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    one.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HL", len(program), ctypes.addressof(code)))
