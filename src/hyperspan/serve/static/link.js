// A view as the fragment of an address, which browsers never send to a server; and back, from other versions too.

import { keyOf, withParts } from "./picture/mentions.js";

const VERSION = "1";
const MOST = 30_000; // a longer address is cut or refused by programs that people paste links into

/** The fragment of a view {text, model, tab, mode, least, recall, byLabel, hidden, names, pronouns, constraints, ranks}, and whether the text is in it. */
export async function fragmentOf(view) {
  const fields = new URLSearchParams({ v: VERSION, model: view.model });
  if (view.tab !== "mentions") fields.set("tab", view.tab);
  if (view.mode === "threshold") fields.set("at", view.least);
  if (view.mode === "promise") fields.set("recall", view.recall);
  if (view.names) fields.set("names", 1);
  if (!view.pronouns) fields.set("pronouns", 0);
  for (const [label, least] of Object.entries(view.byLabel)) fields.append("at-type", `${least}:${label}`);
  for (const label of view.hidden) fields.append("hide", label);
  for (const constraint of view.constraints) fields.append(constraint.kind, keyOf(constraint));
  const chosen = [...view.ranks].filter(([, rank]) => rank).map((pair) => pair.join(":"));
  if (chosen.length) fields.set("sets", chosen.join());
  const written = [`t=${encodeURIComponent(view.text.toWellFormed())}`];
  if (written[0].length > 300 && globalThis.CompressionStream) written.push(`z=${await packed(view.text)}`);
  const shortest = written.reduce((a, b) => (b.length < a.length ? b : a));
  const complete = shortest.length + fields.toString().length <= MOST;
  return { fragment: `${fields}&${complete ? shortest : `left=${view.text.length}`}`, complete };
}

/** What a fragment says, as a view, and a sentence for each thing in it that cannot be understood. */
export async function viewOf(fragment) {
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  const problems = [];
  const constraints = (kind) => fields.getAll(kind).flatMap((written) => {
    const [, places, label] = /^(\d+:\d+(?:,\d+:\d+)*):(.+)$/s.exec(written) ?? [];
    const parts = places?.split(",").map((part) => part.split(":").map(Number)) ?? [];
    const isRight = label !== undefined && parts.flat().every((place, index, all) => !index || all[index - 1] < place);
    return isRight ? [withParts({ kind, label }, parts)] : [];
  });
  const probability = (written) => (Number(written) >= 0.01 && Number(written) <= 0.99 ? Number(written) : null);
  const recall = [0.8, 0.9, 0.95, 0.99].find((share) => String(share) === fields.get("recall"));
  const byLabel = fields.getAll("at-type").flatMap((written) => {
    const [, least, label] = /^([\d.]+):(.+)$/s.exec(written) ?? [];
    return probability(least) === null ? [] : [[label, probability(least)]];
  });
  const ranks = (fields.get("sets") ?? "").split(",").map((pair) => pair.split(":").map(Number))
    .filter(([sentence, rank]) => sentence >= 0 && rank > 0);
  let text = fields.get("t");
  if (fields.has("z")) text = await unpacked(fields.get("z")).catch(() => null);
  if (fields.has("z") && text === null) problems.push("The text in the link is damaged and was left out.");
  if (fields.has("left")) {
    const length = (Number(fields.get("left")) || 0).toLocaleString("en");
    problems.push(`The text of this view, ${length} characters, was too long for a link. Paste it here.`);
  }
  if (fields.get("v") !== VERSION)
    problems.push("This link was made by another version of the page; what could be understood is shown.");
  return {
    problems,
    view: {
      text: text?.toWellFormed() ?? null,
      model: fields.get("model"),
      tab: fields.get("tab") === "hypergraph" ? "hypergraph" : "mentions",
      mode: recall ? "promise" : probability(fields.get("at")) === null ? "set" : "threshold",
      least: probability(fields.get("at")) ?? 0.5,
      recall: recall ?? 0.9,
      byLabel: Object.fromEntries(byLabel),
      hidden: fields.getAll("hide"),
      names: fields.get("names") === "1",
      pronouns: fields.get("pronouns") !== "0",
      constraints: [...constraints("require"), ...constraints("forbid")],
      ranks: new Map(ranks),
    },
  };
}

async function packed(text) {
  const stream = new Blob([text.toWellFormed()]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let characters = "";
  for (let i = 0; i < bytes.length; i += 0x8000) characters += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(characters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

const LARGEST = 10_000_000; // a few characters can unpack to gigabytes

async function unpacked(encoded) {
  const bytes = Uint8Array.from(atob(encoded.replaceAll("-", "+").replaceAll("_", "/")), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  let text = "";
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    text += next.value;
    if (text.length > LARGEST) throw new RangeError("too long");
  }
  return text;
}
