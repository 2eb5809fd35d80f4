"""A peer of any vendor made of one socket and bytes, for saying exactly what a real one would not."""

import os
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path

from thenar.wire.rtps import discovery, messages
from thenar.wire.rtps.discovery import EndpointInfo, ParticipantInfo
from thenar.wire.rtps.messages import Data, Submessage
from thenar.wire.rtps.network import unicast_ports
from thenar.wire.rtps.qos import Qos
from thenar.wire.rtps.services import ServiceNames

CAPTURES = {
    (who, what): bytes.fromhex(data)
    for who, what, data in (
        [part.strip() for part in line.split("|")]
        for line in (Path(__file__).parent / "data" / "rtps_captures.txt").read_text("ascii").splitlines()
        if not line.startswith("#")
    )
}
"""Datagrams of other vendors, by who sent them and what they are."""
WRITER, READER = b"\x00\x00\x01\x03", b"\x00\x00\x02\x04"


class RawPeer:
    """Announces itself with a writer of requests and a reader of replies, sends what it is told to, keeps what comes.

    It confirms nothing on its own: what the other side then does is up to the test.
    """

    def __init__(self, domain: int, names: ServiceNames, *, vendor: bytes, index: int = 0, reliable: bool = True):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.setblocking(False)
        meta, user = unicast_ports(domain, index)
        self.meta, self.user = ("127.0.0.1", meta), ("127.0.0.1", user)
        self.prefix = vendor + os.urandom(10)
        self.vendor = vendor
        self.names = names
        self.reader_qos = Qos(reliable=reliable)
        self.writer_qos = Qos()
        self.other = bytes(12)
        """Prefix of the participant that answered; zeros, which are for everybody, before."""
        self.inbox: list[tuple[bytes, Submessage]] = []
        """Prefix it was addressed to (zeros: to nobody in particular), and the submessage."""

    def datagram(self, *submessages: bytes) -> bytes:
        return b"RTPS\x02\x03" + self.vendor + self.prefix + messages.info_dst(self.other) + b"".join(submessages)

    def announce(self) -> None:
        self.meet()
        self.announce_endpoints()

    def announce_itself(self) -> None:
        here = (self.socket.getsockname(),)
        info = ParticipantInfo(
            prefix=self.prefix, vendor=self.vendor, lease_s=20, meta=here, user=here, builtins=0b111111
        )
        spdp = messages.data(discovery.SPDP_READER, discovery.SPDP_WRITER, 1, discovery.encode_participant(info))
        self.socket.sendto(self.datagram(spdp), self.meta)

    def meet(self) -> None:
        """Announce itself and wait for the answer; whatever it sends from then on shows that it got that."""
        self.announce_itself()
        assert self.listen(lambda: any(self.other))

    def announce_endpoints(self) -> None:
        names = self.names
        for announcer, entity, topic, type_name, qos in (
            (discovery.PUBLICATIONS_WRITER, WRITER, names.request_topic, names.request_type, self.writer_qos),
            (discovery.SUBSCRIPTIONS_WRITER, READER, names.reply_topic, names.reply_type, self.reader_qos),
        ):
            endpoint = EndpointInfo(guid=self.prefix + entity, topic=topic, type_name=type_name, qos=qos)
            sedp = messages.data(bytes(4), announcer, 1, discovery.encode_endpoint(endpoint))
            self.socket.sendto(self.datagram(sedp), self.meta)

    def take_leave(self) -> None:
        guid = self.prefix + discovery.PARTICIPANT
        key = discovery.encode_key(discovery.PID_PARTICIPANT_GUID, guid)
        gone = discovery.disposal(guid)
        farewell = messages.data(discovery.SPDP_READER, discovery.SPDP_WRITER, 2, key, gone, key_only=True)
        self.socket.sendto(self.datagram(farewell), self.meta)

    def request(self, number: int, payload: bytes, inline: bytes = b"") -> None:
        sample = messages.data(bytes(4), WRITER, number, payload, inline)
        beat = messages.heartbeat(bytes(4), WRITER, 1, number, number, final=True)
        self.socket.sendto(self.datagram(sample, beat), self.user)

    def listen(self, until: Callable[[], object], limit_s: float = 2.0) -> bool:
        """Take in datagrams until something holds; False if it did not in time."""
        end_s = time.monotonic() + limit_s
        while not until():
            if time.monotonic() > end_s:
                return False
            try:
                message = messages.read_message(self.socket.recv(65536))
            except BlockingIOError:
                time.sleep(0.002)
                continue
            self.other = message.header.prefix
            to = bytes(12)
            for sub in message.submessages:
                if isinstance(sub, messages.InfoDst):
                    to = sub.prefix
                self.inbox.append((to, sub))
        return True

    @property
    def replies(self) -> list[Data]:
        return [sub for _, sub in self.inbox if isinstance(sub, Data) and sub.reader == READER]

    def close(self) -> None:
        self.socket.close()


def forces(*values: float) -> bytes:
    """Plain CDR of six floats."""
    return b"\x00\x01\x00\x00" + struct.pack("<6f", *values)
