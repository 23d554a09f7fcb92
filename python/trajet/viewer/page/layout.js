// The parts of the viewer: the picture, the layers and plots beside it, the controls below.

import { made, menu } from "./elements.js";

// Make the parts within an element and return them by name.
export function layOut(root) {
  const part = {};
  const named = (tag, name, properties = {}, ...children) =>
    (part[name] = made(tag, { name, ...properties }, ...children));
  // Until the scene is known there is nothing to control.
  root.classList.add("trajet-view", "opening");
  // Keys are heard by the element that has the focus.
  root.tabIndex = 0;
  const header = made("header", {},
    named("h1", "title"),
    named("output", "read", { title: "Bytes read for frames, of the size of the trajectory" }));
  const switches = [
    named("label", "stored-switch", { hidden: true },
      named("input", "stored", { type: "checkbox" }), " positions as stored"),
    named("label", "cell-switch", {},
      named("input", "cell", { type: "checkbox", checked: true }), " unit cell"),
  ];
  const layers = made("section", {},
    made("h2", { textContent: "Layers" }), named("div", "layers"), ...switches, named("ul", "messages"));
  const message = named("p", "message", { hidden: true });
  message.setAttribute("role", "alert");
  const main = made("main", {},
    named("section", "picture", { ariaLabel: "Molecules" }),
    made("aside", {}, layers, named("section", "plots", { ariaLabel: "Plots" })),
    message);
  const footer = made("footer", {},
    named("button", "back", { title: "Previous frame (←)", ariaLabel: "Previous frame", textContent: "‹" }),
    named("button", "play", { title: "Play (space)", textContent: "Play" }),
    named("button", "forward", { title: "Next frame (→)", ariaLabel: "Next frame", textContent: "›" }),
    named("input", "seek", { type: "range", min: 0, value: 0, ariaLabel: "Frame" }),
    named("output", "label"),
    made("label", {}, "frame ", named("input", "number", { type: "number", min: 0, value: 0 })),
    made("label", {}, "frames/s ",
      (part.speed = menu({ name: "speed" }, ["1", "5", "15", "30", ["1000", "most"]]))),
    made("label", {}, "every ", (part.stride = menu({ name: "stride" }, ["1", "2", "5", "10", "100"]))),
    named("label", "smooth-switch", { title: "Average of so many neighbouring frames" }, "average of ",
      (part.smooth = menu({ name: "smooth" }, ["1", "3", "5", "9", "15"]))));
  part.speed.value = "15";
  root.replaceChildren(header, main, footer);
  return part;
}
