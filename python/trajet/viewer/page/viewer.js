// The viewer: its controls, and the frame that is shown.

import { inBytes, made, menu } from "./elements.js";
import { FrameNumbers, Frames } from "./frames.js";
import { layOut } from "./layout.js";
import { COLOUR_NAMES, Molecules, REPRESENTATIONS } from "./molecules.js";
import { scale } from "./matrices.js";
import { Plots } from "./plots.js";

// Milliseconds after which the page says that it waits for a frame.
const PATIENCE = 3000;

export class Viewer {
  // Show the scene of a source within an element; `shown` is called with the number of each frame.
  constructor(root, source, shown = () => {}) {
    this.root = root;
    this.source = source;
    this.shown = shown;
    this.part = layOut(root);
    // Frames are counted by their position among those that there are.
    this.index = this.wanted = 0;
    this.isPlaying = this.isStarted = this.isClosed = this.isTyping = false;
    // The frame that is drawn next with its position, and the promise of the one drawn last, while
    // frames are drawn. The promise of the position that was asked for last.
    this.arrived = this.drawing = this.latest = null;
    // Whether the frame that is shown has a cell, and the number of the last `play`.
    this.hasCell = null;
    this.run = 0;
    // The menus of colours, and the ranges of colours by values.
    this.menus = [];
    this.ranges = new Map();
  }

  // Draw the first frame, whose number `first` returns when all else is there; errors are shown in
  // the message.
  async start(first = () => this.scene.first) {
    try {
      const { part } = this;
      const timer = setTimeout(() => this.say("the trajectory is being opened …"), PATIENCE);
      const scene = (this.scene = await this.source.scene().finally(() => clearTimeout(timer)));
      part.message.hidden = true;
      this.root.classList.remove("opening");
      part.title.textContent = scene.title;
      this.numbers = new FrameNumbers(scene);
      part.seek.max = this.numbers.length - 1;
      // Saved frames may descend.
      part.number.max = Math.max(this.numbers.at(0), this.numbers.at(this.numbers.length - 1));
      part.messages.append(...scene.messages.map((textContent) => made("li", { textContent })));
      part.stored.checked = scene.shows_stored;
      part["stored-switch"].hidden = !scene.has_repaired;
      this.frames = new Frames(scene, this.source);
      // Averages of more frames than can be kept are not offered.
      for (const option of [...part.smooth.options]) {
        if (Number(option.value) > this.frames.mostKept) option.remove();
      }
      // Asked for at once; the frame is shown, or its error, when all else is there.
      this.loaded(this.numbers.nearest(first())).catch(() => {});
      this.molecules = await Molecules.create(part.picture, scene, this.source);
      // A cell that runs again removes its view, which may not have been there yet.
      if (this.isClosed) {
        this.molecules.close();
        return;
      }
      scene.layers.forEach((layer, k) => this.addLayer(layer, k));
      const choose = {
        frame: (number) => this.choose(number),
        residues: (spans) => this.molecules.showAtoms(spans.filter((span) => span !== null)),
      };
      this.plots = new Plots(part.plots, scene.series, this.source, choose,
        (found, number) => this.take(found, number));
      this.resized = new ResizeObserver(() => this.plots.resize());
      this.resized.observe(part.plots);
      this.isStarted = true;
      await this.show(this.numbers.nearest(first()));
      if (this.isClosed) return;
      this.molecules.look();
      this.listen();
      const begun = this.molecules.begin();
      // Pages in the background are drawn when they are seen.
      if (!document.hidden) await begun;
      this.root.dataset.ready = "yes";
    } catch (error) {
      this.complain(error);
    }
  }

  // Take the values and the hydrogen bonds of a result into the picture.
  async take(found, number) {
    if (this.isClosed) return;
    if (found.bonds) {
      await this.molecules.addDashes(found);
      // Another frame may be chosen before this one is there, which is no error of the result.
      await this.seek(this.wanted);
    }
    if (!found.colours) return;
    const label = found.coloured ?? found.quantity;
    const { name, low, high } = this.molecules.addValues(number, label, found.colours);
    this.ranges.set(name, [low, high]);
    for (const [k, { select, layer, legend }] of this.menus.entries()) {
      select.append(new Option(label, name));
      if (layer.colour !== "values" || number !== this.scene.values) continue;
      select.value = layer.colour = name;
      await this.molecules.setStyle(k, layer);
      this.showLegend(k, layer, legend);
    }
  }

  showLegend(number, layer, legend) {
    const range = this.ranges.get(layer.colour);
    const named = this.molecules.legendOf(number).map(([textContent, colour]) => {
      const swatch = made("span", { name: "swatch" });
      swatch.style.background = `#${colour.toString(16).padStart(6, "0")}`;
      return made("span", { name: "key" }, swatch, made("span", { textContent }));
    });
    legend.replaceChildren(...(range ? [scale(...range)] : named));
  }

