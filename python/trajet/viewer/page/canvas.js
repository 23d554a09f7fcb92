// The canvas of the picture, and its context of WebGL.

// Those that Mol* asks for.
const ATTRIBUTES = {
  alpha: true, antialias: true, depth: true, premultipliedAlpha: true, preserveDrawingBuffer: true,
  powerPreference: "high-performance",
};
// Methods of a context that need a linked program.
const LINKED = ["getAttribLocation", "getUniformLocation", "getProgramParameter", "useProgram"];

// Return a canvas that has a context, and whether the browser draws it without a GPU.
export function madeCanvas() {
  const canvas = document.createElement("canvas");
  const gl = canvas.getContext("webgl2", ATTRIBUTES) ?? canvas.getContext("webgl", ATTRIBUTES);
  if (!gl) throw new Error("this browser has no WebGL, which draws the molecules");
  const isSoftware = drawsInSoftware(gl);
  if (isSoftware) linkLate(gl);
  return { canvas, isSoftware };
}

function drawsInSoftware(gl) {
  const extension = gl.getExtension("WEBGL_debug_renderer_info");
  const renderer = gl.getParameter(extension ? extension.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(renderer ?? "");
}

// Make a context link programs when they are used. Mol* links those of all of its effects at first,
// most of which are not drawn without a GPU, where linking takes as long as all else.
function linkLate(gl) {
  const waiting = new Set();
  const link = gl.linkProgram.bind(gl);
  const remove = gl.deleteProgram.bind(gl);
  gl.linkProgram = (program) => waiting.add(program);
  gl.deleteProgram = (program) => {
    waiting.delete(program);
    remove(program);
  };
  for (const name of LINKED) {
    const call = gl[name].bind(gl);
    gl[name] = (program, ...others) => {
      if (waiting.delete(program)) link(program);
      return call(program, ...others);
    };
  }
}
