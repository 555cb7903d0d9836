// What arrives: texts that fit nowhere, events, and now and then a sentence for those who listen to the page.

const MOST_OUTLIERS = 20; // as many as the server remembers
const MOST_EVENTS = 25;
const BETWEEN_SENTENCES = 10000; // milliseconds

/** The newest first, so many at most. */
class Feed {
  constructor(name, most, shown = 0) {
    this.list = byId(name);
    this.none = byId(`${name}-none`);
    this.most = most;
    this.lengthener = shown ? new Lengthener(this.list, shown) : null;
  }

  add(key, item, isFresh) {
    item.dataset.key = key;
    if (isFresh) item.classList.add("fresh");
    this.list.prepend(item);
    while (this.list.children.length > this.most) this.list.lastElementChild.remove();
    this.changed();
  }

  find(key) {
    return [...this.list.children].find((item) => item.dataset.key === String(key));
  }

  /** Drops all others. */
  keep(keys) {
    const kept = new Set(keys.map(String));
    for (const item of [...this.list.children]) if (!kept.has(item.dataset.key)) item.remove();
    this.changed();
  }

  changed() {
    this.none.hidden = this.list.children.length > 0;
    if (this.lengthener) this.lengthener.update();
  }
}

const outliersFeed = new Feed("outliers", MOST_OUTLIERS, 5);
const eventsFeed = new Feed("events", MOST_EVENTS);

let knownOutliers = false; // whether those from before the page was opened have come

/** A text that fits nowhere; with an id that is listed already it takes the place of that text. */
function showOutlier(outlier) {
  const old = outliersFeed.find(outlier.id);
  if (old && old.dataset.shown === JSON.stringify(outlier)) return; // told again after a new connection
  if (old) old.remove();
  const item = textItem(outlier, foreignText(outlier.id, "span"), isNumber(outlier.outlier_score) ? element("span", {}, `score ${decimal(outlier.outlier_score)}`) : null);
  item.dataset.shown = JSON.stringify(outlier);
  outliersFeed.add(outlier.id, item, knownOutliers);
}

/** Drops those that are not there any more; comes after the ones that are told first. */
function keepOutliers(ids) {
  outliersFeed.keep(ids);
  knownOutliers = true;
}

const MOST_NAMES = 1000;
const clusterNames = new Map(); // cluster -> its name, of those we heard of last

function learnName(id, name) {
  if (!name) return;
  clusterNames.delete(id);
  clusterNames.set(id, name);
  if (clusterNames.size > MOST_NAMES) clusterNames.delete(clusterNames.keys().next().value);
}

const knownName = (id) => visible(shownName({ id, name: clusterNames.get(id) }));

/** Names in the feed that were not known when their event came. */
function showLearnedNames() {
  for (const node of byId("events").querySelectorAll("[data-into]")) node.textContent = knownName(Number(node.dataset.into));
}

/** What happened, in words. */
function eventWords(event) {
  const name = foreignText(shownName({ id: event.cluster, name: event.name }), "b");
  if (event.kind === "born") return ["New: ", name];
  if (event.kind === "grows") return [name, ` grows fast: ${countedTexts(event.size)}`];
  if (event.kind === "merged") return [name, " went into ", foreign(knownName(event.into), "b", { "data-into": event.into }), ` with ${countedTexts(event.size)}`];
  if (event.kind === "died") return [name, " has no texts any more"];
  return [name, ` ${event.kind}`];
}

function showEvent(event, isFresh) {
  if (event.kind === "born" || event.kind === "grows") learnName(event.cluster, event.name);
  const item = element("li", {}, element("time", { datetime: event.time }, shortMoment(event.time)), element("p", {}, clusterDot(event.cluster), ...eventWords(event)));
  if (!eventsFeed.find(event.number)) eventsFeed.add(event.number, item, isFresh);
}

const sentence = { texts: null, born: 0, last: 0 };

/** Says what has come, not too often. */
function announce(nDocuments) {
  if (sentence.texts === null) sentence.texts = nDocuments;
  const more = nDocuments - sentence.texts;
  if (Date.now() - sentence.last < BETWEEN_SENTENCES || (more === 0 && sentence.born === 0)) return;
  const parts = [more > 0 ? `${countedTexts(more)} more` : more < 0 ? `${countedTexts(-more)} fewer` : "", sentence.born ? counted(sentence.born, "new cluster", "new clusters") : ""];
  byId("announcement").textContent = parts.filter((part) => part).join(", ");
  Object.assign(sentence, { texts: nDocuments, born: 0, last: Date.now() });
}
