#!/usr/bin/env python3
"""Copy the static embeddings of the PyPI package wordllama as a model that ``--encoder`` takes.

    python scripts/qa/wordllama.py FOLDER OUT

FOLDER is that of the installed package.
"""

import shutil
import sys
from pathlib import Path

FILES = {
    "tokenizers/l2_supercat_tokenizer_config.json": "tokenizer.json",
    "weights/l2_supercat_256.safetensors": "model.safetensors",
}

folder, out = map(Path, sys.argv[1:])
out.mkdir(parents=True, exist_ok=True)
for source, target in FILES.items():
    shutil.copyfile(folder / source, out / target)
