// The page of the server.

import { ServerSource } from "./sources.js";
import { Viewer } from "./viewer.js";

const viewer = new Viewer(document.getElementById("view"), new ServerSource());
viewer.start().then(() => {
  if (viewer.scene) document.title = `${viewer.scene.title} · trajet view`;
  viewer.root.focus();
});
