// A model's folder: what its files say is checked, and its weights are packed as the kernels read them.
// The counterpart of runtime/layers.py (shapes), kernels/encode.py (packing) and structures/calibration.py (folding).

import { check } from "./errors.js";
import { checkShapes, floats, readTensors } from "./safetensors.js";
import { parseToml } from "./toml.js";

/** The files that a model needs. */
export const FILES = ["config.toml", "vocabulary.json", "words.txt", "model.safetensors"];

const LANES = 4, FILTER_WIDTHS = [2, 3, 4];
const LOG2_E = 1.4426950408889634;
const GATES = [-LOG2_E, -LOG2_E, -2 * LOG2_E, -LOG2_E]; // in, forget, new, out
const TRAINED = "encoder.words.trained", FIXED = "encoder.words.fixed";
const TOKENIZERS = ["words", "split", "fine"]; // as in tokens.c
const FIELDS = `tokenizer lowercase layers input_values hidden span_hidden types tied interactions start_columns part_columns max_width
  inputs recurrent bias start forward backward start_bias part_bias words words_size words_count character_ids characters_known word_values trained_rows
  trained_bytes fixed_bytes trained fixed trained_scale fixed_scale tag_values tag filters characters filter_table_0 filter_table_1 filter_table_2
  filter_bias_0 filter_bias_1 filter_bias_2 units spelled spelling_table_0 spelling_table_1 spelling_weights_0 spelling_weights_1 scale mention_bias
  factors biases parts gap later gap_bias`.split(/\s+/); // as in struct Loaded of native/web.c

const MOST_PARTS = 3, MOST_ITEMS = 512; // as in native/web.c
const FLOATS = ["scale", "mention_bias", "gap_bias"];

const padded = (size) => Math.ceil(size / LANES) * LANES;

/** The model of these files (name → bytes), in the memory of the kernels; what decoding needs of it is returned. */
export function openModel(kernels, files) {
  const text = (name) => {
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(files[name]);
    } catch {
      throw check(false, `${name} is not UTF-8: it is damaged, or no file of a model`);
    }
  };
  for (const name of FILES) check(files[name], `${name} is missing; a model is a folder with ${FILES.join(", ")}`);
  const config = configOf(text("config.toml")), vocabulary = vocabularyOf(text("vocabulary.json"));
  text("words.txt");
  const words = files["words.txt"], count = words.reduce((sum, byte) => sum + (byte === 10), 0);
  check(!words.length || words.at(-1) === 10, "words.txt is cut off in its last line; copy the model again");
  check(vocabulary.trained <= count, `vocabulary.json names ${vocabulary.trained} trained words, but words.txt has ${count}`);
  const types = vocabulary.labels.length, tensors = readTensors(files["model.safetensors"]);
  const shapes = shapesOf(config, vocabulary, count);
  checkShapes(tensors, shapes.all, [TRAINED, FIXED]);
  const get = (name) => floats(tensors.get(name), name);
  const calibration = calibrationOf(config, vocabulary.labels);
  const put = (array) => kernels.put(array);
  const fields = {
    ...encoderFields(get, put, shapes, calibration, types),
    ...readerFields(get, put, shapes, tensors, vocabulary),
    tokenizer: TOKENIZERS.indexOf(config.model.tokenizer), lowercase: vocabulary.lowercase, types,
    tied: config.model.tied, interactions: config.segmental.interactions || config.model.kind === "discontinuous", max_width: config.model.max_width === "n" ? 0 : config.model.max_width,
    words: put(words), words_size: words.length, words_count: count,
    scale: 1 / calibration.temperature, mention_bias: config.model.mention_bias / calibration.temperature,
    ...gapsOf(config),
    factors: calibration.factors ? put(calibration.factors) : 0, biases: calibration.biases ? put(calibration.biases) : 0,
  };
  const at = kernels.calls.model_fields();
  FIELDS.forEach((name, index) => {
    const numbers = FLOATS.includes(name) ? kernels.floats(at, FIELDS.length) : kernels.ints(at, FIELDS.length);
    numbers[index] = Number(fields[name] ?? 0);
  });
  const double = kernels.enough(kernels.calls.open_model((Math.random() * 2 ** 32) >>> 0));
  check(!double, `words.txt has the word on line ${double} twice; copy or train the model again`);
  const margin = config.segmental.skip_margin;
  return {
    labels: vocabulary.labels,
    names: config.model.names,
    skip: Infinity,
    quickSkip: (margin || Infinity) + config.model.mention_bias,
    maxWidth: fields.max_width,
    parts: fields.parts,
  };
}

