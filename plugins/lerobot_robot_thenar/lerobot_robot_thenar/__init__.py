"""Hands of thenar as LeRobot's robots, teleoperators and environments; LeRobot imports it by itself."""

from lerobot_robot_thenar.config_thenar import ThenarGloveConfig as ThenarGloveConfig
from lerobot_robot_thenar.config_thenar import ThenarHandConfig as ThenarHandConfig
from lerobot_robot_thenar.config_thenar import ThenarRecordingConfig as ThenarRecordingConfig
from lerobot_robot_thenar.hand import ThenarHand as ThenarHand
from lerobot_robot_thenar.motions import ThenarGlove as ThenarGlove
from lerobot_robot_thenar.motions import ThenarRecording as ThenarRecording
from lerobot_robot_thenar.tasks import ThenarEnv as ThenarEnv
