// Clusters against labels: a table whose cells are the stronger in colour, the larger their part of the cluster.

if (report.labels && (report.labels.rows || []).length) {
  const labels = report.labels;
  const tableOfLabels = byId("labels-table");
  const list = new LongList(tableOfLabels.tBodies[0], byId("labels-more"), 100, labelRow);

  function labelRow(row) {
    const sum = row.counts.reduce((total, count) => total + count, 0);
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, clusterLink(row.cluster, row.name)),
      ...row.counts.map((count) => {
        const cell = element("td", {}, count ? whole(count) : "");
        if (count) cell.style.setProperty("--part", `${Math.round((100 * count) / sum)}%`);
        return cell;
      }),
    );
  }

  tableOfLabels.tHead.append(element("tr", {}, element("th", { scope: "col" }, "Cluster"), ...labels.names.map((name) => element("th", { scope: "col" }, foreign(name, "span")))));
  list.show(labels.rows);
}
