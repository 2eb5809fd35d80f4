"""The ReFlex hand's own UDP protocol: state packets to a multicast group, and packets that command the motors.

The maker's driver finds a hand by listening to the group, so a twin must be alone there: on loopback unless another
interface is named.
"""

from __future__ import annotations

import math
import socket
import sys
import threading
import time
from collections.abc import Mapping

import numpy as np

from thenar.cdr import BadMessage
from thenar.errors import BadValue
from thenar.pace import Pace
from thenar.signals import HandCommand, HandSettings, HandState, Request, TouchFrame
from thenar.wire.codecs import reflex_counts as counts
from thenar.wire.codecs import reflex_udp_codec as codec
from thenar.wire.codecs.reflex_board import Board
from thenar.wire.codecs.reflex_udp_codec import GROUP, STATE_BYTES, Mode, Modes, Targets
from thenar.wire.line_faults import LineFaults
from thenar.wire.links.dds_link import StatusPublisher
from thenar.wire.links.inbox import Inbox
from thenar.wire.links.link_health import LinkHealth, PeerStats, ended
from thenar.wire.links.registry import LinkContext
from thenar.wire.rtps.network import interface_address

MAX_PEERS = 16
MAX_PACKET_BYTES = 2048
RIVAL_S = 5.0
"""For how long another hand that fell silent is still told of [s]."""
_IP_MULTICAST_ALL = 49  # Linux; the socket module has no name for it


class ReflexUdp:
    """The twin's side: what the hand's board does on its network."""

    wire = "reflex_udp"

    def __init__(self, context: LinkContext):
        """Join the group with the ReFlex among the hands; nothing goes out on or comes in from another interface."""
        config = context.config
        port, interface = config.reflex.port, config.interface
        self._board = Board(context.hands)
        self._pace = Pace(config.publish_hz("reflex"))
        self.line = LineFaults()
        self._inbox = Inbox()
        self._peer_stats: dict[str, PeerStats] = {}
        self._rival, self._rival_s = "", -math.inf
        """Where states of another hand came from last, and when."""
        self._modes = np.full(4, Mode.POSITION)
        self._written = self._not_written = 0
        self._group = (GROUP, port)
        self._where = f"udp {GROUP}:{port} on {interface}"
        self._out, self._in = _sockets(interface, port)
        self._own = self._out.getsockname()
        self._participant = context.participant  # packets have no place for the twin's health
        self.publish_status = StatusPublisher(self._participant).publish
        self._closing = threading.Event()
        self._listener = threading.Thread(target=self._listen, name="reflex udp", daemon=True)
        self._listener.start()

    def receive(self) -> list[Request]:
        """Requests since the last call."""
        return self._inbox.drain()

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Send the newest state when it is time."""
        state = hands[self._board.hand.name][0]
        if not self._pace.is_due(state.stamp_s):
            return
        packet = codec.encode_state(self._board.read(state))
        try:
            for passed in self.line.pass_on(packet):
                self._out.sendto(passed, self._group)
                self._written += 1
        except OSError:  # a full queue or an interface that went down: the next state is on its way
            self._not_written += 1

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None:
        """Keep what the barometers feel for the next state."""
        self._board.store_touch(frames)

    def health(self) -> LinkHealth:
        """How it is doing. Who listens to a multicast group nobody knows: those that spoke are counted."""
        peers = tuple(stats.health("commands") for stats in list(self._peer_stats.values()))
        return LinkHealth(
            wire=self.wire,
            where=self._where,
            listeners=len(peers),
            written=self._written,
            not_written=self._not_written,
            peers=peers,
            refused=dict(self._inbox.refused),
            warnings=self._warnings(),
            failed=ended(self._listener, *self._participant.threads),
        )

    def _warnings(self) -> tuple[str, ...]:
        if time.perf_counter() - self._rival_s > RIVAL_S:
            return ()
        told = f"another hand at {self._rival} sends its states to {self._where} too"
        return (f"{told}: clients see both hands as one; take another --reflex.port",)

    def close(self) -> None:
        """Leave the group and the domain."""
        self._participant.close()
        self._closing.set()
        self._listener.join()
        self._in.close()
        self._out.close()

    def _listen(self) -> None:
        while not self._closing.is_set():
            try:
                packet, sender = self._in.recvfrom(MAX_PACKET_BYTES)
            except TimeoutError:
                continue
            except OSError as error:  # such as an interface that went down: it may come back
                self._inbox.refuse(f"nothing can be heard: {error.strerror}")
                self._closing.wait(0.2)
                continue
            if sender != self._own:  # what we send to the group comes back to us too
                self._on_packet(packet, f"{sender[0]}:{sender[1]}")

    def _on_packet(self, packet: bytes, who: str) -> None:
        if len(packet) == STATE_BYTES:
            self._rival, self._rival_s = who.partition(":")[0], time.perf_counter()
            self._inbox.refuse(f"states of another hand in the group, from {self._rival}")
            return
        if who not in self._peer_stats:
            self._peer_stats = dict(list(self._peer_stats.items())[1 - MAX_PEERS :]) | {who: PeerStats(f"udp {who}")}
        self._peer_stats[who].record(time.perf_counter())
        try:
            command = self._command(codec.decode_command(packet))
        except BadMessage as error:
            self._inbox.refuse(f"packet refused: {error}")
            return
        if command is not None:
            self._inbox.put(self._board.hand.name, f"udp {who}", command=command)

    def _command(self, asked: Modes | Targets) -> HandCommand | None:
        """What a packet means for the motors; None: nothing yet."""
        unasked = np.full(4, np.nan)
        if isinstance(asked, Modes):
            self._modes = np.array(asked.modes)
            return self._board.command(unasked, unasked, self._modes != Mode.IDLE)
        idle = self._modes == Mode.IDLE
        if idle.any():
            self._inbox.refuse("targets for idle motors: send modes first", int(idle.sum()))
        if idle.all():
            return None
        # In velocity mode a target is the speed of the moves that follow, as the driver uses it.
        return self._board.command(
            np.where(self._modes == Mode.POSITION, asked.raw, np.nan),
            np.where(self._modes == Mode.VELOCITY, counts.speed_rad_s(asked.raw), np.nan),
            ~idle,
        )


def _sockets(interface: str, port: int) -> tuple[socket.socket, socket.socket]:
    """One to send with and one that hears the group, both on this interface only."""
    host = interface_address(interface)
    address = socket.inet_aton(host)
    outward, inward = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    try:
        outward.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, address)
        outward.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
        outward.bind((host, 0))
        outward.setblocking(False)
        inward.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        inward.bind((GROUP, port))
        inward.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(GROUP) + address)
        if sys.platform == "linux":  # elsewhere a socket hears only the groups it joined anyway
            inward.setsockopt(socket.IPPROTO_IP, _IP_MULTICAST_ALL, 0)
        inward.settimeout(0.2)
    except OSError as error:
        outward.close()
        inward.close()
        wanted = f"one on which {GROUP}:{port} can be joined: {error.strerror}"
        raise BadValue("interface", interface, wanted) from error
    return outward, inward
