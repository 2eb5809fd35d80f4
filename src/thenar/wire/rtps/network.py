"""Sockets: which ports a participant listens on, bound so that nothing outside the chosen interface reaches it."""

import contextlib
import errno
import ipaddress
import selectors
import socket
import struct
import sys
from collections.abc import Iterator

from thenar.errors import BadValue
from thenar.wire.rtps.discovery import Address

LOOPBACK = "127.0.0.1"
GROUP = "239.255.0.1"
"""Where participants announce themselves, fixed by the standard."""
MAX_DOMAIN = 232
"""Above it the port formula runs out of ports."""
MAX_INDEX = 119
RECEIVE_BUFFER_BYTES = 1 << 22
DATAGRAMS_PER_TURN = 64
"""Datagrams taken from one socket before the others get their turn."""

PROBED_INDICES = 16
"""Participants per machine that are looked for where there is no multicast."""

_IP_PKTINFO, _IP_MULTICAST_ALL = 8, 49  # of Linux; the socket module has no names for them
_SIOCGIFADDR = 0x8915


def multicast_port(domain: int) -> int:
    """Port on which a domain's participants announce themselves to the group."""
    return 7400 + 250 * domain


def unicast_ports(domain: int, index: int) -> tuple[int, int]:
    """Ports of the participant with an index on its machine: discovery, then user data."""
    return 7410 + 250 * domain + 2 * index, 7411 + 250 * domain + 2 * index


def interface_address(interface: str) -> str:
    """The IPv4 address of an interface, given by name or by that address itself."""
    if interface in ("lo", "lo0"):
        return LOOPBACK
    with contextlib.suppress(ValueError):
        return str(ipaddress.IPv4Address(interface))
    names = ", ".join(name for _, name in socket.if_nameindex())
    wanted = f"one with an IPv4 address, or such an address; this machine has {names}"
    if sys.platform != "linux":
        raise BadValue("interface", interface, f"lo or an IPv4 address; {wanted}")
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            found = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, struct.pack("256s", interface.encode()[:15]))
        except OSError:
            raise BadValue("interface", interface, wanted) from None
    return socket.inet_ntoa(found[20:24])


def probe_addresses(peer: str, domain: int) -> list[Address]:
    """Where participants may listen, given a machine (any of its first indices) or ``machine:port``."""
    host, _, port = peer.partition(":")
    with contextlib.suppress(OSError, ValueError):
        address = socket.gethostbyname(host)  # here and not for every datagram
        if not port:
            return [(address, unicast_ports(domain, index)[0]) for index in range(PROBED_INDICES)]
        if 0 < int(port) < 65536:
            return [(address, int(port))]
    raise BadValue("peers", peer, "addresses of machines, such as 192.0.2.7 or 192.0.2.7:7410, separated by commas")


def _card_numbers(interface: str, address: str) -> frozenset[int]:
    """Numbers of loopback and of the interface with an address."""
    if sys.platform != "linux":
        return frozenset()
    cards = {name: number for number, name in socket.if_nameindex()}
    for name, number in cards.items():
        with contextlib.suppress(BadValue):
            if name == interface or interface_address(name) == address:
                return frozenset({number, cards["lo"]})
    return frozenset()


