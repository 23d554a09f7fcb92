// Matrices: pairs of frames, residues or bins. A click shows a frame, or both residues.

import { onScale, scaleAsCss } from "./colours.js";
import { made } from "./elements.js";

// Side of the drawn matrix, pixels.
const SIDE = 300;

export class MatrixPlot {
  constructor(place, matrix, choose) {
    this.matrix = matrix;
    this.choose = choose;
    const [nRows, nColumns] = matrix.shape;
    const bytes = Uint8Array.from(atob(matrix.values), (character) => character.charCodeAt(0));
    this.values = new Float32Array(bytes.buffer);
    const side = SIDE / Math.max(nRows, nColumns);
    this.canvas = made("canvas", { name: "matrix", width: nColumns, height: nRows });
    this.canvas.style.width = `${Math.max(1, side * nColumns)}px`;
    this.canvas.style.height = `${Math.max(1, side * nRows)}px`;
    this.notice = place.querySelector(".notice");
    this.notice.textContent = "\u00a0";
    place.append(this.canvas, this.axis(), scale(matrix.low, matrix.high), this.notice);
    this.draw();
    this.canvas.addEventListener("pointermove", (event) => this.say(this.cell(event)));
    this.canvas.addEventListener("click", (event) => this.click(this.cell(event)));
  }

  // Return what the columns are, from the first to the last.
  axis() {
    const { pair } = this.matrix;
    const names = pair === "frames" ? this.matrix.columns : this.matrix.column_names;
    const axis = made("div", { name: "axis" },
      made("span", { textContent: names[0] }),
      made("span", { textContent: this.matrix.axis ?? (pair === "frames" ? "frame" : "residue") }),
      made("span", { textContent: names.at(-1) }));
    axis.style.width = this.canvas.style.width;
    return axis;
  }

  resize() {}

  draw(frame = null) {
    const { low, high, shape: [nRows, nColumns] } = this.matrix;
    const context = this.canvas.getContext("2d");
    this.image ??= this.painted(context, low, high, nRows, nColumns);
    context.putImageData(this.image, 0, 0);
    if (frame === null || this.matrix.pair !== "frames") return;
    context.fillStyle = "rgba(220, 30, 30, 0.9)";
    const { rows, columns, steps } = this.matrix;
    const at = (numbers, step) => Math.floor(nearestOf(numbers, frame) / step);
    if (this.matrix.chosen === "column") context.fillRect(at(columns, steps[1]), 0, 1, nRows);
    else context.fillRect(0, at(rows, steps[0]), nColumns, 1);
  }

  painted(context, low, high, nRows, nColumns) {
    const image = context.createImageData(nColumns, nRows);
    this.values.forEach((value, k) => {
      const rgb = Number.isNaN(value) ? [255, 255, 255] : onScale(value, low, high);
      image.data.set([...rgb, 255], 4 * k);
    });
    return image;
  }

  // Return row and column at the pointer, of those that are drawn.
  cell(event) {
    const { width, height } = this.canvas.getBoundingClientRect();
    const [nRows, nColumns] = this.matrix.shape;
    const within = (share, n) => Math.min(n - 1, Math.max(0, Math.floor(share * n)));
    return [within(event.offsetY / height, nRows), within(event.offsetX / width, nColumns)];
  }

  say([row, column]) {
    const { matrix } = this;
    const value = this.values[row * matrix.shape[1] + column];
    const names = matrix.pair === "frames" ? ["rows", "columns"] : ["row_names", "column_names"];
    const [one, other] = names.map((name, k) => matrix[name][[row, column][k] * matrix.steps[k]]);
    const shown = Number.isNaN(value) ? "left out" : Number(value.toPrecision(4));
    const places = {
      frames: `frames ${one} and ${other}`,
      residues: `${one} and ${other}`,
      bins: `${matrix.labels[0]} ${other}, ${matrix.labels[1]} ${one}`,
    };
    this.notice.textContent = `${places[matrix.pair]}: ${shown}`;
  }

  click([row, column]) {
    const { matrix } = this;
    const places = [row * matrix.steps[0], column * matrix.steps[1]];
    if (matrix.pair === "frames") {
      this.choose.frame(matrix.chosen === "column" ? matrix.columns[places[1]] : matrix.rows[places[0]]);
    } else if (matrix.pair === "bins") {
      const frame = matrix.frames[places[0]][places[1]];
      if (frame >= 0) this.choose.frame(frame);
    } else {
      this.choose.residues([matrix.row_spans[places[0]], matrix.column_spans[places[1]]]);
    }
    this.say([row, column]);
  }

  setFrame(number) {
    if (this.matrix.pair === "frames") this.draw(number);
  }
}

// Return a bar of the colours from the lowest to the highest value.
export function scale(low, high) {
  const bar = made("span", { name: "bar" });
  bar.style.background = scaleAsCss();
  const text = (value) => String(Number(value.toPrecision(3)));
  return made("div", { name: "scale" }, text(low), bar, text(high));
}

// Return the index of the value that is nearest to x.
export function nearestOf(values, x) {
  let best = 0;
  for (let k = 1; k < values.length; k++) {
    if (Math.abs(values[k] - x) < Math.abs(values[best] - x)) best = k;
  }
  return best;
}
