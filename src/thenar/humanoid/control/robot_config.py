"""A robot's configuration in the vendor's shape: one YAML file for the robot and the tasks of its states.

The vendor's keys are kept, its ``cup_priority`` (sic) too; keys that are unknown are refused, since a misspelt key that
is silently ignored is worse than none.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thenar.errors import BadFile, MissingExtra
from thenar.humanoid.control.controller import StateTasks
from thenar.humanoid.control.fsm import WholeBody
from thenar.humanoid.control.task import Task
from thenar.humanoid.tasks.examples import ActTask, LeanTask, SquatTask, WaveTask
from thenar.humanoid.tasks.hand_over_hand import HandOverHandTask
from thenar.humanoid.tasks.standing import JointStandTask, PdStandTask, SecurityTask

TASKS: dict[str, type[Task]] = {
    task.__name__: task
    for task in (JointStandTask, PdStandTask, SecurityTask, WaveTask, SquatTask, HandOverHandTask, ActTask, LeanTask)
}
"""Tasks that come with thenar; any other is named as ``module:Class``."""
VENDOR_KEYS = {"RobotName", "RunType", "UseJoyStick", "DomainID", "SerialNumber", "HardwareType", "Fsm"}
KEYS = VENDOR_KEYS | {"Hands", "Scene", "FixedTasks"}
ROBOTS = ("gr2", "gr2t2v2")
SIMULATED = 0
OVERRIDE = "allow_upper_body_override"


@dataclass(frozen=True, kw_only=True)
class BodyConfig:
    """What runs on a robot, what it carries and where it is on the network."""

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
  UserController_A: {allow_upper_body_override: true, LeanTask: {period: 0.0025}}
  UserController_B: {allow_upper_body_override: true, SquatTask: {period: 0.0025, cup_priority: 1}}
  UserController_C: {allow_upper_body_override: false, PdStandTask: {period: 0.0025}, HandOverHandTask: {period: 0.005}}
  UserController_D: {allow_upper_body_override: false, PdStandTask: {period: 0.0025}, WaveTask: {period: 0.005}}
"""


def load_config(path: Path | None) -> BodyConfig:
    """Read a configuration; without a file, a GR-2 with Fourier's hands and four examples as user controllers."""
    if path is None:
        return parse_config(DEFAULT, Path("default configuration"))
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(path, f"cannot be read: {error}") from error
    for folder in (path.resolve().parent, Path.cwd()):  # tasks are looked for beside the file, and here
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
    return parse_config(text, path)


def parse_config(text: str, path: Path) -> BodyConfig:
    """A configuration from YAML; errors name the file."""
    try:
        import yaml
    except ImportError as error:
        raise MissingExtra("a configuration file", "pyyaml", "humanoid") from error
    try:
        return _config(yaml.safe_load(text) or {})
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadFile(path, f"not YAML: {error}") from error
    except _Wrong as error:
        raise BadFile(path, str(error)) from error


class _Wrong(Exception):
    """A mistake in a configuration."""


def _require(right: bool, problem: str) -> None:
    if not right:
        raise _Wrong(problem)


def _config(values: Any) -> BodyConfig:
    _require(isinstance(values, dict), "wanted keys and values, such as 'RobotName: gr2'")
    nested = values.get("Config") or {}  # where the vendor's own file has them
    _require(isinstance(nested, dict), "Config: wanted keys and values, such as 'RobotName: gr2'")
    values = {key: value for key, value in (*nested.items(), *values.items()) if key != "Config"}
    _check_keys(values, KEYS)
    name, run_type = values.get("RobotName", "gr2"), values.get("RunType", SIMULATED)
    domain, hands = values.get("DomainID", BodyConfig.domain), values.get("Hands", list(BodyConfig.hands))
    serial = values.get("SerialNumber")
    _require(name in ROBOTS, f"RobotName is {name!r}; there is: {', '.join(ROBOTS)}")
    _require(run_type == SIMULATED, f"RunType is {run_type!r}; a twin is simulated: 0")
    whole_number = type(domain) is int and 0 <= domain <= 232
    _require(whole_number, f"DomainID is {domain!r}; wanted a whole number from 0 to 232")
    names = isinstance(hands, list) and all(isinstance(hand, str) for hand in hands)
    _require(names, f"Hands is {hands!r}; wanted a list of hands' names")
    return BodyConfig(
        domain=domain,
        namespace="" if serial in (None, "null", "") else f"{name}/{serial}",
        use_joystick=_switch(values, "UseJoyStick"),
        hands=tuple(hands),
        scene=str(values.get("Scene", "flat")),
        states=_states(values.get("Fsm") or {}),
        fixed=_tasks(values.get("FixedTasks") or {}, "FixedTasks"),
    )


def _states(values: Any) -> dict[WholeBody, StateTasks]:
    _require(isinstance(values, dict), "Fsm: wanted states and their tasks")
    states = {}
    for name, entries in values.items():
        _require(
            name in WholeBody.__members__, f"no state named {name!r}; there are: {', '.join(WholeBody.__members__)}"
        )
        fallback = WholeBody[name] in (WholeBody.Default, WholeBody.SecurityProtection)
        _require(not fallback, f"{name} has no tasks of yours: it is what the robot falls back on")
        tasks = _tasks(entries, name)
        states[WholeBody[name]] = StateTasks(tasks=tasks, allow_upper_body_override=_switch(entries, OVERRIDE))
    return states


def _tasks(values: Any, where: str) -> tuple[Task, ...]:
    _require(isinstance(values, dict), f"{where}: wanted tasks with their periods")
    return tuple(_task(name, settings or {}) for name, settings in values.items() if name != OVERRIDE)


def _task(name: str, settings: Any) -> Task:
    kind = _task_class(name)
    try:
        task = kind()
    except Exception as error:  # whatever it is, it is the task's own
        raise _Wrong(f"task {name!r} cannot be made: {type(error).__name__}: {error}") from error
    _require(isinstance(settings, dict), f"{name} is {settings!r}; wanted its period, such as {{period: 0.02}}")
    # cup_priority is the vendor's spelling of the thread's priority; here tasks take turns on one thread.
    _check_keys(settings, {"period", "cup_priority", "cpu_priority"}, f"{name}: ")
    period_s = settings.get("period", task.period_s)
    possible = type(period_s) in (int, float) and 0.0 < period_s <= 10.0
    _require(possible, f"{name}: period is {period_s!r}; wanted seconds above 0, up to 10")
    task.period_s = float(period_s)
    return task


def _task_class(name: str) -> type[Task]:
    if name in TASKS:
        return TASKS[name]
    module, _, attribute = str(name).partition(":")
    _require(bool(module and attribute), f"no task named {name!r}; there are: {', '.join(TASKS)}, or module:Class")
    try:
        task = getattr(importlib.import_module(module), attribute)
    except Exception as error:  # whatever the module's own code raises
        raise _Wrong(f"task {name!r} cannot be loaded: {type(error).__name__}: {error}") from error
    _require(isinstance(task, type) and issubclass(task, Task), f"{name!r} is not a Task")
    return task


def _check_keys(values: Mapping[str, Any], known: set[str], where: str = "") -> None:
    for unknown in sorted(set(map(str, values)) - known):
        raise _Wrong(f"{where}unknown key {unknown!r}; there are: {', '.join(sorted(known))}")


def _switch(values: Mapping[str, Any], key: str) -> bool:
    value = values.get(key, False)
    _require(isinstance(value, (bool, int)) and value in (0, 1), f"{key} is {value!r}; wanted true or false")
    return bool(value)
