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
