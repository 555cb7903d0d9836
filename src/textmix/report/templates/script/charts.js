// Plotly's charts: drawn when their view is first seen, in the colours of the page, and again when those change.

const drawn = new Map(); // element -> name of its chart
const darkScheme = matchMedia("(prefers-color-scheme: dark)");
const narrow = matchMedia("(max-width: 640px)");

/** Runs Plotly's script, which lies in the page as plain text so that nothing waits for it. */
function loadPlotly() {
  if (window.Plotly) return;
  const source = byId("plotly-source");
  document.head.append(element("script", {}, source.textContent));
  source.remove();
}

/** Draws the charts of a view that are not drawn yet; first the view is painted. */
function drawCharts(view) {
  const waiting = [...view.querySelectorAll("[data-chart]")].filter((node) => !drawn.has(node));
  if (!waiting.length) return;
  requestAnimationFrame(() =>
    setTimeout(() => {
      if (view.hidden) return;
      loadPlotly();
      for (const node of waiting) if (!drawn.has(node)) draw(node, node.dataset.chart);
    }),
  );
}

function draw(node, name) {
  drawn.set(node, name);
  const figure = charts[name];
  const { rows = 1 } = (figure.layout && figure.layout.grid) || {};
  if (rows > 1) node.style.height = `${12 * rows}rem`;
  const config = { displaylogo: false, responsive: true, displayModeBar: false, showTips: false, doubleClick: "reset" };
  const traces = figure.data.map((trace) => prepared(trace, name));
  window.Plotly.newPlot(node, traces, styled(figure.layout || {}, name), config).then(() => {
    if (name === "map") node.on("plotly_click", (event) => openCluster(event.points[0]));
    node.dataset.drawn = "";
  });
}

function openCluster(point) {
  const index = pointCluster(point.customdata);
  if (clusterByIndex.has(index)) goTo(`#cluster-${index}`);
}

/** Plotly reads a little markup: a name must not be taken for it. In the figures given (charts.py) none is. */
const literal = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

function prepared(trace, name) {
  const copy = { ...trace };
  // WebGL's regl makes its functions from strings, which the page's policy forbids.
  if (copy.type === "scattergl") copy.type = "scatter";
  if (name !== "map" || !Array.isArray(trace.customdata)) return copy;
  copy.hovertext = trace.customdata.map((customdata) => pointLabel(clusterByIndex.get(pointCluster(customdata))));
  copy.hovertemplate = "%{hovertext}<extra></extra>";
  copy.marker = { opacity: 0.9, line: { width: 0 }, ...trace.marker };
  return copy;
}

function pointLabel(cluster) {
  if (!cluster) return "";
  const words = (cluster.telling || cluster.probable || []).slice(0, 5).map(([word]) => word);
  return `<b>${literal(cut(cluster.name, 60))}</b><br>${countedTexts(cluster.size)}<br>${literal(cut(words.join(", "), 70))}`;
}

const cut = (text, length) => ([...text].length > length ? `${[...text].slice(0, length - 1).join("")}…` : text);

const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function styled(layout, name) {
  const axis = { gridcolor: variable("--line"), linecolor: variable("--line"), zerolinecolor: variable("--line"), tickcolor: variable("--line") };
  const copy = {
    ...layout,
    autosize: true,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: variable("--font"), size: 13, color: variable("--ink") },
    hoverlabel: { bgcolor: variable("--card"), bordercolor: variable("--line"), font: { family: variable("--font"), size: 13, color: variable("--ink") }, align: "left" },
    colorway: layout.colorway || [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((group) => variable(`--group-${group}`)),
    dragmode: narrow.matches ? false : layout.dragmode,
  };
  if (layout.grid) copy.grid = { pattern: "independent", ...layout.grid };
  delete copy.width;
  delete copy.height;
  if (!layout.margin) copy.margin = name === "map" ? { l: 8, r: 8, t: 8, b: 8 } : { l: 56, r: 16, t: 16, b: 48 };
  if (name === "map" && !layout.annotations) copy.annotations = mapLabels();
  const axes = Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key));
  for (const key of new Set(["xaxis", "yaxis", ...axes])) {
    copy[key] = { automargin: true, ...layout[key], ...axis };
    if (name === "map") Object.assign(copy[key], { visible: false });
  }
  if (name !== "map") copy.legend = { ...layout.legend, orientation: "h", yref: "container", y: 0, yanchor: "bottom", x: 0, bgcolor: "rgba(0,0,0,0)" };
  return copy;
}

/** Names of the largest clusters, each under its point, as far as they do not lie over each other. */
function mapLabels() {
  const points = charts.map.data.flatMap(mapPoints);
  if (narrow.matches || !points.length) return [];
  const extent = (values) => values.reduce((a, b) => Math.max(a, b)) - values.reduce((a, b) => Math.min(a, b)) || 1;
  const [width, height] = [extent(points.map((point) => point.x)), extent(points.map((point) => point.y))];
  const left = points.map((point) => point.x).reduce((a, b) => Math.min(a, b));
  const placed = [];
  for (const cluster of clusters.slice(0, 20)) {
    const point = points.find(({ index }) => index === cluster.index);
    const covers = (other) => Math.abs(other.x - point.x) / width < 0.27 && Math.abs(other.y - point.y) / height < 0.06;
    if (point && !placed.some(covers)) placed.push({ ...point, name: cluster.name });
  }
  return placed.map(({ x, y, radius, name }) => {
    const across = (x - left) / width;
    const side = across < 0.12 ? "left" : across > 0.88 ? "right" : "center"; // of the name, so that it stays in the map
    const xshift = side === "left" ? -radius : side === "right" ? radius : 0;
    const font = { size: 12, color: variable("--ink") };
    return { x, y, text: literal(cut(name, 28)), xanchor: side, xshift, yanchor: "top", yshift: -radius - 1, showarrow: false, font };
  });
}

/** A trace's points with their radius in pixels; none if it has names of its own. */
function mapPoints({ x, y, customdata, mode, marker }) {
  if (![x, y, customdata].every(Array.isArray) || /text/.test(mode)) return [];
  const { size = 6, sizeref = 1, sizemode } = marker || {};
  return customdata.map((data, i) => {
    const half = (Array.isArray(size) ? size[i] : size) / 2 / (Array.isArray(size) ? sizeref : 1);
    return { index: pointCluster(data), x: x[i], y: y[i], radius: sizemode === "area" && Array.isArray(size) ? Math.sqrt(half) : half };
  });
}

function restyleCharts() {
  for (const [node, name] of drawn) window.Plotly.relayout(node, styled(charts[name].layout || {}, name));
}

darkScheme.addEventListener("change", restyleCharts);
narrow.addEventListener("change", restyleCharts);
