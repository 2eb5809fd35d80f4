"""Flexures: a strip of rubber that bends, as a chain of hinges with springs.

A strip of stiffness K bent by a torque T turns by T / K along its length. Where n hinges stand for it, evenly from its
start to its end, every hinge has the spring ``n K``: the whole turns by the same angle, along nearly the same arc.
In a `HandSpec` the second to last hinge of a flexure are marked with `Joint.continues`.
"""

from __future__ import annotations

import math
from dataclasses import replace

from thenar.errors import BadValue
from thenar.hands.spec import HandSpec, Joint, Tendon


def flexures(spec: HandSpec) -> list[tuple[Joint, ...]]:
    """Hinges of every flexure of a hand, from its root on."""
    chains: list[list[Joint]] = []
    by_child = {joint.child: joint for joint in spec.joints}
    for joint in spec.joints:
        if not joint.continues:
            continue
        before = by_child[joint.parent]
        if before.continues:
            next(chain for chain in chains if chain[-1] is before).append(joint)
        else:
            chains.append([before, joint])
    return [tuple(chain) for chain in chains]


def with_stiffness(spec: HandSpec, stiffness_nm_rad: float) -> HandSpec:
    """The hand with flexures of another stiffness [N m/rad], each as a whole."""
    if not (math.isfinite(stiffness_nm_rad) and stiffness_nm_rad > 0.0):
        raise BadValue("stiffness_nm_rad", stiffness_nm_rad, "a number above 0")
    hinges = {
        joint.name: replace(joint, spring_nm_rad=stiffness_nm_rad * len(chain))
        for chain in flexures(spec)
        for joint in chain
    }
    return replace(spec, joints=tuple(hinges.get(joint.name, joint) for joint in spec.joints))


def as_hinges(spec: HandSpec) -> HandSpec:
    """The hand with one hinge in place of each flexure, called after the link it carries, which takes on its mass."""
    joints, links, tendons = list(spec.joints), list(spec.links), list(spec.tendons)
    for chain in flexures(spec):
        first, last = chain[0], chain[-1]
        hinge = replace(
            first,
            name=last.child,
            child=last.child,
            pos_m=tuple(sum(joint.pos_m[axis] for joint in chain) for axis in range(3)),
            lower_rad=sum(joint.lower_rad for joint in chain),
            upper_rad=sum(joint.upper_rad for joint in chain),
            spring_nm_rad=1.0 / sum(1.0 / joint.spring_nm_rad for joint in chain),
        )
        joints[joints.index(first)] = hinge
        joints = [joint for joint in joints if joint not in chain]
        between = {joint.child for joint in chain[:-1]}
        rubber_kg = sum(link.mass_kg for link in links if link.name in between)
        links = [
            replace(link, mass_kg=link.mass_kg + rubber_kg) if link.name == last.child else link
            for link in links
            if link.name not in between
        ]
        names = {joint.name for joint in chain}
        tendons = [_without(tendon, names, hinge.name) for tendon in tendons]
    return replace(spec, joints=tuple(joints), links=tuple(links), tendons=tuple(tendons))


def _without(tendon: Tendon, names: set[str], hinge: str) -> Tendon:
    """A tendon that runs over a hinge in place of these joints."""
    weights = [weight for name, weight in tendon.joints if name in names]
    kept = tuple(part for part in tendon.joints if part[0] not in names)
    return replace(tendon, joints=(*kept, (hinge, weights[0]))) if weights else tendon
