// Small tools for all views: the data, elements, numbers, links. Data become text nodes and never markup.

const report = JSON.parse(document.getElementById("report-data").textContent);
const clusters = report.clusters || [];
const texts = report.texts || [];
const charts = report.charts || {};
const clusterByIndex = new Map(clusters.map((cluster) => [cluster.index, cluster]));

const byId = (id) => document.getElementById(id);

/** A new element; children are elements or strings, null is left out. */
function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Words of somebody else: their direction is their own and does not change that of what stands around them. */
const foreign = (text, tag = "bdi", attributes = {}) => element(tag, { dir: "auto", ...attributes }, String(text));

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const formatter = (options) => {
  const format = new Intl.NumberFormat("en", options);
  return (value) => (isNumber(value) ? format.format(value).replace("-", "−") : "–");
};
const whole = formatter({ maximumFractionDigits: 0 });
const decimal = formatter({ minimumFractionDigits: 2, maximumFractionDigits: 2 });
const significant = formatter({ minimumSignificantDigits: 3, maximumSignificantDigits: 3 });
const percent = formatter({ style: "percent", maximumFractionDigits: 0 });
const tenths = formatter({ style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 });
const tiny = formatter({ style: "percent", maximumSignificantDigits: 1 });
const share = (value) => (value >= 0.0995 ? percent : value >= 0.001 || value === 0 ? tenths : tiny)(value);
const counted = (n, one, many) => `${whole(n)} ${n === 1 ? one : many}`;
const countedTexts = (n) => counted(n, "text", "texts");

/** Calls `action` once the calls have stopped for a moment. */
function debounced(action, milliseconds) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, milliseconds);
  };
}

/** Calls `action` at most once a frame. */
function onceAFrame(action) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      action();
    });
  };
}

/** Shows the first items of a long list, and a button for the next ones. */
class LongList {
  constructor(parent, button, step, makeItem) {
    Object.assign(this, { parent, button, step, makeItem, items: [], shown: 0 });
    button.addEventListener("click", () => {
      const first = this.shown;
      this.add();
      const target = parent.children[first];
      (target.querySelector("a, button") || target).focus();
    });
  }

  show(items) {
    this.items = items;
    this.shown = 0;
    this.parent.replaceChildren();
    this.add();
  }

  add() {
    const next = this.items.slice(this.shown, this.shown + this.step);
    this.parent.append(...next.map(this.makeItem));
    this.shown += next.length;
    const left = this.items.length - this.shown;
    this.button.hidden = left === 0;
    this.button.textContent = `Show ${whole(Math.min(left, this.step))} more of ${whole(this.items.length)}`;
  }
}

function dot(cluster) {
  const node = element("span", { class: "dot", "aria-hidden": "true" });
  node.style.background = cluster.colour;
  return node;
}

/** A link to a cluster by its index; only its name if it has no page of its own. */
function clusterLink(index, name) {
  const cluster = clusterByIndex.get(index);
  if (!cluster) return element("span", {}, element("span", { class: "dot none", "aria-hidden": "true" }), foreign(name === undefined ? `cluster ${index}` : name));
  return element("a", { href: `#cluster-${index}`, class: "name" }, dot(cluster), foreign(name === undefined ? cluster.name : name));
}
