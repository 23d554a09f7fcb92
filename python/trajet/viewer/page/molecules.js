// The picture: Mol* behind a few functions, so that another viewer can take its place.

import { madeCanvas } from "./canvas.js";
import { rangeOf, themeOfTexts, themeOfValues } from "./colours.js";

const TYPES = {
  cartoon: ["cartoon", {}],
  ball: ["ball-and-stick", { sizeFactor: 0.2 }],
  spheres: ["spacefill", {}],
  lines: ["line", { sizeFactor: 0.8 }],
  surface: ["gaussian-surface", {}],
  points: ["point", { sizeFactor: 2 }],
};
const COLOURS = {
  chain: "chain-id",
  residue: "trajet-residues",
  name: "trajet-names",
  element: "element-symbol",
  secondary: "secondary-structure",
  sequence: "sequence-id",
};
// White hydrogens are not seen before a white background.
const HYDROGEN = 0xc3ccd6;
// Ends of hydrogen bonds that are farther apart, Å, are in different images of the cell.
const LONGEST_DASH = 6;
// Without a GPU each picture takes seconds with these.
const OFF = { name: "off", params: {} };
const PLAIN = {
  multiSample: { mode: "off" },
  postprocessing: { occlusion: OFF, shadow: OFF, outline: OFF, antialiasing: OFF },
};
// Colours of a layer that are explained.
const MOST_IN_LEGEND = 24;
export const REPRESENTATIONS = Object.keys(TYPES);
export const COLOUR_NAMES = Object.keys(COLOURS);

export class Molecules {
  // Make the picture within an element.
  static async create(element, scene, source) {
    const { PluginContext, DefaultPluginSpec, PluginConfig } = molstar.lib.plugin;
    const made = new Molecules();
    made.colours = { ...COLOURS };
    // All are asked for at once, before the canvas is made.
    const structures = scene.layers.map((_, number) => source.structure(number));
    for (const structure of structures) structure.catch(() => {});
    const { canvas, isSoftware } = madeCanvas();
    made.isSoftware = isSoftware;
    const spec = DefaultPluginSpec();
    spec.config = [
      [PluginConfig.VolumeStreaming.Enabled, false],
      ...(spec.config ?? []),
    ];
    spec.canvas3d = {
      camera: { helper: { axes: OFF } },
      cameraFog: { name: "on", params: { intensity: 40 } },
      ...(isSoftware ? PLAIN : {}),
    };
    made.plugin = new PluginContext(spec);
    try {
      await made.fill(element, canvas, scene, structures);
    } catch (error) {
      // Browsers have few contexts of WebGL.
      made.close();
      throw error;
    }
    return made;
  }

  // Make the layers and the cell, of which nothing is drawn before `begin`.
  async fill(element, canvas, scene, structures) {
    const { plugin } = this;
    await plugin.init();
    const themes = plugin.representation.structure.themes.colorThemeRegistry;
    themes.add(themeOfTexts(COLOURS.residue, "Residue", "label_comp_id"));
    themes.add(themeOfTexts(COLOURS.name, "Name", "label_atom_id"));
    this.params = { element: elementParams(themes.get(COLOURS.element)) };
    element.append(canvas);
    this.canvas = canvas;
    if (!(await plugin.initViewerAsync(canvas, element))) {
      throw new Error("this browser cannot draw molecules: its WebGL has failed");
    }
    plugin.handleResize();
    plugin.animationLoop.stop({ noDraw: true });
    this.layers = [];
    for (const [number, layer] of scene.layers.entries()) {
      this.layers.push(await this.addLayer(layer, await structures[number]));
    }
    this.cell = await this.addLines(cubeOfEight(), { style: "covale", width: 1, colour: 0x8a94a0 });
    this.dashes = [];
  }

