"use strict";
(() => {
  const tools = document.getElementById("tools");
  const cases = [...document.querySelectorAll("article.case")];
  const openTarget = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    const details = target && target.querySelector(":scope > details");
    if (details) details.open = true;
  };
  addEventListener("hashchange", openTarget);
  openTarget();
  if (!tools || cases.length < 2) return;
  const search = document.getElementById("search");
  const kind = document.getElementById("kind");
  const found = document.getElementById("found");
  const texts = new Map();
  const textOf = (element) => {
    if (!texts.has(element)) texts.set(element, element.textContent.toLowerCase());
    return texts.get(element);
  };
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const element of cases) {
      const right = !kind.value || element.dataset.kind === kind.value;
      element.hidden = !(right && words.every((word) => textOf(element).includes(word)));
      if (!element.hidden) shown += 1;
    }
    found.textContent = `${shown} of ${cases.length} shown`;
  };
  tools.hidden = false;
  tools.addEventListener("submit", (event) => event.preventDefault());
  search.addEventListener("input", filter);
  kind.addEventListener("change", filter);
  filter();
})();
