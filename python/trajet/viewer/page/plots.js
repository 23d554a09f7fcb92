// Plots of series against frames: a line at the frame that is shown, and clicks that choose one.

import { made } from "./elements.js";

const LINES = ["#1f66b0", "#d1622b", "#2f8f5b", "#8b5bb5", "#b0892a", "#c0436f", "#3a9aa6", "#666"];

// Add the plots of a scene to an element; `choose` is called with the frame of a click.
export class Plots {
  constructor(element, titles, source, choose) {
    this.plots = [];
    this.source = source;
    this.choose = choose;
    this.frame = 0;
    titles.forEach((title, number) => this.add(element, title, number));
  }

  async add(element, title, number) {
    const heading = made("h2", { textContent: title });
    const notice = made("p", { name: "notice", textContent: "being computed …" });
    const place = made("div", { name: "plot" }, heading, notice);
    element.append(place);
    let series;
    try {
      series = await this.source.series(number);
    } catch (error) {
      notice.textContent = error.message;
      return;
    }
    notice.remove();
    heading.textContent = `${series.quantity} of ${series.labels[0]}`;
    if (series.labels.length > 1) heading.textContent = `${series.quantity}, ${series.title}`;
    if (series.n_left_out) heading.textContent += ` (${series.n_left_out} more not drawn)`;
    this.plots.push(this.drawn(place, series));
    place.dataset.ready = "yes";
    this.setFrame(this.frame);
  }

  drawn(place, series) {
    const cursorLine = (plot) => {
      const at = plot.valToPos(this.frame, "x", true);
      const { left, top, width, height } = plot.bbox;
      if (at < left || at > left + width) return;
      const context = plot.ctx;
      context.save();
      context.strokeStyle = "#222";
      context.lineWidth = devicePixelRatio;
      context.beginPath();
      context.moveTo(at, top);
      context.lineTo(at, top + height);
      context.stroke();
      context.restore();
    };
    const options = {
      width: place.clientWidth,
      height: 180,
      // Values of one line are read from the axis.
      legend: { show: series.labels.length > 1, live: false },
      scales: { x: { time: false } },
      axes: [{ label: "frame", labelSize: 18, size: 34 }, { size: 46 }],
      cursor: { drag: { x: false, y: false }, points: { size: 5 } },
      series: [
        { label: "frame" },
        ...series.labels.map((label, k) => ({
          label: shortened(label),
          stroke: LINES[k % LINES.length],
          width: 1.3,
          value: (_, value) => (value === null || value === undefined ? "–" : String(value)),
        })),
      ],
      hooks: {
        draw: [cursorLine],
        ready: [(plot) => this.listen(plot, series.frames)],
      },
    };
    return new uPlot(options, [series.frames, ...series.values], place);
  }

  // A click shows the nearest frame of the series; drags move along.
  listen(plot, frames) {
    const choose = (event) => {
      const x = plot.posToVal(event.offsetX, "x");
      this.choose(frames[nearest(frames, x)]);
    };
    plot.over.addEventListener("pointerdown", (event) => {
      plot.over.setPointerCapture(event.pointerId);
      choose(event);
    });
    plot.over.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) choose(event);
    });
  }

  setFrame(number) {
    this.frame = number;
    for (const plot of this.plots) plot.redraw(false);
  }
}

function shortened(label) {
  return label.length > 40 ? `${label.slice(0, 39)}…` : label;
}

// Return the index of the value that is nearest to x.
function nearest(values, x) {
  let best = 0;
  for (let k = 1; k < values.length; k++) {
    if (Math.abs(values[k] - x) < Math.abs(values[best] - x)) best = k;
  }
  return best;
}
