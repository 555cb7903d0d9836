// One cluster: its numbers, words, texts, and what sets it apart from the nearest ones.

let shownCluster = null;

function showCluster(index) {
  const cluster = clusterByIndex.get(index) || null;
  shownCluster = cluster;
  byId("cluster-body").hidden = !cluster;
  byId("heading-cluster").replaceChildren(...(cluster ? [dot(cluster), foreign(cluster.name)] : ["There is no such cluster"]));
  byId("cluster-facts").replaceChildren(...(cluster ? facts(cluster) : ["It may be of a single text, or of another report."]));
  const position = clusters.indexOf(cluster);
  step(byId("cluster-previous"), "Previous", cluster && clusters[position - 1]);
  step(byId("cluster-next"), "Next", cluster && clusters[position + 1]);
  if (!cluster) return;
  showWords();
  const words = phraseTable(cluster.highlight);
  for (const kind of ["typical", "unusual"]) {
    fill(kind, cluster[kind].map((i) => documentItem(texts[i], { table: words, found: isFound(texts[i]) ? byId("filter").value : "" })));
  }
  fill("nearest", (cluster.nearest || []).map(nearItem));
}

/** Fills a card; one that has nothing is left out. */
function fill(name, items) {
  const list = byId(`cluster-${name}`);
  list.replaceChildren(...items);
  list.closest(".card").hidden = !items.length;
}

function showWords() {
  if (shownCluster) fill("words", wordBars(wordsOf(shownCluster)));
}
wordOrder.listeners.push(showWords);

function facts(cluster) {
  const list = [
    [countedTexts(cluster.size), `${share(cluster.share)} of all`],
    isNumber(cluster.stability) ? [percent(cluster.stability), "agreed between runs"] : null,
    isNumber(cluster.coherence) ? [decimal(cluster.coherence), "coherence"] : null,
    cluster.n_outliers > 0 ? [whole(cluster.n_outliers), cluster.n_outliers === 1 ? "fits nowhere" : "fit nowhere"] : null,
    cluster.known ? ["known", "before the run"] : null,
  ];
  return list.filter((fact) => fact).map(([value, meaning]) => element("span", {}, element("b", {}, value), ` ${meaning}`));
}

function nearItem(near) {
  const nearness = isNumber(near.distance) ? Math.min(1, Math.max(0, 1 - near.distance)) : null;
  const bar = element("span", { class: "bar", "aria-hidden": "true" });
  bar.style.setProperty("--length", `${(100 * (nearness || 0)).toFixed(1)}%`);
  const words = (title, list) => ((list || []).length ? [element("dt", {}, title), element("dd", {}, ...joined(list))] : []);
  return element(
    "li",
    {},
    element("p", { class: "line" }, clusterLink(near.index), nearness === null ? null : element("span", { class: "figure" }, `${percent(nearness)} near`)),
    nearness === null ? null : bar,
    element("dl", { class: "apart" }, ...words("More here", near.here), ...words("More there", near.there)),
  );
}

function step(link, title, cluster) {
  link.hidden = !cluster;
  if (!cluster) return;
  link.href = `#cluster-${cluster.index}`;
  link.replaceChildren(element("span", { class: "direction" }, title), foreign(cluster.name));
}
