#!/usr/bin/env python3
"""Make the set of data/dishes-tiny: dishes with their ingredients, one course and any number of diets.

Dishes are seeded draws of ingredients. Their course and diets follow from the amounts by rules written down
here, but for a few that are drawn. Needs the standard library only.

    python scripts/make_dishes.py [--out DIR]
"""

from __future__ import annotations

import argparse
import csv
import random
from collections.abc import Callable
from pathlib import Path

SEED = 3
SIZES = {"train": 120, "test": 40}
SLIPS = 0.05  # the share of rules that a dish breaks

# Grams at most, and the diets that a dish with it does not fit.
INGREDIENTS: dict[str, tuple[int, tuple[str, ...]]] = {
    "flour": (300, ("gluten-free",)),
    "butter": (120, ("vegan", "dairy-free")),
    "milk": (400, ("vegan", "dairy-free")),
    "egg": (200, ("vegan",)),
    "sugar": (200, ()),
    "chocolate": (150, ()),
    "berries": (250, ()),
    "beef": (400, ("vegan", "vegetarian")),
    "fish": (350, ("vegan", "vegetarian")),
    "tofu": (300, ()),
    "lentils": (300, ()),
    "rice": (300, ()),
    "tomato": (300, ()),
    "nuts": (100, ()),
}
DIETS = ("dairy-free", "gluten-free", "vegan", "vegetarian")
SWEET = ("sugar", "chocolate", "berries")
FILLING = ("beef", "fish", "tofu", "lentils", "rice")


def draw_dish(draw: Callable[[], float]) -> dict[str, int]:
    """Return the grams of each ingredient; most dishes are either sweet or not."""
    odd = FILLING if draw() < 0.4 else SWEET
    chosen = {name: draw() < (0.05 if name in odd else 0.35) for name in INGREDIENTS}
    return {
        name: int(most * (0.2 + 0.8 * draw())) if chosen[name] else 0
        for name, (most, _) in INGREDIENTS.items()
    }


def course_of(dish: dict[str, int]) -> str:
    """Return the course of a dish."""
    if sum(dish[name] for name in SWEET) > 150:
        return "dessert"
    return "main" if sum(dish[name] for name in FILLING) > 200 else "starter"


def diets_of(dish: dict[str, int], draw: Callable[[], float]) -> list[str]:
    """Return the diets that a dish fits, with slips."""
    broken = {diet for name, (_, diets) in INGREDIENTS.items() if dish[name] for diet in diets}
    return [diet for diet in DIETS if (diet not in broken) != (draw() < SLIPS)]


def main() -> None:
    """Write train.csv and test.csv."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "data" / "dishes-tiny")
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    draw = random.Random(SEED).random
    for part, n in SIZES.items():
        with open(out / f"{part}.csv", "w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["course", "diet", *INGREDIENTS])
            for _ in range(n):
                dish = draw_dish(draw)
                rows.writerow([course_of(dish), ",".join(diets_of(dish, draw)), *dish.values()])


if __name__ == "__main__":
    main()