  async addLayer(layer, data) {
    const { StateTransforms } = molstar.lib.plugin;
    const build = this.plugin.build().toRoot();
    const model = build
      .apply(StateTransforms.Data.RawData, { data, label: layer.label })
      .apply(StateTransforms.Data.ParseCif)
      .apply(StateTransforms.Model.TrajectoryFromMmCif)
      .apply(StateTransforms.Model.ModelFromTrajectory, { modelIndex: 0 })
      .apply(StateTransforms.Model.ModelWithCoordinates);
    const structure = model.apply(StateTransforms.Model.StructureFromModel);
    const drawn = structure.apply(
      StateTransforms.Representation.StructureRepresentation3D,
      representation(layer, this.layers.length, this.colours, this.params),
    );
    await build.commit({ revertOnError: false });
    // Mol* reports errors of steps to its log only.
    if (!drawn.selector.isOk) throw new Error(`layer ${layer.label}: ${drawn.selector.cell?.errorText}`);
    const n = layer.n_atoms;
    const order = structure.selector.data.model.atomicHierarchy.atomSourceIndex;
    for (let k = 0; k < n; k++) {
      if (order.value(k) !== k) throw new Error(`layer ${layer.label}: its atoms are out of order`);
    }
    return {
      coordinates: model.ref,
      structure: structure.ref,
      drawn: drawn.ref,
      ranges: layer.ranges,
      // Two sets: Mol* compares a frame with the one before.
      sets: [0, 1].map(() => [0, 1, 2].map(() => new Float32Array(n))),
    };
  }

  // Lines are a structure of their ends, whose bonds are the lines.
  async addLines(pairs, { style, width, colour }) {
    const { StateTransforms } = molstar.lib.plugin;
    const build = this.plugin.build().toRoot();
    const model = build
      .apply(StateTransforms.Data.RawData, { data: linesAsCif(pairs, style), label: "lines" })
      .apply(StateTransforms.Data.ParseCif)
      .apply(StateTransforms.Model.TrajectoryFromMmCif)
      .apply(StateTransforms.Model.ModelFromTrajectory, { modelIndex: 0 })
      .apply(StateTransforms.Model.ModelWithCoordinates);
    const drawn = model.apply(StateTransforms.Model.StructureFromModel).apply(
      StateTransforms.Representation.StructureRepresentation3D,
      {
        type: { name: "line", params: { sizeFactor: width, quality: "lowest" } },
        colorTheme: { name: "uniform", params: { value: colour } },
        sizeTheme: { name: "uniform", params: { value: 1 } },
      },
    );
    await build.commit({ revertOnError: false });
    return { coordinates: model.ref, drawn: drawn.ref };
  }

  // Draw hydrogen bonds of the frames of a result as dashes.
  async addDashes({ frames, bonds }) {
    const most = bonds.counts.reduce((one, other) => Math.max(one, other), 0);
    if (!most) return;
    const pairs = Array.from({ length: most }, (_, k) => [2 * k, 2 * k + 1]);
    const lines = await this.addLines(pairs, { style: "hydrog", width: 3, colour: 0x2266cc });
    const row = new Map(frames.map((number, k) => [number, k]));
    this.dashes.push({ ...lines, most, bonds, row });
  }

  // Draw from now on; the promise is fulfilled with the first picture.
  begin() {
    const { canvas3d, animationLoop } = this.plugin;
    return new Promise((done) => {
      let n = 0;
      // The first value is there before anything is drawn.
      const drawn = canvas3d.didDraw.subscribe(() => {
        if (n++) {
          drawn.unsubscribe();
          done();
        }
      });
      animationLoop.start();
    });
  }

  // Show a frame: the only function that changes positions.
  async setFrame(number, frame) {
    const update = this.plugin.build();
    // Layers are made at the positions of frame 0.
    const moved = this.hasFrame || number !== 0 ? this.layers : [];
    this.hasFrame = true;
    for (const layer of moved) {
      const [x, y, z] = layer.sets.reverse()[0];
      let k = 0;
      for (const [first, end] of layer.ranges) {
        for (let atom = first; atom < end; atom++, k++) {
          x[k] = frame.positions[3 * atom];
          y[k] = frame.positions[3 * atom + 1];
          z[k] = frame.positions[3 * atom + 2];
        }
      }
      update.to(layer.coordinates).update(coordinates(number, x, y, z));
    }
    this.corners = corners(frame);
    update.to(this.cell.coordinates).update(coordinates(number, ...this.corners));
    for (const dashes of this.dashes) {
      update.to(dashes.coordinates).update(coordinates(number, ...endsOf(dashes, frame)));
    }
    await update.commit();
    this.plugin.canvas3d?.commit(true);
  }

  async setStyle(number, layer) {
    const style = representation(layer, number, this.colours, this.params);
    await this.plugin.build().to(this.layers[number].drawn).update(style).commit();
  }

  // Return what colours of a layer mean, as texts with numbers of colours; nothing if that is plain.
  legendOf(number) {
    const legend = this.plugin.state.data.cells.get(this.layers[number].drawn)
      ?.obj?.data.repr.theme.color.legend;
    const table = legend?.kind === "table-legend" ? legend.table : [];
    return table.length > 1 && table.length <= MOST_IN_LEGEND ? table : [];
  }

