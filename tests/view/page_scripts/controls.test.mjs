// The controls of the page in Node, without a browser: frames that are chosen while others are on
// their way, keys, typed numbers, errors, and several viewers of a notebook.
//
// tests/view/test_page_scripts.py runs this file beside copies of the scripts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { madeCanvas } from "./canvas.js";
import { inBytes } from "./elements.js";
import { FrameNumbers, Frames } from "./frames.js";
import { LinePlot } from "./lines.js";
import { loaded, ServerSource } from "./sources.js";
import { Viewer } from "./viewer.js";
import { followFrame, KernelSource } from "./widget.js";

const HEADER = 88;

// Return a frame of one atom, whose x is the number of the frame.
function frameOf(number) {
  const view = new DataView(new ArrayBuffer(HEADER + 12));
  view.setUint32(0, number, true);
  view.setUint32(4, 1, true);
  view.setFloat32(HEADER, number, true);
  return view.buffer;
}

// Return a source whose frames arrive when `arrive` is called with their number.
function slowSource() {
  const waiting = new Map();
  return {
    frame: (number, _, signal) => new Promise((resolve, reject) => {
      waiting.set(number, () => resolve(frameOf(number)));
      signal.addEventListener("abort", () => reject(signal.reason));
    }),
    arrive(number) { waiting.get(number)(); },
  };
}

// Return a viewer without a page; `drawn` has the numbers of the frames that it draws.
function viewerOf(source, change = {}) {
  const scene = {
    header_size: HEADER, bytes_an_atom: 12, n_shown: 1, n_atoms: 1, n_frames: 100, size: 1000,
    shows_stored: false, ...change,
  };
  const part = new Proxy({}, {
    get: (known, name) => (known[name] ??= { hidden: false, value: "1", checked: false }),
  });
  const drawn = [];
  const viewer = Object.create(Viewer.prototype);
  Object.assign(viewer, {
    part, scene, source, drawn, shown() {}, index: 0, wanted: 0, run: 0, hasCell: null,
    isPlaying: false, isStarted: true, isClosed: false, isTyping: false, arrived: null, drawing: null,
    latest: null, numbers: new FrameNumbers(scene), frames: new Frames(scene, source),
    molecules: {
      async setFrame(number) { drawn.push(number); }, setCellVisible() {}, look() {},
    },
    root: { addEventListener(_, hear) { viewer.press = hear; }, classList: { remove() {} } },
  });
  viewer.listen();
  return viewer;
}

// Let everything run that waits for nothing but promises.
async function settled() {
  for (let k = 0; k < 5; k++) await new Promise((done) => setImmediate(done));
}

// Press a key; return whether the viewer took it.
function press(viewer, key, target = { matches: () => false }, change = {}) {
  let isTaken = false;
  viewer.press({
    key, target, preventDefault() { isTaken = true; }, stopPropagation() {}, ...change,
  });
  return isTaken;
}

// Return an element that matches selectors with its tag.
const element = (tag) => ({ matches: (selectors) => selectors.split(", ").includes(tag) });

test("a frame that is chosen while the page plays is drawn, then those after it", async (t) => {
  const source = slowSource();
  const viewer = viewerOf(source);
  let tick = () => {};
  t.mock.method(globalThis, "setTimeout", (done, rest) => { if (rest < 1000) tick = done; });
  viewer.play();
  await settled();
  viewer.choose(50);
  await settled();
  // The interval of the frame that was given up ends before the chosen one is there.
  tick();
  await settled();
  assert.equal(viewer.wanted, 50);
  source.arrive(50);
  await settled();
  assert.deepEqual([viewer.drawn, viewer.wanted], [[50], 51]);
  source.arrive(51);
  await settled();
  assert.deepEqual(viewer.drawn, [50, 51]);
  viewer.isClosed = true;
});

test("of frames that arrive while another is drawn, the last is drawn", async () => {
  const source = slowSource();
  const viewer = viewerOf(source);
  let finish;
  viewer.molecules.setFrame = (number) => {
    viewer.drawn.push(number);
    return new Promise((done) => (finish = done));
  };
  const shown = [];
  for (const number of [3, 7, 9]) {
    viewer.seek(number).then(() => shown.push(number));
    await settled();
    source.arrive(number);
    await settled();
  }
  assert.deepEqual([viewer.drawn, shown], [[3], []]);
  finish();
  await settled();
  assert.deepEqual([viewer.drawn, shown, viewer.index], [[3, 9], [], 3]);
  finish();
  await settled();
  assert.deepEqual([viewer.drawn, shown, viewer.index], [[3, 9], [3, 7, 9], 9]);
});

