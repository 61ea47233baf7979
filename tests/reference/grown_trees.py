"""LightGBM's text of trees: random ones, and their scores by its rules, one item after the other."""

import math

TINY = 1.0000000180025095e-35  # LightGBM's zero, as a double


def random_tree(rng, n_leaves, n_features):
    """The lines of a tree, grown leaf by leaf as LightGBM numbers them."""
    left, right = [], []
    leaves = [None]  # (split, side) that each leaf hangs on
    for split in range(n_leaves - 1):
        leaf = int(rng.integers(len(leaves)))
        if leaves[leaf] is not None:
            parent, side = leaves[leaf]
            (left, right)[side][parent] = split
        left.append(-1 - leaf)
        right.append(-1 - len(leaves))
        leaves[leaf] = (split, 0)
        leaves.append((split, 1))
    kinds = rng.choice([0, 2, 4, 6, 8, 10], n_leaves - 1).tolist()
    thresholds = rng.choice([-0.5, 0.0, TINY, -TINY, 0.25, 1.0, math.inf], n_leaves - 1).tolist()
    return {
        "num_leaves": [n_leaves],
        "num_cat": [0],
        "split_feature": rng.integers(0, n_features, n_leaves - 1).tolist(),
        "split_gain": rng.random(n_leaves - 1).tolist(),
        "threshold": thresholds,
        "decision_type": kinds,
        "left_child": left,
        "right_child": right,
        "leaf_value": rng.standard_normal(n_leaves).tolist(),
        "is_linear": [0],
        "shrinkage": [0.1],
    }


def text_of(trees, n_features):
    """The text of a model."""
    blocks = []
    for i, tree in enumerate(trees):
        lines = [f"{key}={' '.join(map(repr, values))}" for key, values in tree.items()]
        blocks.append("\n".join([f"Tree={i}", *lines, "", "", ""]))
    names = " ".join(f"Column_{j}" for j in range(n_features))
    sizes = " ".join(str(len(block)) for block in blocks)
    head = [
        *("tree", "version=v4", "num_class=1", "num_tree_per_iteration=1", "label_index=0"),
        *(f"max_feature_idx={n_features - 1}", "objective=lambdarank", f"feature_names={names}"),
        *(f"feature_infos={' '.join(['[0:1]'] * n_features)}", f"tree_sizes={sizes}"),
    ]
    return ("\n".join([*head, "", ""]) + "".join(blocks) + "end of trees\n").encode()


def score(trees, x):
    """The sum of the leaves that an item with the features x reaches."""
    total = 0.0
    for tree in trees:
        total += _leaf(tree, x)
    return total


def _leaf(tree, x):
    if tree["num_leaves"][0] == 1:
        return tree["leaf_value"][0]
    at = 0
    while at >= 0:
        value, kind = float(x[tree["split_feature"][at]]), tree["decision_type"][at]
        if abs(value) <= TINY or (math.isnan(value) and not kind & 8):
            value = 0.0
        missing = math.isnan(value) if kind & 8 else bool(kind & 4) and value == 0.0
        left = bool(kind & 2) if missing else value <= tree["threshold"][at]
        at = tree["left_child" if left else "right_child"][at]
    return tree["leaf_value"][-1 - at]