  // Add a colour by the values of a result, one of each atom of a frame; return its name.
  addValues(key, label, values) {
    const name = `trajet-values-${key}`;
    const [low, high] = rangeOf(values);
    this.colours[name] = null;
    for (const [number, layer] of this.layers.entries()) {
      const own = layer.ranges.flatMap(([first, end]) => values.slice(first, end));
      this.plugin.representation.structure.themes.colorThemeRegistry.add(
        themeOfValues(`${name}-${number}`, label, own, low, high));
    }
    return { name, low, high };
  }

  // Select residues, given as ranges of atoms of a frame, and turn the camera to them. Each atom is
  // selected in the first layer that has it.
  showAtoms(spans) {
    const { StructureElement } = molstar.lib.structure;
    const { lociSelects } = this.plugin.managers.interactivity;
    const left = new Set(spans.flatMap(([first, end]) =>
      Array.from({ length: end - first }, (_, k) => first + k)));
    lociSelects.deselectAll();
    const spheres = [];
    for (const layer of this.layers) {
      const items = [];
      let before = 0;
      for (const [first, end] of layer.ranges) {
        for (const atom of [...left]) {
          if (atom < first || atom >= end) continue;
          items.push({ atom_id: before + atom - first + 1 });
          left.delete(atom);
        }
        before += end - first;
      }
      const structure = this.plugin.state.data.cells.get(layer.structure)?.obj?.data;
      if (!items.length || !structure) continue;
      const loci = StructureElement.Loci.fromSchema(structure, { items });
      lociSelects.select({ loci });
      const sphere = StructureElement.Loci.getBoundary(loci).sphere;
      if (sphere.radius >= 0) spheres.push(sphere);
    }
    const sphere = around(spheres);
    if (sphere) this.plugin.managers.camera.focusSphere(sphere, { extraRadius: 8, durationMs: 250 });
  }

  setVisible(number, isVisible) {
    this.show(this.layers[number].drawn, isVisible);
  }

  setCellVisible(isVisible) {
    this.show(this.cell.drawn, isVisible);
  }

  show(ref, isVisible) {
    const cell = this.plugin.state.data.cells.get(ref);
    if (cell?.obj) {
      this.plugin.state.data.updateCellState(ref, { isHidden: !isVisible });
      cell.obj.data.repr.setState({ visible: isVisible, pickable: isVisible });
      this.plugin.canvas3d?.syncVisibility();
      this.plugin.canvas3d?.requestDraw();
    }
  }

  // Return the picture as a PNG file of a size in pixels; without a GPU, of the size that it has.
  async picture(width, height) {
    if (this.isSoftware) {
      const { canvas3d, canvas3dContext } = this.plugin;
      canvas3d.requestDraw();
      for (let k = 0; k < 2; k++) await new Promise(requestAnimationFrame);
      return new Promise((done) => canvas3dContext.canvas.toBlob(done, "image/png"));
    }
    const { viewportScreenshot } = this.plugin.helpers;
    const { values, cropParams } = viewportScreenshot.behaviors;
    values.next({ ...values.value, resolution: { name: "custom", params: { width, height } } });
    cropParams.next({ ...cropParams.value, auto: false });
    return (await fetch(await viewportScreenshot.getImageDataUri())).blob();
  }

  close() {
    this.plugin.dispose();
    this.canvas?.remove();
  }

  // Look at all layers along y, with z upwards: membranes are seen from the side.
  look() {
    const spheres = this.layers.map(({ drawn }) =>
      this.plugin.state.data.cells.get(drawn)?.obj?.data.sourceData.boundary.sphere);
    const sphere = around(spheres.filter(Boolean));
    const camera = this.plugin.canvas3d?.camera;
    if (!sphere || !camera) return;
    const focus = camera.getFocus(sphere.center, sphere.radius + 2);
    const [x, y, z] = focus.target;
    const distance = Math.hypot(...focus.target.map((at, axis) => at - focus.position[axis]));
    // Farther lines of the cell would be cut.
    const reach = [...this.corners[0]].map((_, k) =>
      Math.hypot(...this.corners.map((values, axis) => values[k] - focus.target[axis])));
    const radius = Math.max(focus.radius, ...reach);
    camera.setState({ ...focus, position: [x, y - distance, z], up: [0, 0, 1], radius }, 0);
    this.plugin.canvas3d.requestDraw();
  }
}

