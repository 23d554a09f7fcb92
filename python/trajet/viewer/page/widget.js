// The viewer in a notebook: data come from the kernel, in messages of its connection.

import { made } from "./elements.js";
import { loaded, unpacked } from "./sources.js";
import { Viewer } from "./viewer.js";

class KernelSource {
  constructor(model) {
    this.model = model;
    this.waiting = new Map();
    this.hear = (content, buffers) => this.take(content, buffers);
    model.on("msg:custom", this.hear);
  }

  // Send a request, and return a promise of its answer: an object, or bytes.
  ask(request) {
    // Answers reach all views of a widget.
    const id = crypto.getRandomValues(new Uint32Array(2)).join("-");
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.model.send({ ...request, id });
    });
  }

  take(content, buffers) {
    const waiting = this.waiting.get(content.id);
    if (!waiting) return;
    this.waiting.delete(content.id);
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

  async frame(number, stored) {
    return (await this.ask({ ask: "frame", number, stored })).buffer;
  }

  series(number) {
    return this.ask({ ask: "series", number });
  }

  async program(name) {
    return unpacked(await this.ask({ ask: "program", name }));
  }

  close() {
    this.model.off("msg:custom", this.hear);
  }
}

function render({ model, el }) {
  const source = new KernelSource(model);
  const root = made("div");
  root.style.height = `${model.get("height")}px`;
  // JupyterLab leaves the keys to the viewer that has the focus.
  root.dataset.lmSuppressShortcuts = "true";
  el.append(root);
  let shown = null;
  const viewer = new Viewer(root, source, (number) => {
    shown = number;
    model.set("frame", number);
    model.save_changes();
  });
  const follow = () => {
    if (model.get("frame") !== shown) viewer.choose(model.get("frame"));
  };
  startWidget(viewer, source, model)
    .then(() => model.on("change:frame", follow))
    .catch((error) => viewer.complain(error));
  return () => {
    model.off("change:frame", follow);
    viewer.close();
    source.close();
  };
}

async function startWidget(viewer, source, model) {
  await loaded("uPlot", () => source.program("uPlot.js"));
  await loaded("molstar", () => source.program("molstar.js"));
  await viewer.start(model.get("frame"));
}

export default { render };
