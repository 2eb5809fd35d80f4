"""Every example runs as it is shown, and says what it promises."""

import ast
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from patience import free_domain
from serving import served

from thenar import hands

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))

SAYS = {
    "01_close_and_feel": r"FORCE_REACHED(.|\n)*TouchFrame at .* N on [1-9]\d* of 17 pads",
    "02_press_and_theory": r"(?m)^ +20 +1\.000 .* [0-2]\.\d %$",
    "03_dds_client": r"status \[3, 3, 3, .*\n+taxels [1-9]\d* of 1062",
    "04_dfx": r"right \[0\.0\d*, 0\.0\d*, 0\.0\d*, (1\.0|0\.99), 0\.\d+, 0\.\d+\]\nleft  \[(1\.0|0\.99)",
    "05_modbus": r"(?m)^STATUS    \[2, 2, 2, [23], [23], [23]\]$",
    "06_tienkung_service": r"\[0\.2, 0\.5\]: accepted\n.*\[1\.7\]: refused",
    "07_glove_to_shadow": r"following: FFJ3 sent to 1\.\d\d rad, is at 1\.\d\d rad",
    "08_retarget_many": r"shadow_right +20 motors(.|\n)*reflex +4 motors",
    "09_robot_data": r"head \+0\.1\d rad .* feet 3\d\d N and 3\d\d N",
    "10_own_model": r"(?m)^middle +0\.7\d\d ",
    "11_reflex_wrap": r"flexure 0\.[01]\d rad\n +felt by nobody(.|\n)*flexure 0\.[6-9]\d rad\n +felt by finger_1",
    "12_reflex_drop": r"cube 5: at most .*\n[1-9]\d+% of the cubes met a sensor",
    "14_any_hand": r"right hand, 22 joints: (.|\n)*'THJ1': ",
    "15_touch_any_model": r"ours 0\.98 N on \d\d taxels, touch_grid 0\.98 N in 1 bin, tactile no force, \d+ um deep",
    "16_g1_grasps_by_touch": r"felt 1[5-9]\.\d N\nheld by .* N, (.|\n)*rose by ([6-9]\d|1[01]\d) mm",
    "13_calibrate": r"off by [01]\.\d % of full scale in \d+ presses it had not seen",
}
"""What the output of each must match."""


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_says_what_it_promises(example: Path, tmp_path):
    source = example.read_text()
    serve = re.search(r"^    (thenar serve.*)$", ast.get_docstring(ast.parse(source), clean=False) or "", re.MULTILINE)
    with served(serve[1]) if serve else nullcontext((0, 0)) as (domain, port):
        # Elsewhere than where it says, so that tests do not hear each other.
        moved = re.sub(r"^DOMAIN = \d+", f"DOMAIN = {domain}", source, flags=re.MULTILINE)
        moved = re.sub(r"^PORT = \d+", f"PORT = {port}", moved, flags=re.MULTILINE)
        (tmp_path / example.name).write_text(moved)
        run = subprocess.run(
            [sys.executable, example.name], cwd=tmp_path, capture_output=True, text=True, timeout=180, check=False
        )
    assert run.returncode == 0, run.stderr
    assert re.search(SAYS[example.stem], run.stdout), run.stdout


def linear_policy(path: Path, per_n: float) -> Path:
    """A policy as train_hold.py writes it, without hidden layers: fingers close by what they feel less than 1 N."""
    names = [pad.name for pad in hands.load("inspire_right").pads]
    motors, pads, steps = 18, len(names), 3
    weight = np.zeros((2, steps * (motors + pads)))
    newest = weight[:, -pads:]
    for row, side in enumerate(("index", "thumb")):
        newest[row, [name.startswith(side) for name in names]] = -per_n
    size = weight.shape[1]
    np.savez(path, mean=np.zeros(size), std=np.full(size, 0.99), weight_0=weight, bias_0=np.full(2, 0.8))
    return path


def test_a_policy_holds_a_marble_over_dds_by_what_it_feels_and_crushes_it_without(tmp_path: Path):
    learning = EXAMPLES[0].parent / "learning"
    source = (learning / "play_hold.py").read_text()
    program = Path(shutil.copy(learning / "policy_file.py", tmp_path)).with_name("play_hold.py")
    program.write_text(re.sub(r"^DOMAIN = \d+", f"DOMAIN = {free_domain()}", source, flags=re.MULTILINE))
    told = []
    for per_n in (0.8, 0.0):
        policy = linear_policy(tmp_path / f"{per_n}.npz", per_n)
        words = [sys.executable, str(program), str(policy), "--json"]
        told.append(json.loads(subprocess.run(words, capture_output=True, text=True, check=True, timeout=180).stdout))
    feels, feels_not = told
    assert feels["error_n"] < 0.4
    assert feels["marble_moved_mm"] < 25.0
    assert feels_not["error_n"] > 2.0


def test_a_policy_file_plays_what_a_network_of_rsl_rl_says_and_a_blind_one_sees_only_the_first_numbers(tmp_path: Path):
    spec = importlib.util.spec_from_file_location("policy_file", EXAMPLES[0].parent / "learning" / "policy_file.py")
    assert spec is not None
    assert spec.loader is not None
    policy_file = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(policy_file)
    rng = np.random.default_rng(0)
    sizes = {"mlp.0.weight": (4, 3), "mlp.0.bias": (4,), "mlp.2.weight": (2, 4), "mlp.2.bias": (2,)}
    sizes |= {"obs_normalizer._mean": (1, 3), "obs_normalizer._std": (1, 3)}
    said = {name: np.abs(rng.standard_normal(size)).astype(np.float32) for name, size in sizes.items()}
    network = SimpleNamespace(state_dict=lambda: {name: _Tensor(value) for name, value in said.items()})
    policy_file.save_policy(tmp_path / "policy.npz", network)
    act = policy_file.load_policy(tmp_path / "policy.npz")
    seen = rng.standard_normal((5, 3))
    hidden = (seen - said["obs_normalizer._mean"]) / (said["obs_normalizer._std"] + 0.01)
    hidden = hidden @ said["mlp.0.weight"].T + said["mlp.0.bias"]
    hidden = np.where(hidden > 0.0, hidden, np.exp(hidden) - 1.0)
    assert act(seen) == pytest.approx(hidden @ said["mlp.2.weight"].T + said["mlp.2.bias"], rel=1e-5)
    assert act(np.concatenate([seen[0], [7.0, 8.0]])) == pytest.approx(act(seen)[0])


class _Tensor:
    """As much of a tensor as writing a policy needs."""

    def __init__(self, value: np.ndarray):
        self._value = value

    def detach(self) -> "_Tensor":
        return self

    def cpu(self) -> "_Tensor":
        return self

    def numpy(self) -> np.ndarray:
        return self._value


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_and_opens_with_a_sentence(example: Path):
    source = example.read_text()
    told = ast.get_docstring(ast.parse(source))
    assert told
    assert told.splitlines()[0].endswith(".")
    assert len(source.splitlines()) <= 80
