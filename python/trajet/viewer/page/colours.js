// Colours of values: a scale, and the theme of Mol* that draws atoms in it.

// From low to high, readable without colour vision (viridis).
const SCALE = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
const UNKNOWN = 0x9aa3ad;

// Return the colour of a value as three numbers to 255.
export function onScale(value, low, high) {
  const share = high > low ? (value - low) / (high - low) : 0;
  const at = Math.min(1, Math.max(0, share)) * (SCALE.length - 1);
  const k = Math.min(Math.floor(at), SCALE.length - 2);
  return SCALE[k].map((first, c) => Math.round(first + (SCALE[k + 1][c] - first) * (at - k)));
}

export function scaleAsCss() {
  return `linear-gradient(to right, ${SCALE.map((rgb) => `rgb(${rgb.join(",")})`).join(", ")})`;
}

// Return the least and the greatest of values that may be null.
export function rangeOf(values) {
  const known = values.filter((value) => value !== null);
  const [low, high] = known.reduce(
    ([least, most], value) => [Math.min(least, value), Math.max(most, value)], [Infinity, -Infinity]);
  return known.length ? [low, high] : [0, 0];
}

// Return a theme that colours the atoms of one layer; `values` has one of each atom, or null.
export function themeOfValues(name, label, values, low, high) {
  const colourOf = (value) => {
    if (value === null || value === undefined) return UNKNOWN;
    const [red, green, blue] = onScale(value, low, high);
    return (red << 16) | (green << 8) | blue;
  };
  const colour = (location) => {
    if (location.kind === "element-location") return colourOf(values[location.element]);
    if (location.kind === "bond-location") {
      return colourOf(values[location.aUnit.elements[location.aIndex]]);
    }
    return UNKNOWN;
  };
  return {
    name,
    label,
    category: "Miscellaneous",
    factory: (_, props) => ({ factory: null, granularity: "group", color: colour, props }),
    getParams: () => ({}),
    defaultValues: {},
    isApplicable: () => true,
  };
}

// Colours of names, in the order in which they appear.
const NAMES = [
  0x4e79a7, 0xf28e2b, 0x59a14f, 0xb07aa1, 0xe15759, 0x76b7b2, 0xedc948, 0xff9da7, 0x9c755f, 0x8cd17d,
  0x499894, 0xd37295, 0xa0cbe8, 0xffbe7d, 0x86bcb6, 0xd4a6c8, 0xb6992d, 0xfabfd2, 0x79706e, 0xd7b5a6,
];

// Return a theme of a text of atoms, a column of Mol*'s hierarchy. All layers share its colours. Mol*'s
// own theme of residues has one colour for all that are no amino acids or nucleotides.
export function themeOfTexts(name, label, column) {
  const colours = new Map();
  return {
    name,
    label,
    category: "Miscellaneous",
    factory: (context, props) => {
      const texts = context.structure?.model.atomicHierarchy.atoms[column];
      const found = new Set();
      for (let k = 0; k < (texts?.rowCount ?? 0); k++) {
        const text = texts.value(k);
        found.add(text);
        if (!colours.has(text)) colours.set(text, NAMES[colours.size % NAMES.length]);
      }
      const colourOf = (element) => colours.get(texts?.value(element)) ?? UNKNOWN;
      const colour = (location) => {
        if (location.kind === "element-location") return colourOf(location.element);
        if (location.kind === "bond-location") return colourOf(location.aUnit.elements[location.aIndex]);
        return UNKNOWN;
      };
      const table = [...found].map((text) => [text, colours.get(text)]);
      const legend = { kind: "table-legend", table };
      return { factory: null, granularity: "group", color: colour, props, legend };
    },
    getParams: () => ({}),
    defaultValues: {},
    isApplicable: () => true,
  };
}
