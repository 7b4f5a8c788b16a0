"""The answer to the small job that `planner doctor` holds its own against.

    python benchmarks/small_job.py            says whether the kept one is that of today
    python benchmarks/small_job.py --write    keeps that of today

After a change that moves figures (constants, databases, cost model) it is to be written again; a
test says so.
"""

from __future__ import annotations

import argparse
import json
import sys

import measuring  # noqa: F401  (pins threads before numpy)

from planner.answers.installation import KEPT, small_answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="keep the answer of today")
    wanted = parser.parse_args()
    text = json.dumps(small_answer(), indent=2, allow_nan=False) + "\n"
    if wanted.write:
        KEPT.write_text(text, encoding="utf-8")
    elif KEPT.read_text(encoding="utf-8") != text:
        sys.exit("the kept answer is another: python benchmarks/small_job.py --write")


if __name__ == "__main__":
    main()
