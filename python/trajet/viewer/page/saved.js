// The saved page, which has all of its data.

import { made } from "./elements.js";
import { loaded, SavedSource } from "./sources.js";
import { Viewer } from "./viewer.js";

async function startSaved() {
  const text = (id) => document.getElementById(id).textContent;
  const source = new SavedSource(JSON.parse(text("index")), text("pieces"));
  document.getElementById("pieces").remove();
  await loaded("uPlot", () => source.piece("uPlot.js"));
  await loaded("molstar", () => source.piece("molstar.js"));
  const viewer = new Viewer(document.getElementById("view"), source);
  await viewer.start();
  document.title = `${viewer.scene?.title ?? ""} · trajet view`;
  viewer.root.focus();
}

startSaved().catch((error) => {
  const message = `This page cannot be shown: ${error.message}. A current browser and the whole file are needed.`;
  document.body.prepend(made("p", { textContent: message }));
});
