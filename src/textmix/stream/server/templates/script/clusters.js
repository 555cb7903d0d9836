// Lists of clusters that grow: a row keeps its place in the document, and its focus, while numbers change.

const PALETTE = ["#4c78c8", "#e07b39", "#3b9e77", "#c4568f", "#8a6fc4", "#a8862b", "#3a9fb5", "#cc5555", "#7a9a3a", "#8c7a6b"];
const N_EXAMPLES = 5;
const GROWTH_SHOWN = 4000; // milliseconds
const calm = matchMedia("(prefers-reduced-motion: reduce)");

const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
/** A text with control characters that can be seen. */
const visible = (text) => String(text).replace(UNSEEN, (character) => (character < " " ? String.fromCharCode(0x2400 + character.charCodeAt(0)) : "\ufffd"));
const foreignText = (text, tag, attributes) => foreign(visible(text), tag, attributes);
const shownName = (cluster) => cluster.name || `cluster ${cluster.id}`;

function clusterDot(id) {
  const node = element("span", { class: "dot", "aria-hidden": "true" });
  node.style.background = PALETTE[id % PALETTE.length];
  return node;
}

/** A text as an item of a list. */
function textItem(text, ...about) {
  return element("li", { class: "document" }, element("p", { class: "about" }, ...about), foreignText(text.cut ? `${text.text}…` : text.text, "p", { class: "text" }));
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
/** The time of day, or the day if that is another. */
function shortMoment(iso) {
  const moment = new Date(iso);
  return moment.toDateString() === new Date().toDateString() ? clock.format(moment) : iso.slice(0, 10);
}

/** The button under a list of which only so many are shown at first; the style says on which screens. */
class Lengthener {
  constructor(list, shown) {
    this.list = list;
    this.shown = shown;
    this.button = document.querySelector(`[aria-controls="${list.id}"].lengthen`);
    this.button.addEventListener("click", () => this.toggle());
  }

  toggle() {
    const isShort = this.list.classList.toggle("short");
    this.button.setAttribute("aria-expanded", String(!isShort));
    this.update();
    if (isShort) this.button.scrollIntoView({ block: "nearest" });
  }

  update() {
    const more = this.list.children.length - this.shown;
    this.button.hidden = more <= 0;
    this.button.textContent = this.list.classList.contains("short") ? `Show ${whole(more)} more` : "Show fewer";
  }
}

class ClusterRow {
  constructor(list, cluster) {
    this.id = cluster.id;
    this.size = null;
    this.nAsked = 0; // how often for its texts
    const examples = `${list.id}-examples-${cluster.id}`;
    this.label = element("span", { class: "label" });
    this.growth = element("span", { class: "more-texts", hidden: "" });
    this.figure = element("span");
    this.bar = element("span", { class: "bar", "aria-hidden": "true" });
    this.words = element("span", { class: "words" });
    this.examples = element("ol", { class: "examples documents", id: examples, hidden: "" });
    this.opener = element("button", { type: "button", class: "opener", "aria-expanded": "false", "aria-controls": examples }, this.label, element("span", { class: "figure" }, this.growth, this.figure));
    this.node = element("li", { "data-cluster": cluster.id }, this.opener, this.bar, this.words, this.examples);
    this.opener.addEventListener("click", () => this.toggle());
  }

  show(cluster, largest) {
    this.label.replaceChildren(clusterDot(cluster.id), foreignText(shownName(cluster)));
    const named = new Set(cluster.name.split(/,\s*/));
    const words = cluster.words.map(({ word }) => word).filter((word) => !named.has(word));
    this.words.replaceChildren(...words.flatMap((word, i) => (i ? [", ", foreignText(word)] : [foreignText(word)])));
    this.bar.style.setProperty("--length", `${Math.max(1, (100 * cluster.size) / largest).toFixed(1)}%`);
    if (!this.examples.hidden) this.load(); // also when the size is as before: a text may have been replaced
    if (cluster.size === this.size) return;
    this.figure.textContent = countedTexts(cluster.size);
    if (this.size !== null && cluster.size > this.size) this.showGrowth(cluster.size - this.size);
    this.size = cluster.size;
  }

  showGrowth(more) {
    this.growth.textContent = `+${whole(more)}`;
    this.growth.hidden = false;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.growth.hidden = true; }, GROWTH_SHOWN);
  }

  toggle() {
    this.examples.hidden = !this.examples.hidden;
    this.opener.setAttribute("aria-expanded", String(!this.examples.hidden));
    if (!this.examples.hidden) this.load();
  }

  async load() {
    const asked = ++this.nAsked;
    try {
      const { examples } = await askJson(`clusters/${this.id}?examples=${N_EXAMPLES}&words=0`);
      if (asked !== this.nAsked) return; // a later answer is the truer one
      this.examples.replaceChildren(...examples.map((text) => textItem(text, foreignText(text.id, "span"), element("span", {}, shortMoment(text.time)))));
    } catch {
      if (asked !== this.nAsked) return;
      this.examples.replaceChildren(element("li", { class: "hint" }, "Its texts cannot be had just now."));
    }
  }
}

class ClusterList {
  constructor(node) {
    this.node = node;
    this.rows = new Map(); // cluster -> its row
    this.isFirst = true;
  }

  /** Shows these clusters in this order; those that were born a moment ago flash up. */
  show(clusters, largest, isFresh) {
    const before = calm.matches ? null : new Map([...this.rows.values()].map((row) => [row, row.node.offsetTop]));
    const kept = new Set(clusters.map(({ id }) => id));
    for (const [id, row] of this.rows) {
      if (kept.has(id)) continue;
      row.node.remove();
      this.rows.delete(id);
    }
    const focused = document.activeElement;
    clusters.forEach((cluster, place) => this.put(cluster, place, largest, isFresh));
    if (focused && focused !== document.activeElement && this.node.contains(focused)) focused.focus({ preventScroll: true });
    if (before) this.slide(before);
    this.isFirst = false;
  }

  put(cluster, place, largest, isFresh) {
    let row = this.rows.get(cluster.id);
    if (!row) {
      row = new ClusterRow(this.node, cluster);
      this.rows.set(cluster.id, row);
      if (!this.isFirst && isFresh(cluster.id)) row.node.classList.add("fresh");
    } else if (row.node.classList.contains("fresh") && !isFresh(cluster.id)) {
      row.node.classList.remove("fresh");
    }
    row.show(cluster, largest);
    if (this.node.children[place] !== row.node) this.node.insertBefore(row.node, this.node.children[place] || null);
  }

  /** Rows that changed places go there. */
  slide(before) {
    for (const [row, top] of before) {
      const distance = top - row.node.offsetTop;
      if (row.node.isConnected && distance) row.node.animate([{ transform: `translateY(${distance}px)` }, { transform: "none" }], { duration: 400, easing: "ease-out" });
    }
  }
}
