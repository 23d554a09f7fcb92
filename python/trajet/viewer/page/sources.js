// Where the viewer gets its data: from the server of the page, or from the saved page itself.
//
// A source has `scene()`, `structure(layer)`, `frame(number, stored, signal)` and `series(number)`;
// each returns a promise.

export class ServerSource {
  scene() {
    return answer("scene.json", "json");
  }

  async structure(layer) {
    return new Uint8Array(await answer(`structure/${layer}`, "arrayBuffer"));
  }

  frame(number, stored, signal) {
    const query = stored ? "?positions=stored" : "";
    return answer(`frame/${number}${query}`, "arrayBuffer", { signal });
  }

  series(number) {
    return answer(`series/${number}`, "json");
  }
}

// Longer texts are pages of a proxy.
const LONGEST_ERROR = 300;

// Return a promise of the body of an answer, of the kind of a method of `Response`.
async function answer(name, kind, options) {
  let response;
  let body;
  try {
    response = await fetch(name, options);
    body = await response[response.ok ? kind : "text"]();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("the server does not answer: trajet view has ended, or the connection is lost");
  }
  if (response.ok) return body;
  if (response.status === 401) {
    throw new Error("this address is no longer valid: trajet view has another one whenever it starts");
  }
  const text = body.trim();
  const isOwn = text && text.length <= LONGEST_ERROR;
  throw new Error(isOwn ? text : `the server answers with status ${response.status}`);
}

// The pieces of a saved page, each compressed: trajet.viewer.saved has the layout.
export class SavedSource {
  constructor(index, base64) {
    this.index = index;
    this.bytes = bytesOf(base64);
  }

  async piece(name) {
    if (!Object.hasOwn(this.index.pieces, name)) throw new Error(`${name} is not part of this file`);
    const [offset, length] = this.index.pieces[name];
    return unpacked(this.bytes.subarray(offset, offset + length));
  }

  async json(name) {
    return JSON.parse(new TextDecoder().decode(await this.piece(name)));
  }

  scene() {
    return this.json("scene.json");
  }

  structure(layer) {
    return this.piece(`structure/${layer}`);
  }

  series(number) {
    return this.json(`series/${number}`);
  }

  // Positions of 16 bits are differences to those of a base frame, all low bytes before the high ones.
  async frame(number) {
    const piece = await this.piece(`frame/${number}`);
    const view = new DataView(piece.buffer);
    const n = 3 * view.getUint32(4, true);
    const header = piece.length - 2 * n;
    if (view.getFloat32(84, true) === 0) return piece.buffer;
    const { base } = this.index;
    if (base !== null && number !== base) this.baseFrame ??= this.frame(base);
    const before = number !== base && (await this.baseFrame)?.slice(header);
    const positions = new Int16Array(before || n);
    for (let k = 0; k < n; k++) {
      positions[k] += piece[header + k] | (piece[header + n + k] << 8);
    }
    piece.set(new Uint8Array(positions.buffer), header);
    return piece.buffer;
  }
}

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let k = 0; k < text.length; k++) bytes[k] = text.charCodeAt(k);
  return bytes;
}

// Return the bytes of a gzip stream.
export async function unpacked(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Run a program that defines a global variable, unless it is there. Several viewers of a notebook run
// it once: parts of one copy do not know those of another.
export async function loaded(name, program) {
  const running = (globalThis.trajetPrograms ??= new Map());
  while (!(name in globalThis)) {
    if (running.has(name)) {
      // The viewer that runs it may be closed meanwhile.
      await running.get(name).catch(() => {});
      continue;
    }
    running.set(name, run(name, program));
    try {
      await running.get(name);
    } finally {
      running.delete(name);
    }
  }
}

async function run(name, program) {
  const text = new TextDecoder().decode(await program());
  globalThis[name] = new Function(`${text}\nreturn ${name};`)();
}
