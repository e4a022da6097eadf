// What a model's README says, as elements: the Markdown that READMEs of models use. Everything in it becomes text nodes, and
// a link is one only to https: or http:.

import { make } from "./dom.js";

const BLOCKS = [ // [how a block begins, how it is built from its lines]
  [/^```/, fence],
  [/^#{1,6} /, heading],
  [/^\s*\|.*\|\s*$/, table],
  [/^\s*(?:[-*+]|\d+[.)]) /, list],
  [/^>/, quote],
];
const INLINE = /(`+)(.+?)\1|!?\[([^\]]*)\]\(([^()\s]*)\)|\*\*(.+?)\*\*|__(.+?)__|\*([^*\s][^*]*)\*|(?<!\w)_([^_\s][^_]*)_(?!\w)|<(https?:[^<>\s]+)>/gs;

/** The elements of a text in Markdown; headings begin at `level`. */
export function markdown(text, level = 3) {
  const lines = text.replace(/\r\n?/g, "\n").replace(/<!--[^]*?-->/g, "").split("\n");
  const found = [];
  while (lines.length) {
    if (!lines[0].trim()) lines.shift();
    else found.push(blockAt(lines)(lines, level));
  }
  return found;
}

function blockAt([line]) {
  return BLOCKS.find(([begins]) => begins.test(line))?.[1] ?? paragraph;
}

/** The first lines, as long as they go on; there is always one. */
function taken(lines, goesOn) {
  const end = lines.findIndex((line, index) => index > 0 && !goesOn(line));
  return lines.splice(0, end < 0 ? lines.length : end);
}

function fence(lines) {
  lines.shift();
  const end = lines.findIndex((line) => /^```\s*$/.test(line));
  const code = lines.splice(0, end < 0 ? lines.length : end + 1);
  if (end >= 0) code.pop();
  return make("pre", { tabIndex: 0 }, make("code", {}, code.join("\n")));
}

function heading(lines, level) {
  const [, marks, text] = /^(#+) (.*?)[\s#]*$/.exec(lines.shift());
  return make(`h${Math.min(marks.length + level - 1, 6)}`, {}, ...inline(text));
}

function table(lines) {
  const rows = taken(lines, (line) => line.trim().startsWith("|"))
    .map((line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|")));
  const rule = rows.findIndex((cells) => cells.every((cell) => /^:?-+:?$/.test(cell)));
  const sides = (rows[rule] ?? []).map((cell) => (cell.endsWith(":") ? (cell.startsWith(":") ? "center" : "end") : "start"));
  const row = (tag) => (cells) => make("tr", {}, ...cells.map((cell, index) => {
    const element = make(tag, tag === "th" ? { scope: "col" } : {}, ...inline(cell));
    element.style.textAlign = sides[index] ?? "start";
    return element;
  }));
  const head = rows.slice(0, Math.max(rule, 0)), body = rows.slice(rule + 1);
  return make("div", { className: "wide" },
    make("table", {}, make("thead", {}, ...head.map(row("th"))), make("tbody", {}, ...body.map(row("td")))));
}

function list(lines, level) {
  const isItem = BLOCKS[3][0], depth = /^\s*/.exec(lines[0])[0].length;
  const isNumbered = /^\s*\d/.test(lines[0]);
  const own = taken(lines, (line) => line.trim() && (isItem.test(line) || /^\s/.test(line) || blockAt([line]) === paragraph));
  const items = [];
  for (const line of own) {
    if (isItem.test(line) && /^\s*/.exec(line)[0].length <= depth) items.push([line.replace(isItem, "")]);
    else items.at(-1).push(line.replace(/^\s{1,4}/, ""));
  }
  return make(isNumbered ? "ol" : "ul", {}, ...items.map((item) => {
    const nested = item.findIndex((line) => isItem.test(line));
    const text = nested < 0 ? item : item.slice(0, nested), inner = nested < 0 ? [] : markdown(item.slice(nested).join("\n"), level);
    return make("li", {}, ...inline(text.join("\n")), ...inner);
  }));
}

function quote(lines, level) {
  const text = taken(lines, (line) => line.startsWith(">")).map((line) => line.replace(/^> ?/, "")).join("\n");
  return make("blockquote", {}, ...markdown(text, level));
}

function paragraph(lines) {
  return make("p", {}, ...inline(taken(lines, (line) => line.trim() && blockAt([line]) === paragraph).join("\n")));
}

/** Code, links, emphasis; the rest is text. */
function inline(text) {
  const found = [];
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    found.push(text.slice(from, match.index), element(match));
    from = match.index + match[0].length;
  }
  return [...found, text.slice(from)];
}

function element([, , code, title, address, strong, strongToo, weak, weakToo, bare]) {
  if (code !== undefined) return make("code", {}, code);
  if (address !== undefined) return link(title, address);
  if (bare !== undefined) return link(bare, bare);
  const [tag, words] = strong ?? strongToo ? ["strong", strong ?? strongToo] : ["em", weak ?? weakToo];
  return make(tag, {}, ...inline(words));
}

/** Links within the model's folder lead nowhere from here. */
function link(title, address) {
  if (!/^https?:\/\//i.test(address)) return make("span", {}, ...inline(title));
  return make("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, ...inline(title === address ? "" : title), title === address ? address : null);
}
