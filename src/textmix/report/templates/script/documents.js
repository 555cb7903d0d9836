// One text as an item of a list: where it comes from, the text, and a button where it is long.

const LONG = 700; // characters shown at first

function documentItem(text, { table = new Map(), withCluster = false, withScore = false, found = "" } = {}) {
  const about = [element("span", {}, `row ${whole(text.row)}`)];
  if (text.id !== undefined && text.id !== null) about.push(foreign(text.id, "span"));
  if (text.label !== undefined && text.label !== null) about.push(foreign(text.label, "span", { class: "tag" }));
  if (text.time !== undefined && text.time !== null) about.push(foreign(shortTime(text.time), "span"));
  if (withScore && !text.alone && isNumber(text.score)) about.push(element("span", {}, `score ${decimal(text.score)}`));
  if (withCluster && clusterByIndex.has(text.cluster)) about.push(element("span", {}, "in ", clusterLink(text.cluster)));
  else if (withCluster && (text.alone || !isNumber(text.score))) about.push(element("span", {}, "alone in its cluster"));
  if (found) about.push(element("span", { class: "found" }, "has ", foreign(found)));
  const body = element("p", { class: "text", dir: "auto" });
  const item = element("li", { class: "document", tabindex: "-1" }, element("p", { class: "about" }, ...about), body);
  const end = () => (text.cut ? [element("span", { class: "cut" }, " … (the text goes on)")] : []);
  if (text.text.length <= LONG * 1.3) {
    body.append(...marked(text.text, table), ...end());
    return item;
  }
  const button = element("button", { type: "button", class: "quiet", "aria-expanded": "false" });
  const show = (all) => {
    if (all) body.replaceChildren(...marked(text.text, table), ...end());
    else body.replaceChildren(...marked(shortened(text.text), table), "…");
    button.textContent = all ? "Show less" : "Show more of it";
    button.setAttribute("aria-expanded", String(all));
  };
  button.addEventListener("click", () => show(button.getAttribute("aria-expanded") === "false"));
  show(false);
  item.append(button);
  return item;
}

/** "2024-03-04T06:02:53Z" without what nobody reads; other forms as they are. */
const shortTime = (time) => String(time).replace(/^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d(\.\d+)?)?(Z|\+00:?00)?$/, (_, day, clock) => (clock === "00:00" ? day : `${day} ${clock}`));

/** The first characters of a text, not in the middle of a character of two code units. */
function shortened(text) {
  const last = text.charCodeAt(LONG - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? LONG - 1 : LONG);
}
