// The most probable sets of mentions of a sentence: a choice in each chain (a start and a type), independent of the others.
// The counterpart of structures/kbest.py and structures/segmental_chains.py; here each list of the k best is made whole.

/** The k cheapest sums of one item of each list, both in order: [cost, [...]] with what both hold. */
function merged(one, other, k) {
  const sums = [];
  for (let i = 0; i < one.length && i < k; i++)
    for (let j = 0; j < other.length && (i + 1) * (j + 1) <= k; j++) sums.push([one[i][0] + other[j][0], i, j]);
  sums.sort((a, b) => a[0] - b[0]);
  return sums.slice(0, k).map(([cost, i, j]) => [cost, [...one[i][1], ...other[j][1]]]);
}

const logAdd = (a, b) => (a === -Infinity && b === -Infinity ? a : Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b))));

/** A chain: its score without mentions, that of each width as the longest with the best choices below it, and their log-odds. */
function chainAt({ absent, present, extend, close, branch, c, m }, start, type, room) {
  const row = start * m + type, score = [], odds = [];
  let best = present[row], sum = present[row], total = absent[row];
  for (let width = 0; width < room; width++) {
    const closed = close[start * c * m + width * m + type];
    score.push(best + closed);
    total = logAdd(total, sum + closed);
    if (width + 1 === room) break;
    const step = start * (c - 1) * m + width * m + type;
    const without = extend[step], having = branch ? branch[step] : without + closed;
    odds.push(having === -Infinity ? -Infinity : having - without);
    best += Math.max(without, having);
    sum += logAdd(without, having);
  }
  return { start, type, score, odds, total, absent: absent[row], lead: score.reduce((a, b) => Math.max(a, b), -Infinity) - absent[row] };
}

/** The k best choices of a chain: [cost, mentions], where cost is minus the score relative to all choices. */
function choicesOf({ start, type, score, odds, total, absent }, k) {
  const mention = (width) => [start, start + width + 1, type];
  const ways = [[total - absent, -1], ...score.map((one, width) => [total - one, width])].filter(([cost]) => cost < Infinity);
  ways.sort((a, b) => a[0] - b[0]);
  const all = ways.slice(0, k).flatMap(([cost, longest]) => {
    let lists = [[cost, longest < 0 ? [] : [mention(longest)]]];
    const shorter = odds.slice(0, Math.max(longest, 0)).map((one, width) => [one, width]);
    shorter.sort((a, b) => Math.abs(a[0]) - Math.abs(b[0]));
    shorter.forEach(([one, width], rank) => {
      const inside = one > 0 ? [mention(width)] : [], other = one > 0 ? [] : [mention(width)];
      lists = rank + 1 < k && Number.isFinite(one) ? merged(lists, [[0, inside], [Math.abs(one), other]], k) : lists.map(([sum, some]) => [sum, [...some, ...inside]]);
    });
    return lists;
  });
  return all.sort((a, b) => a[0] - b[0]).slice(0, k);
}

/** The k most probable sets of a sentence of so many words: {probability, mentions: [[start, end, type]]}, best first. */
export function bestSets(scores, length, types, k) {
  const chains = [];
  for (let start = 0; start < length; start++)
    for (const type of types) chains.push(chainAt(scores, start, type, Math.min(scores.c, length - start)));
  // Beside the chains of the best set, only the k - 1 whose best mention costs least can matter.
  const empty = chains.filter(({ lead }) => !(lead > 0)).sort((a, b) => b.lead - a.lead);
  const open = [...chains.filter(({ lead }) => lead > 0), ...empty.slice(0, k - 1)];
  const rest = empty.slice(k - 1).reduce((sum, { total, absent }) => sum + total - absent, 0);
  const sets = open.reduce((found, chain) => merged(found, choicesOf(chain, k), k), [[rest, []]]);
  return sets.filter(([cost]) => cost < Infinity).map(([cost, mentions]) => ({ probability: Math.min(Math.exp(-cost), 1), mentions }));
}
