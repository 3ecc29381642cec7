// Small and ours: menu, charts from json_script, the form that keeps its address short. htmx does the rest.
"use strict";

document.documentElement.classList.remove("no-js");

const dark = matchMedia("(prefers-color-scheme: dark)");
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Charts: <div class="chart" data-figure="ID"> draws the figure of <script type="application/json" id="ID">.
let plotly = null;
function loadPlotly() {
  plotly ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = document.querySelector("meta[name=plotly-src]").content;
    script.onload = () => resolve(window.Plotly);
    script.onerror = reject;
    document.head.append(script);
  });
  return plotly;
}

// Colours in figures are names of CSS variables ("var:compute"), so that one figure serves light and dark.
function coloured(value) {
  if (typeof value === "string") {
    if (!value.startsWith("var:")) return value;
    const [name, alpha] = value.slice(4).split("/");
    const colour = css("--" + name);
    return alpha ? colour + Math.round(Number(alpha) * 255).toString(16).padStart(2, "0") : colour;
  }
  if (Array.isArray(value)) return value.map(coloured);
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, coloured(v)]));
  return value;
}

function themed(figure) {
  const axis = { gridcolor: css("--line"), linecolor: css("--line-strong"), zerolinecolor: css("--line-strong"), automargin: true };
  const layout = coloured(figure.layout ?? {});
  for (const key of Object.keys(layout)) if (/^[xy]axis\d*$/.test(key)) layout[key] = { ...axis, ...layout[key] };
  return {
    data: coloured(figure.data),
    layout: {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", margin: { l: 56, r: 16, t: 16, b: 48 },
      font: { family: "system-ui, sans-serif", size: 12, color: css("--ink") }, hoverlabel: { font: { family: "system-ui, sans-serif" } },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 }, ...layout,
    },
  };
}

async function draw(root) {
  const boxes = [...root.querySelectorAll(".chart[data-figure]")];
  if (root.matches?.(".chart[data-figure]")) boxes.push(root);
  if (!boxes.length) return;
  const Plotly = await loadPlotly();
  for (const box of boxes) {
    const source = document.getElementById(box.dataset.figure);
    if (!source || !box.isConnected) continue;
    const { data, layout } = themed(JSON.parse(source.textContent));
    await Plotly.react(box, data, layout, { responsive: true, displayModeBar: false });
    box.querySelectorAll("svg").forEach((svg) => svg.setAttribute("focusable", "false"));
    if (!box.dataset.wired) {
      box.dataset.wired = "1";
      box.on("plotly_click", (event) => {
        const url = event.points[0]?.customdata?.url;
        if (url) location.assign(url);
      });
    }
  }
}

dark.addEventListener("change", () => draw(document));
document.addEventListener("htmx:afterSettle", (event) => draw(event.detail.elt));
document.addEventListener("DOMContentLoaded", () => draw(document));

// Menu on narrow screens; drop-downs close when the focus leaves them.
document.addEventListener("click", (event) => {
  const button = event.target.closest(".menu-button");
  if (button) {
    const open = document.getElementById(button.getAttribute("aria-controls")).classList.toggle("open");
    button.setAttribute("aria-expanded", String(open));
  }
  for (const drop of document.querySelectorAll(".drop[open]")) if (!drop.contains(event.target)) drop.open = false;
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    navigator.clipboard?.writeText(new URL(copy.dataset.copy || location.href, location.href).href);
    copy.textContent = copy.dataset.done;
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") for (const drop of document.querySelectorAll(".drop[open]")) { drop.open = false; drop.querySelector("summary").focus(); }
});

// The form beside an answer: what the planner chose stands in grey, what is wrong stands at its field, the last good answer stays.
const fieldOf = (path) => document.querySelector(`#plan-form .field[data-path="${CSS.escape(path)}"]`);

function clearErrors() {
  for (const field of document.querySelectorAll("#plan-form .field.wrong")) field.classList.remove("wrong");
  for (const error of document.querySelectorAll("#plan-form .field > .error")) error.textContent = "";
  document.getElementById("loose-errors")?.replaceChildren();
  document.getElementById("answer")?.classList.remove("stale");
}

function showErrors(fields) {
  clearErrors();
  document.getElementById("answer")?.classList.add("stale");
  for (const [path, messages] of Object.entries(fields)) {
    const field = fieldOf(path);
    if (field) {
      field.classList.add("wrong");
      field.querySelector(".error").textContent = messages.join(" ");
      const group = field.closest("details");
      if (group) group.open = true;
    } else {
      const line = document.createElement("p");
      line.className = "error";
      line.textContent = path ? `${path}: ${messages.join(" ")}` : messages.join(" ");
      document.getElementById("loose-errors")?.append(line);
    }
  }
}

function showHints(state) {
  for (const field of document.querySelectorAll("#plan-form .field[data-path]")) {
    const { text = "", origin = "", said = "", clear = false } = state[field.dataset.path] ?? {};
    const box = field.querySelector("input:not([type]), textarea");
    if (clear && box) box.value = "";
    if (box && !field.querySelector("textarea")) box.placeholder = text;
    const unset = field.querySelector("option[data-hint]");
    if (unset) unset.textContent = text || "–";
    const note = field.querySelector(".note");
    const control = field.querySelector("input:not([type]), select");
    if (note) note.textContent = origin === "chosen" && control && !control.value ? said : "";
  }
}

document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr.status !== 422) return;
  event.detail.shouldSwap = false;
  event.detail.isError = false;
  showErrors(JSON.parse(event.detail.xhr.responseText).error.fields);
});
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target.id !== "answer") return;
  clearErrors();
  const state = document.getElementById("form-state");
  if (state) showHints(JSON.parse(state.textContent));
});

// A comparison has at most eight columns: the ninth box cannot be ticked.
document.addEventListener("change", (event) => {
  const form = event.target.closest("form[data-most]");
  if (!form) return;
  const boxes = [...form.querySelectorAll("input[type=checkbox][name=id]")];
  const full = boxes.filter((box) => box.checked).length >= Number(form.dataset.most);
  for (const box of boxes) box.disabled = full && !box.checked;
});

// Compare +: what was compared last in this tab, and this one more.
if (document.querySelector("[data-comparison]")) sessionStorage.setItem("compare", location.search);
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-compare]");
  if (!link) return;
  const columns = new URLSearchParams(sessionStorage.getItem("compare") ?? "");
  if (!columns.getAll("q").includes(link.dataset.compare)) columns.append("q", link.dataset.compare);
  event.preventDefault();
  location.assign(`${link.pathname}?${columns}`);
});
