// Files that are dropped anywhere on the zone are sent at once; without scripts the file box and its button do the same.
"use strict";

const zone = document.querySelector(".drop-zone");
if (zone) {
  const box = zone.querySelector("input[type=file]");
  const say = (over) => zone.classList.toggle("over", over);
  for (const name of ["dragenter", "dragover"]) zone.addEventListener(name, (event) => { event.preventDefault(); say(true); });
  zone.addEventListener("dragleave", () => say(false));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    say(false);
    if (!event.dataTransfer.files.length) return;
    box.files = event.dataTransfer.files;
    zone.requestSubmit();
  });
  box.addEventListener("change", () => { if (box.files.length) zone.requestSubmit(); });
}

// One box ticks all runs of the page.
document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-tick-all]")) return;
  for (const box of document.querySelectorAll("input[type=checkbox][name=run]")) box.checked = event.target.checked;
});
