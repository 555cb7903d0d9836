// Texts that fit nowhere, above a threshold that the reader moves.

if (report.outliers) {
  const outliers = report.outliers;
  const slider = byId("threshold");
  const list = new LongList(byId("outliers-list"), byId("outliers-more"), 100, (i) => documentItem(texts[i], { withCluster: true, withScore: true }));
  const { steps, counts } = outliers;

  slider.closest(".slider").classList.toggle("fixed", !steps.length);
  slider.max = String(steps.length - 1);
  slider.value = String(nearestStep(outliers.threshold));

  function nearestStep(threshold) {
    return steps.reduce((best, step, i) => (Math.abs(step - threshold) < Math.abs(steps[best] - threshold) ? i : best), 0);
  }

  function show() {
    const position = Number(slider.value);
    const threshold = steps.length ? steps[position] : -Infinity;
    const n = steps.length ? counts[position] : report.documents.n_outliers;
    const sentence = `${whole(n)} of ${countedTexts(report.documents.n)} ${n === 1 ? "fits" : "fit"} nowhere${steps.length ? ` at ${decimal(threshold)}` : ""}`;
    byId("outliers-count").textContent = sentence;
    slider.setAttribute("aria-valuetext", sentence);
    const found = outliers.texts.filter((i) => texts[i].alone || !isNumber(texts[i].score) || texts[i].score > threshold);
    byId("outliers-listed").textContent = found.length < n ? `${whole(found.length)} of them are in this page.` : found.length ? "" : "None.";
    list.show(found);
    byId("outliers-curve").lastChild.setAttribute("x", String(place(position) - 0.2));
  }

  const place = (position) => (steps.length > 1 ? (100 * position) / (steps.length - 1) : 50);

  /** How the number falls as the threshold rises, above the slider. */
  function drawCurve() {
    const most = Math.max(...counts, 1);
    const points = counts.map((n, i) => `${place(i).toFixed(2)},${(29 - (28 * n) / most).toFixed(2)}`);
    const svg = (tag, attributes) => {
      const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
      return node;
    };
    byId("outliers-curve").replaceChildren(
      svg("polygon", { points: `0,30 ${points.join(" ")} 100,30` }),
      svg("polyline", { points: points.join(" ") }),
      svg("rect", { x: "0", y: "0", width: "0.4", height: "30" }),
    );
  }

  drawCurve();
  slider.addEventListener("input", onceAFrame(show));
  show();
}
