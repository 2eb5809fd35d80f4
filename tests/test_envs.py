"""Environments: what Gymnasium asks of them, what seeds and goals mean, and that touch tells what it should."""

import importlib.util
import tomllib
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from patience import wait_for

import thenar
from thenar import envs
from thenar.envs import baselines
from thenar.envs.hand_env import HandEnv, Truth
from thenar.envs.stage import DIVERGED
from thenar.errors import BadValue, ThenarError
from thenar.twin.serving import serve

TASKS = list(envs.TASKS)
STILL = envs.Randomise(mass=0.0, friction=0.0, size=0.0, place_m=0.0, skin=0.0, motors=0.0, noise=0.0)


def made(task: str, **given: Any) -> gymnasium.Env:
    feels = bool(envs.TASKS[task](touch="none").hand.pads)
    given.setdefault("touch", "taxels" if feels else "none")
    return gymnasium.make(task, **given)


def walked(env: gymnasium.Env, *, seed: int, steps: int = 4) -> list[np.ndarray]:
    """Everything that is seen of an episode of random actions."""
    env.action_space.seed(seed)
    seen, _ = env.reset(seed=seed)
    rows = [np.concatenate(list(seen.values()))]
    for _ in range(steps):
        seen, reward, *_ = env.step(env.action_space.sample())
        rows.append(np.concatenate([*seen.values(), [float(reward)]]))
    return rows


@pytest.mark.parametrize("task", TASKS)
def test_gymnasiums_own_check_finds_nothing(task: str):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(made(task).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("task", TASKS)
def test_the_same_seed_gives_the_same_episode_and_another_one_another(task: str):
    one, again, other = (walked(made(task), seed=seed) for seed in (3, 3, 4))
    assert all(np.array_equal(a, b) for a, b in zip(one, again, strict=True))
    assert not np.array_equal(one[-1], other[-1])


@pytest.mark.parametrize("task", [TASKS[0], TASKS[1], TASKS[3], TASKS[6]])
def test_the_reward_of_the_goal_form_can_be_computed_again_one_by_one_and_all_at_once(task: str):
    for kind in ("dense", "sparse") if task == TASKS[0] else ("dense",):
        env = made(task, goal=True, reward=kind)
        env.reset(seed=1)
        steps = [env.step(env.action_space.sample()) for _ in range(4)]
        achieved, desired = (np.stack([step[0][key] for step in steps]) for key in ("achieved_goal", "desired_goal"))
        rewards, infos = np.array([float(step[1]) for step in steps]), [step[4] for step in steps]
        whole = env.unwrapped
        assert isinstance(whole, HandEnv)
        assert whole.compute_reward(achieved, desired, infos) == pytest.approx(rewards, abs=1e-5)
        assert float(whole.compute_reward(achieved[0], desired[0], infos[0])) == pytest.approx(rewards[0], abs=1e-5)
        if kind == "sparse":
            assert set(rewards) <= {0.0, 1.0}


def test_a_step_is_counted_and_an_episode_ends_after_a_hundred():
    env = made("thenar/PressProfile-v0", touch="none")
    env.reset(seed=0)
    ends = [env.step(np.zeros(1, dtype=np.float32))[2:4] for _ in range(100)]
    assert ends[-1] == (False, True)
    assert not any(truncated for _, truncated in ends[:-1])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"touch": "skin"}, "touch is 'skin'; wanted one of 'taxels', 'pads'"),
        ({"reward": "high"}, "wanted one of 'dense', 'sparse'"),
        ({"profile": "real"}, "wanted one of 'measured', 'ideal'"),
        ({"hand": "shadow_right"}, "wanted a hand with the motors of inspire_right"),
        ({"hand": "inspire_dfx_right"}, "has no skin that feels"),
        ({"randomise": 0.3}, "wanted True, False or a Randomise"),
    ],
)
def test_wrong_arguments_are_refused_with_the_right_ones(given: dict, told: str):
    with pytest.raises(BadValue, match=told):
        envs.Pinch(**given)


def test_wrong_actions_and_spreads_are_refused():
    env = envs.Pinch(touch="none")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(2, dtype=np.float32))
    env.reset(seed=0)
    for action in (np.zeros(3, dtype=np.float32), np.array([0.0, np.nan], dtype=np.float32)):
        with pytest.raises(BadValue, match="2 finite numbers from -1 to 1"):
            env.step(action)
    with pytest.raises(BadValue, match=r"Randomise\.mass"):
        envs.Randomise(mass=-1.0)


def test_a_world_that_breaks_ends_its_episode_and_a_beginning_that_breaks_is_drawn_again():
    class BreaksFirst(envs.Pinch):
        begun = 0

        def begin(self) -> Truth:
            self.begun += 1
            if self.begun == 1:
                self.world.data.qvel[:] = np.nan
            return super().begin()

    env = BreaksFirst(touch="pads")
    _, info = env.reset(seed=0)
    assert (env.begun, info["flags"]) == (2, 0)
    env.world.data.qvel[:] = np.nan
    seen, _, terminated, _, info = env.step(np.zeros(2, dtype=np.float32))
    assert (terminated, info["flags"]) == (True, DIVERGED)
    assert env.observation_space.contains(seen)


