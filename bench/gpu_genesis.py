"""Genesis' taxels beside thenar's on one card: a ball at rest on a plate of 32 x 32 taxels, judged by Hertz.

Each part in a process of its own, also at the same time: only one of them measures at a time (`--turn FILE`).

python -m bench.gpu_genesis genesis   # where genesis-world 1.4.5 is installed; nothing of thenar is imported
python -m bench.gpu_genesis thenar    # on MuJoCo Warp
"""

from __future__ import annotations

import argparse
import fcntl
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

TIMESTEP_S, GRAVITY_M_S2 = 0.002, 9.81
RADIUS_M, MASSES_KG = 0.01, (0.02, 0.1, 0.5)
HALF_M = (0.02, 0.02, 0.01)  # of the plate, whose top is at z = 0
GRID = 32
YOUNG_PA, POISSON = 1e6, 0.49  # of thenar's skin by default; whatever Genesis' taxels are, they are scaled to the load
AWAY_M = 1.5e-3  # how far from the middle balls lie: every world has its own place
SETTLE_STEPS = 500
JUDGED = 64  # worlds whose maps are judged

Step = Callable[[], None]
Maps = NDArray[np.float64]


def note(**values: Any) -> None:
    """Print a row."""
    print(json.dumps({k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in values.items()}), flush=True)


@contextmanager
def turn(file: Path | None) -> Iterator[None]:
    """While others that name the same file wait: they may build and compile, but not measure."""
    if file is None:
        yield
        return
    with file.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def places_m(worlds: int) -> Maps:
    """Where the ball lies in each world. Shape (worlds, 3)."""
    away = np.random.default_rng(0).uniform(-AWAY_M, AWAY_M, (worlds, 2))
    return np.column_stack([away, np.full(worlds, RADIUS_M)])


def taxel_places_m(pitch_m: float) -> Maps:
    """Distances of taxels from the middle, along either side. Shape (GRID,)."""
    return np.asarray((np.arange(GRID) - (GRID - 1) / 2) * pitch_m, dtype=np.float64)


def hertz_n(centre_m: Maps, load_n: float, pitch_m: float) -> Maps:
    """Force of a rigid ball on every taxel of elastic skin. Shape (GRID, GRID)."""
    fine = 20
    modulus_pa = YOUNG_PA / (1.0 - POISSON**2)
    radius_m = (3.0 * load_n * RADIUS_M / (4.0 * modulus_pa)) ** (1.0 / 3.0)
    within = ((np.arange(fine) + 0.5) / fine - 0.5) * pitch_m
    x, y = ((taxel_places_m(pitch_m)[:, None] + within).ravel() - c for c in centre_m[:2])
    share = np.sqrt(np.clip(1.0 - (x[:, None] ** 2 + y**2) / radius_m**2, 0.0, None))
    share = share.reshape(GRID, fine, GRID, fine).sum((1, 3))
    return share * load_n / share.sum()


def judge(
    side: str, mass_kg: float, pitch_m: float, ball_m: Maps, engine_n: Maps, taxels_n: Maps, **more: Any
) -> None:  # fmt: skip
    """Compare maps of worlds at rest with Hertz, as they are and scaled to the load. Maps: (worlds, GRID, GRID)."""
    load_n = mass_kg * GRAVITY_M_S2
    ideal = np.array([hertz_n(centre, load_n, pitch_m) for centre in ball_m])
    size, sums = np.linalg.norm(ideal, axis=(1, 2)), taxels_n.sum((1, 2))
    scaled = taxels_n * (load_n / np.where(sums > 0.0, sums, np.nan))[:, None, None]
    raw, fair = (np.linalg.norm(maps - ideal, axis=(1, 2)) / size for maps in (taxels_n, scaled))
    note(
        side=side, what="error", mass_kg=mass_kg, pitch_mm=1e3 * pitch_m, worlds=len(ball_m), weight_n=load_n,
        engine_n=float(np.median(engine_n)), taxels_n=float(np.median(sums)),
        touched=float(np.median((taxels_n > 0.0).sum((1, 2)))), deep_um=float(1e6 * np.median(RADIUS_M - ball_m[:, 2])),
        raw=float(np.median(raw)), raw_worst=float(raw.max()),
        scaled=float(np.median(fair)), scaled_worst=float(fair.max()), **more,
    )  # fmt: skip


