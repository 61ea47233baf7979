"""A reproduction: steps that are missing are run, and the numbers are found in what steps printed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reproduce.commands import Done, absent, keep, kept, key_of, run_step
from reproduce.config import Finder, Number, Reproduction, Step
from reproduce.printed import Regenerated, numbers_in, regenerated, same_output, value_of
from reproduce.table import as_json
from rerank.core.errors import ConfigError, RerankError, os_error
from rerank.core.files.write import write_lines
from rerank.core.registry import did_you_mean
from rerank.core.system import lock
from rerank.core.tables.data import to_json
from rerank.core.text import count
from rerank.core.workers.parallel import each, using


def reproduce(
    config: Reproduction,
    out: str,
    jobs: int | None = None,
    steps: Sequence[str] | None = None,
) -> list[Regenerated]:
    """Return what a text prints, each beside what was found again.

    Steps run in the folder ``out``/work and what they print is kept in ``out``/steps; a step is run again if
    its commands, the files that they name or the package changed. A step that fails is reported; the others
    are run all the same. What is returned is also written to ``out``/numbers.json.

    Parameters
    ----------
    config : by ``read_reproduction``.
    out : folder of what is run; made if it does not exist.
    jobs : steps at once; None = as set by ``core.workers.parallel.using``. Steps that measure time run alone.
    steps : names of the steps that may be run; None = all, () = none, to see what is there.

    Raises
    ------
    ConfigError, RerankError
        If a step is unknown, the folder cannot be written, or another process is at work in it.
    """
    for name in steps or ():
        if name not in config.steps:
            raise ConfigError(f"no step {name!r}; {did_you_mean(name, config.steps)}")
    asked = list(config.steps) if steps is None else list(steps)
    with _place(Path(out), config) as (work, records):
        found: dict[str, Done] = {}
        todo: dict[bool, list[str]] = {False: [], True: []}
        keys: dict[str, str] = {}
        for name, step in config.steps.items():
            why = absent(step)
            if why is not None:
                found[name] = Done(missing=f"not run: {why}", excused=True)
                continue
            keys[name] = key_of(step, work)
            old = kept(records / f"{name}.json", keys[name])
            if old is not None:
                found[name] = old
            elif name in asked:
                todo[config.is_timed(name)].append(name)
            else:
                found[name] = Done(missing="not run yet")
        for timed, names in todo.items():
            with using(1 if timed else jobs):
                tasks = [(config.steps[name], work, records / f"{name}.json", keys[name]) for name in names]
                made = each(_run_and_keep, tasks, threads=True, step=("regenerating numbers", "step"))
                found |= zip(names, made, strict=True)
        rows = [*_outputs(config, found), *(_number(one, found[one.step]) for one in config.numbers)]
        write_lines(str(Path(out) / "numbers.json"), [to_json(as_json(rows)).rstrip("\n")])
    return rows


@contextmanager
def _place(out: Path, config: Reproduction) -> Iterator[tuple[Path, Path]]:
    """The folders of work and of records in ``out``, held by this process."""
    work, records = out / "work", out / "steps"
    held = None
    if out.is_dir() and any(out.iterdir()) and not records.is_dir():
        raise ConfigError(f"{out}: holds something else, expected a new folder")
    try:
        for folder in (work, records):
            folder.mkdir(parents=True, exist_ok=True)
        held = lock(str(out))
        if held is None:
            raise RerankError(f"{out}: another process is at work in this folder")
        for folder in map(Path, config.folders):
            link = work / folder.name
            if link.is_symlink() and os.readlink(link) != str(folder.resolve()):
                link.unlink()
            if not link.is_symlink():
                link.symlink_to(folder.resolve())
        yield work, records
    except OSError as error:
        raise os_error(str(out), error) from None
    finally:
        if held is not None:
            os.close(held)


def _run_and_keep(step: Step, work: Path, record: Path, key: str) -> Done:
    done = run_step(step, work)
    keep(record, key, done)
    return done


def _outputs(config: Reproduction, found: Mapping[str, Done]) -> Iterator[Regenerated]:
    """Each command that the text shows with its output, beside what it printed."""
    for name, line, shown in config.outputs():
        done = found[name]
        printed = [one.err + one.out for one in done.ran if one.line == line]
        if printed and same_output(shown, printed[0]):
            yield Regenerated(line, name, "exact", shown, shown)
        elif printed:
            yield Regenerated(line, name, "exact", shown, printed[0])
        else:
            yield Regenerated(line, name, "exact", shown, missing=done.missing, excused=done.excused)


def _number(number: Number, done: Done) -> Regenerated:
    """A number beside what its step printed."""
    names = (number.text, number.step, number.kind, number.printed)
    if done.missing is not None:
        return Regenerated(*names, missing=done.missing, excused=done.excused)
    out = "".join(one.out for one in done.ran)
    try:
        values = [value for finder in number.finders() for value in _found(finder, out, done.ran[-1].out)]
    except LookupError as error:
        return Regenerated(*names, missing=f"not found: {error.args[0]}")
    if number.is_range:
        values = [min(values), max(values)]
    if len(values) != len(numbers_in(number.printed)):
        return Regenerated(*names, missing=f"not found: {count(len(values), 'match', 'matches')}")
    return regenerated(*names, values)


def _found(finder: Finder, out: str, last: str) -> list[float]:
    """The values of all matches in an output, or the one at a path in the JSON of the last command.

    Raises LookupError with the reason if there is none.
    """
    if isinstance(finder, str):
        values = re.findall(finder, out, re.MULTILINE)
        if not values:
            raise LookupError(f"no match of {finder}")
        return [_value(value, finder) for value in values]
    try:
        place = json.loads(last)
    except ValueError:
        raise LookupError("the output is not JSON") from None
    for key in finder:
        if isinstance(place, list) and isinstance(key, str):
            place = {one.get("name"): one for one in place if isinstance(one, dict)}
        try:
            place = place[key]
        except (LookupError, TypeError):
            raise LookupError(f"no {key!r} in the JSON") from None
    return [_value(place, str(finder[-1]))]


def _value(found: Any, where: str) -> float:
    value = value_of(found) if isinstance(found, str) and numbers_in(found) == [found] else found
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise LookupError(f"{where} is {found!r}, expected a number")
    return float(value)