def test_a_task_that_never_begins_as_it_should_says_so():
    class Never(envs.Pinch):
        def begin(self) -> Truth:
            return np.zeros_like(super().begin())

    with pytest.raises(ThenarError, match=r"no episode of Never began as it should in .* randomise it less"):
        Never(touch="none").reset(seed=0)


def test_a_cylinder_is_grasped_soon_and_dropping_it_costs_more_than_any_force():
    env = envs.LeastForce(touch="none")
    for seed in range(3):
        _, info = env.reset(seed=seed)
        assert env.world.time_s < 1.8
        assert info["grip_n"] > env.FIRM_N
    rewards, terminated = list[float](), False
    while not terminated:
        _, reward, terminated, _, _ = env.step(-np.ones(1, dtype=np.float32))
        rewards.append(reward)
    assert rewards[-1] < -20.0
    assert min(rewards[:-1]) > -3.0


def test_what_is_not_to_differ_does_not():
    env = envs.HoldUnderPull(touch="none", randomise=STILL)
    masses = set()
    for seed in range(3):
        env.reset(seed=seed)
        masses.add(float(env.world.model.body("object").mass[0]))
    assert masses == {0.1}


def test_mass_friction_motors_and_skin_differ_from_episode_to_episode():
    env = envs.LeastForce(touch="none")
    found = []
    for seed in range(2):
        env.reset(seed=seed)
        body = env.world.model.body("object")
        motor = env.world.hand("inspire_right").actuators[0].motor
        skin = env.world.calibration("inspire_right").bare
        friction = env.world.model.geom_friction[body.geomadr[0], 0]
        found.append((float(body.mass[0]), float(friction), motor, skin.gain_counts_per_n))
    assert all(a != b for a, b in zip(*found, strict=True))


def test_taxels_add_up_to_pads_and_pads_to_the_force_that_presses():
    felt = {}
    for touch in ("taxels", "pads", "shear"):
        env = envs.PressProfile(touch=touch, randomise=False, profile="ideal")
        seen, _ = env.reset(seed=0)
        for _ in range(15):
            seen, _, _, _, _ = env.step(np.ones(1, dtype=np.float32))
        felt[touch] = seen["touch"]
        pressed_n = float(env.outcome().achieved[0])
    pads = [pad.taxels for pad in env.hand.pads]
    sums = np.add.reduceat(felt["taxels"], np.cumsum([0, *pads[:-1]]))
    assert sums == pytest.approx(felt["pads"], abs=1e-3)
    assert felt["shear"][: len(pads)] == pytest.approx(felt["pads"], abs=1e-3)
    assert felt["shear"].size == 3 * len(pads)
    assert pressed_n > 3.0
    assert felt["pads"].sum() == pytest.approx(pressed_n, rel=0.15)


def test_an_episode_is_the_same_whether_its_hand_can_be_drawn_or_not():
    bare, dressed = (walked(made(TASKS[0], **given), seed=5) for given in ({}, {"render_mode": "rgb_array"}))
    assert all(np.array_equal(one, other) for one, other in zip(bare, dressed, strict=True))


def test_many_at_once_are_made_by_gymnasium_itself():
    env = gymnasium.make_vec("thenar/PressProfile-v0", num_envs=2, vectorization_mode="sync", touch="pads")
    seen, _ = env.reset(seed=1)
    assert seen["touch"].shape == (2, 17)
    assert env.step(np.zeros((2, 1), dtype=np.float32))[1].shape == (2,)
    env.close()


def test_a_picture_is_drawn_when_asked_for():
    env = envs.Pinch(touch="pads", render_mode="rgb_array", size_px=(64, 48))
    env.reset(seed=0)
    picture = env.render()
    assert picture is not None
    assert (picture.shape, picture.dtype) == ((48, 64, 3), np.uint8)
    assert np.ptp(picture) > 50
    env.close()


@pytest.mark.parametrize("task", [envs.HoldUnderPull, envs.PressProfile, envs.LeastForce])
def test_the_scripted_policy_does_better_than_standing_still(task: type[HandEnv]):
    env = task(touch="pads", randomise=False)

    def nothing(env: HandEnv) -> baselines.Policy:
        return lambda observation: np.zeros(env.action_size, dtype=np.float32)

    scripted, idle = (baselines.evaluate(env, policy, range(1))[0, 0] for policy in (baselines.SCRIPTED[task], nothing))
    assert scripted > idle + 5.0