def rate(side: str, what: str, worlds: int, step: Step, wait: Step, steps: int, repeats: int, **more: Any) -> None:
    """Steps of 2 ms of all worlds a second, median of three; one call of ``step`` makes ``steps`` of them."""
    seconds = []
    for _ in range(3):
        wait()
        start = time.perf_counter()
        for _ in range(repeats // steps):
            step()
        wait()
        seconds.append((time.perf_counter() - start) / (repeats // steps * steps))
    each_s = float(np.median(seconds))
    note(
        side=side, what=what, worlds=worlds, taxels=GRID**2, rate=worlds / each_s, step_us=1e6 * each_s,
        spread=float(max(seconds) / min(seconds)), **more,
    )  # fmt: skip


def run_genesis(args: argparse.Namespace) -> None:
    """Genesis' `KinematicTaxel`, whose taxels are forces; `ElastomerTaxel` has displacements of markers instead."""
    import genesis as gs
    import torch

    start = time.perf_counter()
    backend = gs.cpu if args.device == "cpu" else gs.cuda
    gs.init(backend=backend, logging_level="warning", performance_mode=args.performance)
    more = {"performance_mode": args.performance}
    at = taxel_places_m(args.pitch_m)
    probes_m = np.stack([*np.meshgrid(at, at, indexing="ij"), np.full((GRID, GRID), HALF_M[2])], axis=-1)

    def wait() -> None:
        if backend == gs.cuda:
            torch.cuda.synchronize()

    def built(worlds: int, mass_kg: float, *, taxels: bool, substeps: int = 1) -> tuple[Any, Any, Any]:
        options = gs.options.SimOptions(dt=TIMESTEP_S * substeps, substeps=substeps, gravity=(0, 0, -GRAVITY_M_S2))
        scene = gs.Scene(sim_options=options, show_viewer=False)
        plate = scene.add_entity(
            gs.morphs.Box(size=tuple(2 * half for half in HALF_M), pos=(0, 0, -HALF_M[2]), fixed=True)
        )
        density = mass_kg / (4.0 / 3.0 * np.pi * RADIUS_M**3)
        ball = scene.add_entity(
            gs.morphs.Sphere(radius=RADIUS_M, pos=(0, 0, RADIUS_M)), material=gs.materials.Rigid(rho=density)
        )
        skin = taxels and scene.add_sensor(
            gs.sensors.KinematicTaxel(
                entity_idx=plate.idx, probe_local_pos=probes_m.tolist(), probe_radius=args.pitch_m / 2,
                normal_damping=0.0, shear_scalar=0.0, twist_scalar=0.0,
            )
        )  # fmt: skip
        scene.build(n_envs=worlds)
        ball.set_pos(places_m(worlds).astype(np.float32))
        scene.step()  # compiles what is left
        wait()
        note(side="genesis", what="built", worlds=worlds, taxels=taxels, substeps=substeps,
             seconds=time.perf_counter() - start)  # fmt: skip
        return scene, ball, skin

    def settle(scene: Any, substeps: int = 1) -> None:
        for _ in range(SETTLE_STEPS // substeps):
            scene.step()
        wait()

    for mass_kg in MASSES_KG:
        scene, ball, skin = built(min(JUDGED, *args.worlds), mass_kg, taxels=True)
        with turn(args.turn):
            settle(scene)
            force_n = skin.read().force.double().cpu().numpy()[..., 2].reshape(-1, GRID, GRID)
            push_n = ball.get_links_net_contact_force().double().cpu().numpy()[:, 0, 2]
            judge(
                "genesis", mass_kg, args.pitch_m, ball.get_pos().double().cpu().numpy(), push_n, np.abs(force_n), **more
            )
        scene.destroy()
    for worlds in args.worlds:
        # Taxels are worked out at the end of every `step`, read or not: every tenth step is a step of ten substeps.
        for what, taxels, substeps in (
            ("bare", False, 1), ("taxels every step", True, 1), ("bare, substeps", False, 10),
            ("taxels every 10th step", True, 10),
        ):  # fmt: skip
            scene, _, skin = built(worlds, MASSES_KG[1], taxels=taxels, substeps=substeps)

            def step(scene: Any = scene, skin: Any = skin) -> None:
                scene.step()
                if skin:
                    skin.read()

            with turn(args.turn):
                settle(scene, substeps)
                rate("genesis", what, worlds, step, wait, substeps, args.repeats, **more)
            scene.destroy()


PLATE = """
<mujoco>
  <option timestep="{step}" gravity="0 0 -{gravity}" cone="elliptic" integrator="discrete" jacobian="dense"/>
  <worldbody>
    <body name="plate">
      <geom name="plate_skin" type="box" pos="0 0 -{half[2]}" size="{half[0]} {half[1]} {half[2]}"/>
    </body>
    <body name="ball" pos="0 0 {radius}"><freejoint/><geom type="sphere" size="{radius}" mass="{mass}"/></body>
  </worldbody>
</mujoco>"""


def plate_hand(pitch_m: float) -> Any:
    """The plate as a hand without joints: four pads side by side, because a pad has at most 768 taxels on a GPU."""
    from thenar.hands.shapes import Box
    from thenar.hands.spec import HandSpec, Link, Pad, Palette, PalmFrame

    half = GRID // 2
    pads = tuple(
        Pad(
            name=f"pad_{i}{j}", link="plate", rows=half, cols=half, row_pitch_m=pitch_m, col_pitch_m=pitch_m,
            chart="face", centre_m=((i - 0.5) * half * pitch_m, (j - 0.5) * half * pitch_m, 0.0),
            row_axis=(1.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0), source="bench",
        )
        for i in (0, 1)
        for j in (0, 1)
    )  # fmt: skip
    box = Box(centre_m=(0.0, 0.0, -HALF_M[2]), half_m=HALF_M)
    link = Link(name="plate", mass_kg=1.0, source="bench", skin=box)
    return HandSpec(
        name="plate", maker="", model="", side="right", summary="A plate with taxels.", root="plate", links=(link,),
        pads=pads, joints=(), actuators=(), palm=PalmFrame(pos_m=(0, 0, 0), rpy_rad=(0, 0, 0)),
        palette=Palette(body=(0, 0, 0), skin=(0, 0, 0), dark=(0, 0, 0)),
    )  # fmt: skip


def run_thenar(args: argparse.Namespace) -> None:
    """The same on MuJoCo Warp with `thenar.batch.Touch`."""
    import mujoco

    from thenar.batch import Touch
    from thenar.batch.device import fit_to_device, load_warp, open_device

    start = time.perf_counter()
    wp, mjw = load_warp()
    device, hand = open_device(args.device), plate_hand(args.pitch_m)

    def built(worlds: int, mass_kg: float) -> tuple[Any, Any, Any]:
        text = PLATE.format(step=TIMESTEP_S, gravity=GRAVITY_M_S2, half=HALF_M, radius=RADIUS_M, mass=mass_kg)
        model = mujoco.MjModel.from_xml_string(text)
        fit_to_device(model)
        m = mjw.put_model(model)
        m.opt.warn_overflow = False
        d = mjw.put_data(model, mujoco.MjData(model), nworld=worlds, nconmax=4, njmax=16)
        at = d.qpos.numpy()
        at[:, :3] = places_m(worlds)
        d.qpos.assign(at)
        touch = Touch(model, hand, m, d, prefix="")
        mjw.step(m, d)
        touch.update()
        wp.synchronize()
        note(side="thenar", what="built", worlds=worlds, seconds=time.perf_counter() - start)
        return m, d, touch

    def graph(work: Step) -> Step:
        if not device.is_cuda:
            return work
        with wp.ScopedCapture() as captured:
            work()
        return lambda: wp.capture_launch(captured.graph)

    def steps(m: Any, d: Any, count: int, touch: Any = None) -> Step:
        def work() -> None:
            for _ in range(count):
                mjw.step(m, d)
            if touch:
                touch.update()

        return graph(work)

    with wp.ScopedDevice(device):
        for mass_kg in MASSES_KG:
            m, d, touch = built(min(JUDGED, *args.worlds), mass_kg)
            with turn(args.turn):
                ten = steps(m, d, 10)
                for _ in range(SETTLE_STEPS // 10):
                    ten()
                ball_m = d.qpos.numpy()[:, :3].astype(float)  # contacts of the next step are those of this state
                mjw.step(m, d)
                touch.update()
                area_m2 = args.pitch_m**2
                maps = touch.arrays.pressure_pa.numpy().astype(float).reshape(-1, 2, 2, GRID // 2, GRID // 2) * area_m2
                maps = maps.transpose(0, 1, 3, 2, 4).reshape(-1, GRID, GRID)
                push_n = d.qfrc_constraint.numpy()[:, 2].astype(float)
                judge(
                    "thenar", mass_kg, args.pitch_m, ball_m, push_n, maps, flagged=int((touch.flags.numpy() != 0).sum())
                )
        for worlds in args.worlds:
            m, d, touch = built(worlds, MASSES_KG[1])
            with turn(args.turn):
                ten = steps(m, d, 10)
                for _ in range(SETTLE_STEPS // 10):
                    ten()
                for what, count, feel in (
                    ("bare", 1, None), ("taxels every step", 1, touch), ("bare, substeps", 10, None),
                    ("taxels every 10th step", 10, touch),
                ):  # fmt: skip
                    rate("thenar", what, worlds, steps(m, d, count, feel), wp.synchronize, count, args.repeats,
                         flagged=int((touch.flags.numpy() != 0).sum()))  # fmt: skip


def main() -> None:
    """Run one of the two parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("genesis", "thenar"))
    parser.add_argument("--worlds", type=int, nargs="*", default=[1024, 4096, 8192])
    parser.add_argument("--pitch-m", type=float, default=1.2e-3, help="from taxel to taxel")
    parser.add_argument("--repeats", type=int, default=200, help="steps that are timed, three times over")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--turn", type=Path, help="a file: processes that name it measure one at a time")
    parser.add_argument("--performance", action="store_true", help="Genesis' performance_mode: compiles longer")
    args = parser.parse_args()
    (run_genesis if args.part == "genesis" else run_thenar)(args)


if __name__ == "__main__":
    main()
