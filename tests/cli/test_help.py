"""The manual: ``rerank help``, and every command and Python example of its pages and of the README.

A block fenced as ```console is run line by line: "$ rerank ..." or "$ echo ...", with "> FILE". What is
shown must be what the commands print; "..." matches any lines. ``--regold`` writes outputs anew, except for
commands whose output is shortened by "...". A block fenced as ```python is executed; a block ```text below it
is what it prints. The blocks of one page share a folder that contains data/ and configs/.
"""

import contextlib
import io
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
import typer
from command_line import ROOT

import rerank as package
from rerank.cli.app import VERBS, app
from rerank.cli.help import pages, paths

DOCS = Path(package.__file__).parent / "docs"
FILES = [path for path in [*paths().values(), ROOT / "README.md"] if path.exists()]
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("data", "configs"):
        shutil.copytree(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command: str, rerank) -> str:
    """What a command prints: standard error, then standard output unless that goes to a file."""
    words = shlex.split(command)
    target = Path(words.pop()) if len(words) > 2 and words[-2] == ">" else None
    if target is not None:
        words.pop()
    if words[0] == "echo":
        out, err = " ".join(words[1:]).replace("\\n", "\n") + "\n", ""
    else:
        assert words[0] == "rerank", command
        result = rerank(*words[1:], code=None)
        assert result.code in (0, 1) or "bad" in command, result
        out, err = result.out, result.err
    if target is not None:
        target.write_text(out)
        out = ""
    return re.sub(r"[ \t]+$", "", err + out, flags=re.MULTILINE)  # Markdown files have no blanks there


def matches(shown: str, found: str) -> bool:
    """Whether the output is the one shown, a line of dots for any lines; the version is ignored."""
    shown, found = (re.sub(r"version:[\w.]+", "version:V", text) for text in (shown, found))
    lines = [f"{line.rstrip()}\n" for line in shown.splitlines()]
    pattern = "".join("(?:.*\n)*" if line == "...\n" else re.escape(line) for line in lines)
    return re.fullmatch(pattern, "".join(f"{line.rstrip()}\n" for line in found.splitlines())) is not None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_examples_of_the_manual_print_what_is_shown(path, folder, rerank, request):
    text = path.read_text(encoding="utf-8")
    for kind, block, output in BLOCK.findall(text):
        if kind == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(block, str(path), "exec"), {})
            assert not output or matches(output, printed.getvalue()), printed.getvalue()
            continue
        new = ""
        assert block.startswith("$ "), f"a console block begins with $: {block}"
        parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
        for command, shown in zip(parts[1::2], parts[2::2], strict=True):
            found = run(command, rerank)
            if request.config.getoption("--regold") and "..." not in shown.split():
                shown = found
            assert matches(shown, found), f"$ {command}\n{found}"
            new += f"$ {command}\n{shown}"
        text = text.replace(f"```console\n{block}```", f"```console\n{new}```")
    if request.config.getoption("--regold"):
        path.write_text(text, encoding="utf-8")


