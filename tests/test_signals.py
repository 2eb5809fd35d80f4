"""Signals are values: each pickles, compares with one answer, and prints in a few lines."""

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest

import thenar
from thenar import display, signals
from thenar.errors import (
    BadCommand,
    BadFile,
    BadValue,
    MissingExtra,
    NotIdentifiable,
    SimulationDiverged,
    ThenarError,
    UnknownName,
)
from thenar.signals import Value


def example(kind: type[Value]) -> Value:
    """A signal of this kind; arrays have a NaN in them."""
    plain = {
        signals.HandCommand: lambda: signals.HandCommand.to([0.5, np.nan]),
        signals.Closing: lambda: signals.Closing(fraction=[0.1, np.nan], speed=0.5),
        signals.TouchFrame: lambda: WORLD.touch("inspire_right"),
        signals.HandState: lambda: WORLD.state("inspire_right"),
        signals.HandSettings: lambda: WORLD.settings("inspire_right"),
        signals.ContactSet: WORLD.contacts,
        signals.SolidContacts: WORLD.physics.solid_contacts,
    }
    if kind in plain:
        return plain[kind]()
    made = {"sender": "me", "hand": "inspire_right", "arrived_s": 1.0, "side": "left", "layout": "nodes21"}
    return kind(**{field.name: made.get(field.name, np.array([1.0, np.nan])) for field in fields(kind)})


WORLD = thenar.World("inspire_right", props=[thenar.Sphere(radius_m=0.03, pos_m=(0.0, 0.04, 0.031))])
WORLD.advance(0.1)
KINDS = [kind for kind in vars(signals).values() if isinstance(kind, type) and issubclass(kind, Value)]
KINDS.remove(Value)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_signal_survives_pickling(kind: type[Value]):
    signal = example(kind)
    again = pickle.loads(pickle.dumps(signal))
    assert type(again) is kind
    assert (again == signal) is True
    assert (again != signal) is False


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_signal_with_another_number_in_any_field_is_another_signal(kind: type[Value]):
    signal = example(kind)
    for field in fields(signal):
        value = getattr(signal, field.name)
        if isinstance(value, np.ndarray) and value.size and value.dtype.names is None:
            changed = value.copy()
            changed.flat[0] = 7 if changed.flat[0] != 7 else 8
            assert (replace(signal, **{field.name: changed}) == signal) is False
            assert (replace(signal, **{field.name: np.zeros((*value.shape, 2))}) == signal) is False


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_signal_prints_its_name_and_fits_on_a_screen(kind: type[Value]):
    text = str(example(kind))
    assert text.startswith(kind.__name__)
    assert text.count("\n") < 60
    assert max(map(len, text.splitlines())) < 1000


def test_signal_is_not_equal_to_one_of_another_kind():
    command = signals.HandCommand.to([0.5])
    assert command != signals.Closing(fraction=0.5)
    assert command != "command"


def test_printed_command_shows_its_numbers():
    assert str(signals.HandCommand.to([0.5, 1.25])) == (
        "HandCommand(target_rad=[0.5 , 1.25], speed_rad_s=[nan, nan], force_limit_n=[nan, nan], stop=None, law=None)"
    )


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: signals.HandCommand.to("half"), "target_rad is 'half'; wanted numbers"),
        (lambda: signals.HandCommand.to([[0.1, 0.2], [0.3]]), "target_rad is .* wanted numbers"),
        (
            lambda: signals.HandCommand.to([[0.1, 0.2]]),
            r"target_rad has shape \(1, 2\); wanted one number per actuator",
        ),
        (lambda: signals.HandCommand.to([0.1, 0.2], speed_rad_s=[1.0]), "speed_rad_s has 1 values; .* for 2 actuators"),
        (lambda: signals.HandCommand.to([0.1], speed_rad_s=[[1.0]]), r"speed_rad_s has shape \(1, 1\)"),
        (
            lambda: WORLD.command("inspire_right", signals.HandCommand.closing("all")),
            "fraction is 'all'; wanted numbers",
        ),
    ],
)
def test_a_command_that_is_no_row_of_numbers_is_refused_by_its_field(wrong, said: str):
    with pytest.raises(BadCommand, match=said):
        wrong()


def test_contacts_are_chosen_by_a_mark_for_each():
    contacts = WORLD.contacts()
    assert len(contacts) > 0
    assert contacts.where([True] * len(contacts)) == contacts
    assert len(contacts.where([False] * len(contacts))) == 0
    for count in (len(contacts) - 1, len(contacts) + 1):
        with pytest.raises(BadValue, match=f"keep is '{count} marks'; wanted {len(contacts)}, one for each contact"):
            contacts.where([True] * count)


def test_a_printed_state_shows_error_bits_that_only_the_maker_knows():
    state = WORLD.state("inspire_right")
    for error, shown in ((0, "NONE"), (1, "STALL"), (32, "32")):
        text = str(replace(state, error=np.full_like(state.error, error)))
        assert text.splitlines()[-1].split()[-1] == shown


@pytest.mark.filterwarnings("error")
def test_a_frame_whose_taxels_were_not_all_read_is_shown_all_the_same():
    """As of a real hand, of which a poll brought some pads only."""
    frame = WORLD.touch("inspire_right")
    pressure_pa = frame.taxel_pressure_pa.copy()
    pressure_pa[:9] = pressure_pa[-1] = np.nan
    forces_n = np.where(np.arange(len(frame.layout)) == 0, np.nan, frame.pad_force_n)
    partly = replace(frame, taxel_pressure_pa=pressure_pa, pad_force_n=forces_n, bare_skin_n=np.nan)
    assert "nan" not in str(partly)
    assert partly._repr_html_().count("<img") == len(frame.layout)
    lit = display.level_colours(np.array([np.nan, 0.0, 1.0, 1e30]))
    assert (lit == np.array([display.IDLE, display.IDLE, display.scale()[-1], display.scale()[-1]])).all()


def test_frame_keeps_its_counts_when_a_taxel_dies_after_it():
    world = thenar.World("inspire_right", props=[thenar.Sphere(radius_m=0.03, pos_m=(0.0, 0.04, 0.031))])
    world.advance(0.1)
    early, late = world.touch("inspire_right"), world.touch("inspire_right")
    pad = max(early.force_n, key=early.force_n.__getitem__)
    row, col = (int(at[0]) for at in np.nonzero(early[pad] == early[pad].max()))
    before = early.counts[pad][row, col]
    world.faults.inject("inspire_right", f"{pad} {row} {col}", "dead")
    assert late.counts[pad][row, col] == before > 0
    assert early == late


@pytest.mark.parametrize(
    "error",
    [
        UnknownName("pad", "index_tpo", ["index_top"]),
        BadValue("radius_m", -1.0, "a number above 0"),
        BadFile("hand.urdf", "it is empty"),
        NotIdentifiable("tape.mcap", ["friction"], "leave it out"),
        SimulationDiverged(1.5, 1.4, ["QACC"]),
        MissingExtra("the page", "viser", "view"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_comes_out_of_another_process_as_it_was_raised(error: ThenarError):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))