// -- what the files say ---------------------------------------------------------------------------------------------------

const DEFAULTS = {
  model: { kind: "segmental", discontinuous: null, max_width: "n", tied: true, temperature: 1, mention_bias: 0, names: {}, tokenizer: "words" },
  calibration: { temperatures: {}, biases: {}, discontinuous: 0 },
  discontinuous: { parts: 2, gap: 8, later_width: 4, bias: 0 },
  words: { dimension: 0, tag_dimension: 0 },
  characters: { encoder: "none" },
  transformer: { name: "" },
  encoder: { kind: "neural", layers: 0 },
  segmental: { interactions: true, skip_margin: 0 },
};

function configOf(text) {
  let found;
  try {
    found = parseToml(text);
  } catch (error) {
    check(false, `config.toml is no configuration: ${error.message}; copy the model again`);
  }
  const config = Object.fromEntries(Object.entries(DEFAULTS).map(([name, keys]) => [name, { ...keys, ...found[name] }]));
  const { model, encoder, transformer, characters } = config;
  for (const name of ["model", "calibration", "discontinuous", "segmental"])
    for (const key of Object.keys(config[name]))
      check(key in DEFAULTS[name], `config.toml has ${name}.${key.slice(0, 50)}, which this version does not know; take the package of the hyperspan that trained the model`);
  check(["segmental", "discontinuous"].includes(model.kind),
    `this is a model of kind ${JSON.stringify(model.kind)}, and only those of kind "segmental" and "discontinuous" run in a browser; use Python for it`);
  check(encoder.kind === "neural" && !transformer.name && encoder.layers > 0 && encoder.layers <= 100,
    `this model reads text with ${transformer.name ? `the transformer ${transformer.name}` : `an encoder of kind ${encoder.kind} with ${encoder.layers} layers`}, which does not run in a browser; use Python for it`);
  for (const [name, allowed] of [["max_width", (one) => one === "n" || (Number.isInteger(one) && one > 0 && one < 2 ** 31)], ["tokenizer", (one) => TOKENIZERS.includes(one)],
    ["temperature", (one) => one > 0], ["mention_bias", Number.isFinite], ["tied", (one) => typeof one === "boolean"]])
    check(allowed(model[name]), `config.toml has model.${name} = ${JSON.stringify(model[name])?.slice(0, 50)}, which hyperspan does not write; copy the model again`);
  check(["cnn", "lstm", "none"].includes(characters.encoder), `config.toml has characters.encoder = ${JSON.stringify(characters.encoder)?.slice(0, 50)}, which is unknown here`);
  return config;
}

function vocabularyOf(text) {
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    check(false, "vocabulary.json is not JSON: it is damaged; copy the model again");
  }
  const areStrings = (list) => Array.isArray(list) && list.every((one) => typeof one === "string");
  const isWhole = found && areStrings(found.labels) && areStrings(found.characters) && areStrings(found.tags) && Number.isInteger(found.trained) && found.trained >= 0;
  check(isWhole && found.labels.length && new Set(found.labels).size === found.labels.length,
    "vocabulary.json is not a vocabulary that hyperspan wrote: labels, characters, tags or trained are missing or wrong; copy the model again");
  return { ...found, lowercase: found.lowercase ?? true };
}