test("a frame that arrives as the drawing of another ends is drawn", async () => {
  const waits = async (n, call) => {
    for (let k = 0; k < n; k++) await null;
    call();
  };
  // The frame arrives some turns of the queue of promises before or after that end.
  for (let turns = -12; turns <= 12; turns++) {
    const source = slowSource();
    const viewer = viewerOf(source);
    const finish = [];
    viewer.molecules.setFrame = (number) => {
      viewer.drawn.push(number);
      return new Promise((done) => finish.push(done));
    };
    viewer.seek(1);
    source.arrive(1);
    await settled();
    viewer.seek(2);
    await settled();
    waits(Math.max(0, -turns), () => source.arrive(2));
    waits(Math.max(0, turns), finish[0]);
    await settled();
    assert.deepEqual([viewer.drawn, finish.length], [[1, 2], 2], `${turns} turns`);
  }
});

test("hydrogen bonds that arrive while another frame is chosen are no error", async () => {
  const source = slowSource();
  const viewer = viewerOf(source);
  viewer.molecules.addDashes = async () => {};
  const taken = viewer.take({ bonds: {} }, 0);
  await settled();
  viewer.choose(9);
  source.arrive(9);
  await taken;
  await viewer.settled();
  assert.deepEqual([viewer.drawn, viewer.part.message.textContent], [[9], undefined]);
});

test("a view that is closed draws nothing more", async () => {
  const source = slowSource();
  const viewer = viewerOf(source);
  viewer.molecules.close = () => {};
  viewer.seek(3);
  viewer.close();
  source.arrive(3);
  await settled();
  assert.deepEqual([viewer.drawn, viewer.part.message.textContent], [[], undefined]);
});

test("a typed number is not overwritten while the page plays", async () => {
  const viewer = viewerOf({ frame: async (number) => frameOf(number) });
  const { number } = viewer.part;
  await viewer.seek(4);
  number.value = "7";
  number.oninput();
  await viewer.seek(5);
  assert.equal(number.value, "7");
  number.onchange();
  await viewer.settled();
  assert.deepEqual([number.value, viewer.drawn.at(-1)], [7, 7]);
  // Nothing is no frame.
  number.value = "";
  number.onchange();
  await viewer.settled();
  assert.deepEqual([number.value, viewer.drawn.at(-1)], [7, 7]);
});

test("arrows step from frame to frame, also among those that were saved", async () => {
  const viewer = viewerOf({ frame: async (number) => frameOf(number) }, { frames: [0, 10, 20, 90] });
  const { number } = viewer.part;
  const shown = async (key, target) => {
    assert.ok(press(viewer, key, target));
    await viewer.settled();
    return viewer.drawn.at(-1);
  };
  assert.equal(await shown("ArrowRight"), 10);
  assert.equal(await shown("ArrowRight", element("button")), 20);
  assert.equal(await shown("ArrowLeft", element("input[type=checkbox]")), 10);
  assert.equal(await shown("ArrowUp", number), 20);
  number.value = "85";
  number.oninput();
  assert.equal(await shown("ArrowDown", number), 20);
  assert.equal(number.value, 20);
  assert.equal(await shown("ArrowUp", number), 90);
  assert.equal(await shown("ArrowRight"), 90);
});

test("keys of controls, and of the browser, are theirs", async () => {
  const viewer = viewerOf({ frame: async (number) => frameOf(number) });
  const slider = element("input:not([type=checkbox])");
  for (const [key, target] of [
    ["ArrowRight", element("select")], ["ArrowRight", slider], [" ", element("button")],
    [" ", element("summary")], [" ", element("input")], ["a", element("p")],
    ["ArrowLeft", viewer.part.number], [" ", viewer.part.number],
  ]) {
    assert.equal(press(viewer, key, target), false);
  }
  for (const change of [{ altKey: true }, { ctrlKey: true }, { metaKey: true }]) {
    assert.equal(press(viewer, "ArrowLeft", undefined, change), false);
  }
  await settled();
  assert.deepEqual([viewer.drawn, viewer.isPlaying], [[], false]);
});

