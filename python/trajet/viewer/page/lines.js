// Lines: values against frames, and values of atoms, residues or bins.

import { nearestOf } from "./matrices.js";

const LINES = ["#1f66b0", "#d1622b", "#2f8f5b", "#8b5bb5", "#b0892a", "#c0436f", "#3a9aa6", "#666"];

// Values against frames, with a line at the frame that is shown. A click shows the nearest frame of
// the series; drags move along.
export class LinePlot {
  constructor(place, series, choose) {
    this.frame = 0;
    this.series = series;
    this.notice = place.querySelector(".notice");
    this.note = this.notice.textContent;
    this.largest = series.values.map((each) =>
      each.reduce((most, value) => Math.max(most, Math.abs(value ?? 0)), 0));
    this.plot = drawn(place, "frame", series.frames, series.labels, series.values, {
      draw: [(plot) => this.drawCursor(plot)],
      ready: [(plot) => listen(plot, (x) => choose.frame(series.frames[nearestOf(series.frames, x)]))],
    });
  }

  drawCursor(plot) {
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
  }

  setFrame(number) {
    this.frame = number;
    this.plot.redraw(false);
    const { frames, labels, values } = this.series;
    const k = frames.indexOf(number);
    const shown = values.map((each, line) => {
      const value = k < 0 ? null : valueInWords(each[k], this.largest[line]);
      return labels.length > 1 ? `${shortened(labels[line])} ${value}` : String(value);
    });
    this.notice.textContent = this.note || (k < 0 ? "\u00a0" : `frame ${number}: ${shown.join(" · ")}`);
  }

  resize() {
    resizePlot(this.plot);
  }
}

// Values of atoms, residues or bins. A click selects the residue in the picture, or shows a frame of
// the bin.
export class ProfilePlot {
  constructor(place, profile, choose) {
    const label = [profile.label];
    this.plot = drawn(place, profile.axis, profile.x, label, [profile.values], {
      ready: [(plot) => listen(plot, (x) => {
        const k = nearestOf(profile.x, x);
        if (!profile.frames) choose.residues([profile.spans[k]]);
        else if (profile.frames[k] >= 0) choose.frame(profile.frames[k]);
        const value = profile.values[k] === null ? "no value" : profile.values[k];
        notice.textContent = `${profile.labels[k]}: ${value}`;
      })],
    });
    const notice = place.querySelector(".notice");
    notice.textContent = "\u00a0";
    place.append(notice);
  }

  setFrame() {}

  resize() {
    resizePlot(this.plot);
  }
}

// Fit a plot to the width that there is.
function resizePlot(plot) {
  const width = plot.root.parentElement.clientWidth;
  if (width && width !== plot.width) plot.setSize({ width, height: plot.height });
}

// Return the range of an axis: some room around values that are the same.
function roomAround(_, low, high) {
  if (low === null) return [0, 1];
  const least = 1e-5 * Math.max(1, Math.abs(low), Math.abs(high));
  return high - low > least ? uPlot.rangeNum(low, high, 0.1, true) : [low - 1, high + 1];
}

function drawn(place, axis, x, labels, values, hooks) {
  const options = {
    width: place.clientWidth || 340,
    height: 180,
    // Values of one line are read from the axis.
    legend: { show: labels.length > 1, live: false },
    // Around a single frame, frames to 100 would be drawn.
    scales: {
      x: { time: false, ...(x.length > 1 ? {} : { range: () => [x[0] - 1, x[0] + 1] }) },
      y: { range: roomAround },
    },
    axes: [{ label: axis, labelSize: 18, size: 34 }, { size: 56 }],
    cursor: { drag: { x: false, y: false }, points: { size: 5 } },
    series: [
      { label: axis },
      ...labels.map((label, k) => ({
        label: shortened(label),
        stroke: LINES[k % LINES.length],
        width: 1.3,
        value: (_, value) => (value === null || value === undefined ? "–" : String(value)),
      })),
    ],
    hooks,
  };
  return new uPlot(options, [x, ...values], place);
}

function listen(plot, choose) {
  const chosen = (event) => choose(plot.posToVal(event.offsetX, "x"));
  plot.over.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    plot.over.setPointerCapture(event.pointerId);
    chosen(event);
  });
  plot.over.addEventListener("pointermove", (event) => {
    // Drags that began elsewhere, such as in the picture, choose nothing.
    if (plot.over.hasPointerCapture(event.pointerId)) chosen(event);
  });
}

// Return a value in words; rounding errors beside the largest value are 0.
function valueInWords(value, largest) {
  if (value === null || value === undefined) return "no value";
  return String(Math.abs(value) < 1e-9 * largest ? 0 : Number(value.toPrecision(5)));
}

function shortened(label) {
  return label.length > 40 ? `${label.slice(0, 39)}…` : label;
}