/** The limits of mentions with gaps, as fields; of one part where there are none. */
function gapsOf({ model, discontinuous: { parts, gap, later_width: later }, calibration }) {
  if (model.kind === "segmental") return { parts: 1 };
  const isLimit = (value, most) => Number.isInteger(value) && value > 0 && value <= most;
  check(model.tied && isLimit(parts, MOST_PARTS) && isLimit(gap, MOST_ITEMS) && isLimit(later, MOST_ITEMS / 2) && (model.max_width === "n" || model.max_width >= Math.max(gap + 2, later)),
    "config.toml has limits of mentions with gaps that do not fit each other, or are too large for a browser; copy the model again, or use Python");
  return { parts, gap, later, gap_bias: calibration.discontinuous };
}

/** What a configuration does to scores: divide them, by type or all alike, and move the beginnings of mentions. */
function calibrationOf({ calibration, model }, labels) {
  const { temperatures, biases } = calibration;
  if (!Object.keys(temperatures).length && !Object.keys(biases).length && !calibration.discontinuous) return { temperature: model.temperature };
  return {
    temperature: 1,
    factors: Float32Array.from(labels, (label) => 1 / (Object.hasOwn(temperatures, label) ? temperatures[label] : model.temperature)),
    biases: Float32Array.from(labels, (label) => biases[label] ?? 0),
  };
}

function shapesOf(config, vocabulary, words) {
  const all = {}, m = vocabulary.labels.length;
  const sized = (name) => ({ words: config.words.dimension, tags: config.words.tag_dimension, embedding: config.characters.dimension,
    spelled: config.characters.hidden, hidden: config.encoder.hidden, span: config.encoder.span_hidden })[name];
  const size = (name) => {
    const found = sized(name);
    check(Number.isInteger(found) && found >= 0 && found < 1e5, `config.toml does not say how large the layers of the model are; copy the model again`);
    return found;
  };
  const lstm = (prefix, inputs, hidden) => {
    for (const suffix of ["", "_reverse"])
      Object.assign(all, { [`${prefix}weight_ih_l0${suffix}`]: [4 * hidden, inputs], [`${prefix}weight_hh_l0${suffix}`]: [4 * hidden, hidden],
        [`${prefix}bias_ih_l0${suffix}`]: [4 * hidden], [`${prefix}bias_hh_l0${suffix}`]: [4 * hidden] });
  };
  const dimensions = { words: size("words"), tags: vocabulary.tags.length ? size("tags") : 0, characters: 0 };
  if (dimensions.words) Object.assign(all, { [TRAINED]: [vocabulary.trained + 1, dimensions.words], [FIXED]: [words - vocabulary.trained, dimensions.words] });
  if (dimensions.tags) all["encoder.tags.weight"] = [vocabulary.tags.length + 1, dimensions.tags];
  const reader = config.characters.encoder, rows = vocabulary.characters.length + 2;
  if (reader !== "none") all["encoder.characters.embedding.weight"] = [rows, size("embedding")];
  if (reader === "lstm") {
    lstm("encoder.characters.lstm.", size("embedding"), size("spelled"));
    dimensions.characters = 2 * size("spelled");
  }
  if (reader === "cnn") {
    FILTER_WIDTHS.forEach((width, index) => Object.assign(all, { [`encoder.characters.filters.${index}.weight`]: [size("spelled"), size("embedding"), width],
      [`encoder.characters.filters.${index}.bias`]: [size("spelled")] }));
    dimensions.characters = FILTER_WIDTHS.length * size("spelled");
  }
  const inputs = dimensions.words + dimensions.tags + dimensions.characters, hidden = size("hidden"), span = size("span"), layers = config.encoder.layers;
  for (let layer = 0; layer < layers; layer++) lstm(`encoder.layers.${layer}.`, layer ? 2 * hidden : inputs, hidden);
  const hasGaps = config.model.kind === "discontinuous";
  const outputs = m * (hasGaps ? 6 : 1 + 2 * config.segmental.interactions + 2 * !config.model.tied);
  Object.assign(all, { "encoder.spans.inputs": [2, 2 * hidden, 4 * span], "encoder.spans.recurrent": [2, span, 4 * span], "encoder.spans.bias": [2, 1, 4 * span],
    "scorer.start.weight": [2 * m, 2 * hidden], "scorer.start.bias": [2 * m], "scorer.parts.from_spans": [2, span, outputs], "scorer.parts.bias": [outputs] });
  const opening = hasGaps ? config.discontinuous.bias : 0; // of the fourth output of a span
  return { all, dimensions, inputs, hidden, span, layers, outputs, opening, reader, rows, spelled: config.characters.hidden, embedding: config.characters.dimension };
}