test("a frame that takes long is announced until it is there", async (t) => {
  const source = slowSource();
  const viewer = viewerOf(source);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  viewer.part.message.hidden = true;
  viewer.seek(8);
  t.mock.timers.tick(2000);
  assert.equal(viewer.part.message.hidden, true);
  t.mock.timers.tick(2000);
  const { message } = viewer.part;
  assert.deepEqual([message.hidden, message.textContent], [false, "waiting for frame 8 …"]);
  source.arrive(8);
  await settled();
  assert.equal(message.hidden, true);
});

test("errors of the server say what to do", async (t) => {
  const answers = {
    "frame/1": new Response("frame 1 has no positions\n", { status: 409 }),
    "frame/2": new Response("the token is missing or wrong\n", { status: 401 }),
    "frame/3": new Response("<html>".repeat(1000), { status: 502 }),
    "frame/4": new Response("", { status: 500 }),
  };
  t.mock.method(globalThis, "fetch", async (name, { signal }) => {
    signal?.throwIfAborted();
    if (name in answers) return answers[name];
    throw new TypeError("Failed to fetch");
  });
  const source = new ServerSource();
  const errorOf = (number, signal) =>
    source.frame(number, false, signal).then(() => null, (error) => error);
  assert.equal((await errorOf(1)).message, "frame 1 has no positions");
  assert.match((await errorOf(2)).message, /no longer valid/);
  assert.equal((await errorOf(3)).message, "the server answers with status 502");
  assert.equal((await errorOf(4)).message, "the server answers with status 500");
  assert.match((await errorOf(5)).message, /trajet view has ended/);
  assert.equal((await errorOf(6, AbortSignal.abort())).name, "AbortError");
});

test("the bytes read and the size are said, not a difference", async () => {
  const viewer = viewerOf({ frame: async (number) => frameOf(number) }, { size: 4.5e9 });
  await viewer.seek(1);
  assert.match(viewer.part.read.textContent, /^0 B read of 4.50 GB · 1 of 100 frames fetched/);
});

test("amounts of bytes have three digits and a unit", () => {
  const texts = [[999, "999 B"], [1000, "1.00 kB"], [999_499, "999 kB"], [999_500, "1.00 MB"],
    [12_345_678, "12.3 MB"], [999_999_999, "1.00 GB"]];
  for (const [n, text] of texts) assert.equal(inBytes(n), text);
});

test("several viewers run a program once, and again if the first of them is closed", async () => {
  const bytes = new TextEncoder().encode("globalThis.nRuns = (globalThis.nRuns ?? 0) + 1; var program = 5;");
  let fail;
  const closing = loaded("program", () => new Promise((_, reject) => (fail = reject)));
  const others = [1, 2].map(() => loaded("program", async () => bytes));
  fail(new DOMException("the view was closed", "AbortError"));
  await assert.rejects(closing, { name: "AbortError" });
  await Promise.all(others);
  assert.deepEqual([globalThis.nRuns, globalThis.program], [1, 5]);
});

test("two views of one widget show the same frame, also if one of them lags behind", async () => {
  const listeners = [];
  const model = {
    frame: 0, history: [],
    get() { return this.frame; },
    set(_, number) {
      if (number === this.frame) return;
      this.frame = number;
      this.history.push(number);
      listeners.forEach((hear) => hear());
    },
    save_changes() {},
    on(_, hear) { listeners.push(hear); },
  };
  const slow = slowSource();
  const [quick, late] = [viewerOf({ frame: async (number) => frameOf(number) }), viewerOf(slow)];
  for (const viewer of [quick, late]) followFrame(viewer, model);
  for (const number of [1, 2, 3]) {
    await quick.choose(number);
    // The other one has the frame before the last.
    if (number === 2) slow.arrive(2);
  }
  slow.arrive(3);
  await late.settled();
  assert.deepEqual([model.history, quick.drawn, late.drawn.at(-1)], [[1, 2, 3], [1, 2, 3], 3]);
  // Now the user of the other one chooses.
  late.seek(7);
  await settled();
  assert.deepEqual(model.history, [1, 2, 3]);
  slow.arrive(7);
  await late.settled();
  await quick.settled();
  assert.deepEqual([model.history, quick.drawn.at(-1), late.drawn.at(-1)], [[1, 2, 3, 7], 7, 7]);
});

test("a view that was closed asks its kernel for nothing more", async () => {
  const model = { sent: [], on() {}, off() {}, send(message) { this.sent.push(message); } };
  const source = new KernelSource(model);
  const before = source.scene();
  source.close();
  await assert.rejects(before, { name: "AbortError" });
  await assert.rejects(source.scene(), { name: "AbortError" });
  assert.equal(model.sent.length, 1);
});

