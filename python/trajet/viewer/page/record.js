// Draws chosen frames without a user, and sends the pictures, or a movie of them, to the server.

import { ServerSource } from "./sources.js";
import { Viewer } from "./viewer.js";

const CODECS = ["avc1.640028", "avc1.4d0028", "avc1.42e028"];
// Pictures between two that can be decoded on their own, and bits of each pixel of a picture.
const KEY = 50;
const BITS = 0.25;

async function record() {
  const plan = await (await fetch("recording.json")).json();
  const root = document.getElementById("view");
  root.classList.add("recording");
  root.style.width = `${plan.width}px`;
  root.style.height = `${plan.height}px`;
  const viewer = new Viewer(root, new ServerSource());
  await viewer.start(() => plan.frames[0]);
  if (!viewer.root.dataset.ready) throw new Error(viewer.part.message.textContent);
  // Colours and hydrogen bonds are those of the results.
  await viewer.plots.all;
  for (const error of viewer.plots.failures) throw error;
  const encoder = plan.rate === null ? null : await movieEncoder(plan);
  for (const [k, number] of plan.frames.entries()) {
    await viewer.show(number);
    const picture = await viewer.molecules.picture(plan.width, plan.height);
    if (encoder) await encoder.add(picture, k);
    else await send(`picture/${k}`, picture);
  }
  await encoder?.finish();
  await send("done", "");
}

async function send(name, body) {
  const response = await fetch(name, { method: "POST", body });
  if (!response.ok) throw new Error(await response.text());
}

async function movieEncoder({ width, height, rate }) {
  let config;
  for (const codec of CODECS) {
    config = {
      codec, width, height, framerate: rate, bitrate: Math.round(BITS * width * height * rate),
      latencyMode: "quality", avc: { format: "avc" },
    };
    if ((await VideoEncoder.isConfigSupported(config)).supported) break;
    config = null;
  }
  if (!config) throw new Error("this browser cannot encode H.264: take pictures instead (--png)");
  let sent = Promise.resolve();
  let failure = null;
  let n = 0;
  let last = -Infinity;
  const encoder = new VideoEncoder({
    output: (chunk, { decoderConfig } = {}) => {
      // Pictures of a movie stand in the order in which they are shown.
      if (chunk.timestamp <= last) failure = new Error("this browser encodes pictures in another order");
      last = chunk.timestamp;
      const data = new Uint8Array(chunk.byteLength);
      chunk.copyTo(data);
      const name = `chunk/${n++}?key=${Number(chunk.type === "key")}`;
      sent = sent.then(async () => {
        if (decoderConfig?.description) await send("configuration", decoderConfig.description);
        await send(name, data);
      });
      sent.catch((error) => (failure = error));
    },
    error: (error) => (failure = error),
  });
  encoder.configure(config);
  return {
    add: async (picture, k) => {
      const bitmap = await createImageBitmap(picture);
      const frame = new VideoFrame(bitmap, { timestamp: Math.round((k * 1e6) / rate) });
      encoder.encode(frame, { keyFrame: k % KEY === 0 });
      frame.close();
      bitmap.close();
      // Few pictures are in memory.
      if (encoder.encodeQueueSize > 4) await encoder.flush();
      if (failure) throw failure;
    },
    finish: async () => {
      await encoder.flush();
      await sent;
      if (failure) throw failure;
    },
  };
}

record().catch((error) => send("failed", error.message));
