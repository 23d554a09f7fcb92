// The scripts of the page in Node, without a browser: which frames are shown, and their numbers.
//
// tests/view/test_page_scripts.py runs this file beside copies of the scripts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Frames, FrameNumbers } from "./frames.js";
import { Plots } from "./plots.js";
import { Viewer } from "./viewer.js";
import { followFrame, KernelSource } from "./widget.js";

const HEADER = 88;
const CELL = [30, 0, 0, 0, 30, 0, 0, 0, 30];

// Return a frame of one atom, whose x is the number of the frame, or 100 more if as stored.
function frameOf(number, stored, vectors = CELL) {
  const view = new DataView(new ArrayBuffer(HEADER + 12));
  view.setUint32(0, number, true);
  view.setUint32(4, 1, true);
  vectors.forEach((x, k) => view.setFloat32(24 + 4 * k, x, true));
  view.setFloat32(HEADER, number + (stored ? 100 : 0), true);
  return view.buffer;
}

function sceneOf(change = {}) {
  return {
    header_size: HEADER, bytes_an_atom: 12, n_shown: 1, n_atoms: 1, n_frames: 100, size: 1,
    shows_stored: false, ...change,
  };
}

// Return a viewer without a page; `drawn` has the number and the x of each frame that it draws.
function viewerOf(source, scene = sceneOf()) {
  const part = new Proxy({}, {
    get: (known, name) => (known[name] ??= { hidden: false, value: "1", checked: false }),
  });
  const drawn = [];
  const viewer = Object.create(Viewer.prototype);
  Object.assign(viewer, {
    part, scene, source, drawn, shown() {}, index: 0, wanted: 0, run: 0, hasCell: null,
    isPlaying: false, isStarted: true, isClosed: false, isTyping: false, arrived: null, drawing: null,
    latest: null,
    numbers: new FrameNumbers(scene), frames: new Frames(scene, source),
    molecules: {
      async setFrame(number, frame) { drawn.push([number, frame.positions[0]]); },
      setCellVisible() {}, look() {},
    },
    root: { addEventListener(_, hear) { viewer.press = hear; } },
  });
  viewer.listen();
  return viewer;
}

// Let everything run that waits for nothing but promises.
async function settled() {
  for (let k = 0; k < 5; k++) await new Promise((done) => setImmediate(done));
}

test("positions as stored are never averaged, and the menu says what is drawn", async () => {
  const viewer = viewerOf({ frame: async (number, stored) => frameOf(number, stored) });
  const { part, drawn } = viewer;
  part.smooth.value = "5";
  await viewer.show(1);
  assert.deepEqual(drawn.at(-1), [1, 1.5]);
  part.stored.checked = true;
  await part.stored.onchange();
  assert.deepEqual([drawn.at(-1), part["smooth-switch"].hidden], [[1, 101], true]);
  part.stored.checked = false;
  await part.stored.onchange();
  assert.deepEqual([drawn.at(-1), part["smooth-switch"].hidden], [[1, 1.5], false]);
});

test("averages follow frames with and without a cell", async () => {
  const vectors = (number) => (number < 50 ? CELL : new Array(9).fill(0));
  const viewer = viewerOf(
    { frame: async (number, stored) => frameOf(number, stored, vectors(number)) },
    sceneOf({ shows_stored: true }),
  );
  viewer.part.smooth.value = "3";
  for (const [number, x] of [[10, 110], [60, 160], [99, 198.5], [11, 111]]) {
    await viewer.show(number);
    assert.deepEqual(viewer.drawn.at(-1), [number, x]);
    assert.equal(viewer.part["smooth-switch"].hidden, number < 50);
  }
});

test("an average has every neighbour that was asked for, also if few frames are kept", async () => {
  const frames = new Frames(sceneOf(), { frame: async (number) => frameOf(number) });
  frames.mostKept = 2;
  const { positions } = await frames.get([10, 9, 11, 8, 12]);
  assert.equal(positions[0], 10);
  // An atom across the cell does not count.
  assert.equal((await frames.get([10, 9, 40])).positions[0], 9.5);
});

