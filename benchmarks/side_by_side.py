"""Search engines of other systems side by side with ours, on their tables and by their formulas.

Each engine runs from the user's own checkout, on its own documented cases where it publishes
tables; ours reads the same tables. Every plan is evaluated again by the formula of the other
system, apart from both searches. Seconds are CPU seconds of the search alone, one thread each, the
median of the repeats; reading tables and compiling are left out. Only engines that are
asked for run. Each table is printed as soon as it is there, or replaces its region of a page.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import measuring
import pages
from engines import aceso_run, alpa_run, galvatron_run, metis_run, perseus_run, piper_run
from engines.compared import Cell
from measuring import Report, Table

_PROFILE = "profile_data_samples"


def _piper(options: argparse.Namespace, folder: Path) -> list[dict[str, Cell]]:
    return piper_run.rows(options.piper, folder, quick=options.quick, repeats=options.repeats)


def _alpa(options: argparse.Namespace, _folder: Path) -> list[dict[str, Cell]]:
    if options.metis is None:
        raise SystemExit("error: --alpa needs --metis: Alpa publishes no stage costs")
    profile = options.metis / _PROFILE
    return alpa_run.rows(options.alpa, profile, quick=options.quick, repeats=options.repeats)


def _metis(options: argparse.Namespace, folder: Path) -> list[dict[str, Cell]]:
    return metis_run.rows(options.metis, folder, quick=options.quick, repeats=options.repeats)


def _galvatron(options: argparse.Namespace, folder: Path) -> list[dict[str, Cell]]:
    return galvatron_run.rows(options.galvatron, folder, repeats=options.repeats)


def _aceso(options: argparse.Namespace, folder: Path) -> list[dict[str, Cell]]:
    return aceso_run.rows(options.aceso, folder, repeats=options.repeats)


def _lowtime(options: argparse.Namespace, _folder: Path) -> list[dict[str, Cell]]:
    return perseus_run.rows(quick=options.quick, repeats=options.repeats)


_Rows = Callable[[argparse.Namespace, Path], list[dict[str, Cell]]]
_ENGINES: dict[str, tuple[str, _Rows]] = {
    "piper": ("Piper, BERT on A100s with 8 GiB: seconds per sample", _piper),
    "metis": ("Metis, nodes of 8 devices: milliseconds per step", _metis),
    "lowtime": ("Perseus, clocks of a fixed 1F1B pipeline: joules per step", _lowtime),
    "alpa": ("Alpa's inter-operator dynamic program: seconds per step", _alpa),
    "galvatron": ("Galvatron, 8 devices with 38 GB: seconds per step", _galvatron),
    "aceso": ("Aceso, GPT on one node: milliseconds per step", _aceso),
}


def main() -> None:
    """Measures and prints, or writes the page."""
    made_parser = measuring.parser(__doc__, quick=True)
    for name in _ENGINES:
        if name == "lowtime":
            made_parser.add_argument("--lowtime", action="store_true", help="as installed")
        else:
            made_parser.add_argument(f"--{name}", type=_folder, help=f"a checkout of {name}")
    made_parser.add_argument("--repeats", type=measuring.positive, default=3)
    made_parser.add_argument("--write", type=Path, help="page of which regions are replaced")
    options = made_parser.parse_args()
    asked = [name for name in _ENGINES if getattr(options, name)]
    if not asked:
        made_parser.error(f"needs an engine: --{', --'.join(_ENGINES)}")
    for name in asked if options.write is not None else ():
        pages.parted(options.write, name)
    tables = []
    with tempfile.TemporaryDirectory() as folder:
        for name in asked:
            title, rows = _ENGINES[name]
            words = pages.measured_on()
            tables.append(Table(title=title, rows=rows(options, Path(folder))))
            if options.write is not None:
                pages.put_report(options.write, name, words, Report(name=name, tables=tables[-1:]))
            elif not options.json:
                measuring.show_table(tables[-1], options)
    if options.write is None and options.json:
        measuring.show(Report(name="side_by_side", tables=tables), options)


def _folder(text: str) -> Path:
    """An existing folder, for `argparse`."""
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is not a folder")
    return path.resolve()


if __name__ == "__main__":
    main()