  addLayer(layer, number) {
    const visible = made("input", { type: "checkbox", checked: true });
    visible.onchange = () => this.molecules.setVisible(number, visible.checked);
    const style = made("div", { name: "style" });
    const legend = made("div", { name: "legend" });
    for (const [key, choices] of [["representation", REPRESENTATIONS], ["colour", COLOUR_NAMES]]) {
      const select = menu({ ariaLabel: key }, choices);
      select.value = layer[key];
      select.onchange = () => {
        layer[key] = select.value;
        this.molecules.setStyle(number, layer)
          .then(() => this.showLegend(number, layer, legend), (error) => this.complain(error));
      };
      style.append(select);
      if (key === "colour") this.menus.push({ select, layer, legend });
    }
    const atoms = made("span", { name: "atoms", textContent: `${inWords(layer.n_atoms)} atoms` });
    const name = made("label", { name: "name" }, visible, made("b", { textContent: layer.label }), atoms);
    this.part.layers.append(made("div", { name: "layer" }, name, style, legend));
    this.showLegend(number, layer, legend);
  }

  // Show a frame, and fetch those that follow while playing. The last call wins: its promise is
  // fulfilled when its frame is drawn.
  async show(index) {
    this.wanted = index;
    const frame = await this.loaded(index);
    if (this.wanted !== index || this.isClosed) return;
    this.arrived = [index, frame];
    this.drawing ??= this.draw();
    await this.drawing;
  }

  // Return a promise of a frame, or of the average of its neighbours.
  async loaded(index) {
    const ahead = this.isPlaying ? this.following(index) : [];
    const waiting = `waiting for frame ${this.numbers.at(index)} …`;
    const timer = setTimeout(() => this.say(waiting), PATIENCE);
    try {
      const frame = await this.frames.get(this.averaged(index), ahead);
      if (hasCell(frame) === this.hasCell) return frame;
      this.hasCell = hasCell(frame);
      return await this.frames.get(this.averaged(index), ahead);
    } finally {
      clearTimeout(timer);
    }
  }

  // Draw the frame that has arrived last, one at a time. Nothing runs between the last look at
  // `arrived` and the end of `drawing`, so that no frame arrives between them.
  async draw() {
    try {
      while (this.arrived && !this.isClosed) {
        const [index, frame] = this.arrived;
        this.arrived = null;
        await this.molecules.setFrame(frame.number, frame);
        if (this.isClosed) return;
        this.index = index;
        this.hasCell = hasCell(frame);
        this.describe(frame);
        this.shown(frame.number);
      }
    } finally {
      this.drawing = null;
    }
  }

  // Make the controls and the plots those of the frame that is drawn.
  describe(frame) {
    const { part } = this;
    part.label.textContent = part.seek.ariaValueText = this.label(frame);
    part.seek.value = this.index;
    if (!this.isTyping) part.number.value = frame.number;
    this.plots?.setFrame(frame.number);
    this.sayWhatWasRead();
    part["cell-switch"].hidden = !this.hasCell;
    this.showCell(this.hasCell);
    part["smooth-switch"].hidden = !this.isSmoothed();
    part.message.hidden = true;
  }

  showCell(hasCell) {
    const isVisible = hasCell && this.part.cell.checked;
    if (isVisible !== this.showsCell) this.molecules.setCellVisible(isVisible);
    this.showsCell = isVisible;
  }

  // Return whether frames may be averaged: positions as stored jump across the cell.
  isSmoothed() {
    return !(this.hasCell && this.frames.stored);
  }

  // Return the numbers of the frames whose average is shown, that of the frame itself first.
  averaged(index) {
    const half = this.isSmoothed() ? (Number(this.part.smooth.value) - 1) / 2 : 0;
    const found = [this.numbers.at(index)];
    for (let k = 1; k <= half; k++) {
      for (const each of [index - k, index + k]) {
        if (each >= 0 && each < this.numbers.length) found.push(this.numbers.at(each));
      }
    }
    return found;
  }

  next(index) {
    const next = index + Number(this.part.stride.value);
    return next < this.numbers.length ? next : 0;
  }

  following(index) {
    const found = [];
    for (let k = 0; k < this.frames.mostAhead; k++) {
      index = this.next(index);
      found.push(this.numbers.at(index));
    }
    return found;
  }

  label(frame) {
    const time = Number.isNaN(frame.time) ? "" : ` · ${timeInWords(frame.time)} ps`;
    const file = this.scene.files?.findLast(({ first }) => first <= frame.number);
    const name = file ? ` · ${file.name}` : "";
    return `frame ${frame.number} of ${this.scene.n_frames}${time}${name}`;
  }

