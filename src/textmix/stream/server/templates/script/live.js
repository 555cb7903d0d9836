// All together: events change numbers and feeds at once, and have the clusters asked for once a second at most.

const N_LARGEST = 40;
const N_NEWEST = 6;
const N_EARLIER = 20; // events that are shown when the page opens
const BETWEEN_LOOKS = 1000; // milliseconds
const FRESH = 8000;
const MINUTE = 60000;

const largestList = new ClusterList(byId("clusters"));
const largestLengthener = new Lengthener(byId("clusters"), 10);
const newestList = new ClusterList(byId("newest"));
const bornAt = new Map(); // cluster -> when we heard of it
const arrivals = []; // [when, how many] of the last minute
let nDocuments = null;
let knownEvents = false;
let looking = false;
let lookAgain = false;

const isFresh = (id) => bornAt.has(id) && Date.now() - bornAt.get(id) < FRESH;

/** Asks for the clusters; not again before a second has passed, nor while nobody sees them. */
async function look() {
  if (looking || document.hidden) {
    lookAgain = true;
    return;
  }
  looking = true;
  lookAgain = false;
  try {
    const [page, newest] = await Promise.all([askJson(`clusters?limit=${N_LARGEST}&words=8`), askJson(`clusters?limit=${N_NEWEST}&words=8&order=newest`)]);
    showClusters(page, newest.clusters);
  } catch {
    // the stream of events ends too, and tells
  }
  setTimeout(() => {
    looking = false;
    if (lookAgain) look();
  }, BETWEEN_LOOKS);
}

function showClusters(page, newest) {
  const largest = page.clusters.length ? page.clusters[0].size : 1;
  largestList.show(page.clusters, largest, isFresh);
  largestLengthener.update();
  newestList.show(newest, largest, isFresh);
  for (const { id, name } of [...newest, ...page.clusters]) learnName(id, name);
  showLearnedNames();
  const rest = page.n_clusters - page.clusters.length;
  byId("clusters-rest").textContent = rest ? `And ${counted(rest, "more cluster", "more clusters")}.` : page.clusters.length ? "" : "None yet.";
  byId("newest-none").hidden = newest.length > 0;
  for (const [id, when] of bornAt) if (Date.now() - when > FRESH) bornAt.delete(id);
}

function showRate() {
  const now = Date.now();
  while (arrivals.length && now - arrivals[0][0] > MINUTE) arrivals.shift();
  byId("rate").textContent = whole(arrivals.reduce((sum, [, n]) => sum + n, 0));
}

function showState(state) {
  byId("n-documents").textContent = whole(state.n_documents);
  byId("n-clusters").textContent = whole(state.n_clusters);
  byId("n-outliers").textContent = whole(state.n_outliers);
  if (nDocuments !== null && state.n_documents > nDocuments) arrivals.push([Date.now(), state.n_documents - nDocuments]);
  nDocuments = state.n_documents;
  showRate();
  announce(nDocuments);
  look();
  if (!knownEvents) showEarlier(state.last_event);
}

/** The events before the page was opened. */
async function showEarlier(last) {
  knownEvents = true;
  try {
    const { events } = await askJson(`events?after=${Math.max(0, last - N_EARLIER)}&limit=${N_EARLIER}`);
    for (const event of events) showEvent(event, false);
  } catch {
    knownEvents = false;
  }
}

function handle(kind, data) {
  if (kind === "state") showState(data);
  else if (kind === "outlier") showOutlier(data);
  else if (kind === "outliers") keepOutliers(data.ids);
  else {
    if (kind === "born") {
      bornAt.set(data.cluster, Date.now());
      sentence.born += 1;
    }
    showEvent(data, true);
  }
}

document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
setInterval(showRate, 2000);
listen(look, handle);
