"""The split does not leak, and files are written whole."""

import itertools
from pathlib import Path

import pytest
from spelling.sets import (
    PARTS,
    Entry,
    WordList,
    letor_lines,
    part_sizes,
    seeded_order,
    split_entries,
    write_atomically,
)


def entries() -> list[Entry]:
    """Two misspellings for each pair of letters, one of them with a second correction elsewhere."""
    made = []
    for a, b in itertools.product("abcdefghijkl", "mnopqr"):
        made.append(Entry(f"{a}{b}x", (f"{a}{b}", f"{a}{b}s")))
        made.append(Entry(f"{a}{b}xx", (f"{a}{b}", f"{b}{a}")))
    return made


@pytest.mark.parametrize("seed", range(5))
def test_no_first_letter_of_a_correction_is_in_two_parts(seed: int) -> None:
    parts, torn = split_entries(entries(), seed)
    letters = {part: {word[0] for entry in parts[part] for word in entry.corrections} for part in PARTS}
    assert all(letters.values())
    for one, other in itertools.combinations(PARTS, 2):
        assert not letters[one] & letters[other]
    assert sum(map(len, parts.values())) + len(torn) == len(entries())
    for entry in torn:
        homes = {part for word in entry.corrections for part in PARTS if word[0] in letters[part]}
        assert len(homes) == 2


def test_the_split_depends_on_the_seed_and_not_on_the_order_of_the_entries() -> None:
    assert split_entries(entries(), 3)[0] == split_entries(entries()[::-1], 3)[0]
    assert split_entries(entries(), 3)[0] != split_entries(entries(), 4)[0]


def test_a_removed_item_leaves_the_order_of_the_others() -> None:
    order = seeded_order("abcdefgh", 1)
    assert [item for item in order if item != "d"] == seeded_order("abcefgh", 1)
    assert sorted(order) == list("abcdefgh")


@pytest.mark.parametrize("n_lists", [5, 6, 7, 8, 9, 11, 2000])
def test_part_sizes_add_up(n_lists: int) -> None:
    sizes = part_sizes(n_lists)
    assert sum(sizes.values()) == n_lists
    assert min(sizes.values()) >= 1


def test_lines_are_letor_with_the_words_as_comment() -> None:
    one = WordList(Entry("teh", ("the", "tech")), ("the", "tea", "tech"))
    lines = list(letor_lines([one], {"the": 10**9, "tea": 10**5, "tech": 10**4}, 7))
    assert [line[0] for line in lines] == ["1", "0", "1"]
    assert all(" qid:7 1:1 " in line for line in lines)
    assert " 10:0.9 " in lines[0]
    assert [line.partition(" # ")[2] for line in lines] == ["teh -> the\n", "teh -> tea\n", "teh -> tech\n"]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "set"
    path.write_text("before")

    def breaks() -> itertools.chain[str]:
        return itertools.chain(["half\n"], (line[1] for line in [""]))

    with pytest.raises(IndexError):
        write_atomically(path, breaks())
    assert path.read_text() == "before"
    write_atomically(path, ["after\n"])
    assert path.read_text() == "after\n"
    assert list(tmp_path.iterdir()) == [path]
