// What arrives: texts that fit nowhere, events, and now and then a sentence for those who listen to the page.

const MOST_OUTLIERS = 8;
const MOST_EVENTS = 25;
const BETWEEN_SENTENCES = 10000; // milliseconds

/** The newest first, so many at most, each once. */
class Feed {
  constructor(name, most) {
    this.list = byId(name);
    this.none = byId(`${name}-none`);
    this.most = most;
  }

  add(key, item, isFresh) {
    const old = [...this.list.children].find((other) => other.dataset.key === String(key));
    if (old) return;
    item.dataset.key = key;
    if (isFresh) item.classList.add("fresh");
    this.list.prepend(item);
    while (this.list.children.length > this.most) this.list.lastElementChild.remove();
    this.none.hidden = true;
  }
}

const outliersFeed = new Feed("outliers", MOST_OUTLIERS);
const eventsFeed = new Feed("events", MOST_EVENTS);

function showOutlier(outlier) {
  outliersFeed.add(outlier.id, textItem(outlier, foreignText(outlier.id, "span"), isNumber(outlier.outlier_score) ? element("span", {}, `score ${decimal(outlier.outlier_score)}`) : null), true);
}

/** What happened, in words. */
function eventWords(event) {
  const name = foreignText(shownName({ id: event.cluster, name: event.name }), "b");
  if (event.kind === "born") return ["New: ", name];
  if (event.kind === "grows") return [name, ` grows fast: ${countedTexts(event.size)}`];
  if (event.kind === "merged") return [name, ` went into cluster ${event.into} with ${countedTexts(event.size)}`];
  if (event.kind === "died") return [name, " has no texts any more"];
  return [name, ` ${event.kind}`];
}

function showEvent(event, isFresh) {
  const item = element("li", {}, element("time", { datetime: event.time }, shortMoment(event.time)), element("p", {}, clusterDot(event.cluster), ...eventWords(event)));
  eventsFeed.add(event.number, item, isFresh);
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
