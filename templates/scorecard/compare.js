"use strict";
(() => {
  const tools = document.getElementById("tools");
  const rows = [...document.querySelectorAll("#matrix > tr")];
  if (!tools || rows.length < 2) return;
  const [search, kind, judge, found] = ["search", "kind", "judge", "found"].map((id) => document.getElementById(id));
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, at) => {
      const right = (!kind.value || row.dataset.kinds.split(" ").includes(kind.value))
        && (!judge.value || row.dataset.judge === judge.value);
      row.hidden = !(right && words.every((word) => texts[at].includes(word)));
      if (!row.hidden) shown += 1;
    });
    found.textContent = `${shown} of ${rows.length} shown`;
  };
  tools.hidden = false;
  tools.addEventListener("submit", (event) => event.preventDefault());
  search.addEventListener("input", filter);
  for (const select of [kind, judge]) select.addEventListener("change", filter);
  filter();
})();
