// Mentions {start, end, label, fragments}: `fragments` are the parts of a discontinuous one, [[start, end], …]; others have none.

/** Its spans in order, one or more. */
export const partsOf = ({ start, end, fragments }) => fragments ?? [[start, end]];

/** What tells it from all others, as links and --require write it: 0:4,15:19:ORGAN. */
export const keyOf = (mention) => `${partsOf(mention).map((part) => part.join(":")).join()}:${mention.label}`;

/** Its place and label alone, as the server takes them. */
export const plain = ({ start, end, label, fragments }) => ({ start, end, label, ...(fragments && { fragments }) });

/** The same with each place moved by `place`, a function. */
export function mapped(mention, place) {
  const fragments = mention.fragments?.map((part) => part.map(place));
  return { ...mention, start: place(mention.start), end: place(mention.end), ...(fragments && { fragments }) };
}

/** The mention of these parts, in order and apart, with what else `mention` has. */
export function withParts(mention, parts) {
  const { fragments: _, ...rest } = mention;
  return { ...rest, start: parts[0][0], end: parts.at(-1)[1], ...(parts.length > 1 && { fragments: parts }) };
}

/** The places of its parts as a table shows them. */
export const placesText = (mention) => partsOf(mention).map(([start, end]) => `${start}–${end}`).join(", ");

/** The spans in order, those that overlap or have only white space of `text` between them as one. */
export function joinedParts(spans, text = "") {
  const found = [];
  for (const [start, end] of [...spans].sort((a, b) => a[0] - b[0])) {
    const last = found.at(-1);
    if (last && (start <= last[1] || (text && !text.slice(last[1], start).trim()))) last[1] = Math.max(last[1], end);
    else found.push([start, end]);
  }
  return found;
}

/** The order of mentions with the same span: by label, then contiguous ones first, then by their parts, as in types.py. */
export function byLabel(a, b) {
  if (a.label !== b.label) return a.label < b.label ? -1 : 1;
  const [one, other] = [a.fragments ?? [], b.fragments ?? []].map((parts) => parts.flat());
  const at = one.findIndex((place, index) => place !== other[index]);
  return at < 0 ? one.length - other.length : one[at] - (other[at] ?? -Infinity);
}
