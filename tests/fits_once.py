"""The fit of a recording, made once: the learned model begins with the parametric one, and both are tested."""

from collections.abc import Iterator

import pytest

from thenar.touch.calibrate import procedure
from thenar.touch.calibrate.pad_fit import Fitted


@pytest.fixture(scope="module", autouse=True)
def _fits_once() -> Iterator[None]:
    """Remember every parametric fit by the numbers it was made from."""
    fit_anew, known = procedure.fit_parameters, dict[tuple, Fitted]()

    def fit(presses, *, rows, without, top_counts, progress) -> Fitted:
        numbers = (presses.counts, presses.load_n, presses.places_m, presses.time_s, rows)
        key = (presses.pad.name, *(array.tobytes() for array in numbers), *sorted(without), top_counts)
        if key not in known:
            known[key] = fit_anew(presses, rows=rows, without=without, top_counts=top_counts, progress=progress)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(procedure, "fit_parameters", fit)
        yield
