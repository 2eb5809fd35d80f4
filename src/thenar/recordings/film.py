"""Frames into a film: GIF for pages and chats, MP4 for everything longer."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thenar.errors import BadFile, MissingExtra, writing

KINDS = (".gif", ".mp4")


def write_film(path: Path, frames: Sequence[NDArray[np.uint8]], *, fps: int) -> None:
    """Write pictures of one size, ``fps`` of them a second, as the kind of film that the name asks for."""
    body = encode_film(frames, fps=fps, kind=film_kind(path))
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)


def film_kind(path: Path) -> str:
    """The ending of a film's name; any other name is refused."""
    if path.suffix.lower() not in KINDS:
        raise BadFile(path, f"films are written as {' or '.join(KINDS)}; the name must end so")
    return path.suffix.lower()


def encode_film(frames: Sequence[NDArray[np.uint8]], *, fps: int, kind: str) -> bytes:
    """Pictures as the bytes of a film that plays again and again."""
    av = load_av("a film", "film")
    height, width, _ = frames[0].shape
    out = io.BytesIO()
    with av.open(out, "w", format=kind.removeprefix(".")) as container:
        if kind == ".gif":
            stream = container.add_stream("gif", rate=fps, options={"loop": "0"})
            stream.pix_fmt = "pal8"
            pictures = _in_256_colours(frames, fps)
        else:
            stream = container.add_stream("libx264", rate=fps, options={"crf": "20"})
            stream.pix_fmt = "yuv420p"  # what every player shows
            pictures = (av.VideoFrame.from_ndarray(frame, format="rgb24") for frame in frames)
        stream.width, stream.height = width, height
        for picture in pictures:
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    return out.getvalue()


def load_av(what: str, extra: str) -> Any:
    """The package that encodes pictures; where it is missing, the extra is named that brings it."""
    try:
        import av
    except ImportError as error:
        raise MissingExtra(what, "av", extra) from error
    return av


def _in_256_colours(frames: Sequence[NDArray[np.uint8]], fps: int) -> Iterator[Any]:
    """The same frames on one palette that is made for them; only what changed is written anew."""
    import av
    from av.error import BlockingIOError, EOFError
    from av.filter import Graph

    height, width, _ = frames[0].shape
    graph = Graph()
    source = graph.add_buffer(width=width, height=height, format=av.VideoFormat("rgb24"), time_base=Fraction(1, fps))
    split = graph.add("split")
    palette = graph.add("palettegen", "stats_mode=full")
    use = graph.add("paletteuse", "dither=none:diff_mode=rectangle")
    sink = graph.add("buffersink")
    source.link_to(split)
    split.link_to(palette, 0, 0)
    split.link_to(use, 1, 0)
    palette.link_to(use, 0, 1)
    use.link_to(sink)
    graph.configure()
    for n, frame in enumerate(frames):
        picture = av.VideoFrame.from_ndarray(frame, format="rgb24")
        picture.pts = n
        source.push(picture)
    source.push(None)
    while True:
        try:
            yield sink.pull()
        except (EOFError, BlockingIOError):
            return