class Network:
    """The sockets of one participant.

    With loopback it hears loopback only. With another interface it hears that one, and loopback too, because
    Fast DDS turns addresses of its own machine into loopback.
    """

    def __init__(self, domain: int, interface: str = "lo", *, multicast: bool = True):
        if not 0 <= domain <= MAX_DOMAIN:
            raise BadValue("domain", domain, f"0 to {MAX_DOMAIN}")
        address = interface_address(interface)
        self.domain = domain
        self.own: tuple[str, ...] = (LOOPBACK,) if address.startswith("127.") else (address, LOOPBACK)
        """Addresses it is bound to; the first one is announced."""
        self._cards = _card_numbers(interface, address) if len(self.own) > 1 else frozenset()
        """Numbers of the interfaces that may be heard, where the kernel takes a card's address on any card."""
        self._selector = selectors.DefaultSelector()
        self._sockets: list[socket.socket] = []
        self._discovery_sockets: list[socket.socket] = []
        self._user_sockets: list[socket.socket] = []
        try:
            self.index, self.meta, self.user = self._bind_unicast()
        except OSError as why:
            self.close()
            raise BadValue("interface", interface, f"an address of this machine ({why.strerror})") from None
        self.group: Address | None = None
        """Where announcements go by multicast; None where the interface cannot."""
        self.no_multicast: str = "switched off"
        """Why there is no multicast."""
        if multicast:
            try:
                self._join()
            except OSError as why:
                self.no_multicast = why.strerror or str(why)

    def _listen(self, address: Address, *, shared: bool = False) -> socket.socket:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        if self._cards:
            sock.setsockopt(socket.IPPROTO_IP, _IP_PKTINFO, 1)
        if shared:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            sock.bind(address)
        except OSError:
            sock.close()
            raise
        return sock

    def _bind_unicast(self) -> tuple[int | None, Address, Address]:
        """Take the first free pair of well-known ports, on every address of ours, or any ports if all are taken."""
        for index in [*range(MAX_INDEX + 1), None]:
            ports = (0, 0) if index is None else unicast_ports(self.domain, index)
            if max(ports) > 65535:
                continue
            taken: list[socket.socket] = []
            try:
                for host in self.own:
                    pair = [self._listen((host, port)) for port in ports]
                    taken += pair
                    ports = (pair[0].getsockname()[1], pair[1].getsockname()[1])
            except OSError as why:
                for sock in taken:
                    sock.close()
                if why.errno != errno.EADDRINUSE or index is None:
                    raise
                continue
            self._senders = {host: taken[2 * at + 1] for at, host in enumerate(self.own)}
            for sock in taken:
                self._selector.register(sock, selectors.EVENT_READ)
            self._sockets += taken
            self._discovery_sockets, self._user_sockets = taken[0::2], taken[1::2]
            return index, (self.own[0], ports[0]), (self.own[0], ports[1])
        raise AssertionError("the last turn of the loop returns or raises")

    def _join(self) -> None:
        port = multicast_port(self.domain)
        # Bound to the group and not to any address: datagrams for other addresses of this machine stay out.
        sock = self._listen((GROUP, port), shared=True)
        try:
            own = socket.inet_aton(self.own[0])
            if sys.platform == "linux":
                # Else the kernel also hands over what other programs joined on other interfaces.
                sock.setsockopt(socket.IPPROTO_IP, _IP_MULTICAST_ALL, 0)
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(GROUP) + own)
            sender = self._senders[self.own[0]]
            sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, own)
            sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)
            sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
        except OSError:
            sock.close()
            raise
        self._selector.register(sock, selectors.EVENT_READ)
        self._sockets.append(sock)
        self._discovery_sockets.append(sock)
        self.group = (GROUP, port)

    def send(self, datagram: bytes, address: Address) -> str | None:
        """Send one datagram; say why it could not be sent, or None. Any thread may call it."""
        sender = self._senders[LOOPBACK if address[0].startswith("127.") else self.own[0]]
        try:
            sender.sendto(datagram, address)
        except OSError as why:
            return f"sending failed: {why.strerror}"
        return None

    def receive(self, timeout_s: float) -> Iterator[tuple[bytes, str]]:
        """Wait for datagrams and yield those that are there, each with the address it came from.

        User data goes first, though it is read last: nothing that is yielded has overtaken a sample that was sent
        before it, least of all its writer's farewell.
        """
        ready = [key.fileobj for key, _ in self._selector.select(timeout_s)]
        discovery = [each for sock in self._discovery_sockets if sock in ready for each in self._take(sock)]
        for sock in self._user_sockets:
            if discovery or sock in ready:
                yield from self._take(sock)
        yield from discovery

    def _take(self, sock: socket.socket) -> Iterator[tuple[bytes, str]]:
        for _ in range(DATAGRAMS_PER_TURN):
            try:
                datagram, told, _, source = sock.recvmsg(65536, 64 if self._cards else 0)
            except OSError:
                return  # nothing left, or an echo of an earlier send that nobody heard
            # What is told is the packet's info, which begins with the number of the interface it came in on.
            if not self._cards or int.from_bytes(told[0][2][:4], sys.byteorder) in self._cards:
                yield datagram, source[0]

    def close(self) -> None:
        """Close all sockets."""
        self._selector.close()
        for sock in self._sockets:
            sock.close()
