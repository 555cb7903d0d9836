// The table of all clusters: filter, order, words.

const table = byId("clusters-table");
const clustersList = new LongList(table.tBodies[0], byId("clusters-more"), 200, clusterRow);
const order = { column: "size", falling: true };
let terms = [];

const columns = new Set(["coherence", "stability"].filter((column) => clusters.some((cluster) => isNumber(cluster[column]))));
for (const column of ["coherence", "stability"]) {
  if (columns.has(column)) continue;
  table.tHead.querySelector(`[data-column=${column}]`).remove();
  document.querySelector(`[data-explains=${column}]`).remove();
}

/** Lower case, without accents: what is searched in, and for. */
const searched = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

let index = null; // cluster -> its name and words, and the texts that its page shows; made at the first search
function searchIndex() {
  index ||= new Map(clusters.map((cluster) => {
    const words = [...cluster.telling, ...cluster.probable].map(([word]) => word);
    const shown = [...new Set([...cluster.typical, ...cluster.unusual])];
    return [cluster.index, { about: searched([cluster.name, ...words].join("\n")), texts: shown.map((i) => searched(texts[i].text)) }];
  }));
  return index;
}

const hasAll = (text) => terms.every((term) => text.includes(term));

/** Whether a text is one that was searched for. */
const isFound = (text) => terms.length > 0 && hasAll(searched(text.text));

/** Where the cluster has all terms, in words; empty if nowhere. */
function whereFound(cluster) {
  const entry = searchIndex().get(cluster.index);
  const n = entry.texts.filter(hasAll).length;
  return [hasAll(entry.about) ? "in its name or words" : "", n ? `in ${countedTexts(n)}` : ""].filter((place) => place).join(", ");
}

function compare(a, b) {
  const [first, second] = [a[order.column], b[order.column]];
  if (order.column === "name") return collator.compare(first, second) * (order.falling ? -1 : 1) || a.index - b.index;
  if (isNumber(first) !== isNumber(second)) return isNumber(first) ? -1 : 1; // those without a value come last
  return (first - second) * (order.falling ? -1 : 1) || b.size - a.size || a.index - b.index;
}
const collator = new Intl.Collator(undefined, { numeric: true });

const foundIn = new Map(); // cluster index -> where it has what is searched for

function showClusters() {
  terms = searched(byId("filter").value).split(/\s+/).filter((term) => term);
  foundIn.clear();
  if (terms.length) for (const cluster of clusters) foundIn.set(cluster.index, whereFound(cluster));
  const found = clusters.filter((cluster) => foundIn.get(cluster.index) !== "");
  clustersList.show([...found].sort(compare));
  byId("clusters-count").textContent = terms.length
    ? `${whole(found.length)} of ${counted(clusters.length, "cluster", "clusters")}`
    : counted(clusters.length, "cluster", "clusters");
  byId("clusters-nothing").hidden = found.length > 0;
  for (const header of table.tHead.querySelectorAll("th[data-column]")) {
    if (header.dataset.column === order.column) header.setAttribute("aria-sort", order.falling ? "descending" : "ascending");
    else header.removeAttribute("aria-sort");
  }
}

function clusterRow(cluster) {
  const words = wordsOf(cluster).slice(0, 7);
  const where = foundIn.get(cluster.index);
  const cell = (content, attributes = {}) => element("td", attributes, content);
  return element(
    "tr",
    {},
    element(
      "th",
      { scope: "row" },
      clusterLink(cluster.index),
      cluster.known ? element("span", { class: "tag" }, "known before") : null,
      where ? element("span", { class: "hits" }, where) : null,
      element("span", { class: "words" }, ...joined(furtherWords(cluster, 5))),
    ),
    cell(whole(cluster.size), { class: "figure" }),
    element("td", { class: "wide share" }, element("span", { class: "value" }, share(cluster.share)), shareBar(cluster)),
    columns.has("coherence") ? cell(decimal(cluster.coherence), { class: "figure wide" }) : null,
    columns.has("stability") ? cell(percent(cluster.stability), { class: "figure" }) : null,
    cell(wordChips(words), { class: "wide" }),
  );
}

for (const button of table.tHead.querySelectorAll("button")) {
  button.addEventListener("click", () => {
    const { column } = button.parentElement.dataset;
    Object.assign(order, { column, falling: order.column === column ? !order.falling : column !== "name" });
    showClusters();
  });
}
byId("filter").addEventListener("input", debounced(showClusters, 120));
wordOrder.listeners.push(showClusters);
showClusters();