// -- weights as the kernels read them -------------------------------------------------------------------------------------

/** The rows of a depth whose parts of `sizes` rows are each padded to a multiple of the lanes; -1: a row of zeros. */
const paddedRows = (sizes) => sizes.flatMap((size, part) => {
  const first = sizes.slice(0, part).reduce((a, b) => a + b, 0);
  return Array.from({ length: padded(size) }, (_, row) => (row < size ? first + row : -1));
});
const plainRows = (size) => Array.from({ length: size }, (_, row) => row);

/** at(row, column) of 4 × units columns → (panels, depth, 4, lanes), scaled. */
function gatePanels(rows, units, at) {
  const panels = padded(units) / LANES, result = new Float32Array(panels * rows.length * 4 * LANES);
  let to = 0;
  for (let panel = 0; panel < panels; panel++)
    for (const row of rows)
      for (let gate = 0; gate < 4; gate++)
        for (let unit = panel * LANES; unit < (panel + 1) * LANES; unit++, to++)
          if (row >= 0 && unit < units) result[to] = at(row, gate * units + unit) * GATES[gate];
  return result;
}

/** at(row, column) → (panels, depth, lanes). */
function columnPanels(rows, columns, at) {
  const panels = padded(columns) / LANES, result = new Float32Array(panels * rows.length * LANES);
  let to = 0;
  for (let panel = 0; panel < panels; panel++)
    for (const row of rows)
      for (let column = panel * LANES; column < (panel + 1) * LANES; column++, to++)
        if (row >= 0 && column < columns) result[to] = at(row, column);
  return result;
}

/** One direction of a torch LSTM as functions of row and column. */
function torchLstm(get, prefix, suffix) {
  const [into, back, one, other] = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"].map((name) => get(`${prefix}${name}_l0${suffix}`));
  const gates = one.length, depth = into.length / gates, hidden = gates / 4;
  return { hidden, depth, inputs: (row, column) => into[column * depth + row], recurrent: (row, column) => back[column * hidden + row],
    bias: (_, column) => one[column] + other[column] };
}

function spanLstm(get, way, { span, hidden }) {
  const [into, back, bias] = ["inputs", "recurrent", "bias"].map((name) => get(`encoder.spans.${name}`));
  const gates = 4 * span, part = (array, depth) => (row, column) => array[(way * depth + row) * gates + column];
  return { hidden: span, inputs: part(into, 2 * hidden), recurrent: part(back, span), bias: part(bias, 1) };
}

function encoderFields(get, put, shapes, calibration, types) {
  const { layers, inputs, hidden, span, outputs, opening } = shapes, both = paddedRows([hidden, hidden]);
  const lstms = [];
  for (let layer = 0; layer < layers; layer++)
    for (const suffix of ["", "_reverse"]) lstms.push({ ...torchLstm(get, `encoder.layers.${layer}.`, suffix), rows: layer ? both : plainRows(inputs) });
  for (const way of [0, 1]) lstms.push({ ...spanLstm(get, way, shapes), rows: both });
  const pointers = (pack) => put(Int32Array.from(lstms, (lstm) => put(pack(lstm))));
  const start = get("scorer.start.weight"), parts = get("scorer.parts.from_spans");
  const factor = (column) => calibration.factors?.[column % types] ?? 1;
  const side = (way) => put(columnPanels(paddedRows([span]), outputs, (row, column) => parts[(way * span + row) * outputs + column] * factor(column)));
  return {
    layers, input_values: inputs, hidden: padded(hidden), span_hidden: padded(span), start_columns: padded(2 * types), part_columns: padded(outputs),
    inputs: pointers(({ rows, hidden: units, inputs: at }) => gatePanels(rows, units, at)),
    recurrent: pointers(({ hidden: units, recurrent }) => gatePanels(paddedRows([units]), units, recurrent)),
    bias: pointers(({ hidden: units, bias }) => gatePanels([0], units, bias)),
    start: put(columnPanels(both, 2 * types, (row, column) => start[column * 2 * hidden + row])), forward: side(0), backward: side(1),
    start_bias: put(get("scorer.start.bias")), part_bias: put(get("scorer.parts.bias").map((value, column) => (value + (Math.floor(column / types) === 3 ? opening : 0)) * factor(column))),
  };
}

