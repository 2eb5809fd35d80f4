"""One input, one posture: a hand comes to held postures from many others, and how far apart it ends.

    python -m bench.retarget_held [LOG ...] [--postures 100] [--seed 0]

Postures and where they are reached from are frames drawn from the recordings; the person goes from one to the other in
half a second and holds. Without logs: made recordings, and those in ``../shared/data`` where they are.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from thenar import hands
from thenar.glove.files import read_log
from thenar.glove.make import make_log
from thenar.retarget.config import RetargetConfig
from thenar.retarget.model.hand_model import HandModel, build_model
from thenar.retarget.solver import Solver

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
STARTS, RATE_HZ, MOVE_S, LIFTED = 20, 60.0, 0.5, 100.0
HELD_S = (1.0, 1.5, 2.5)
APART_DEG = 2.0


def end_postures(
    model: HandModel, config: RetargetConfig, nodes: np.ndarray, postures: int, rng: np.random.Generator
) -> np.ndarray:
    """Variables after each time of holding, for each posture and start [degrees]. Shape (held, postures, starts, v)."""
    solver, moved = Solver(model, config), round(MOVE_S * RATE_HZ)
    share = np.minimum(1.0, np.arange(1, moved + round(HELD_S[-1] * RATE_HZ) + 1) / moved)[:, None, None]
    out, step_s = np.empty((len(share), len(model.variables))), np.full(len(share), 1.0 / RATE_HZ)
    looked_at = [moved + round(held_s * RATE_HZ) - 1 for held_s in HELD_S]
    ends = np.empty((len(HELD_S), postures, STARTS, len(model.variables)))
    for number, posture in enumerate(rng.choice(nodes, postures)):
        for way, start in enumerate(rng.choice(nodes, STARTS)):
            solver.settle(start)
            solver.follow(start + share * (posture - start), step_s, out)
            ends[:, number, way] = np.degrees(out[looked_at])
    return ends


def main() -> None:
    """Measure and print, with the joints that are farthest off in postures that are reached in more than one way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", nargs="*", type=Path)
    parser.add_argument("--postures", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    paths = options.logs or sorted(path for path in SHARED.glob("manus*") if path.suffix in (".csv", ".npz"))
    logs = {} if options.logs else {"made, 21 nodes": make_log(), "made, 25 nodes": make_log(layout="manus25")}
    logs |= {path.name: read_log(path) for path in paths}
    model = build_model(hands.load("shadow_right"))
    controls = {
        "motor speed": RetargetConfig(),
        "lifted": RetargetConfig(speed_scale=LIFTED),
        "lifted, rest off": RetargetConfig(speed_scale=LIFTED, rest=False),  # must come out badly
    }
    for name, log in logs.items():
        for kind, config in controls.items():
            rng = np.random.default_rng(options.seed)
            ends = end_postures(model, config, log.finger_m, options.postures, rng)
            off_deg = np.abs(ends - np.median(ends, axis=2, keepdims=True))
            for k, held_s in enumerate(HELD_S):
                postures = np.mean(np.ptp(ends[k], axis=1).max(axis=1) > APART_DEG)
                ways = np.mean(off_deg[k].max(axis=2) > APART_DEG)
                sys.stdout.write(
                    f"{name}, {kind}, {held_s} s: {100 * postures:.1f} % of postures, {100 * ways:.2f} % of ways\n"
                )
            worst = off_deg[0].max(axis=(0, 1))
            names = [f"{model.variables[i]} {worst[i]:.0f}" for i in np.argsort(-worst)[:6] if worst[i] > APART_DEG]
            sys.stdout.write(f"    farthest off after {HELD_S[0]} s [degrees]: {', '.join(names) or 'none'}\n")


if __name__ == "__main__":
    main()
