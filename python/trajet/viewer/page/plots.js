// The results beside the picture, each drawn when it has arrived.

import { made } from "./elements.js";
import { LinePlot, ProfilePlot } from "./lines.js";
import { MatrixPlot } from "./matrices.js";

const KINDS = { lines: LinePlot, profile: ProfilePlot, matrix: MatrixPlot };

export class Plots {
  // Add the results of a scene to an element. `choose` has functions for the frame and the residues
  // of a click; `arrived` is called with each result.
  constructor(element, titles, source, choose, arrived) {
    this.plots = [];
    this.source = source;
    this.choose = choose;
    this.arrived = arrived;
    this.frame = 0;
    // Errors of results that are not drawn, or not as they were asked for.
    this.failures = [];
    // Fulfilled when all have arrived.
    this.all = Promise.all(titles.map((title, number) => this.add(element, title, number)));
  }

  async add(element, title, number) {
    const heading = made("h2", { textContent: title });
    const notice = made("p", { name: "notice", textContent: "being computed …" });
    const place = made("div", { name: "plot" }, heading, notice);
    element.append(place);
    try {
      const found = await this.source.series(number);
      notice.textContent = found.note ?? "";
      if (found.note) this.failures.push(new Error(`${title}: ${found.note}`));
      heading.textContent = headingOf(found);
      this.plots.push(new KINDS[found.kind](place, found, this.choose));
      this.addMessages(place, found.messages);
      await this.arrived(found, number);
      place.dataset.ready = "yes";
      this.setFrame(this.frame);
    } catch (error) {
      notice.textContent = error.message;
      this.failures.push(error);
    }
  }

  // Add the messages of a run, such as that molecules are broken over the box.
  addMessages(place, messages) {
    if (!messages.length) return;
    const items = messages.map((textContent) => made("li", { textContent }));
    place.append(made("details", {},
      made("summary", { textContent: `messages on these numbers: ${messages.length}` }),
      made("ul", { name: "messages" }, ...items)));
  }

  close() {
    for (const { plot } of this.plots) plot?.destroy();
  }

  resize() {
    for (const plot of this.plots) plot.resize();
  }

  setFrame(number) {
    this.frame = number;
    for (const plot of this.plots) plot.setFrame(number);
  }
}

function headingOf(found) {
  if (found.kind === "profile") return `${found.quantity} of ${found.label}`;
  if (found.kind === "matrix") {
    const step = Math.max(...found.steps);
    return `${found.quantity}: ${[...new Set(found.labels)].join(" and ")}` +
      (step > 1 ? ` (1 of ${step} drawn)` : "");
  }
  if (found.labels.length === 1) return `${found.quantity} of ${found.labels[0]}`;
  return `${found.quantity}, ${found.title}` +
    (found.n_left_out ? ` (${found.n_left_out} more not drawn)` : "");
}