/** Fields of what vectors of words are made of: words, an unknown tag, characters. */
function readerFields(get, put, { dimensions, reader, rows, spelled, embedding }, tensors, vocabulary) {
  const fields = { word_values: dimensions.words, trained_rows: vocabulary.trained + 1, tag_values: dimensions.tags };
  for (const [name, tensor] of [["trained", TRAINED], ["fixed", FIXED]]) {
    if (!dimensions.words) break;
    const isScaled = tensors.get(tensor).dtype === "I8";
    fields[isScaled ? `${name}_bytes` : name] = put(isScaled ? tensors.get(tensor).bytes : get(tensor));
    if (tensors.has(`${tensor}_scale`)) fields[`${name}_scale`] = put(get(`${tensor}_scale`));
  }
  if (dimensions.tags) fields.tag = put(get("encoder.tags.weight").slice(0, dimensions.tags));
  const codes = vocabulary.characters.map((one) => ([...one].length === 1 ? one.codePointAt(0) : -1));
  const ids = new Int32Array(codes.reduce((a, b) => Math.max(a, b), -1) + 1).fill(1); // 1: unknown
  codes.forEach((code, index) => code >= 0 && (ids[code] = index + 2));
  Object.assign(fields, { character_ids: put(ids), characters_known: ids.length, characters: rows });
  if (reader === "none") return fields;
  const embeddings = get("encoder.characters.embedding.weight");
  /** at(row, column) of the embedding times weights(inner, column). */
  const product = (weights) => (row, column) => {
    let sum = 0;
    for (let inner = 0; inner < embedding; inner++) sum += embeddings[row * embedding + inner] * weights(inner, column);
    return sum;
  };
  if (reader === "cnn") {
    fields.filters = spelled;
    FILTER_WIDTHS.forEach((width, index) => {
      const filters = get(`encoder.characters.filters.${index}.weight`), table = new Float32Array(width * rows * spelled);
      for (let place = 0, to = 0; place < width; place++) {
        const at = product((inner, filter) => filters[(filter * embedding + inner) * width + place]);
        for (let row = 0; row < rows; row++) for (let filter = 0; filter < spelled; filter++) table[to++] = at(row, filter);
      }
      fields[`filter_table_${index}`] = put(table);
      fields[`filter_bias_${index}`] = put(get(`encoder.characters.filters.${index}.bias`));
    });
    return fields;
  }
  fields.units = padded(spelled);
  fields.spelled = spelled;
  ["", "_reverse"].forEach((suffix, way) => {
    const { inputs, recurrent, bias } = torchLstm(get, "encoder.characters.lstm.", suffix), at = product(inputs);
    const table = gatePanels(plainRows(rows), spelled, (row, column) => at(row, column) + bias(0, column));
    fields[`spelling_table_${way}`] = put(panelsLast(table, rows, fields.units / LANES));
    fields[`spelling_weights_${way}`] = put(gatePanels(paddedRows([spelled]), spelled, recurrent));
  });
  return fields;
}

/** (panels, rows, 4, lanes) → (rows, panels, 4, lanes). */
function panelsLast(table, rows, panels) {
  const result = new Float32Array(table.length), size = 4 * LANES;
  for (let panel = 0; panel < panels; panel++)
    for (let row = 0; row < rows; row++) result.set(table.subarray((panel * rows + row) * size, (panel * rows + row + 1) * size), (row * panels + panel) * size);
  return result;
}
