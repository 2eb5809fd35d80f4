"""A small RTPS participant of our own: topics and services with any DDS vendor, and nothing installed beside it.

It serves what no library on PyPI can: ROS 2 services in both wire flavours at once, and peers whose type
information other libraries reject. It knows nothing of hands.
"""

from thenar.wire.rtps.participant import Participant
from thenar.wire.rtps.qos import LATCHED, SENSOR_DATA, TRANSIENT_LOCAL, VOLATILE, Qos
from thenar.wire.rtps.reader import Reader, Sample
from thenar.wire.rtps.rtps_health import Health
from thenar.wire.rtps.services import Service, ServiceNames
from thenar.wire.rtps.writer import Writer

__all__ = [
    "LATCHED",
    "SENSOR_DATA",
    "TRANSIENT_LOCAL",
    "VOLATILE",
    "Health",
    "Participant",
    "Qos",
    "Reader",
    "Sample",
    "Service",
    "ServiceNames",
    "Writer",
]
