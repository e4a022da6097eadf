// The most probable sets of mentions of a sentence: a choice in each chain (a start and a type), independent of the others. The counterpart
// of structures/kbest.py, segmental_chains.py and gaps_kbest.py; here each list of the k best is made whole: [cost, [...]], cheapest first.

const byCost = (a, b) => a[0] - b[0];

/** The k cheapest sums of one item of each list, with what both hold. */
function merged(one, other, k) {
  const sums = [], most = Math.min(one.length < k ? Infinity : one[k - 1][0] + other[0][0], other.length < k ? Infinity : one[0][0] + other[k - 1][0]);
  for (let i = 0; i < one.length && i < k; i++)
    for (let j = 0; j < other.length && (i + 1) * (j + 1) <= k && one[i][0] + other[j][0] <= most; j++) sums.push([one[i][0] + other[j][0], i, j]);
  return sums.sort(byCost).slice(0, k).map(([cost, i, j]) => [cost, [...one[i][1], ...other[j][1]]]);
}

/** Nothing, or an item that weighs so much more, with one of the choices in it. */
function optional(weight, held) {
  if (weight === -Infinity) return [[0, []]];
  const best = Math.max(weight, 0);
  return [[best, []], ...held.map(([cost, found]) => [best - weight + cost, found])].sort(byCost);
}

/** The k best choices of one or more items [weight, the choices in it], by their cost above the best; as `best_some` of gaps.py. */
function someOf(items, k) {
  let lists = [[0, []]];
  const isNeeded = (weight) => weight > -Infinity && (lists.length <= k || lists[0][0] - weight < lists[k][0]);
  for (const [weight, held] of items.sort((a, b) => b[0] - a[0])) if (isNeeded(weight)) lists = merged(lists, optional(weight, held()), k + 1);
  lists = lists.filter(([, found]) => found.length);
  return lists.slice(0, k).map(([cost, found]) => [cost - lists[0][0], found]);
}

/** The choices of mentions that begin with words (start, end): {type, places: of all parts}. Menus are as in gaps.py. */
function firstParts({ close, more, last, gapItems, partItems, gaps, later, m, c }, k) {
  const kept = new Map(), once = (name, make) => kept.get(name) ?? kept.set(name, make()).get(name);
  const behind = (places, lists) => lists.map(([cost, found]) => [cost, found.map((rest) => [...places, ...rest])]), itself = [[0, [[]]]];
  const after = (at, type, stage) => once(`${at} ${type} ${stage}`, () =>
    someOf(Array.from({ length: gaps }, (_, gap) => [gapItems[stage][(at * gaps + gap) * m + type], () => part(at + gap + 1, type, stage)]), k));
  const part = (at, type, stage) => {
    const items = stage ? partItems[stage - 1] : last, wide = stage ? 2 * later : later, end = (item) => at + (item % later) + 1;
    return someOf(Array.from({ length: wide }, (_, item) => [items[(at * wide + item) * m + type],
      () => behind([at, end(item)], item < later ? itself : after(end(item), type, stage - 1))]), k);
  };
  return (start, end, type) => {
    const at = (start * c + end - start - 1) * m + type;
    const choices = someOf([[close[at], () => itself], [more ? more[at] : -Infinity, () => after(end, type, gapItems.length - 1)]], k);
    return behind([start, end], choices).map(([cost, found]) => [cost, found.map((places) => ({ type, places }))]);
  };
}

const logAdd = (a, b) => (a === -Infinity && b === -Infinity ? a : Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b))));

/** A chain: its score without mentions, that of each width as the longest with the best choices below it, and their log-odds. */
function chainAt({ absent, present, extend, best, sums, branch, c, m }, start, type, room) {
  const row = start * m + type, score = [], odds = [];
  let heaviest = present[row], sum = present[row], total = absent[row];
  for (let width = 0; width < room; width++) {
    const at = (start * c + width) * m + type, step = (start * (c - 1) + width) * m + type;
    score.push(heaviest + best[at]);
    total = logAdd(total, sum + sums[at]);
    if (width + 1 === room) break;
    const without = extend[step], having = branch ? branch[step] : without + best[at];
    odds.push(having === -Infinity ? -Infinity : having - without);
    heaviest += Math.max(without, having);
    sum += logAdd(without, branch ? branch[step] : without + sums[at]);
  }
  return { start, type, score, odds, total, absent: absent[row], lead: score.reduce((a, b) => Math.max(a, b), -Infinity) - absent[row] };
}

/** The k best choices of a chain, where cost is minus the score relative to all choices. */
function choicesOf({ start, type, score, odds, total, absent }, held, k) {
  const kept = [], at = (width) => (kept[width] ??= held(start, start + width + 1, type));
  const ways = [[total - absent, -1], ...score.map((one, width) => [total - one, width])].filter(([cost]) => cost < Infinity);
  let all = [];
  for (const [cost, longest] of ways.sort(byCost)) {
    if (all.length === k && cost >= all[k - 1][0]) break;
    const shorter = odds.slice(0, Math.max(longest, 0)).map((one, width) => optional(one, at(width)));
    shorter.sort((a, b) => (a[1]?.[0] ?? Infinity) - (b[1]?.[0] ?? Infinity));
    const lists = longest < 0 ? [[cost, []]] : at(longest).map(([more, found]) => [cost + more, found]);
    all.push(...shorter.reduce((found, one, rank) => merged(found, one.slice(0, rank + 1 < k ? k : 1), k), lists));
    all = all.sort(byCost).slice(0, k);
  }
  return all;
}

/** The k most probable sets of a sentence of so many words: {probability, mentions}, best first. */
export function bestSets(scores, length, types, k) {
  const chains = [], held = firstParts(scores, k);
  for (let start = 0; start < length; start++)
    for (const type of types) chains.push(chainAt(scores, start, type, Math.min(scores.c, length - start)));
  // Beside the chains of the best set, only the k - 1 whose best mention costs least can matter.
  const empty = chains.filter(({ lead }) => !(lead > 0)).sort((a, b) => b.lead - a.lead);
  const open = [...chains.filter(({ lead }) => lead > 0), ...empty.slice(0, k - 1)];
  const rest = empty.slice(k - 1).reduce((sum, { total, absent }) => sum + total - absent, 0);
  const sets = open.reduce((found, chain) => merged(found, choicesOf(chain, held, k), k), [[rest, []]]);
  return sets.filter(([cost]) => cost < Infinity).map(([cost, mentions]) => ({ probability: Math.min(Math.exp(-cost), 1), mentions }));
}
