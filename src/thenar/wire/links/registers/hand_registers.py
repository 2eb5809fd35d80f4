"""One hand's registers behind a link: what clients read, what their writes ask of the twin, what is saved."""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from thenar.errors import BadFile
from thenar.hands.spec import HandSpec
from thenar.signals import HandSettings, HandState, MotorStatus, Request, TouchFrame
from thenar.wire.codecs import inspire_codec, inspire_counts
from thenar.wire.codecs.inspire_codec import TouchLayout
from thenar.wire.codecs.inspire_counts import Scale
from thenar.wire.codecs.registers import modbus_pdu, register_map
from thenar.wire.codecs.registers.action_steps import BLOCK_BYTES, steps_of
from thenar.wire.codecs.registers.modbus_pdu import EXCEPTION, Refusal
from thenar.wire.codecs.registers.register_map import Write
from thenar.wire.links.inbox import Inbox
from thenar.wire.links.link_health import PeerHealth, PeerStats
from thenar.wire.links.registers.action_player import ActionPlayer
from thenar.wire.links.registry import LinkContext

# Where plusml-rh56dftp believes ANGLE_SET(0) to ANGLE_SET(4) to be; its ANGLE_SET(5) is the little finger's.
PLUSML_ANGLE_SET = range(1464, 1474)
ACTIONS = "ACTION_SEQ"  # in the file of what is saved


