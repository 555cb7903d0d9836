// Words of clusters: which order is chosen, bars, and marking them in texts.

const hasBothOrders = clusters.some((cluster) => (cluster.telling || []).length) && clusters.some((cluster) => (cluster.probable || []).length);
const wordOrder = { value: clusters.some((cluster) => (cluster.telling || []).length) ? "telling" : "probable", listeners: [] };

/** [word, value] pairs in the chosen order. */
const wordsOf = (cluster) => cluster[wordOrder.value] || [];

for (const input of document.querySelectorAll(".choice input")) {
  input.checked = input.value === wordOrder.value;
  input.closest(".choice").hidden = !hasBothOrders;
  input.addEventListener("change", () => {
    wordOrder.value = input.value;
    for (const other of document.querySelectorAll(".choice input")) other.checked = other.value === input.value;
    for (const listener of wordOrder.listeners) listener();
  });
}

/** How long each bar is, as a part of the longest. */
function barLengths(words) {
  const longest = Math.max(...words.map(([, value]) => value || 0), 0);
  return words.map(([, value]) => (longest > 0 ? Math.max(0, value || 0) / longest : 0));
}

/** A few words in one line, each with a small bar under it. */
function wordChips(words) {
  const lengths = barLengths(words);
  return element(
    "ul",
    { class: "chips" },
    ...words.map(([word], i) => {
      const chip = foreign(word, "li");
      chip.style.setProperty("--length", `${Math.round(100 * lengths[i])}%`);
      return chip;
    }),
  );
}

/** A list of words with long bars and their values. */
function wordBars(words) {
  const lengths = barLengths(words);
  const format = wordOrder.value === "probable" ? share : significant;
  return words.map(([word, value], i) => {
    const bar = element("span", { class: "bar", "aria-hidden": "true" });
    bar.style.setProperty("--length", `${(100 * lengths[i]).toFixed(1)}%`);
    return element("li", {}, foreign(word, "span", { class: "word" }), bar, element("span", { class: "value" }, format(value)));
  });
}

// A word is a run of letters and digits; where a script has no spaces, every character is one.
const SPACELESS = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}";
const WORD = new RegExp(`[${SPACELESS}]|(?:(?![${SPACELESS}])[\\p{L}\\p{N}\\p{M}])+`, "gu");
const folded = (word) => word.normalize("NFKC").toLowerCase();

/** The words to mark, by their first part: "gift card" is two parts, and both must follow each other. */
function phraseTable(phrases) {
  const table = new Map();
  for (const phrase of phrases || []) {
    const parts = (phrase.match(WORD) || []).map(folded);
    if (!parts.length) continue;
    if (!table.has(parts[0])) table.set(parts[0], []);
    table.get(parts[0]).push(parts);
  }
  for (const list of table.values()) list.sort((a, b) => b.length - a.length);
  return table;
}

/** The text as nodes, with the words of the table in <mark>. */
function marked(text, table) {
  const found = table.size ? [...text.matchAll(WORD)].map((match) => ({ start: match.index, end: match.index + match[0].length, word: folded(match[0]) })) : [];
  const nodes = [];
  let written = 0;
  for (let i = 0; i < found.length; i++) {
    const parts = (table.get(found[i].word) || []).find((phrase) => phrase.every((part, k) => i + k < found.length && found[i + k].word === part));
    if (!parts) continue;
    const end = found[i + parts.length - 1].end;
    nodes.push(text.slice(written, found[i].start), element("mark", {}, text.slice(found[i].start, end)));
    written = end;
    i += parts.length - 1;
  }
  nodes.push(text.slice(written));
  return nodes;
}
