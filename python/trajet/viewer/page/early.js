// Runs before the other modules, which wait for Mol*.

import { prepareCanvas } from "./canvas.js";

prepareCanvas();
