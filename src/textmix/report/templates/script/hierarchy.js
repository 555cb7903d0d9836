// The clusters joined to fewer: the first n − m merges make m groups.

if (report.hierarchy && report.hierarchy.names.length) {
  const { names, sizes, clusters: nodes, pairs, costs, n_found: found = names.length } = report.hierarchy;
  const n = names.length;
  const slider = byId("groups");
  const list = new LongList(byId("hierarchy-list"), byId("hierarchy-more"), 200, groupItem);

  slider.min = String(n - pairs.length);
  slider.max = String(n);
  const nSeveral = sizes.filter((size) => size > 1).length;
  slider.value = String(Math.max(n - pairs.length, Math.ceil(nSeveral / 2)));

  /** Members of each group after the first merges, and what the last of them joined. */
  function groupsAfter(merges) {
    const members = names.map((_, node) => [node]);
    const joinedInto = new Map();
    const root = (node) => (joinedInto.has(node) ? root(joinedInto.get(node)) : node);
    let last = null;
    for (const pair of pairs.slice(0, merges)) {
      const [into, from] = pair.map(root);
      last = { kept: leader(members[into]), joined: leader(members[from]), sizes: [total(members[into]), total(members[from])] };
      members[into] = members[into].concat(members[from]);
      members[from] = null;
      joinedInto.set(from, into);
    }
    const groups = members.filter((group) => group).map((group) => ({ members: group.sort((a, b) => sizes[b] - sizes[a]), size: total(group) }));
    return { groups: groups.sort((a, b) => b.size - a.size), last };
  }

  const total = (group) => group.reduce((sum, node) => sum + sizes[node], 0);
  const leader = (group) => group.reduce((largest, node) => (sizes[node] > sizes[largest] ? node : largest));

  function groupItem({ members, size }) {
    const [first, ...others] = members;
    const several = others.filter((node) => sizes[node] > 1);
    const nAlone = others.length - several.length;
    return element(
      "li",
      { tabindex: "-1" },
      element("p", { class: "line" }, clusterLink(nodes[first], names[first]), element("span", { class: "figure" }, countedTexts(size))),
      others.length
        ? element("ul", { class: "members", "aria-label": "Joined with" }, ...several.map((node) => element("li", {}, clusterLink(nodes[node], names[node]), element("span", { class: "figure" }, whole(sizes[node])))), nAlone ? element("li", { class: "alone" }, `${several.length ? "and " : ""}${counted(nAlone, "text that was", "texts that were")} alone`) : null)
        : null,
    );
  }

  function show() {
    const wanted = Number(slider.value);
    const merges = n - wanted;
    const { groups, last } = groupsAfter(merges);
    const asFound = merges || found > n ? "" : ", as found";
    const sentence = asFound ? `${counted(n, "cluster", "clusters")}${asFound}` : `${whole(wanted)} of ${counted(found, "cluster", "clusters")}`;
    byId("hierarchy-count").textContent = sentence;
    slider.setAttribute("aria-valuetext", sentence);
    byId("hierarchy-last").replaceChildren(...(last ? lastMerge(last, costs && costs[merges - 1]) : ["Nothing is joined yet."]));
    const joinedOrLarge = groups.filter((group) => group.size > 1);
    const nAlone = groups.length - joinedOrLarge.length;
    byId("hierarchy-alone").textContent = nAlone ? `and ${countedTexts(nAlone)} alone${nAlone > 1 ? ", each" : ","} a cluster of its own` : "";
    list.show(joinedOrLarge);
  }

  function lastMerge({ kept, joined: other, sizes: [first, second] }, cost) {
    return [
      "Joined last: ",
      foreign(names[other]),
      ` (${whole(second)}) with `,
      foreign(names[kept]),
      ` (${whole(first)})`,
      isNumber(cost) ? `, at a cost of ${significant(cost)}.` : ".",
    ];
  }

  slider.addEventListener("input", onceAFrame(show));
  show();
}
