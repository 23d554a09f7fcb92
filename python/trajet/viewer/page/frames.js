// Frames of a source: decoded, kept up to a number of bytes, and fetched ahead while playing.

// Bytes of frames that are kept, and bytes that are fetched ahead.
const KEPT = 256 * 2 ** 20;
const AHEAD = 32 * 2 ** 20;
const MOST_AHEAD = 8;

export class Frames {
  constructor(scene, source) {
    this.scene = scene;
    this.source = source;
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

  // Return a promise of a frame, or of the average of neighbouring frames, of which the first is
  // shown. Requests for frames that nobody waits for are ended.
  async get([number, ...neighbours], ahead = []) {
    const needed = new Set([number, ...neighbours]);
    const wanted = new Set([...needed, ...ahead.slice(0, this.mostAhead)]);
    this.keepOnly(wanted);
    const found = [];
    for (const each of wanted) {
      const promise = this.kept.has(each) ? Promise.resolve(this.used(each)) : this.request(each);
      if (needed.has(each)) found.push(promise);
      else promise.catch(() => {});
    }
    const frames = await Promise.all(found);
    return frames.length > 1 ? average(frames) : frames[0];
  }

  // Return a frame that is kept, as the one used last.
  used(number) {
    const frame = this.kept.get(number);
    this.kept.delete(number);
    this.kept.set(number, frame);
    return frame;
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
    const buffer = await this.source.frame(number, this.stored, signal);
    // Not all sources can end a request.
    signal.throwIfAborted();
    const frame = decoded(buffer, this.scene.header_size);
    this.bytesRead = Math.max(this.bytesRead, frame.bytesRead);
    this.fetched.add(number);
    this.kept.set(number, frame);
    while (this.kept.size > this.mostKept) this.kept.delete(this.kept.keys().next().value);
    return frame;
  }
}

// Return the first of some frames with the mean positions of all. Where an atom is on the other side
// of the cell in another frame, its position there does not count.
export function average(frames) {
  const [shown, ...others] = frames;
  const lengths = [0, 3, 6].map((k) => Math.hypot(...shown.vectors.slice(k, k + 3)));
  const most = lengths[0] ? (Math.min(...lengths) / 2) ** 2 : Infinity;
  const here = shown.positions;
  const positions = new Float32Array(here.length);
  for (let k = 0; k < here.length; k += 3) {
    let [x, y, z, n] = [here[k], here[k + 1], here[k + 2], 1];
    for (const { positions: there } of others) {
      const dx = there[k] - here[k], dy = there[k + 1] - here[k + 1], dz = there[k + 2] - here[k + 2];
      if (dx * dx + dy * dy + dz * dz > most) continue;
      x += there[k];
      y += there[k + 1];
      z += there[k + 2];
      n++;
    }
    positions[k] = x / n;
    positions[k + 1] = y / n;
    positions[k + 2] = z / n;
  }
  return { ...shown, positions };
}

// The numbers of the frames that there are: all of a trajectory, or those that were saved.
export class FrameNumbers {
  constructor(scene) {
    this.list = scene.frames ?? null;
    this.length = this.list ? this.list.length : scene.n_frames;
  }

  at(index) {
    return this.list ? this.list[index] : index;
  }

  // Return the index of the frame nearest to a number.
  nearest(number) {
    const rounded = Math.round(number) || 0;
    if (!this.list) return Math.min(Math.max(0, rounded), this.length - 1);
    let best = 0;
    this.list.forEach((each, k) => {
      if (Math.abs(each - rounded) < Math.abs(this.list[best] - rounded)) best = k;
    });
    return best;
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
