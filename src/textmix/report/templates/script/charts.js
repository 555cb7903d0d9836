// Plotly's charts: drawn when their view is seen, in the colours of the page, and laid out anew when these or the width change.

const drawn = new Map(); // element -> its width and the colour scheme that it is laid out for
const darkScheme = matchMedia("(prefers-color-scheme: dark)");
const narrow = matchMedia("(max-width: 640px)");

/** Runs Plotly's script, which lies in the page as plain text so that nothing waits for it. */
function loadPlotly() {
  if (window.Plotly) return;
  const source = byId("plotly-source");
  document.head.append(element("script", {}, source.textContent));
  source.remove();
}

const conditions = (node) => `${node.clientWidth} ${darkScheme.matches}`;

/** Draws the charts of a view that are not drawn yet, or for other conditions; first the view is painted. */
function drawCharts(view) {
  const waiting = [...view.querySelectorAll("[data-chart]")].filter((node) => drawn.get(node) !== conditions(node));
  if (!waiting.length) return;
  requestAnimationFrame(() =>
    setTimeout(() => {
      if (view.hidden) return;
      loadPlotly();
      for (const node of waiting) draw(node, node.dataset.chart);
    }),
  );
}

function draw(node, name) {
  const isNew = !drawn.has(node);
  const { data, layout } = charts[name];
  if (layout.grid) node.style.height = `${12 * layout.grid.rows}rem`;
  drawn.set(node, conditions(node));
  if (!isNew) {
    window.Plotly.relayout(node, styled(layout, name, node));
    return;
  }
  const config = { displaylogo: false, responsive: true, displayModeBar: false, showTips: false, doubleClick: "reset" };
  const traces = name === "map" ? data.map(withLabels) : data;
  window.Plotly.newPlot(node, traces, styled(layout, name, node), config).then(() => {
    if (name === "map") node.on("plotly_click", ({ points: [point] }) => goTo(`#cluster-${point.customdata}`));
    node.dataset.drawn = "";
  });
}

/** Plotly reads a little markup: a name must not be taken for it. In the figures given (charts.py) none is. */
const literal = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

/** The map's points, with the words of their clusters for whoever points at them. */
function withLabels(trace) {
  const hovertext = trace.customdata.map((index) => pointLabel(clusterByIndex.get(index)));
  return { ...trace, hovertext, hovertemplate: "%{hovertext}<extra></extra>" };
}

function pointLabel(cluster) {
  const words = cluster.telling.slice(0, 5).map(([word]) => word);
  return `<b>${literal(cut(cluster.name, 60))}</b><br>${countedTexts(cluster.size)}<br>${literal(cut(words.join(", "), 70))}`;
}

const cut = (text, length) => ([...text].length > length ? `${[...text].slice(0, length - 1).join("")}…` : text);

const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function styled(layout, name, node) {
  const line = variable("--line");
  const axis = { gridcolor: line, linecolor: line, zerolinecolor: line, tickcolor: line };
  const font = { family: variable("--font"), size: 13, color: variable("--ink") };
  const copy = {
    margin: { l: 56, r: 16, t: 16, b: 48 },
    ...layout,
    autosize: true,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font,
    hoverlabel: { bgcolor: variable("--card"), bordercolor: line, font, align: "left" },
    colorway: [variable("--accent")], // the colours of clusters are given
    dragmode: narrow.matches ? false : layout.dragmode,
    legend: { ...layout.legend, orientation: "h", yref: "container", y: 0, yanchor: "bottom", x: 0, bgcolor: "rgba(0,0,0,0)" },
  };
  for (const key of Object.keys(layout).filter((key) => /^[xy]axis/.test(key))) copy[key] = { automargin: true, ...layout[key], ...axis };
  if (name === "map") copy.annotations = mapLabels(node);
  return copy;
}

/** Names of the largest clusters, or their first words, beside their points where they lie over nothing; five of them at least. */
function mapLabels(node) {
  const { clientWidth: width, clientHeight: height } = node;
  const font = { size: narrow.matches ? 11 : 12, color: variable("--ink") };
  const measure = document.createElement("canvas").getContext("2d");
  measure.font = `${font.size}px ${variable("--font")}`;
  const bubbles = mapBubbles(node);
  const placed = [];
  for (const [rank, bubble] of bubbles.slice(0, narrow.matches ? 8 : 20).entries()) {
    const { name } = clusterByIndex.get(bubble.index);
    const places = [name, name.split(", ")[0]].flatMap((part) => {
      const text = cut(part, narrow.matches ? 22 : 28);
      return placesBeside(bubble, measure.measureText(text).width + 4, font.size + 3).map((box) => ({ ...box, text }));
    });
    const possible = places.filter((box) => box.left >= 0 && box.right <= width && box.top >= 0 && box.bottom <= height && !placed.some((other) => overlap(box, other)));
    const free = possible.find((box) => !bubbles.some((other) => overlap(box, other)));
    if (free || (rank < 5 && possible.length)) placed.push(free || possible.at(-1));
  }
  return placed.map(({ left, right, top, bottom, text }) => ({
    x: (left + right) / 2 / width,
    y: 1 - (top + bottom) / 2 / height,
    xref: "paper",
    yref: "paper",
    xanchor: "center",
    yanchor: "middle",
    text: literal(text),
    showarrow: false,
    borderpad: 0,
    font,
  }));
}

const overlap = (one, other) => one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;

/** The map's points as boxes in pixels, the largest first; their radius is Plotly's. */
function mapBubbles(node) {
  const { data: [{ x, y, customdata, marker }], layout } = charts.map;
  const pixel = (value, [low, high], length) => (length * (value - low)) / (high - low);
  return customdata.map((index, i) => {
    const across = pixel(x[i], layout.xaxis.range, node.clientWidth);
    const down = node.clientHeight - pixel(y[i], layout.yaxis.range, node.clientHeight);
    const radius = Math.max(Math.sqrt(marker.size[i] / 2 / marker.sizeref), marker.sizemin);
    return { index, across, down, radius, left: across - radius, right: across + radius, top: down - radius, bottom: down + radius };
  });
}

/** Where a name may stand: under its point, above it, to its right or left, at the corners, or else on it. */
function placesBeside({ across, down, left, right, top, bottom }, width, height) {
  const corners = [
    [across - width / 2, bottom], [across - width / 2, top - height], [right, down - height / 2], [left - width, down - height / 2],
    [left, bottom], [right - width, bottom], [left, top - height], [right - width, top - height],
    [across - width / 2, down - height / 2],
  ];
  return corners.map(([x, y]) => ({ left: x, right: x + width, top: y, bottom: y + height }));
}

for (const query of [darkScheme, narrow]) query.addEventListener("change", () => drawCharts(current.section));
addEventListener("resize", debounced(() => drawCharts(current.section), 150));