// Return a sphere around spheres; undefined without any.
function around(spheres) {
  if (!spheres.length) return undefined;
  const center = [0, 1, 2].map((axis) => {
    const lowest = Math.min(...spheres.map((one) => one.center[axis] - one.radius));
    const highest = Math.max(...spheres.map((one) => one.center[axis] + one.radius));
    return (lowest + highest) / 2;
  });
  const reach = (one) => Math.hypot(...center.map((at, axis) => one.center[axis] - at)) + one.radius;
  return { center, radius: Math.max(...spheres.map(reach)) };
}

// Return the parameters of the colours of elements: carbon would have the colour of its chain.
function elementParams(theme) {
  const { colors } = theme.getParams({});
  const params = { ...colors.map("custom").defaultValue, H: HYDROGEN, D: HYDROGEN };
  return {
    carbonColor: { name: "element-symbol", params: {} },
    colors: { name: "custom", params },
  };
}

function representation(layer, number, colours, params) {
  const [name, properties] = TYPES[layer.representation];
  const isKnown = Object.hasOwn(colours, layer.colour);
  return {
    type: { name, params: properties },
    // Values arrive later.
    colorTheme: isKnown
      ? { name: colours[layer.colour] ?? `${layer.colour}-${number}`, params: params[layer.colour] ?? {} }
      : { name: "uniform", params: { value: 0x9aa3ad } },
    sizeTheme: { name: name === "cartoon" ? "uniform" : "physical", params: {} },
  };
}

function coordinates(number, x, y, z) {
  return {
    frameIndex: number,
    atomicCoordinateFrame: {
      elementCount: x.length,
      time: { value: 0, unit: "step" },
      xyzOrdering: { isIdentity: true },
      x,
      y,
      z,
    },
  };
}

// The corners of the cell, as x, y and z; all at one point without a cell.
function corners({ vectors, corner }) {
  const axes = [0, 1, 2].map((axis) => new Float32Array(8).map((_, point) => {
    let value = corner[axis];
    for (let k = 0; k < 3; k++) if (point & (1 << k)) value += vectors[3 * k + axis];
    return value;
  }));
  return axes;
}

// Return the ends of the dashes of a frame; those that are not drawn are at one point.
function endsOf({ most, bonds, row }, frame) {
  const [x, y, z] = [0, 1, 2].map((axis) => new Float32Array(2 * most).fill(frame.positions[axis]));
  const k = row.get(frame.number);
  if (k === undefined) return [x, y, z];
  const at = (atom, axis) => frame.positions[3 * atom + axis];
  for (let bond = 0; bond < bonds.counts[k]; bond++) {
    const ends = bonds.ends[bonds.offsets[k] + bond];
    const apart = Math.hypot(...[0, 1, 2].map((axis) => at(ends[0], axis) - at(ends[1], axis)));
    if (apart > LONGEST_DASH) continue;
    ends.forEach((atom, end) => {
      [x, y, z].forEach((values, axis) => (values[2 * bond + end] = at(atom, axis)));
    });
  }
  return [x, y, z];
}

// Return the edges of a cube, whose corners are numbered by their coordinates in binary.
function cubeOfEight() {
  const pairs = [];
  for (let k = 0; k < 8; k++) {
    for (const bit of [1, 2, 4]) if (!(k & bit)) pairs.push([k, k | bit]);
  }
  return pairs;
}

function linesAsCif(pairs, style) {
  const n = 1 + pairs.reduce((most, pair) => Math.max(most, ...pair), 0);
  const lines = [
    "data_LINES", "loop_", "_entity.id", "_entity.type", "1 non-polymer",
    "loop_",
    ...["group_PDB", "id", "type_symbol", "label_atom_id", "label_alt_id", "label_comp_id",
      "label_asym_id", "label_entity_id", "label_seq_id", "Cartn_x", "Cartn_y", "Cartn_z",
      "auth_seq_id", "auth_asym_id", "pdbx_PDB_model_num"].map((name) => `_atom_site.${name}`),
  ];
  for (let k = 0; k < n; k++) {
    lines.push(`HETATM ${k + 1} X X${k} . LIN c1 1 1 ${k & 1} ${(k >> 1) & 1} ${k >> 2} 1 c1 1`);
  }
  lines.push(
    "loop_",
    ...["atom_id_1", "atom_id_2", "value_order", "type_id"].map((n) => `_molstar_bond_site.${n}`),
  );
  for (const [one, other] of pairs) lines.push(`${one + 1} ${other + 1} sing ${style}`);
  return lines.join("\n") + "\n";
}
