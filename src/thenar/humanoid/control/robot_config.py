"""A robot's configuration in the vendor's shape: one YAML file for the robot and the tasks of its states.

The vendor's keys are kept, its ``cup_priority`` (sic) too; keys that are unknown are refused, since a misspelt key that
is silently ignored is worse than none.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thenar.errors import BadFile, MissingExtra
from thenar.humanoid.control.controller import StateTasks
from thenar.humanoid.control.fsm import WholeBody
from thenar.humanoid.control.task import Task

TASKS = {
    "JointStandTask": "thenar.humanoid.tasks.standing",
    "PdStandTask": "thenar.humanoid.tasks.standing",
    "SecurityTask": "thenar.humanoid.tasks.standing",
    "WaveTask": "thenar.humanoid.tasks.examples",
    "SquatTask": "thenar.humanoid.tasks.examples",
    "HandOverHandTask": "thenar.humanoid.tasks.hand_over_hand",
    "ActTask": "thenar.humanoid.tasks.examples",
    "LeanTask": "thenar.humanoid.tasks.examples",
}
"""Tasks that come with thenar; any other is named as ``module:Class``."""
KEYS = {
    "RobotName", "RunType", "UseJoyStick", "DomainID", "SerialNumber", "HardwareType",
    "Hands", "Scene", "FixedTasks", "Fsm",
}  # fmt: skip
ROBOTS = ("gr2", "gr2t2v2")
SIMULATED = 0
OVERRIDE = "allow_upper_body_override"


@dataclass(frozen=True, kw_only=True)
class BodyConfig:
    """Which robot runs, with what, and who may talk to it."""

    robot_name: str = "gr2"
    domain: int = 123
    namespace: str = ""
    """Before every topic; the vendor's is robot name and serial number."""
    use_joystick: bool = False
    hands: tuple[str, ...] = ("fourier_left", "fourier_right")
    scene: str = "flat"
    """What stands around the robot, see `thenar.twin.body.body_world.SCENES`."""
    states: Mapping[WholeBody, StateTasks] = field(default_factory=dict)
    fixed: tuple[Task, ...] = ()
    """Tasks that run in every state."""


DEFAULT = """
Scene: staff
Fsm:
  UserController_A: {allow_upper_body_override: false, PdStandTask: {period: 0.0025}, WaveTask: {period: 0.005}}
  UserController_B: {allow_upper_body_override: true, SquatTask: {period: 0.0025, cup_priority: 1}}
  UserController_C: {allow_upper_body_override: false, PdStandTask: {period: 0.0025}, HandOverHandTask: {period: 0.005}}
  UserController_D: {allow_upper_body_override: true, LeanTask: {period: 0.0025}}
"""


def load_config(path: Path | None) -> BodyConfig:
    """Read a configuration; without a file, a GR-2 with Fourier's hands and four examples as user controllers."""
    return parse_config(DEFAULT if path is None else _text(path), path or Path("default configuration"))


def parse_config(text: str, path: Path) -> BodyConfig:
    """A configuration from YAML; what is wrong with it is told with the file's name."""
    try:
        import yaml
    except ImportError as error:
        raise MissingExtra("a configuration file", "pyyaml", "humanoid") from error
    try:
        given = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise BadFile(path, f"not YAML: {error}") from error
    if not isinstance(given, dict):
        raise BadFile(path, "wanted keys and values, such as 'RobotName: gr2'")
    unknown = sorted(set(map(str, given)) - KEYS)
    if unknown:
        raise BadFile(path, f"unknown key {unknown[0]!r}; there are: {', '.join(sorted(KEYS))}")
    name = given.get("RobotName", "gr2")
    if name not in ROBOTS:
        raise BadFile(path, f"RobotName is {name!r}; there is: {', '.join(ROBOTS)}")
    if given.get("RunType", SIMULATED) != SIMULATED:
        raise BadFile(path, f"RunType is {given['RunType']!r}; a twin is simulated: 0")
    domain = given.get("DomainID", 123)
    if not isinstance(domain, int) or not 0 <= domain <= 232:
        raise BadFile(path, f"DomainID is {domain!r}; wanted a whole number from 0 to 232")
    serial = given.get("SerialNumber")
    hands = given.get("Hands", ["fourier_left", "fourier_right"])
    if not isinstance(hands, list) or not all(isinstance(hand, str) for hand in hands):
        raise BadFile(path, f"Hands is {hands!r}; wanted a list of hands' names")
    return BodyConfig(
        robot_name="gr2",
        domain=domain,
        namespace="" if serial in (None, "null", "") else f"{name}/{serial}",
        use_joystick=_switch(given, "UseJoyStick", path),
        hands=tuple(hands),
        scene=str(given.get("Scene", "flat")),
        states=_states(given.get("Fsm") or {}, path),
        fixed=_tasks(given.get("FixedTasks") or {}, "FixedTasks", path),
    )


def _states(given: Any, path: Path) -> dict[WholeBody, StateTasks]:
    if not isinstance(given, dict):
        raise BadFile(path, "Fsm: wanted states and their tasks")
    states = {}
    for name, entries in given.items():
        if name not in WholeBody.__members__:
            raise BadFile(path, f"no state named {name!r}; there are: {', '.join(WholeBody.__members__)}")
        if WholeBody[name] in (WholeBody.Default, WholeBody.SecurityProtection):
            raise BadFile(path, f"{name} has no tasks of yours: it is what the robot falls back on")
        tasks = _tasks(entries, name, path)
        allowed = _switch(entries, OVERRIDE, path)
        states[WholeBody[name]] = StateTasks(tasks=tasks, allow_upper_body_override=allowed)
    return states


def _tasks(given: Any, where: str, path: Path) -> tuple[Task, ...]:
    if not isinstance(given, dict):
        raise BadFile(path, f"{where}: wanted tasks with their periods")
    return tuple(_task(name, settings, path) for name, settings in given.items() if name != OVERRIDE)


def _switch(given: Mapping[str, Any], key: str, path: Path) -> bool:
    value = given.get(key, False)
    if not isinstance(value, (bool, int)) or value not in (0, 1):
        raise BadFile(path, f"{key} is {value!r}; wanted true or false")
    return bool(value)


def _task(name: str, settings: Any, path: Path) -> Task:
    module, _, attribute = name.partition(":") if ":" in name else (TASKS.get(name, ""), "", name)
    if not module:
        raise BadFile(path, f"no task named {name!r}; there are: {', '.join(TASKS)}, or module:Class")
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise BadFile(path, f"task {name!r} cannot be loaded: {error}") from error
    if not (isinstance(kind, type) and issubclass(kind, Task)):
        raise BadFile(path, f"{name!r} is not a Task")
    task = kind()
    settings = settings or {}
    if not isinstance(settings, dict):
        raise BadFile(path, f"{name} is {settings!r}; wanted its period, such as {{period: 0.02}}")
    # cup_priority is the vendor's spelling of the thread's priority; here tasks take turns on one thread.
    unknown = sorted(set(settings) - {"period", "cup_priority", "cpu_priority"})
    if unknown:
        raise BadFile(path, f"{name}: unknown key {unknown[0]!r}; there are: period, cup_priority")
    period_s = settings.get("period", task.period_s)
    if not isinstance(period_s, (int, float)) or not 0.0 < period_s <= 10.0:
        raise BadFile(path, f"{name}: period is {period_s!r}; wanted seconds above 0, up to 10")
    task.period_s = float(period_s)
    return task


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(path, f"cannot be read: {error}") from error
