"""Who leads a humanoid by hand: joystick, keyboard and gamepad, and velocities that end with their source."""

import os
import struct
from pathlib import Path

import numpy as np
import pytest
from standing_body import _busy_machine_disables_no_task, request  # noqa: F401

from thenar.errors import BadFile, BadValue
from thenar.humanoid.control.controller import BodyController, StateTasks
from thenar.humanoid.control.fsm import BUTTONS, WholeBody
from thenar.humanoid.control.joystick import Gamepad, Keyboard, Press, ScriptedJoystick
from thenar.humanoid.tasks.examples import LeanTask
from thenar.twin.body.body_loop import BodyTwin
from thenar.twin.body.body_world import BodyWorld


def test_the_joystick_leads_through_the_states():
    body = BodyWorld()
    presses = [
        Press(at_s=0.1, buttons=("LB", "A")),
        Press(at_s=0.2),
        Press(at_s=0.5, buttons=("LB", "B"), velocity=(0.3, 0.0, 0.1)),
        Press(at_s=1.0, buttons=("LT", "RT")),
    ]
    twin = BodyTwin(body, BodyController(body.robot, joystick=ScriptedJoystick(presses)))
    seen = []
    for _ in range(12):
        twin.advance(0.1)
        seen.append(body.robot.fsm_state.whole_body)
    assert [state for n, state in enumerate(seen) if not n or state != seen[n - 1]] == [0, 1, 2, 9]
    assert body.robot.joystick.buttons == {"LT", "RT"}
    assert len(BUTTONS) == 10
    with pytest.raises(BadValue, match="some of A, B"):
        ScriptedJoystick([Press(at_s=0.0, buttons=("Z",))])
    with pytest.raises(BadValue, match="wanted finite numbers"):
        ScriptedJoystick([Press(at_s=0.0, velocity=(np.nan, 0.0, 0.0))])


def test_letting_go_of_a_button_asks_for_nothing():
    body, three = BodyWorld(), ("LB", "A", "RB")
    presses = [Press(at_s=0.1, buttons=("LB", "A")), Press(at_s=0.2, buttons=three)]
    presses.append(Press(at_s=0.3, buttons=("LB", "RB")))  # pressed together they would take its power
    twin = BodyTwin(body, BodyController(body.robot, joystick=ScriptedJoystick(presses)))
    twin.advance(0.4)
    assert body.robot.joystick.buttons == {"LB", "RB"}
    assert twin.controller.whole_body == WholeBody.JointStand


def test_keys_ask_for_states_and_velocities():
    into, out = os.pipe()
    keyboard = Keyboard(into)
    os.write(out, b"wwa2")
    wish = keyboard.read(1.0)
    assert wish.buttons == {"LB", "B"}
    np.testing.assert_allclose(wish.liner_cmd, [0.2, 0.1, 0.0])
    os.write(out, b" ")
    assert not keyboard.read(2.0).liner_cmd.any()
    os.write(out, b"w")
    assert keyboard.read(3.0).stamp_s == 3.0
    assert keyboard.read(4.0).stamp_s == 3.0
    os.close(out)
    ended = keyboard.read(5.0)
    assert (ended.valid, ended.liner_cmd.any()) == (False, False)
    os.close(into)


def js_event(value: int, kind: int, number: int) -> bytes:
    """As the kernel's joystick interface writes it: time [ms], value, kind (1 button, 2 axis, 0x80 at the start)."""
    return struct.pack("<IhBB", 12345, value, kind, number)


def test_a_gamepad_s_events_are_read_as_the_kernel_writes_them(tmp_path: Path):
    device = tmp_path / "js0"
    os.mkfifo(device)
    pad = Gamepad(device)
    out = os.open(device, os.O_WRONLY)
    # At the start the kernel tells the state of everything: nothing is pressed, triggers stand at one end.
    os.write(out, b"".join(js_event(0, 0x81, n) for n in range(11)))
    os.write(out, b"".join(js_event(-32767 if n in (2, 5) else 0, 0x82, n) for n in range(8)))
    wish = pad.read(1.0)
    assert (wish.valid, wish.buttons, wish.stamp_s) == (True, frozenset(), 1.0)
    assert not wish.liner_cmd.any()
    os.write(out, js_event(1, 1, 4) + js_event(1, 1, 0))  # LB and A
    os.write(out, js_event(-32767, 2, 1) + js_event(32767, 2, 0) + js_event(-16384, 2, 3))  # forwards, right, left
    wish = pad.read(2.0)
    assert BUTTONS[wish.buttons] == WholeBody.JointStand
    np.testing.assert_allclose(wish.liner_cmd, [0.75, -0.5, 0.5], atol=1e-3)
    assert pad.read(3.0).stamp_s == 2.0  # nothing new
    os.write(out, js_event(0, 1, 4) + js_event(0, 1, 0) + js_event(32767, 2, 2) + js_event(32767, 2, 5))
    assert BUTTONS[pad.read(4.0).buttons] == WholeBody.SecurityProtection
    os.close(out)  # pulled out: no button is held, no velocity asked for
    gone = pad.read(5.0)
    assert (gone.valid, gone.buttons, gone.liner_cmd.any()) == (False, frozenset(), False)
    with pytest.raises(BadFile, match="no gamepad: No such file or directory; plug one in"):
        Gamepad(tmp_path / "js1")


def test_velocities_of_another_source_end_with_it():
    body = BodyWorld()
    pulled = ScriptedJoystick([Press(at_s=0.0, velocity=(0.3, 0.0, 0.0))])
    states = {WholeBody.UserController_D: StateTasks(tasks=(LeanTask(),))}
    twin = BodyTwin(body, BodyController(body.robot, states=states, joystick=pulled))
    twin.controller.change(WholeBody.PdStand)
    twin.controller.change(WholeBody.UserController_D)
    twin.advance(0.01)
    assert body.robot.vel_cmd.tolist() == [0.3, 0.0, 0.0]
    twin.controller.submit(request(velocity=(0.1, 0.0, 0.0, 1.0)))
    twin.advance(0.01)
    assert any("velocities come from the joystick" in reason for reason in body.robot.board.refused)
    twin.controller.submit(request(velocity_source=2))
    twin.advance(0.01)
    assert not body.robot.vel_cmd.any()
    twin.controller.submit(request(velocity=(0.1, 0.0, 0.2, 0.05)))
    twin.advance(0.01)
    assert body.robot.vel_cmd.tolist() == [0.1, 0.0, 0.2]
    twin.advance(0.1)
    assert not body.robot.vel_cmd.any()


def test_a_robot_leans_into_the_velocity_it_is_asked_for_and_comes_back():
    body = BodyWorld()
    states = {WholeBody.UserController_D: StateTasks(tasks=(LeanTask(),))}
    twin = BodyTwin(body, BodyController(body.robot, states=states))
    twin.controller.change(WholeBody.PdStand)
    twin.advance(0.5)
    twin.controller.change(WholeBody.UserController_D)
    twin.controller.submit(request(velocity=(0.5, 0.0, 0.2, 2.0)))
    twin.advance(2.0)
    assert body.robot.base_data.rpy[1:] == pytest.approx([0.25, 0.2], abs=0.03)
    twin.advance(2.5)
    assert np.abs(body.robot.base_data.rpy).max() < 0.03