// Make canvases of the page those of a browser that draws with `renderer`; return what contexts do.
function drawingWith(t, renderer) {
  const done = [];
  const noted = (name) => (program) => done.push([name, program]);
  const context = () => ({
    RENDERER: 1,
    getExtension: () => null,
    getParameter: () => renderer,
    ...Object.fromEntries(["linkProgram", "getAttribLocation", "getUniformLocation",
      "getProgramParameter", "useProgram", "deleteProgram"].map((name) => [name, noted(name)])),
  });
  globalThis.document = { createElement: () => {
    const gl = renderer === null ? null : context();
    return { getContext: () => gl, gl, remove: () => done.push(["remove"]) };
  } };
  t.after(() => delete globalThis.document);
  return done;
}

test("without a GPU programs are linked when they are used", (t) => {
  const done = drawingWith(t, "ANGLE (Google, Vulkan (SwiftShader), SwiftShader driver)");
  const { canvas: { gl }, isSoftware } = madeCanvas();
  for (const program of ["one", "two", "three"]) gl.linkProgram(program);
  gl.getAttribLocation("one");
  gl.useProgram("one");
  gl.deleteProgram("two");
  gl.getProgramParameter("two");
  assert.ok(isSoftware);
  assert.deepEqual(done, [["linkProgram", "one"], ["getAttribLocation", "one"], ["useProgram", "one"],
    ["deleteProgram", "two"], ["getProgramParameter", "two"]]);
});

test("with a GPU programs are linked at once; without WebGL there is no canvas", (t) => {
  const done = drawingWith(t, "ANGLE (NVIDIA, NVIDIA RTX)");
  const { canvas: { gl }, isSoftware } = madeCanvas();
  gl.linkProgram("one");
  assert.deepEqual([isSoftware, done], [false, [["linkProgram", "one"]]]);
  drawingWith(t, null);
  assert.throws(madeCanvas, /no WebGL/);
});

test("a start that fails lets its canvas go", async (t) => {
  const closed = [];
  const done = drawingWith(t, "ANGLE (NVIDIA, NVIDIA RTX)");
  const theme = { getParams: () => ({ colors: { map: () => ({ defaultValue: {} }) } }) };
  const registry = { add() {}, get: () => theme };
  globalThis.molstar = { lib: { plugin: {
    PluginContext: class {
      constructor() { this.representation = { structure: { themes: { colorThemeRegistry: registry } } }; }
      async init() {}
      async initViewerAsync() { return false; }
      dispose() { closed.push(this); }
    },
    DefaultPluginSpec: () => ({}), PluginConfig: { VolumeStreaming: {} },
  } } };
  t.after(() => delete globalThis.molstar);
  const viewer = viewerOf({
    scene: async () => ({ ...viewer.scene, layers: [], messages: [], series: [] }),
  });
  viewer.part.messages.append = viewer.part.picture.append = () => {};
  viewer.part.smooth.options = [];
  await viewer.start();
  assert.deepEqual([closed.length, done, viewer.part.message.textContent],
    [1, [["remove"]], "this browser cannot draw molecules: its WebGL has failed"]);
});

test("only drags that began in a plot choose frames; the value of the frame is written above it", () => {
  const heard = {};
  let held = null;
  globalThis.uPlot = class {
    constructor(options) {
      this.over = {
        addEventListener: (name, hear) => (heard[name] = hear),
        setPointerCapture: (id) => (held = id),
        hasPointerCapture: (id) => held === id,
      };
      options.hooks.ready[0](this);
    }
    posToVal(x) { return x; }
    redraw() {}
  };
  const chosen = [];
  const series = { frames: [0, 5, 10], labels: ["a"], values: [[1, 2, 3]] };
  const notice = { textContent: "" };
  const place = { clientWidth: 100, querySelector: () => notice };
  const plot = new LinePlot(place, series, { frame: (number) => chosen.push(number) });
  heard.pointermove({ offsetX: 9, buttons: 1, pointerId: 4 });
  heard.pointerdown({ offsetX: 4, button: 2, pointerId: 4 });
  assert.deepEqual(chosen, []);
  heard.pointerdown({ offsetX: 4, button: 0, pointerId: 4 });
  heard.pointermove({ offsetX: 9, buttons: 1, pointerId: 4 });
  assert.deepEqual(chosen, [5, 10]);
  plot.setFrame(5);
  assert.equal(notice.textContent, "frame 5: 2");
});
