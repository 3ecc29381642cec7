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

// The plan's form: only fields that say something are sent, so that the address holds only what differs.
function isDefault(element) {
  if (element.type === "checkbox" || element.type === "radio") return false;
  return element.value === "" || element.value === element.dataset.default;
}
document.addEventListener("htmx:configRequest", (event) => {
  const form = event.target.closest?.("form[data-short]");
  if (!form) return;
  for (const element of form.elements) if (element.name && isDefault(element)) event.detail.parameters.delete?.(element.name);
});
document.addEventListener("submit", (event) => {
  if (!event.target.matches("form[data-short]")) return;
  for (const element of event.target.elements) if (element.name && isDefault(element)) element.disabled = true;
});
window.addEventListener("pageshow", () => document.querySelectorAll("form[data-short] :disabled[name]").forEach((element) => { element.disabled = false; }));

// The answer greys while a field is wrong and the last good answer stays.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr.status === 422) { event.detail.shouldSwap = true; event.detail.isError = false; }
});
