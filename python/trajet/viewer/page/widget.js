// The viewer in a notebook: data come from the kernel, in messages of its connection.

import { made } from "./elements.js";
import { loaded, unpacked } from "./sources.js";
import { Viewer } from "./viewer.js";

// Requests that the kernel has at once. It answers one after the other, and none can be ended.
const AT_ONCE = 2;

export class KernelSource {
  constructor(model) {
    this.model = model;
    // Requests that the kernel has, by their id, and those that it gets afterwards.
    this.waiting = new Map();
    this.queue = [];
    this.isClosed = false;
    this.hear = (content, buffers) => this.take(content, buffers);
    model.on("msg:custom", this.hear);
  }

  // Return a promise of the answer to a request: an object, or bytes. A request that is ended
  // before the kernel has it is not sent.
  ask(request, signal) {
    // Answers reach all views of a widget.
    const id = crypto.getRandomValues(new Uint32Array(2)).join("-");
    return new Promise((resolve, reject) => {
      if (this.isClosed) throw closed();
      this.queue.push({ message: { ...request, id }, signal, resolve, reject });
      this.send();
    });
  }

  send() {
    while (this.waiting.size < AT_ONCE && this.queue.length) {
      const next = this.queue.shift();
      if (next.signal?.aborted) {
        next.reject(next.signal.reason);
      } else {
        this.waiting.set(next.message.id, next);
        this.model.send(next.message);
      }
    }
  }

  take(content, buffers) {
    const waiting = this.waiting.get(content.id);
    if (!waiting) return;
    this.waiting.delete(content.id);
    this.send();
    if (content.error !== undefined) waiting.reject(new Error(content.error));
    else if (content.value !== undefined) waiting.resolve(content.value);
    else {
      const { buffer, byteOffset, byteLength } = buffers[0];
      // Numbers within it are aligned only in a buffer of its own.
      waiting.resolve(new Uint8Array(buffer.slice(byteOffset, byteOffset + byteLength)));
    }
  }

  scene() {
    return this.ask({ ask: "scene" });
  }

  structure(layer) {
    return this.ask({ ask: "structure", number: layer });
  }

  async frame(number, stored, signal) {
    return (await this.ask({ ask: "frame", number, stored }, signal)).buffer;
  }

  series(number) {
    return this.ask({ ask: "series", number });
  }

  async program(name) {
    return unpacked(await this.ask({ ask: "program", name }));
  }

  close() {
    this.isClosed = true;
    this.model.off("msg:custom", this.hear);
    const left = [...this.waiting.values(), ...this.queue.splice(0)];
    this.waiting.clear();
    for (const { reject } of left) reject(closed());
  }
}

function closed() {
  return new DOMException("the view was closed", "AbortError");
}

function render({ model, el }) {
  const source = new KernelSource(model);
  const root = made("div");
  root.style.height = `${model.get("height")}px`;
  // JupyterLab leaves the keys to the viewer that has the focus.
  root.dataset.lmSuppressShortcuts = "true";
  el.append(root);
  const viewer = new Viewer(root, source);
  const follow = followFrame(viewer, model);
  startWidget(viewer, source, model).catch((error) => viewer.complain(error));
  return () => {
    model.off("change:frame", follow);
    viewer.close();
    source.close();
  };
}

// Make a viewer and the frame of a model follow each other; return the listener of the model.
export function followFrame(viewer, model) {
  let shown = null;
  // The frame of the model that the viewer is about to show.
  let followed = null;
  viewer.shown = (number) => {
    shown = number;
    const isFollowed = number === followed;
    if (number === viewer.numbers.at(viewer.wanted)) followed = null;
    // The model may be at a later frame already, which another view has set, or a cell.
    if (isFollowed || followed !== null) return;
    model.set("frame", number);
    model.save_changes();
  };
  const follow = () => {
    const number = model.get("frame");
    if (number === shown || !viewer.isStarted) return;
    followed = number;
    viewer.choose(number);
  };
  model.on("change:frame", follow);
  return follow;
}

async function startWidget(viewer, source, model) {
  await loaded("uPlot", () => source.program("uPlot.js"));
  await loaded("molstar", () => source.program("molstar.js"));
  await viewer.start(() => model.get("frame"));
}

export default { render };
