// The best sets of mentions of a whole text, from the best sets of its sentences. Sentences are independent, so the
// probability of a choice of one set for each is the product, and the k best choices need no more than the k best of each.

import { keyOf } from "./picture/mentions.js";

/** The k best choices, best first: {ranks: Map of sentence -> rank where not 0, log: log-probability}. Exact. */
export function bestChoices(lists, k) {
  const base = lists.reduce((sum, sets) => sum + Math.log(sets[0].probability), 0);
  // Sentences by what their second best set costs: then each step below costs something, and leads to a choice once.
  const order = lists
    .map((sets, sentence) => ({ sentence, costs: sets.map((set) => Math.log(sets[0].probability) - Math.log(set.probability)) }))
    .filter(({ costs }) => costs.length > 1 && Number.isFinite(costs[1]))
    .sort((a, b) => a.costs[1] - b.costs[1]);
  const found = [{ ranks: new Map(), log: base }];
  const heap = new Heap();
  const push = (ranks, last, cost) => heap.push({ ranks, last, cost });
  if (order.length) push(new Map([[0, 1]]), 0, order[0].costs[1]);
  while (found.length < k && heap.size) {
    const { ranks, last, cost } = heap.pop();
    found.push({ ranks: new Map([...ranks].map(([place, rank]) => [order[place].sentence, rank])), log: base - cost });
    const { costs } = order[last], rank = ranks.get(last);
    if (Number.isFinite(costs[rank + 1])) push(new Map(ranks).set(last, rank + 1), last, cost - costs[rank] + costs[rank + 1]);
    if (last + 1 < order.length) {
      const first = order[last + 1].costs[1];
      push(new Map(ranks).set(last + 1, 1), last + 1, cost + first);
      if (rank === 1) {
        const moved = new Map(ranks).set(last + 1, 1);
        moved.delete(last);
        push(moved, last + 1, cost - costs[1] + first);
      }
    }
  }
  return found;
}

class Heap {
  #items = [];
  get size() {
    return this.#items.length;
  }
  push(item) {
    const items = this.#items;
    let place = items.push(item) - 1;
    for (let up; place && items[(up = (place - 1) >> 1)].cost > item.cost; place = up) items[place] = items[up];
    items[place] = item;
  }
  pop() {
    const items = this.#items, top = items[0], last = items.pop();
    for (let place = 0; items.length; ) {
      let down = 2 * place + 1;
      if (down + 1 < items.length && items[down + 1].cost < items[down].cost) down++;
      if (down >= items.length || items[down].cost >= last.cost) {
        items[place] = last;
        break;
      }
      items[place] = items[down];
      place = down;
    }
    return top;
  }
}

/**
 * How a set differs from the best one, by place: {from, to}, where both are there if a mention of the best has another type
 * or other words, else one of them.
 */
export function changes(best, other) {
  const [had, has] = [new Set(best.map(keyOf)), new Set(other.map(keyOf))];
  const added = other.filter((m) => !had.has(keyOf(m)));
  const found = best.filter((m) => !has.has(keyOf(m))).map((from) => {
    const likeness = (to) => (keyOf({ ...to, label: from.label }) === keyOf(from) ? 2 : to.label === from.label && meet(from, to) ? 1 : 0);
    const to = added.reduce((nearest, one) => (likeness(one) > (nearest ? likeness(nearest) : 0) ? one : nearest), null);
    if (to) added.splice(added.indexOf(to), 1);
    return { from, to };
  });
  const place = ({ from, to }) => (from ?? to).start;
  return [...found, ...added.map((to) => ({ from: null, to }))].sort((a, b) => place(a) - place(b));
}

/** Whether two spans share an end: then the one is the other, longer or shorter. */
const meet = (a, b) => a.start === b.start || a.end === b.end;

/** The log-probability of choosing these ranks. */
export function logOf(lists, ranks) {
  return lists.reduce((sum, sets, sentence) => sum + Math.log(sets[ranks.get(sentence) ?? 0].probability), 0);
}

/** How probable something is compared to the best, of which it is this share: 94 %, or 1/400. */
export function shareText(share) {
  if (share >= 0.0095) return `${(100 * share).toFixed(0)} %`;
  return share > 1e-9 ? `1/${Number((1 / share).toPrecision(1)).toLocaleString("en")}` : "≈ 0";
}

/** A probability given as its logarithm, in digits: 0.213, or 3.1 × 10⁻⁹ where that would show nothing. */
export function probabilityText(log) {
  if (log > Math.log(0.00095)) return Math.exp(log).toFixed(3);
  let exponent = Math.floor(log / Math.LN10);
  let digits = Math.exp(log - exponent * Math.LN10).toFixed(1);
  if (digits === "10.0") [digits, exponent] = ["1.0", exponent + 1];
  return `${digits} × 10${String(exponent).replace("-", "⁻").replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit])}`;
}