class HandRegisters:
    """The memory of one hand, as clients read and write it."""

    def __init__(self, spec: HandSpec, inbox: Inbox, flash: Path | None, *, medium: str):
        """A hand as it wakes up: what it saved before, or what a new one has.

        Args:
            spec: The hand.
            inbox: Where what its clients ask for is left.
            flash: File of what it saves; None: it forgets.
            medium: Over what its clients come, in words.
        """
        self.scale = Scale.of(spec)
        self.layout = TouchLayout.of(spec) if spec.pads else None
        self.stats = PeerStats(f"clients on {medium}")
        self._inbox, self._sender = inbox, f"a client on {medium}"
        self._flash = flash
        self._lock = threading.Lock()  # between the server's thread and the loop's
        self._unseen_writes = 0
        self.memory = register_map.new_memory()
        self._new = self._registers_to_save()
        self._wake_up(flash)

    def power_on(self) -> None:
        """Begin again, as after the power was off: what was not saved is gone, and what cannot be read any more."""
        with self._lock:
            number = self.hand_id
            try:
                self._wake_up(self._flash)
            except BadFile as error:
                self._inbox.refuse(f"power-on with a new hand's values: {error}")
                self._wake_up(None)
            self.hand_id = number  # hands on one line stay apart

    def _wake_up(self, flash: Path | None) -> None:
        self._player = ActionPlayer()
        self._actions: dict[int, bytes] = {}  # sequences that were saved, by index
        self.memory[:] = register_map.new_memory()
        if flash is not None:
            self._load_flash(flash)
        speed, force = (register_map.load(self.memory, f"DEFAULT_{name}_SET") for name in ("SPEED", "FORCE"))
        command, _ = inspire_counts.command(self.scale, speed=speed, force=force)
        self._inbox.put(self.scale.hand, "power-on", command=command)

    @property
    def hand_id(self) -> int:
        """Its address on a serial line."""
        return int(register_map.load(self.memory, "HAND_ID")[0])

    @hand_id.setter
    def hand_id(self, number: int) -> None:
        register_map.store(self.memory, "HAND_ID", np.array([number]))

    def answer(self, pdu: bytes) -> bytes:
        """Answer a Modbus request."""
        reply = modbus_pdu.answer(self, pdu)
        if reply[0] & EXCEPTION and reply[1] == Refusal.ILLEGAL_FUNCTION:
            self._inbox.refuse(f"function code {pdu[0]}; the hand knows 3, 6 and 16")
        elif reply[0] & EXCEPTION and reply[1] == Refusal.ILLEGAL_VALUE:
            self._inbox.refuse(f"a count or length that function code {pdu[0]} does not have")
        return reply

    def read(self, address: int, size: int) -> bytes | None:
        """Bytes from an address on; None where there are none."""
        self.stats.record(time.perf_counter())
        has_skin = self.layout is not None or address < register_map.REGISTERS["TOUCH"].address
        data = register_map.read_bytes(self.memory, address, size) if has_skin else None
        if data is None:
            self._inbox.refuse(f"register {address} cannot be read")
        return data

    def write(self, address: int, data: bytes) -> Refusal | None:
        """Carry out a write; why not, if not."""
        self.stats.record(time.perf_counter())
        with self._lock:
            write = register_map.write_bytes(self.memory, self.scale, address, data)
            if write is None:
                plusml = "; ANGLE_SET is at 1486: plusml-rh56dftp has it wrong" if address in PLUSML_ANGLE_SET else ""
                self._inbox.refuse(f"register {address} cannot be written{plusml}")
                return Refusal.ILLEGAL_ADDRESS
            if write.out_of_range:
                self._inbox.refuse("counts out of range", write.out_of_range)
            if write.factory_reset:
                register_map.reset(self.memory)
            limit_a = None
            if write.current_limit:
                limit_a = np.empty(len(inspire_counts.MOTORS))
                limit_a[self.scale.actuators] = register_map.load(self.memory, "CURRENT_LIMIT") / 1e3
            if write.moves:
                self._player.play(())
            kept = self._handle_actions(write)
            if write.command is not None or write.clear_errors or write.zero_force or limit_a is not None:
                self._unseen_writes += 1
                self._inbox.put(
                    self.scale.hand,
                    self._sender,
                    command=write.command,
                    clear_errors=write.clear_errors,
                    zero_force=write.zero_force,
                    current_limit_a=limit_a,
                )
            if write.save:
                kept |= self._registers_to_save()
        return None if not kept or self._save(kept) else Refusal.DEVICE_FAILURE

    def store(self, state: HandState, told: HandSettings) -> None:
        """Put what the hand reports into the memory."""
        readings, settings = inspire_counts.readings(self.scale, state), inspire_counts.settings(self.scale, told)
        with self._lock:
            register_map.store_readings(self.memory, readings)
            step = self._player.due(state.stamp_s, moving=bool((readings.status <= MotorStatus.GRASPING).any()))
            register_map.store(self.memory, "ACTION_SEQ_RUN", np.array([self._player.playing]))
            # A client that has just written reads its own words, not those from before the loop has seen them.
            if not self._unseen_writes:
                register_map.store_settings(self.memory, settings, zeroing=told.zeroing)
        if step is not None:
            asked, _ = inspire_counts.command(self.scale, angle=step.angle, speed=step.speed, force=step.force)
            self._inbox.put(self.scale.hand, self._sender, command=asked)

    def seen(self) -> None:
        """The loop has taken everything that was written so far."""
        with self._lock:
            if not len(self._inbox):
                self._unseen_writes = 0

    def store_touch(self, frame: TouchFrame) -> None:
        """Put what the skin says into the memory."""
        if self.layout is not None:
            register_map.store(self.memory, "TOUCH", inspire_codec.touch_words(self.layout, frame.taxel_counts))

    def _handle_actions(self, write: Write) -> dict[str, Any]:
        """Do what a write asks of the action sequences, and say what of them is to be saved."""
        index = int(register_map.load(self.memory, "ACTION_SEQ_INDEX")[0])
        if write.choose_action:
            self.memory[register_map.ACTION_BLOCK] = self._actions.get(index, bytes(BLOCK_BYTES))
        block = bytes(self.memory[register_map.ACTION_BLOCK])
        if (write.save_action or write.run_action) and not steps_of(block):
            self._inbox.refuse(f"action sequence {index} is not whole (0x90, 0xEB, 1 to 8 steps); a new hand has none")
            return {}
        if write.run_action:
            self._player.play(steps_of(block))
        if not write.save_action:
            return {}
        self._actions[index] = block
        return {ACTIONS: {str(index): block.hex()}}

    def _registers_to_save(self) -> dict[str, Any]:
        return {one.name: register_map.load(self.memory, one.name).tolist() for one in register_map.SAVED}

    def _save(self, kept: dict[str, Any]) -> bool:
        """Keep what is to be kept, and what was kept before; False if it cannot be."""
        if self._flash is None:
            return True
        try:
            # What another link to this hand has saved stays.
            saved = _read_flash(self._flash) if self._flash.exists() else self._new
            saved = {**saved, **kept, ACTIONS: {**saved.get(ACTIONS, {}), **kept.get(ACTIONS, {})}}
            _write_flash(self._flash, saved)
        except (OSError, ValueError, RecursionError, TypeError, AttributeError) as error:  # somebody else wrote there
            self._inbox.refuse(f"SAVE failed: {error}")
            return False
        return True

    def _load_flash(self, flash: Path) -> None:
        try:
            saved = _read_flash(flash)
            for register in register_map.SAVED:
                values = np.array(saved[register.name], dtype=np.int64)
                if values.shape != (register.count,):
                    raise ValueError(f"{register.name} needs {register.count} whole numbers")
                register_map.store(self.memory, register.name, values)
            self._actions = {int(number): bytes.fromhex(kept) for number, kept in saved.get(ACTIONS, {}).items()}
            if not all(map(steps_of, self._actions.values())):
                raise ValueError(f"{ACTIONS} needs whole sequences")
        except FileNotFoundError:
            return  # it has saved nothing yet
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError, OSError) as error:
            raise BadFile(flash, f"not saved registers ({error}); delete it to start with a new hand's") from error


