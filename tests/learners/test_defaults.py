"""Every setting of every learner is pinned with type, default and help: a changed default changes results."""

from rerank.core.settings import describe
from rerank.learners.base import LEARNERS


def test_the_settings_of_all_learners(golden):
    lines = []
    for name in LEARNERS.names():
        lines += ["", f"{name}: {LEARNERS.get(name).summary}"]
        for setting, kind, default, meaning in describe(LEARNERS.get(name)):
            lines.append(f"  {setting} = {default} ({kind}): {meaning}")
    golden("learners.txt", "\n".join(lines[1:]) + "\n")
