// Which view is shown: the address says so (#clusters, #cluster-12), so that a view can be mailed and "back" works.

const main = byId("main");
const left = new Map(); // address of a view -> where it was scrolled to and what had the focus when it was left
let current = null; // { address, section }
let byLink = false; // whether the next change comes from a link rather than from "back" or "forward"

function goTo(address) {
  byLink = address !== location.hash;
  location.hash = address;
}

/** The section that an address names, and the cluster to show in it. */
function resolve(address) {
  const match = /^#cluster-(\d+)$/.exec(address);
  if (match) return { section: byId("view-cluster"), cluster: Number(match[1]) };
  const section = address.length > 1 ? byId(`view-${address.slice(1)}`) : null;
  return { section: section && section.id !== "view-cluster" ? section : byId("view-overview"), cluster: null };
}

function showView() {
  const address = location.hash;
  const { section, cluster } = resolve(address);
  const first = current === null;
  if (cluster !== null) showCluster(cluster);
  for (const view of document.querySelectorAll(".view")) view.hidden = view !== section;
  markCurrentLink(section);
  const heading = section.querySelector("h2");
  document.title = `${cluster === null ? section.dataset.title : heading.textContent} · ${report.title}`;
  const before = byLink ? null : left.get(address);
  byLink = false;
  current = { address, section };
  if (!first) arrive(heading, before);
  drawCharts(section);
}

/** At the top with the focus on the heading; by "back", where the reader was. */
function arrive(heading, before) {
  const target = before && before.focus && before.focus.isConnected && before.focus.checkVisibility() ? before.focus : heading;
  target.focus({ preventScroll: true });
  scrollTo({ top: before ? before.top : 0, behavior: "instant" });
}

function leave() {
  if (current) left.set(current.address, { top: scrollY, focus: document.activeElement });
}

function markCurrentLink(section) {
  for (const link of document.querySelectorAll("nav[aria-label=Views] a")) {
    const own = link.hash === `#${section.id.slice("view-".length)}`;
    const above = section.id === "view-cluster" && link.hash === "#clusters";
    if (own || above) link.setAttribute("aria-current", own ? "page" : "true");
    else link.removeAttribute("aria-current");
    if (own || above) link.parentElement.parentElement.scrollTo({ left: link.offsetLeft - 40, behavior: "instant" });
  }
}

byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
document.addEventListener("click", (event) => {
  const link = event.target.closest && event.target.closest("a[href^='#']");
  if (link && !event.defaultPrevented && !event.ctrlKey && !event.metaKey && !event.shiftKey) byLink = link.hash !== location.hash;
});
history.scrollRestoration = "manual";
addEventListener("hashchange", showView);
// Where the reader is, kept up to date: when the address has changed it is too late to ask.
document.addEventListener("focusin", leave);
addEventListener("scroll", leave, { passive: true });
showView();
