// What all pages use. Whatever comes from elsewhere gets into the page as text only (textContent), never as markup.
const $ = id => document.getElementById(id);
const number = new Intl.NumberFormat("en");

function element(tag, name, text) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
}
function say(where, text) { if (where.textContent !== text) where.textContent = text; }
function show(where, is) { where.classList.toggle("hidden", !is); }
function count(value) { return number.format(value); }
function bytes(value) {
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (value < 1024 || unit === "GiB") return (unit === "B" ? value : value.toFixed(value < 10 ? 1 : 0)) + " " + unit;
    value /= 1024;
  }
}
function time(micros) {
  if (micros < 1000) return Math.round(micros) + " µs";
  if (micros < 1e6) return (micros / 1000).toFixed(micros < 1e5 ? 1 : 0) + " ms";
  return span(micros / 1e6);
}
function span(seconds) {
  if (seconds < 100) return seconds.toFixed(seconds < 10 ? 2 : 1) + " s";
  if (seconds < 6000) return Math.floor(seconds / 60) + " min " + Math.floor(seconds % 60) + " s";
  if (seconds < 172800) return Math.floor(seconds / 3600) + " h " + Math.floor(seconds % 3600 / 60) + " min";
  return Math.floor(seconds / 86400) + " days " + Math.floor(seconds % 86400 / 3600) + " h";
}
function percent(part, whole) { return whole ? Math.floor(part * 100 / whole) + " %" : "–"; }

// Rows of a table, each known by a key: what has not changed is left alone, so that focus and selection stay. Texts that have been
// shortened may be the same: then it is known by its number among those too.
function rows(body, items, key, fill) {
  const known = new Map([...body.children].map(row => [row.dataset.key, row]));
  const times = new Map();
  let place = body.firstElementChild;
  for (const item of items) {
    let name = String(key(item));
    const before = times.get(name) || 0;
    times.set(name, before + 1);
    if (before) name += "\n#" + before;
    let row = known.get(name);
    known.delete(name);
    if (!row) { row = document.createElement("tr"); row.dataset.key = name; }
    if (row !== place) body.insertBefore(row, place); else place = place.nextElementSibling;
    fill(row, item);
  }
  for (const row of known.values()) row.remove();
}
function cell(row, index, name, text) {
  while (row.children.length <= index) row.append(document.createElement("td"));
  const made = row.children[index];
  if (name !== undefined && made.className !== name) made.className = name;
  if (text !== undefined) say(made, text);
  return made;
}

// The latest values of each tile, for its line.
const history = new Map();
function spark(name, value) {
  const points = history.get(name) || [];
  points.push(value);
  if (points.length > 120) points.shift();
  history.set(name, points);
  const most = Math.max(...points, 1e-9), step = 100 / 119, from = 100 - (points.length - 1) * step;
  return points.map((point, at) => (from + at * step).toFixed(2) + "," + (24 - point / most * 22).toFixed(2)).join(" ");
}
// `rate`: what the line under it shows, if it has one; undefined when nothing new is known.
function tile(name, value, more, rate, hasLine = true) {
  let made = $("tile-" + name);
  if (!made) {
    made = element("div", "tile");
    made.id = "tile-" + name;
    made.append(element("dd"), element("dt", "", name), element("dd", "more"));
    if (hasLine) {
      const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      drawing.setAttribute("viewBox", "0 0 100 26"); drawing.setAttribute("preserveAspectRatio", "none"); drawing.setAttribute("aria-hidden", "true");
      const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
      line.setAttribute("fill", "none"); line.setAttribute("stroke", "currentColor"); line.setAttribute("stroke-width", "1.5"); line.setAttribute("vector-effect", "non-scaling-stroke");
      drawing.append(line); drawing.style.color = "var(--accent)";
      made.append(drawing);
    }
    $("tiles").append(made);
  }
  say(made.children[0], value);
  say(made.children[2], more || "");
  if (hasLine && rate !== undefined) made.querySelector("polyline").setAttribute("points", spark(name, rate));
}
