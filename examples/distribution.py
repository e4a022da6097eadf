"""Builds a distribution over sets of overlapping mentions by hand, and queries it.

Run it with ``python examples/distribution.py``.
"""

import torch

from hyperspan import EdgeScores, SegmentalHypergraph

words, types = ["at", "the", "Seattle", "zoo"], ["FAC", "GPE"]
n, m, c = len(words), len(types), len(words)
scores = EdgeScores(
    absent=torch.full((1, n, m), 4.0),  # most words start nothing
    present=torch.zeros(1, n, m),
    extend=torch.zeros(1, n, c - 1, m),
    close=torch.full((1, n, c, m), -3.0),
)
scores.close[0, 1, 2, 0] = 6.0  # "the Seattle zoo" looks like a facility
scores.close[0, 2, 0, 1] = 5.0  # "Seattle" like a geo-political entity
scores.close[0, 2, 1, 0] = 3.5  # "Seattle zoo" a little like a facility

distribution = SegmentalHypergraph(scores, lengths=[n])


def show(mentions):
    return ", ".join(f"{types[k]} “{' '.join(words[i:j])}”" for i, j, k in sorted(mentions)) or "nothing"


print(f"{2 ** ((c * (c + 1) // 2) * m):,} sets; log-partition {distribution.log_partition.item():.3f}")
print("\nthe most probable sets:")
for mentions, log_probability in distribution.topk(4)[0]:
    print(f"  {2.718281828**log_probability:.3f}  {show(mentions)}")
print("\nthe most probable mentions:")
for index in distribution.marginals.flatten().topk(3).indices.tolist():
    i, w, k = (int(x) for x in torch.unravel_index(torch.tensor(index), (n, c, m)))
    print(f"  {distribution.marginals[0, i, w, k]:.3f}  {show([(i, i + w + 1, k)])}")
print("\nif “Seattle zoo” must be a facility:")
constrained = distribution.condition(require=[{(2, 4, 0)}])
print(f"  {show(constrained.argmax()[0])}")
best, expected = distribution.max_expected_f1()[0]
print(f"\nhighest expected F1, {expected:.3f}: {show(best)}")
print(f"entropy: {distribution.entropy.item():.3f} nats")
