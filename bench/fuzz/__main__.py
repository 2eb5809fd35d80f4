"""``python -m bench.fuzz``: every parser that reads from outside is given wrong bytes for as long as asked."""

from __future__ import annotations

import logging
import random
import re
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.progress import track

from bench.fuzz.file_targets import file_targets
from bench.fuzz.over_sockets import fuzz_sockets
from bench.fuzz.search import Finding, Target, search, shrink
from bench.fuzz.wire_targets import wire_targets
from thenar.cli.show import console, print_table
from thenar.wire.clients.domain_survey import local_domains

CORPUS = Path(__file__).parents[2] / "tests" / "corpus"
"""What was found, one folder a parser: the tests try all of it again."""
MAX_SHRUNK_BYTES = 4096


def corpus_folder(target: str) -> Path:
    """Where what was found in a parser is kept."""
    return CORPUS / re.sub(r"\W+", "_", target).strip("_").lower()


@dataclass(frozen=True)
class Fuzz:
    """Give wrong bytes to every parser that reads from outside; what breaks one or costs time is kept in tests/corpus.

    For example:

    python -m bench.fuzz --minutes 1

    python -m bench.fuzz --minutes 600 --only datagram

    python -m bench.fuzz --sockets 1000000
    """

    minutes: float = 1.0
    """How long, over all parsers together."""
    only: str = ""
    """Parsers whose names have this in them."""
    sockets: int = 0
    """So many inputs over sockets to a twin that runs, in place of the search in one process."""
    seed: int | None = None
    """Of chance; another one each time if none is given."""

    def run(self) -> int:
        """Search and print; 1 if something was found."""
        logging.disable(logging.WARNING)
        seed = random.randrange(1 << 32) if self.seed is None else self.seed
        if self.sockets:
            verdict = fuzz_sockets(self.sockets, seed)
            print_table(f"{self.sockets:,} inputs over sockets, seed {seed}", [vars(row) for row in verdict])
            return 0 if all(row.good for row in verdict) else 1
        rows, findings = [], []
        with ExitStack() as opened:
            folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
            domain = random.choice(sorted(set(range(100, 200)) - local_domains()))
            made = [*wire_targets(opened, domain=domain, port=random.randrange(20_000, 30_000)), *file_targets(folder)]
            chosen = [target for target in made if self.only in target.name]
            began_s = time.monotonic()
            for number, target in enumerate(track(chosen, description=f"seed {seed}", console=console)):
                left_s = began_s + 60.0 * self.minutes - time.monotonic()
                result = search(target, seconds=left_s / (len(chosen) - number), seed=seed)
                rows.append(
                    {
                        "parser": result.target,
                        "inputs": result.inputs,
                        "slowest [ms]": result.worst_ms,
                        "of the physics [ms]": result.worst_tick_ms,
                        "found": len(result.findings),
                    }
                )
                findings += [_keep(target, finding) for finding in result.findings]
        print_table(f"{sum(row['inputs'] for row in rows):,} inputs, seed {seed}", rows)
        for finding in findings:
            console.print(str(finding), markup=False)
        return 1 if findings else 0


def _keep(target: Target, finding: Finding) -> Finding:
    """Write what was found into the corpus, as short as it can be."""
    if len(finding.data) <= MAX_SHRUNK_BYTES:
        finding = shrink(target, finding)
    folder = corpus_folder(target.name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / re.sub(r"\W+", "_", finding.what.partition(":")[0]).lower()).write_bytes(finding.data)
    return finding


if __name__ == "__main__":
    sys.exit(tyro.cli(Fuzz, prog="python -m bench.fuzz").run())
