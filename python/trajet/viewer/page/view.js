// The page of `trajet view`: controls, and the frame that is shown.

import { Frames } from "./frames.js";
import { COLOUR_NAMES, Molecules, REPRESENTATIONS } from "./molecules.js";
import { Plots } from "./plots.js";

const at = (id) => document.getElementById(id);
const state = { number: 0, wanted: 0, isPlaying: false, isBusy: false };
let scene, frames, molecules, plots;

async function start() {
  const response = await fetch("scene.json");
  if (!response.ok) throw new Error((await response.text()).trim());
  scene = await response.json();
  document.title = `${scene.title} · trajet view`;
  at("title").textContent = scene.title;
  at("seek").max = at("number").max = scene.n_frames - 1;
  for (const remark of scene.remarks) at("remarks").append(withText("li", remark));
  at("stored").checked = scene.shows_stored;
  at("stored-switch").hidden = !scene.has_repaired;
  frames = new Frames(scene);
  molecules = await Molecules.create(at("picture"), scene);
  scene.layers.forEach(addLayer);
  plots = new Plots(at("plots"), scene.series, seek);
  await show(0);
  molecules.look();
  listen();
  document.body.dataset.ready = "yes";
}

function withText(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function addLayer(layer, number) {
  const row = withText("div", "");
  row.className = "layer";
  const name = withText("label", "");
  name.className = "name";
  const visible = document.createElement("input");
  visible.type = "checkbox";
  visible.checked = true;
  visible.onchange = () => molecules.setVisible(number, visible.checked);
  const atoms = withText("span", `${layer.n_atoms.toLocaleString("en")} atoms`);
  atoms.className = "atoms";
  name.append(visible, withText("b", layer.label), atoms);
  const style = withText("div", "");
  style.className = "style";
  for (const [key, choices] of [["representation", REPRESENTATIONS], ["colour", COLOUR_NAMES]]) {
    const select = document.createElement("select");
    select.ariaLabel = key;
    for (const choice of choices) select.append(new Option(choice, choice));
    select.value = layer[key];
    select.onchange = () => {
      layer[key] = select.value;
      molecules.setStyle(number, layer).catch(complain);
    };
    style.append(select);
  }
  row.append(name, style);
  at("layers").append(row);
}

// Show a frame, and fetch those that follow while playing. The last call wins.
async function show(number) {
  state.wanted = number;
  const frame = await frames.get(number, state.isPlaying ? following(number) : []);
  if (state.wanted !== number || state.isBusy) return;
  state.isBusy = true;
  try {
    await molecules.setFrame(number, frame);
  } finally {
    state.isBusy = false;
  }
  state.number = number;
  at("label").textContent = label(frame);
  at("seek").value = at("number").value = number;
  plots?.setFrame(number);
  sayWhatWasRead();
  at("cell-switch").hidden = frame.vectors.every((value) => value === 0);
  if (state.wanted !== number) await show(state.wanted);
}

function following(number) {
  const stride = Number(at("stride").value);
  const found = [];
  for (let k = 1; k <= frames.mostAhead; k++) {
    const next = number + k * stride;
    found.push(next < scene.n_frames ? next : 0);
  }
  return found;
}

function label(frame) {
  // Files in single precision have 500.00003 for 500.
  const time = Number.isNaN(frame.time) ? "" : ` · ${Number(frame.time.toFixed(4))} ps`;
  return `frame ${frame.number} of ${scene.n_frames}${time}`;
}

function sayWhatWasRead() {
  const left = Math.max(0, scene.size - frames.bytesRead);
  at("read").textContent =
    `${inBytes(frames.bytesRead)} read, ${inBytes(left)} not read · ` +
    `${frames.fetched.size} of ${scene.n_frames} frames fetched · ` +
    `${scene.n_shown.toLocaleString("en")} of ${scene.n_atoms.toLocaleString("en")} atoms`;
}

function inBytes(n) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let k = 0;
  while (n >= 1000 && k < units.length - 1) {
    n /= 1000;
    k++;
  }
  return `${k ? n.toPrecision(3) : n} ${units[k]}`;
}

function seek(number) {
  const inside = Math.min(Math.max(0, Math.round(number) || 0), scene.n_frames - 1);
  return show(inside).catch(complain);
}

// Show one frame after the other; slower than asked for if frames take longer.
async function play() {
  state.isPlaying = !state.isPlaying;
  at("play").textContent = state.isPlaying ? "Pause" : "Play";
  while (state.isPlaying) {
    const begun = performance.now();
    const next = following(state.number)[0];
    await seek(next);
    const rest = 1000 / Number(at("speed").value) - (performance.now() - begun);
    await new Promise((done) => setTimeout(done, Math.max(0, rest)));
  }
}

function listen() {
  at("play").onclick = play;
  at("back").onclick = () => seek(state.number - 1);
  at("forward").onclick = () => seek(state.number + 1);
  at("seek").oninput = () => seek(Number(at("seek").value));
  at("number").onchange = () => seek(Number(at("number").value));
  at("cell").onchange = () => molecules.setCellVisible(at("cell").checked);
  at("stored").onchange = async () => {
    frames.showStored(at("stored").checked);
    await seek(state.number);
    molecules.look();
  };
  document.addEventListener("keydown", (event) => {
    if (event.target.matches("input, select, button")) return;
    if (event.key === " ") play();
    else if (event.key === "ArrowLeft") seek(state.number - 1);
    else if (event.key === "ArrowRight") seek(state.number + 1);
    else return;
    event.preventDefault();
  });
}

function complain(error) {
  // A request that was ended, as another frame was chosen.
  if (error.name === "AbortError") return;
  at("message").textContent = error.message;
  at("message").hidden = false;
}

start().catch(complain);
