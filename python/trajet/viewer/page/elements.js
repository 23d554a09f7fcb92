// Elements of the page. Texts become text, never HTML: names and titles come from files.

// Make an element with properties and children; a name becomes its class.
export function made(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  const { name, ...others } = properties;
  if (name) element.className = name;
  Object.assign(element, others);
  element.append(...children);
  return element;
}

// Make a menu of choices, each a text or a pair of a value and a text.
export function menu(properties, choices) {
  const options = choices.map((choice) =>
    Array.isArray(choice) ? new Option(choice[1], choice[0]) : new Option(choice, choice));
  return made("select", properties, ...options);
}

export function inBytes(n) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let k = 0;
  // Three digits of 999.5 are 1000.
  while (n >= 999.5 && k < units.length - 1) {
    n /= 1000;
    k++;
  }
  return `${k ? n.toPrecision(3) : n} ${units[k]}`;
}