# What the README's table of commands needs, made of the repository's small data or written here.
TYPED = {
    "table.csv": "query,score_a,score_b,relevant\nq1,1,2,0\nq1,2,1,1\nq2,3,1,1\nq2,1,1,0\n",
    "exp/decode_test/text": "u1-1 the cat\nu1-2 a cat\nu2-1 dog\n",
    "exp/decode_test/lm_cost": "u1-1 3\nu1-2 2\nu2-1 1\n",
    "data/test/text": "u1 a cat\nu2 a dog\n",
    "annotations.json": json.dumps(
        [
            {"instruction": f"prompt {i}", "preference": 1 + (i % 3 > 0)}
            | {"output_1": "x" * (i + 2), "generator_1": "gpt4"}
            | {"output_2": "x" * (7 - i), "generator_2": f"m{i % 2}"}
            for i in range(6)
        ]
    ),
    "passages.jsonl": "".join(
        json.dumps({"question": f"who built mill {i}", "id": f"{i}-{j}", "text": text, "label": 1 - j}) + "\n"
        for i in range(4)
        for j, text in enumerate((f"Ida built mill {i}", f"mill {i + 1} burnt down"))
    ),
    "bm25.run": "runs-tiny/bm25.run",
    "dense.run": "runs-tiny/dense.json",
    "qrels.txt": "runs-tiny/qrels.tsv",
    "train.txt": "spelling-tiny/train.letor",
    "dev.txt": "spelling-tiny/dev.letor",
    "dev.nbest": "translations-tiny/dev.nbest",
    "dev.en": "translations-tiny/dev.ref",
    "samples.jsonl": "best-of-n/test.jsonl",
    "train.50best": "parses-tiny/train.nbest",
    "test.50best": "parses-tiny/test.nbest",
    "models/T1": "structures-tiny/models/domains",
    "T1.pdb": "structures-tiny/natives/domains.pdb",
}


def test_each_command_of_the_table_in_the_readme_works(folder, rerank):
    if not (ROOT / "README.md").exists():
        pytest.skip("the suite of an installed package has no checkout")
    for name, what in TYPED.items():
        path, made = folder / name, folder / "data" / what if "\n" not in what and what[0] != "[" else None
        path.parent.mkdir(parents=True, exist_ok=True)
        if made is None:
            path.write_text(what)
        elif made.is_dir():
            shutil.copytree(made, path)
        else:
            shutil.copy(made, path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\| .* \| `rerank (.*)` \|$", text, re.MULTILINE)
    assert len(commands) == 10
    for command in commands:
        assert rerank(*shlex.split(command)).code == 0


def test_pages_are_listed_with_a_line_each(rerank):
    lines = rerank("help").out.splitlines()
    assert [line.split()[0] for line in lines] == list(pages())
    assert all(len(line) <= 110 and line.endswith(".") for line in lines)


def test_a_page_is_printed_as_it_is_written(rerank):
    assert rerank("help", "formats").out == (DOCS / "formats.md").read_text(encoding="utf-8")


def test_an_unknown_topic_names_the_nearest(rerank):
    assert "no help on 'metrixs'; did you mean 'metrics'?" in rerank("help", "metrixs", code=2).err


def test_a_verb_prints_its_help(rerank):
    assert rerank("help", "train").out == rerank("train", "--help").out
    assert rerank("help", "features", "text").out == rerank("features", "text", "--help").out
    assert rerank("help", "features").out == rerank("features", "--help").out
    assert rerank("help", "similarity").out == pages()["similarity"]  # a page of that name goes first


def test_part_of_a_name_is_enough_and_other_words_list_sections(rerank):
    assert rerank("help", "metric").out == pages()["metrics"]
    found = rerank("help", "holm").out.splitlines()
    assert found == sorted(found, key=lambda line: list(pages()).index(line.split()[0]))
    assert len(found) > 1
    for line in found:
        name, title = line.split(maxsplit=1)
        part = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", pages()[name], re.DOTALL | re.MULTILINE)
        assert "holm" in part[0].lower()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    if path.name == "README.md" and not (ROOT / "rerank").is_dir():
        pytest.skip("the suite of an installed package has no checkout")
    for target, part in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", path.read_text(encoding="utf-8")):
        if target.startswith("https://"):
            continue
        page = path.parent / target if target else path
        assert page.exists(), target
        assert not part or part in anchors(page), f"{target}#{part}"


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub and mkdocs make them."""
    titles = re.findall("^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_lines_of_the_list_of_verbs_are_those_of_the_verbs():
    """They are printed without the verbs, which take long to import."""
    verbs = typer.main.get_command(app).commands
    assert {name: verb.get_short_help_str(1000) for name, verb in verbs.items()} == {
        name: text for name, (_, text) in VERBS.items()
    }