  sayWhatWasRead() {
    const { scene, frames, numbers } = this;
    const read = scene.frames
      ? `${inWords(numbers.length)} of ${inWords(scene.n_frames)} frames are in this file`
      : `${inBytes(frames.bytesRead)} read of ${inBytes(scene.size)} · ` +
        `${inWords(frames.fetched.size)} of ${inWords(scene.n_frames)} frames fetched`;
    this.part.read.textContent =
      `${read} · ${inWords(scene.n_shown)} of ${inWords(scene.n_atoms)} atoms`;
  }

  // Show the frame at a position; before the first or after the last, that one.
  seek(index) {
    const inside = Math.min(Math.max(0, index), this.numbers.length - 1);
    this.latest = this.show(inside).catch((error) => this.complain(error));
    return this.latest;
  }

  // Wait until the frame that was chosen last is drawn.
  async settled() {
    for (let last = null; last !== this.latest;) {
      last = this.latest;
      await last;
    }
  }

  // Show the frame nearest to a number; before the start nothing, which asks for the first frame.
  async choose(number) {
    if (this.isStarted) await this.seek(this.numbers.nearest(number));
  }

  // Show one frame after the other; slower than asked for if frames take longer.
  async play() {
    this.setPlaying(!this.isPlaying);
    const run = ++this.run;
    const goesOn = () => this.isPlaying && run === this.run && !this.isClosed;
    while (goesOn()) {
      const begun = performance.now();
      // A frame that was chosen meanwhile is shown before those that follow it.
      await this.settled();
      if (!goesOn()) break;
      await this.seek(this.next(this.wanted));
      const rest = 1000 / Number(this.part.speed.value) - (performance.now() - begun);
      await new Promise((done) => setTimeout(done, Math.max(0, rest)));
    }
  }

  setPlaying(isPlaying) {
    this.isPlaying = isPlaying;
    this.part.play.textContent = isPlaying ? "Pause" : "Play";
  }

  listen() {
    const { part } = this;
    part.play.onclick = () => this.play();
    part.back.onclick = () => this.seek(this.wanted - 1);
    part.forward.onclick = () => this.seek(this.wanted + 1);
    part.seek.oninput = () => this.seek(Number(part.seek.value));
    part.number.oninput = () => (this.isTyping = true);
    part.number.onblur = () => (this.isTyping = false);
    part.number.onchange = () => this.takeNumber();
    part.smooth.onchange = () => this.seek(this.wanted);
    part.cell.onchange = () => this.showCell(true);
    part.stored.onchange = async () => {
      this.frames.showStored(part.stored.checked);
      await this.seek(this.wanted);
      this.molecules.look();
    };
    this.root.addEventListener("keydown", (event) => {
      if (!this.takeKey(event)) return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  // Show the frame whose number was typed; nothing is no number.
  takeNumber() {
    this.isTyping = false;
    const { value } = this.part.number;
    if (value === "") this.part.number.value = this.numbers.at(this.index);
    else this.choose(Number(value));
  }

  // Return whether a key was one of the viewer's. Controls have keys of their own: menus and the
  // slider the arrows, buttons and check boxes the space.
  takeKey({ key, target, altKey, ctrlKey, metaKey }) {
    if (altKey || ctrlKey || metaKey) return false;
    const { number } = this.part;
    if (target === number) {
      const step = { ArrowUp: 1, ArrowDown: -1 }[key];
      if (!step) return false;
      // From frame to frame, also where not all numbers have one.
      const from = this.isTyping ? this.numbers.nearest(Number(number.value)) : this.wanted;
      this.isTyping = false;
      this.seek(from + step);
      return true;
    }
    if (target.matches("select, input:not([type=checkbox])")) return false;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (step) this.seek(this.wanted + step);
    else if (key === " " && !target.matches("button, input, summary")) this.play();
    else return false;
    return true;
  }

  close() {
    this.isClosed = true;
    this.resized?.disconnect();
    this.frames?.keepOnly(new Set());
    this.plots?.close();
    this.molecules?.close();
  }

  complain(error) {
    // A request that was ended, as another frame was chosen.
    if (error.name === "AbortError" || this.isClosed) return;
    // Otherwise the same frame is asked for again and again.
    this.setPlaying(false);
    this.say(error.message);
  }

  say(text) {
    this.part.message.textContent = text;
    this.part.message.hidden = false;
  }
}

function hasCell(frame) {
  return frame.vectors.some((value) => value !== 0);
}

// Return a time with as few digits as single precision has: files have 700.00006 for 700.
function timeInWords(time) {
  for (let digits = 1; digits < 17; digits++) {
    const short = Number(time.toPrecision(digits));
    if (Math.abs(short - time) <= 2e-7 * Math.abs(time)) return String(short);
  }
  return String(time);
}

function inWords(n) {
  return n.toLocaleString("en");
}
