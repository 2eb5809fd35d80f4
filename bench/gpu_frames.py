"""Random frames of contacts with the CPU's answers: what touch on a GPU is judged on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import mujoco
import numpy as np

import thenar
from thenar import hands
from thenar.batch.device import without_visuals
from thenar.hands.pad_charts import points_on_skin
from thenar.hands.spec import HandSpec
from thenar.signals import SolidContacts
from thenar.sim.contacts import SolidReader
from thenar.touch.hand_touch import HandTouch
from thenar.touch.sensor.calibration import profile_of

HAND = "inspire_right"
MILD = (0.0, 0.2, 1.0)  # a frame, the next one at 500 Hz, one at 50 Hz
KINDS = ("Sphere", "Capsule", "Ellipsoid", "Sphere", "Cylinder", "Sphere") * 2
Frames = dict[str, Any]


def press_world(spec: HandSpec) -> tuple[thenar.World, list[str]]:
    """A hand with an object for every link that has pads."""
    links = [link.name for link in spec.links if link.skin is not None and any(p.link == link.name for p in spec.pads)]
    kinds = ["Sphere" if link == "base" else kind for link, kind in zip(links, KINDS, strict=False)]
    props = [getattr(thenar, kind)(name=f"o{k}", pos_m=(0.1 * k, 0, 1)) for k, kind in enumerate(kinds)]
    return thenar.World(spec, props=props, profile="ideal"), links


def _across(rng: np.random.Generator, normal: np.ndarray) -> np.ndarray:
    """A random frame whose z lies across a normal."""
    z = np.cross(normal, rng.normal(size=3))
    z /= np.linalg.norm(z)
    x = np.cross(z, rng.normal(size=3))
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def random_frames(count: int, seed: int, *, hand: str = HAND, lying: bool = False, answers: bool = True) -> Frames:
    """Random hands, every link pressed by one object, three frames each, as arrays of a model of many worlds.

    Args:
        count: Number of hands.
        seed: Of the random numbers.
        hand: Which.
        lying: Capsules and cylinders touch at two points, so that they lean.
        answers: False: without what the CPU feels.
    """
    rng = np.random.default_rng(seed)
    spec = without_visuals(hands.load(hand))
    world, links = press_world(spec)
    model, data = world.model, world.data
    reader = SolidReader(model)
    shapes = {link.name: [model.geom(f"{spec.name}/{n}").id for n in link.skin_names] for link in spec.links}
    touch = HandTouch(spec, profile_of(spec, "ideal"), skin_shapes=shapes, bodies=reader.bodies)
    base = world.physics.solid_contacts().solids
    names = ("geom_xpos", "geom_xmat", "xpos", "xmat", "geom_size", "pos", "frame", "geom", "force",
             "pressure_pa", "shear_pa", "pad_force_n", "stress_pa", "counts")  # fmt: skip
    out: Frames = {name: [] for name in names}
    for _ in range(count):
        touch.forget()
        for name in spec.joint_names:
            joint = model.joint(f"{spec.name}/{name}")
            data.qpos[joint.qposadr[0]] = rng.uniform(*joint.range)
        mujoco.mj_kinematics(model, data)
        spots = []
        for link in links:
            own = [pad for pad in spec.pads if pad.link == link]
            pad = own[rng.integers(len(own))]
            reach = 0.6 if pad.rows > 3 else 0.2
            u = rng.uniform(-reach, reach) * pad.rows * pad.row_pitch_m / 2
            v = rng.uniform(-reach, reach) * pad.cols * pad.col_pitch_m / 2
            newton = 10 ** rng.uniform(np.log10(0.2), np.log10(5.0))
            spots.append((link, pad, u, v, newton, rng.uniform(0.004, 0.03), rng.integers(1 << 30), rng.normal(size=3)))
        for mild in MILD:
            solids = base.copy()
            solids["pos_m"], solids["R"] = data.geom_xpos, data.geom_xmat.reshape(-1, 3, 3)
            rows: dict[str, list[Any]] = {"pos": [], "frame": [], "geom": [], "force": []}
            for k, (link, pad, u, v, newton, radius, own_seed, rub) in enumerate(spots):
                u, v, newton = u + 1e-4 * mild, v - 5e-5 * mild, newton * (1.0 + 0.05 * mild)
                body = data.body(f"{spec.name}/{link}")
                R = body.xmat.reshape(3, 3)
                point, normal = points_on_skin(spec, pad, np.array([[u]]), np.array([[v]]))
                x, n = R @ point.reshape(3) + body.xpos, R @ normal.reshape(3)
                geom, skin = model.geom(f"o{k}").id, shapes[link][0]
                frame, solid = _across(np.random.default_rng(own_seed), n), solids[geom]
                kind = model.geom_type[geom]
                if kind == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
                    size = radius * np.array([0.8, 1.0, 1.3])
                    local = frame.T @ -n
                    centre = x - frame @ (size**2 * local / np.linalg.norm(size * local))
                    solid["size_m"][:3] = size
                else:
                    centre = x + n * radius
                    solid["size_m"][:3] = radius, 0.0 if kind == mujoco.mjtGeom.mjGEOM_SPHERE else 0.04, 0.0
                solid["pos_m"], solid["R"] = centre, frame
                along = frame[:, 2] * 0.004 if lying and kind != mujoco.mjtGeom.mjGEOM_SPHERE else np.zeros(3)
                shares = (0.6, 0.4) if along.any() else (1.0,)
                tangent = np.cross(n, rub) / np.linalg.norm(np.cross(n, rub))
                axes = np.stack([n, tangent, np.cross(n, tangent)])
                for part, share in enumerate(shares):
                    rows["pos"].append(x + along * (1 - 2 * part))
                    rows["frame"].append(axes)
                    rows["geom"].append((skin, geom))
                    rows["force"].append((share * newton, -0.3 * share * newton, 0.0))
            for name, value in rows.items():
                out[name].append(value)
            for name, value in (
                ("geom_xpos", solids["pos_m"]), ("geom_xmat", solids["R"]), ("geom_size", solids["size_m"][:, :3]),
                ("xpos", data.xpos), ("xmat", data.xmat.reshape(-1, 3, 3)),
            ):  # fmt: skip
                out[name].append(np.array(value))
            if not answers:
                continue
            axes, force = np.array(rows["frame"]), np.array(rows["force"])
            frame = touch.solve(
                SolidContacts(
                    stamp_s=0.0, solids=solids, body_pos_m=data.xpos.copy(), body_R=data.xmat.reshape(-1, 3, 3).copy(),
                    planes=np.zeros((0, 4)), first_beside=np.zeros(1, dtype=np.int64),
                    beside=np.zeros(0, dtype=np.int64),
                    pair=np.array(rows["geom"], dtype=np.int64),
                    position_m=np.array(rows["pos"]), normal=np.ascontiguousarray(axes[:, 0]),
                    force_n=np.einsum("nk,nkx->nx", force, axes),
                    slip_n=np.abs(force[:, 1]),  # all of it slides: friction goes by pressure, as on the device
                )
            )  # fmt: skip
            out["pressure_pa"].append(frame.taxel_pressure_pa)
            out["shear_pa"].append(frame.taxel_shear_pa)
            out["pad_force_n"].append(frame.pad_force_n)
            out["stress_pa"].append(touch.die_stress_pa)
            out["counts"].append(frame.taxel_counts)
    made = {name: np.array(value) for name, value in out.items() if value}
    return {
        name: value.reshape(count, len(MILD), *value.shape[1:]).astype(np.int32 if name == "geom" else np.float32)
        for name, value in made.items()
    }


def device_data(frames: Frames, step: int, *, device: Any, repeat: int = 1) -> tuple[Any, Any]:
    """Frames of one moment as what `Touch` reads of MuJoCo Warp's model and data, each ``repeat`` times."""
    import warp as wp

    def put(value: np.ndarray, dtype: Any = None) -> Any:
        kind = {np.dtype(np.int32): int, np.dtype(np.float32): float}[value.dtype] if dtype is None else dtype
        return wp.array(np.ascontiguousarray(value), dtype=kind, device=device)

    rows = {name: np.concatenate([value[:, step]] * repeat) for name, value in frames.items() if name[-2:] != "pa"}
    worlds, contacts = rows["force"].shape[:2]
    total = worlds * contacts
    address = np.arange(3 * contacts, dtype=np.int32).reshape(contacts, 3)
    contact = SimpleNamespace(
        pos=put(rows["pos"].reshape(-1, 3), wp.vec3), frame=put(rows["frame"].reshape(-1, 3, 3), wp.mat33),
        geom=put(rows["geom"].reshape(-1, 2), wp.vec2i), efc_address=put(np.tile(address, (worlds, 1)), int),
        worldid=put(np.repeat(np.arange(worlds, dtype=np.int32), contacts)),
        geomcollisionid=put(np.tile(np.arange(contacts, dtype=np.int32) % 2, worlds)),
        dim=put(np.full(total, 3, dtype=np.int32)), friction=put(np.full((total, 5), 0.3, dtype=np.float32)),
    )  # fmt: skip
    poses = {name: put(rows[name], wp.vec3) for name in ("geom_xpos", "xpos")}
    poses |= {name: put(rows[name], wp.mat33) for name in ("geom_xmat", "xmat")}
    d = SimpleNamespace(
        contact=contact, nacon=put(np.array([total], dtype=np.int32)), nworld=worlds,
        qpos=put(np.zeros((worlds, 1), dtype=np.float32)), time=put(np.full(worlds, 0.02 * step, dtype=np.float32)),
        efc=SimpleNamespace(force=put(rows["force"].reshape(worlds, -1))), **poses,
    )  # fmt: skip
    return SimpleNamespace(geom_size=put(rows["geom_size"], wp.vec3)), d