def test_fingers_turn_the_cube_either_way():
    env = envs.RotateInHand(touch="none", randomise=False)
    ways = set()
    for seed in (2, 6):
        observation, _ = env.reset(seed=seed)
        act = baselines.SCRIPTED[envs.RotateInHand](env)
        for _ in range(30):
            observation = env.step(act(observation))[0]
        wanted, turned = float(env.desired[0]), float(env.outcome().achieved[0])
        assert turned * np.sign(wanted) > np.radians(5.0)
        ways.add(np.sign(wanted))
    assert len(ways) == 2
    env.close()


def _example(name: str):
    """A file of examples/learning as a module."""
    path = Path(__file__).resolve().parents[1] / "examples" / "learning" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_example_that_names_objects_learns_from_where_pads_are_pressed():
    example = _example("name_objects")
    seen = example.close_on(range(10_000, 10_003))
    widths = [example.features(seen, touch).shape for touch in ("none", "pads", "taxels")]
    assert widths == [(3, 24), (3, 24 + 17), (3, 24 + 6 * 17)]
    rng = np.random.default_rng(0)
    kind = rng.integers(5, size=200)
    rows = {"motors": rng.standard_normal((200, 24)), "taxels": np.zeros((200, 1062)), "kind": kind}
    rows["taxels"][np.arange(200), 1062 - 112 + 14 * kind] = 2.0  # another row of the palm for each
    right = {}
    for touch in ("none", "pads", "taxels"):
        made = example.features(rows, touch)
        right[touch] = example.Namer(made[:150], kind[:150]).right(made[150:], kind[150:]).mean()
    assert right["taxels"] > 0.6
    assert right["none"] < 0.4
    assert right["pads"] < 0.4  # the force is the same in all rows


@pytest.mark.parametrize("felt_n", [0.0, 2.0, 4.0])
def test_the_example_that_searches_begins_as_the_script_does(felt_n: float):
    example = _example("press_by_search")
    env = envs.PressProfile(touch="pads")
    observation, _ = env.reset(seed=3)
    pads = [pad.name.startswith("index") for pad in env.hand.pads]
    observation["touch"] = np.where(pads, felt_n / sum(pads), 0.0).astype(np.float32)
    observation["goal"][:], observation["observation"][-3:] = 3.0, 0.3
    start = np.array([example.FROM.get(name, 0.0) for name in example.NAMES])
    scripted = baselines.SCRIPTED[envs.PressProfile](env)(observation)
    np.testing.assert_allclose(example.Linear(env, start)(observation), scripted, atol=1e-6)
    other = example.Linear(env, 0.5 * start)(observation)
    assert abs(float(other[0] - scripted[0])) > 0.05


def test_lerobot_can_find_the_plug_in_by_its_name_and_it_stands_on_the_front_door():
    folder = Path(__file__).resolve().parents[1] / "plugins" / "lerobot_robot_thenar"
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["name"] == folder.name  # LeRobot imports what a distribution with this beginning is called
    modules = list((folder / folder.name).glob("*.py"))
    assert (folder / folder.name / "__init__.py") in modules
    named = {line for path in modules for line in path.read_text().splitlines() if line.startswith("from thenar")}
    assert named == {"from thenar import envs", "from thenar.wire import inspire_codec, inspire_counts"}


def plugin_bodies() -> Any:
    """The part of the plug-in that needs no LeRobot, and so no torch."""
    file = Path(__file__).resolve().parents[1] / "plugins/lerobot_robot_thenar/lerobot_robot_thenar/bodies.py"
    spec = importlib.util.spec_from_file_location("plugin_bodies", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_lerobots_robot_moves_and_feels_a_hand_over_dds_and_says_when_it_falls_silent(domain: int):
    bodies, spec = plugin_bodies(), thenar.hands.load("inspire_right")
    bodies.SILENT_S = 60.0  # a busy machine is not silent
    target_rad = spec.open_rad + np.array([0.5, 0.1, 0.1, 0.3, 0.0, 0.0]) * (spec.closed_rad - spec.open_rad)
    config = thenar.ServeConfig(hands=(spec.name,), wires=("inspire",), domain=domain, scene="in_hand")
    with ExitStack() as left:
        with serve(config) as twin:
            hand = bodies.WiredHand(spec, domain=domain, interface="lo")
            left.callback(hand.close)
            hand.send(target_rad)
            assert wait_for(lambda: np.abs(hand.read()[0] - target_rad)[:4].max() < 0.05, 30.0)
            _, force_n, felt_n = hand.read()
            assert (force_n.shape, felt_n.shape) == ((6,), (1062,))
            twin.run_on_loop(lambda world: world.props.pull("ball", (0.0, 0.0, -8.0)))
            assert wait_for(lambda: hand.read()[2].sum() > felt_n.sum() + 3.0, 30.0)
        bodies.SILENT_S = 0.2
        with pytest.raises(ConnectionError, match="inspire_right has not told its state"):
            wait_for(lambda: hand.read() is None)
