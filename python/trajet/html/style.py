"""Colours and layout of the page, in light and dark."""

from trajet.advise.entries import StageName

# Close to figure 2 of Khoshlessan et al. 2020; the palette of Okabe and Ito is safe for colour
# blindness.
STAGE_COLOURS: dict[StageName, str] = {
    "t_open": "#8c8c8c",
    "t_index": "#5f6b73",
    "t_read": "#0072b2",
    "t_decode": "#56b4e9",
    "t_comp": "#e69f00",
    "t_merge": "#cc79a7",
    "t_comm": "#d55e00",
    "t_close": "#009e73",
    "t_overhead": "var(--overhead)",
    "t_wait": "var(--wait)",
}

CSS = """
:root { color-scheme: light dark; --page: #fff; --ink: #1b1f23; --soft: #57606a; --line: #d5dae0;
  --card: #f5f7f9; --wait: #e3e7eb; --overhead: #33393f; --alarm: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --page: #14171a; --ink: #e8eaed; --soft: #a2abb4;
  --line: #343a41; --card: #1e2226; --wait: #33393f; --overhead: #d0d5da; --alarm: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 28px 24px 48px; background: var(--page);
  color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 4px; }
h2 { font-size: 1.25rem; margin: 40px 0 6px; }
h3 { font-size: 1rem; margin: 24px 0 6px; }
p { margin: 6px 0; }
.soft, figcaption { color: var(--soft); font-size: .9rem; overflow-wrap: anywhere; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(128px, 1fr)); gap: 10px;
  margin: 20px 0; }
.facts div { background: var(--card); border-radius: 8px; padding: 10px 14px; }
.facts b { display: block; font-size: 1.35rem; line-height: 1.25; }
.facts span { color: var(--soft); font-size: .85rem; }
.lead { font-size: 1.25rem; line-height: 1.4; }
ul { margin: 8px 0; padding-left: 20px; }
figure { margin: 10px 0 0; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 16px; font-size: .9rem; margin: 8px 0; }
.legend i { display: inline-block; width: 12px; height: 12px; border-radius: 2px;
  margin-right: 6px; vertical-align: -1px; }
.chart { display: grid; grid-template-columns: max-content minmax(0, 1fr); column-gap: 8px; }
.names { position: relative; font-size: 12px; }
.names span { display: block; visibility: hidden; height: 0; padding-left: 16px; }
.names b { position: absolute; right: 0; transform: translateY(-50%); font-weight: 400;
  line-height: 1; white-space: nowrap; }
.names b.slow { color: var(--alarm); font-weight: 600; }
.plot { position: relative; padding-bottom: 26px; }
.plot svg { display: block; width: 100%; overflow: visible; }
.plot span { position: absolute; bottom: 0; transform: translateX(-50%); font-size: 12px;
  color: var(--soft); white-space: nowrap; }
.plot span.last { transform: translateX(-100%); }
.grid { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; }
.limit { stroke: var(--alarm); stroke-width: 1.5; stroke-dasharray: 5 4;
  vector-effect: non-scaling-stroke; }
.lane { fill: var(--wait); }
.begin { stroke: var(--page); stroke-width: 1; vector-effect: non-scaling-stroke; fill: none; }
.slow { stroke: var(--alarm); stroke-width: 2; vector-effect: non-scaling-stroke; fill: none; }
.hover { fill: transparent; stroke: none; }
.columns { display: flex; align-items: flex-end; gap: 3px; height: 190px; max-width: 720px; }
.columns div { flex: 1 1 0; max-width: 72px; min-width: 0; height: 100%; display: flex;
  flex-direction: column; justify-content: flex-end; text-align: center; font-size: 12px; }
.columns i { background: #0072b2; border-radius: 3px 3px 0 0; min-height: 1px; }
.columns span { color: var(--soft); border-top: 1px solid var(--line); padding-top: 2px;
  white-space: nowrap; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 12px 3px 0; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; }
th:first-child, td:first-child, .text th, .text td,
.files th:nth-child(2), .files td:nth-child(2) { text-align: left; }
.text td:last-child { white-space: normal; overflow-wrap: anywhere; }
summary { cursor: pointer; margin: 14px 0 6px; font-weight: 600; }
@media (max-width: 560px) { body { padding: 18px 14px 36px; font-size: 15px; }
  h1 { font-size: 1.5rem; } .lead { font-size: 1.1rem; } .plot span.odd { display: none; }
  .names { font-size: 11px; } }
@media print { body { max-width: none; } figure { break-inside: avoid; } }
""".strip()
