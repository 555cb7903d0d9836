// The overview: the ten largest clusters beside the map.

const largestSize = clusters.reduce((most, cluster) => Math.max(most, cluster.size), 1);

for (const cluster of clusters.slice(0, 10)) {
  byId("largest").append(
    element(
      "li",
      {},
      element("span", { class: "line" }, clusterLink(cluster.index), element("span", { class: "figure" }, whole(cluster.size))),
      shareBar(cluster),
      element("span", { class: "words" }, ...joined(furtherWords(cluster, 6))),
    ),
  );
}

/** Words of the cluster that its name does not have already. */
function furtherWords(cluster, n) {
  const named = new Set(cluster.name.split(/,\s*/));
  return wordsOf(cluster).map(([word]) => word).filter((word) => !named.has(word)).slice(0, n);
}

/** A cluster's share of the texts as a thin bar, on the scale of the largest. */
function shareBar(cluster) {
  const bar = element("span", { class: "bar", "aria-hidden": "true" });
  bar.style.setProperty("--length", `${Math.max(1, (100 * cluster.size) / largestSize).toFixed(1)}%`);
  return bar;
}

/** Words with commas between them. */
function joined(words) {
  return words.flatMap((word, i) => (i ? [", ", foreign(word)] : [foreign(word)]));
}
