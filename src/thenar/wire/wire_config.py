"""Options of the wires: the network they share, and a part for each protocol that has options of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from thenar.errors import BadValue


@dataclass(frozen=True, kw_only=True)
class ModbusOptions:
    """Registers of Inspire hands on TCP."""

    host: tuple[str, ...] = ()
    """Addresses to listen at in place of the interface's, separated by commas: one for each hand, all on one port, as
    programs for two hands expect it, or one for all."""
    port: int = 6000
    """Port of the first hand; the next hands count up where they share an address."""
    flash: Path | None = None
    """Folder in which hands keep what clients tell them to save, over rs485 too; without one it is forgotten."""


@dataclass(frozen=True, kw_only=True)
class Rs485Options:
    """Serial line of Inspire hands, as a pseudo-terminal."""

    ports: tuple[str, ...] = ()
    """Names to give it, separated by commas: one for all hands on one line (the right one with id 1, the left one with
    id 2), or one for each hand on a line of its own (id 1); without any it has only that of the system."""


@dataclass(frozen=True, kw_only=True)
class TienkungOptions:
    """ROS 2 interface of Tienkung's hands."""

    state_hz: float = 25.0
    """How often the state topics are published; 25 on the robot."""


@dataclass(frozen=True, kw_only=True)
class ReflexOptions:
    """Both interfaces of a ReFlex hand."""

    state_hz: float = 40.0
    """How often the hand publishes its state; 40 on the real one."""
    port: int = 11333
    """UDP port of its packets; programs for the real hand know only 11333."""


@dataclass(frozen=True, kw_only=True)
class BraincoOptions:
    """DDS topics of BrainCo hands."""

    order: str = "hand"
    """Motors 0 and 1 of a message: ``hand`` (thumb, thumb_aux) or ``xr_teleoperate`` (thumb_aux, thumb)."""


@dataclass(frozen=True, kw_only=True)
class Revo2Options:
    """Serial line of BrainCo Revo 2 hands, as a pseudo-terminal."""

    port: str = ""
    """Name to give it; without one it has only that of the system. The left hand has id 0x7e, the right one 0x7f."""


@dataclass(frozen=True, kw_only=True)
class DynamixelOptions:
    """Serial line of a hand of Dynamixel motors, as a pseudo-terminal."""

    port: str = ""
    """Name to give it; without one it has only that of the system."""


@dataclass(frozen=True, kw_only=True)
class WireConfig:
    """What every link of a twin is made from."""

    domain: int = 1
    """DDS domain, ROS_DOMAIN_ID: Unitree's simulators use 1, robots 0."""
    interface: str = "lo"
    """Network interface of all wires. Nothing is heard on any other."""
    peers: tuple[str, ...] = ()
    """Addresses, separated by commas, to look for DDS programs at where multicast does not reach."""
    state_hz: float = 100.0
    """How often states are published."""
    touch_hz: float = 50.0
    """How often skins are read and published."""
    modbus: ModbusOptions = ModbusOptions()
    rs485: Rs485Options = Rs485Options()
    tienkung: TienkungOptions = TienkungOptions()
    reflex: ReflexOptions = ReflexOptions()
    brainco: BraincoOptions = BraincoOptions()
    revo2: Revo2Options = Revo2Options()
    dynamixel: DynamixelOptions = DynamixelOptions()

    def publish_hz(self, part: str) -> float:
        """Rate of a protocol that has its own, by the name of its part; no faster than states come."""
        rate_hz: float = getattr(self, part).state_hz
        if not 0.0 < rate_hz <= self.state_hz:
            wanted = f"hertz above 0 and up to state_hz, which is {self.state_hz:g}"
            raise BadValue(f"{part}.state_hz", rate_hz, wanted)
        return rate_hz