class RegisterLink:
    """What links to registers have in common: the hands, and what goes between them and the twin's loop."""

    def __init__(self, context: LinkContext, *, medium: str):
        """Wake the hands up; ``medium`` is over what clients come, in words."""
        folder = context.config.modbus.flash
        if folder is not None:
            _make_folder(folder)
        self._inbox = Inbox()
        self._hands = {
            spec.name: HandRegisters(spec, self._inbox, folder / f"{spec.name}.json" if folder else None, medium=medium)
            for spec in context.hands
        }

    def receive(self) -> list[Request]:
        """Requests since the last call."""
        requests = self._inbox.drain()
        for registers in self._hands.values():
            registers.seen()
        return requests

    def power_on(self) -> None:
        """Wake the hands up again."""
        for registers in self._hands.values():
            registers.power_on()

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Refresh the registers of each hand."""
        for name, registers in self._hands.items():
            registers.store(*hands[name])

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None:
        """Refresh the touch registers of each hand that has skin."""
        for name, registers in self._hands.items():
            if name in frames:
                registers.store_touch(frames[name])

    def _peers(self, where: Mapping[str, str]) -> tuple[PeerHealth, ...]:
        """Who has asked each hand for something, and where."""
        return tuple(
            registers.stats.health(where[name]) for name, registers in self._hands.items() if registers.stats.messages
        )


def _read_flash(path: Path) -> Any:
    """What was saved. In a folder that others write to, a link could lead anywhere: none is followed."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), encoding="utf-8") as file:
        return json.load(file)


def _write_flash(path: Path, saved: Any) -> None:
    """Save it whole or not at all, also if the power fails: written under a name that nobody knew, then renamed."""
    fd, fresh = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            json.dump(saved, file, indent=2)
            file.flush()
            os.fsync(fd)
        os.replace(fresh, path)
    except BaseException:
        os.unlink(fresh)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadFile(folder, f"cannot be made ({error.strerror}); give another --modbus.flash") from error
    if not os.access(folder, os.W_OK):
        raise BadFile(folder, "cannot be written to; give another --modbus.flash")
