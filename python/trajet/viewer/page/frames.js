// Frames from the server: decoded, kept up to a number of bytes, and fetched ahead while playing.

// Bytes of frames that are kept, and bytes that are fetched ahead.
const KEPT = 256 * 2 ** 20;
const AHEAD = 32 * 2 ** 20;
const MOST_AHEAD = 8;

export class Frames {
  constructor(scene) {
    this.scene = scene;
    this.stored = scene.shows_stored;
    // By number, the least recently used first.
    this.kept = new Map();
    this.waiting = new Map();
    this.bytesRead = 0;
    this.fetched = new Set();
    const size = scene.header_size + scene.bytes_an_atom * scene.n_shown;
    this.mostKept = Math.max(2, Math.floor(KEPT / (12 * scene.n_shown + 1)));
    this.mostAhead = Math.max(1, Math.min(MOST_AHEAD, this.mostKept - 1, Math.floor(AHEAD / size)));
  }

  // Forget all frames, as positions of the other kind are shown now.
  showStored(stored) {
    this.stored = stored;
    this.keepOnly(new Set());
    this.kept.clear();
  }

  // Return a promise of a frame. Requests for frames that nobody waits for are ended.
  get(number, ahead = []) {
    const wanted = new Set([number, ...ahead.slice(0, this.mostAhead)]);
    this.keepOnly(wanted);
    let first;
    for (const each of wanted) {
      const promise = this.kept.has(each) ? Promise.resolve(this.kept.get(each)) : this.request(each);
      if (each === number) first = promise;
      else promise.catch(() => {});
    }
    if (this.kept.has(number)) {
      const frame = this.kept.get(number);
      this.kept.delete(number);
      this.kept.set(number, frame);
    }
    return first;
  }

  keepOnly(wanted) {
    for (const [number, { control }] of this.waiting) {
      if (!wanted.has(number)) {
        control.abort();
        this.waiting.delete(number);
      }
    }
  }

  request(number) {
    if (this.waiting.has(number)) return this.waiting.get(number).promise;
    const control = new AbortController();
    const promise = this.load(number, control.signal).finally(() => {
      if (this.waiting.get(number)?.control === control) this.waiting.delete(number);
    });
    this.waiting.set(number, { promise, control });
    return promise;
  }

  async load(number, signal) {
    const query = this.stored ? "?positions=stored" : "";
    const response = await fetch(`frame/${number}${query}`, { signal });
    if (!response.ok) throw new Error((await response.text()).trim());
    const frame = decoded(await response.arrayBuffer(), this.scene.header_size);
    this.bytesRead = Math.max(this.bytesRead, frame.bytesRead);
    this.fetched.add(number);
    this.kept.set(number, frame);
    while (this.kept.size > this.mostKept) this.kept.delete(this.kept.keys().next().value);
    return frame;
  }
}

// Take a frame apart; trajet.viewer.scene has the layout.
export function decoded(buffer, headerSize) {
  const view = new DataView(buffer);
  const floats = (offset, n) =>
    Array.from({ length: n }, (_, k) => view.getFloat32(offset + 4 * k, true));
  const n = view.getUint32(4, true);
  const origin = floats(72, 3);
  const step = view.getFloat32(84, true);
  let positions;
  if (step === 0) {
    positions = new Float32Array(buffer, headerSize, 3 * n);
  } else {
    const steps = new Int16Array(buffer, headerSize, 3 * n);
    positions = new Float32Array(3 * n);
    for (let k = 0; k < 3 * n; k++) positions[k] = steps[k] * step + origin[k % 3];
  }
  return {
    number: view.getUint32(0, true),
    time: view.getFloat64(8, true),
    bytesRead: view.getFloat64(16, true),
    vectors: floats(24, 9),
    corner: floats(60, 3),
    positions,
  };
}
