"""Hands that feel, for mjlab: `hand_cfg` and `prop_cfg` are entities, `TouchCfg` a sensor, `MotorActionCfg` an action.

>>> scene = SceneCfg(entities={"hand": hand_cfg("inspire_right")}, sensors=(TouchCfg(name="touch"),))  # doctest: +SKIP
>>> actions = {"motors": MotorActionCfg(entity_name="hand")}                                            # doctest: +SKIP
>>> sim = SimulationCfg(mujoco=MujocoCfg())                                                             # doctest: +SKIP
"""

from __future__ import annotations

from thenar.batch.mjlab.arrangement import INSTALL as INSTALL
from thenar.batch.mjlab.hand_entity import MotorCfg as MotorCfg
from thenar.batch.mjlab.hand_entity import MujocoCfg as MujocoCfg
from thenar.batch.mjlab.hand_entity import hand_cfg as hand_cfg
from thenar.batch.mjlab.hand_entity import prop_cfg as prop_cfg
from thenar.batch.mjlab.lab_terms import MotorActionCfg as MotorActionCfg
from thenar.batch.mjlab.lab_terms import motor_readings as motor_readings
from thenar.batch.mjlab.lab_terms import pad_forces as pad_forces
from thenar.batch.mjlab.lab_terms import taxels as taxels
from thenar.batch.mjlab.touch_sensor import TouchCfg as TouchCfg
from thenar.batch.mjlab.touch_sensor import TouchData as TouchData