test("play, pause and play again within one interval is one loop", async (t) => {
  const viewer = viewerOf({ frame: async (number) => frameOf(number) });
  const waiting = [];
  t.mock.method(globalThis, "setTimeout", (done, rest) => {
    // Not the notice of frames that take long.
    if (rest < 1000) waiting.push(done);
  });
  for (let k = 0; k < 3; k++) {
    viewer.play();
    await settled();
  }
  for (let k = 0; k < 3; k++) {
    waiting.splice(0).forEach((done) => done());
    await settled();
    assert.equal(waiting.length, 1);
  }
  viewer.isClosed = true;
});

test("a frame that cannot be read ends playing; the next one hides the message", async () => {
  let isBroken = true;
  let asked = 0;
  const viewer = viewerOf({
    frame: async (number) => {
      asked++;
      if (isBroken) throw new Error("cannot be read");
      return frameOf(number);
    },
  });
  viewer.part.speed.value = "1e9";
  await viewer.play();
  const { message, play } = viewer.part;
  assert.deepEqual([viewer.isPlaying, play.textContent, message.hidden], [false, "Play", false]);
  assert.ok(asked <= 1 + viewer.frames.mostAhead);
  isBroken = false;
  await viewer.part.forward.onclick();
  assert.deepEqual([message.hidden, viewer.drawn.at(-1)], [true, [2, 2]]);
});

test("a result that fails, or lacks its bonds, is a failure of the plots", async () => {
  globalThis.document = { createElement: () => ({ dataset: {}, append() {} }) };
  const source = { series: async (number) => { throw new Error(`result ${number}`); } };
  const plots = new Plots({ append() {} }, ["rmsf", "hbonds"], source, {}, () => {});
  await plots.all;
  assert.deepEqual(plots.failures.map((error) => error.message), ["result 0", "result 1"]);
  const noted = { series: async () => ({ kind: "lines", note: "too many", labels: [], messages: [] }) };
  const other = new Plots({ append() {} }, ["hbonds"], noted, {}, () => {});
  await other.all;
  assert.equal(other.failures[0].message, "hbonds: too many");
});

// Return the model of a widget whose kernel answers when `answer` is called.
function modelOf(frame = 0) {
  const heard = {};
  const model = {
    sent: [], values: { frame }, set(name, value) { this.values[name] = value; },
    get(name) { return this.values[name]; }, save_changes() {}, off() {},
    on(name, f) { heard[name] = f; },
    send(message) { this.sent.push(message); },
    answer() { heard["msg:custom"]({ id: model.sent.at(-1).id, value: 1 }, []); },
    change(value) { this.values.frame = value; heard["change:frame"](); },
  };
  return model;
}

test("a kernel gets few requests at a time, and none that was ended", async () => {
  const model = modelOf();
  const source = new KernelSource(model);
  const controls = Array.from({ length: 50 }, () => new AbortController());
  const answers = controls.map(({ signal }, number) =>
    source.ask({ ask: "frame", number }, signal).catch((error) => error.name));
  controls.slice(0, 49).forEach((control) => control.abort());
  model.answer();
  await settled();
  assert.deepEqual(model.sent.map(({ number }) => number), [0, 1, 49]);
  source.close();
  assert.deepEqual([await answers[2], await answers[49]], ["AbortError", "AbortError"]);
});

test("a viewer and a widget's frame follow each other", () => {
  const model = modelOf();
  const chosen = [];
  const viewer = {
    isStarted: false, wanted: 0, numbers: { at: (index) => index },
    choose(number) { chosen.push(number); this.wanted = number; },
  };
  followFrame(viewer, model);
  // The start asks for the frame itself.
  model.change(7);
  assert.deepEqual(chosen, []);
  Object.assign(viewer, { isStarted: true, wanted: 7 });
  viewer.shown(7);
  assert.equal(model.get("frame"), 7);
  // Frames that are late do not set the model back.
  model.change(3);
  model.change(4);
  viewer.shown(3);
  assert.equal(model.get("frame"), 4);
  model.change(5);
  viewer.shown(5);
  assert.deepEqual([model.get("frame"), chosen], [5, [3, 4, 5]]);
  // The user chooses another one, also while the viewer follows.
  viewer.wanted = 9;
  viewer.shown(9);
  assert.equal(model.get("frame"), 9);
  model.change(2);
  viewer.wanted = 11;
  viewer.shown(11);
  assert.equal(model.get("frame"), 11);
});
