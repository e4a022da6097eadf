// config.toml as hyperspan writes it: tables, and keys with strings, numbers, booleans, lists and inline tables.

const TOKEN = /[ \t]*(?:#[^\n]*)?(?:([A-Za-z0-9_-]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?)?|[+-][0-9.eEinfa+-]+)|("(?:[^"\\\n]|\\.)*"|'[^'\n]*')|(\r?\n|$)|(.))/gsy;

/** The tables of a file as objects. Raises a SyntaxError with the line for what it does not know. */
export function parseToml(text) {
  const tokens = [];
  TOKEN.lastIndex = 0;
  for (let line = 1, found; TOKEN.lastIndex < text.length && (found = TOKEN.exec(text)); line += found[3] ? 1 : 0)
    tokens.push({ line, word: found[1], string: found[2], sign: found[3] !== undefined ? "\n" : found[4] });
  const result = Object.create(null);
  let at = 0, table = result;

  const fail = () => {
    throw new SyntaxError(`line ${(tokens[at] ?? tokens.at(-1))?.line ?? 1} is not TOML that hyperspan writes`);
  };
  const accept = (sign) => tokens[at]?.sign === sign && ++at > 0;
  const expect = (sign) => accept(sign) || (sign === "\n" && at === tokens.length) || fail();
  const key = () => {
    const { word, string } = tokens[at++] ?? {};
    return word ?? (string === undefined ? fail() : unquoted(string));
  };
  const unquoted = (string) => {
    try {
      return string[0] === "'" ? string.slice(1, -1) : JSON.parse(string.replace(/\\U([0-9a-fA-F]{8})/g, (_, code) => String.fromCodePoint(parseInt(code, 16))));
    } catch {
      return fail();
    }
  };
  const value = (depth = 0) => {
    if (depth > 20) fail();
    if (accept("[")) {
      const list = [];
      for (;;) {
        while (accept("\n"));
        if (accept("]")) return list;
        list.push(value(depth + 1));
        while (accept("\n"));
        if (!accept(",")) return expect("]"), list;
      }
    }
    if (accept("{")) {
      const inner = Object.create(null);
      if (accept("}")) return inner;
      do pair(inner, depth + 1);
      while (accept(","));
      return expect("}"), inner;
    }
    const { word, string } = tokens[at++] ?? {};
    if (string !== undefined) return unquoted(string);
    if (word === "true" || word === "false") return word === "true";
    const number = /inf$/.test(word) ? Number(word.replace("inf", "Infinity")) : Number(word);
    return word === undefined || Number.isNaN(number) ? fail() : number;
  };
  const pair = (into, depth) => {
    const name = key();
    expect("=");
    into[name] = value(depth);
  };

  while (at < tokens.length) {
    if (accept("\n")) continue;
    if (accept("[")) {
      table = result;
      do table = table[key()] ??= Object.create(null);
      while (accept("."));
      expect("]");
    } else pair(table, 0);
    expect("\n");
  }
  return result;
}
