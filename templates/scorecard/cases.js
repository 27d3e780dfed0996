/* The explorer: all cases of the page's data, searched, filtered, put in order, and linked to. */
(() => {
  const PAGE = 50;
  const MOST_TAGS = 200;
  const byId = (id) => document.getElementById(id);
  const blocks = [...document.querySelectorAll("script.case-data")];
  const list = byId("list");
  const tools = byId("tools");
  if (!blocks.length || !tools) return;

  const names = JSON.parse(blocks.pop().textContent);
  const article = articleBuilder(names);
  const written = new Map([...list.children].map((made) => [made.id, made]));
  const records = [];
  const texts = [];
  const fields = { show: byId("f-show"), judge: byId("f-judge"), state: byId("f-state"), split: byId("f-split"),
    tag: byId("f-tag"), sort: byId("f-sort"), q: byId("search") };
  let found = [];
  let shown = 0;

  // What a filter asks of a record.
  const flips = new Set(["new-failure", "new-pass"]);
  const attention = new Set(names.attention);
  const kindOf = (record) => names.kinds[record.k][0];
  const groups = {
    attention: (record) => attention.has(kindOf(record)),
    flipped: (record) => flips.has(kindOf(record)) || record.f !== undefined,
    quarantine: (record) => record.a !== undefined,
  };
  const states = {
    fail: ["failed", ["fail"]], pass: ["passed", ["pass"]], measured: ["measured", ["measured"]],
    missing: ["nothing: no score", ["no score", "not measured", "waiting"]],
    "not-applicable": ["not applicable", ["not applicable"]],
  };
  const orders = {
    worst: ["worst first", (a, b) => a.r - b.r],
    plan: ["as in the plan", (a, b) => a.n - b.n],
    id: ["by id", (a, b) => (a.i < b.i ? -1 : a.i > b.i ? 1 : a.n - b.n)],
    slow: ["slowest first", (a, b) => (b.l ?? -1) - (a.l ?? -1) || a.r - b.r],
  };
  const plain = (text) => (text === undefined ? "" : typeof text === "string" ? text : text[0]);
  const textOf = (record) => {
    const parts = [record.i, plain(record.q), plain(record.e)];
    for (const one of record.o) {
      parts.push(plain(one.a), one.x || "", ...one.c.map((cell) => plain(cell[3])));
    }
    if (record.b) parts.push(plain(record.b.a), record.b.i || "");
    for (const tag of record.t || []) parts.push(names.tags[tag]);
    return parts.join("\n").toLowerCase();
  };
  const wordsOf = (query) => [...query.toLowerCase().matchAll(/"([^"]+)"|[^\s"]+/g)].map((match) => match[1] || match[0]);

  const matcher = () => {
    const { show, judge, state, split, tag } = Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [name, field.value]));
    const kind = names.kinds.findIndex((look) => look[0] === show);
    const wanted = state && new Set(states[state][1].map((word) => names.words.findIndex((known) => known[0] === word)));
    const asked = judge === "" ? -1 : names.judges.indexOf(judge);
    const inSplit = split === "" ? -1 : names.splits.indexOf(split);
    const withTag = tag === "" ? -1 : names.tags.indexOf(tag);
    const words = wordsOf(fields.q.value);
    const says = (cell) => (asked < 0 || cell[0] === asked) && (!wanted || wanted.has(cell[1]));
    return (record, place) =>
      (show === "" || (kind >= 0 ? record.k === kind : groups[show](record))) &&
      (inSplit < 0 || record.s === inSplit) &&
      (withTag < 0 || (record.t || []).includes(withTag)) &&
      ((asked < 0 && !wanted) || record.o.some((one) => one.c.some(says))) &&
      words.every((word) => {
        texts[place] ??= textOf(record);
        return texts[place].includes(word);
      });
  };

  const more = (size) => {
    const next = found.slice(shown, shown + size);
    list.append(...next.map((record) => written.get(`case-${record.n}`) || article(record, false)));
    shown += next.length;
    const left = found.length - shown;
    byId("pager").hidden = left === 0;
    byId("more").textContent = `Show ${Math.min(PAGE, left)} more`;
    const all = found.length === records.length ? counted(records.length, "case")
      : `${grouped(found.length)} of ${counted(records.length, "case")}`;
    byId("found").textContent = `${all}${left ? `, the first ${grouped(shown)} shown` : ""}`;
    return next[0];
  };
  const look = () => {
    byId("linked").replaceChildren();
    const fits = matcher();
    found = records.filter(fits).sort(orders[fields.sort.value][1]);
    shown = 0;
    list.replaceChildren();
    byId("nothing-fits").hidden = found.length > 0;
    more(Math.max(PAGE, found.length === records.length ? written.size : 0));
  };

  // The address says what is looked at, so that a view can be passed on.
  const asked = () => {
    const parts = new URLSearchParams();
    for (const [name, field] of Object.entries(fields)) {
      if (field.value !== "" && !(name === "sort" && field.value === "worst")) parts.set(name, field.value);
    }
    return parts.toString();
  };
  const filter = () => {
    look();
    history.replaceState(null, "", `#${asked() || "cases"}`);
  };
  const openCase = (anchor) => {
    let made = byId(anchor);
    if (!made) {
      const record = records.find((one) => `case-${one.n}` === anchor);
      if (!record) return;
      made = article(record, true);
      byId("linked").replaceChildren(element("p", { class: "none" }, "The case of the link:"), made);
    }
    made.querySelector("details").open = true;
    made.scrollIntoView();
    made.querySelector("summary").focus({ preventScroll: true });
  };
  const follow = () => {
    const hash = location.hash.slice(1);
    if (/^case-\d+$/.test(hash)) return openCase(hash);
    // Back to where nothing was asked; any other name is of a place on the page.
    if (!hash.includes("=") && (hash !== "" || asked() === "")) return undefined;
    const parts = new URLSearchParams(hash);
    for (const [name, field] of Object.entries(fields)) {
      field.value = parts.get(name) || (name === "sort" ? "worst" : "");
      if (field.selectedIndex === -1) field.value = name === "sort" ? "worst" : "";
    }
    look();
    return byId("explorer").scrollIntoView();
  };

  const options = (field, entries) =>
    field.replaceChildren(...entries.map(([value, label]) => element("option", { value }, label)));
  const amount = (label, number) => `${label} (${grouped(number)})`;
  const fill = () => {
    const counts = new Map();
    const tags = new Map();
    const splits = new Map();
    const add = (map, key) => map.set(key, (map.get(key) || 0) + 1);
    for (const record of records) {
      add(counts, record.k);
      add(splits, record.s);
      for (const group of Object.keys(groups)) if (groups[group](record)) add(counts, group);
      for (const tag of record.t || []) add(tags, tag);
    }
    options(fields.show, [["", "all"],
      ...[["attention", "to look at"], ["flipped", "flipped"], ["quarantine", "in quarantine"]]
        .filter(([key]) => counts.has(key)).map(([key, label]) => [key, amount(label, counts.get(key))]),
      ...names.kinds.map(([key, label], place) => [key, amount(label, counts.get(place) || 0), place])
        .filter(([, , place]) => counts.has(place))]);
    options(fields.judge, [["", "any"], ...names.judges.map((judge) => [judge, judge])]);
    options(fields.state, [["", "anything"], ...Object.entries(states).map(([key, [label]]) => [key, label])]);
    const most = (map, all) => [...map].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, MOST_TAGS)
      .map(([place, number]) => [all[place], amount(all[place], number)]);
    options(fields.split, [["", "all"], ...most(splits, names.splits)]);
    options(fields.tag, [["", "all"], ...most(tags, names.tags)]);
    if (tags.size > MOST_TAGS) {
      const left = `${counted(tags.size - MOST_TAGS, "more tag")}: search for them`;
      fields.tag.append(element("option", { disabled: true }, left));
    }
    fields.tag.parentElement.hidden = tags.size === 0;
    options(fields.sort, Object.entries(orders).map(([key, [label]]) => [key, label]));
  };
  // The texts that are searched, made ready while nobody waits for them.
  const prepare = () => {
    const end = Math.min(texts.length + 1000, records.length);
    for (let place = texts.length; place < end; place += 1) texts[place] ??= textOf(records[place]);
    if (end < records.length) setTimeout(prepare);
  };
  const ready = () => {
    records.sort((a, b) => a.r - b.r);
    found = records;
    shown = written.size;
    fill();
    for (const place of document.querySelectorAll("[data-case]")) {
      place.replaceChildren(element("a", { href: `#${place.dataset.case}` }, place.textContent));
    }
    for (const place of document.querySelectorAll("[data-show]")) {
      place.replaceChildren(element("a", { href: `#show=${place.dataset.show}` }, place.textContent));
    }
    byId("unseen")?.remove();
    tools.hidden = false;
    more(0);
    document.documentElement.dataset.cases = "ready";
    performance.mark("cases-ready");
    setTimeout(prepare);
    follow();
    addEventListener("hashchange", follow);
  };

  // The first blocks are read after the first picture, a few at a time, so that the page answers meanwhile.
  const read = () => {
    for (const block of blocks.splice(0, 8)) records.push(...JSON.parse(block.textContent));
    if (blocks.length) setTimeout(read);
    else ready();
  };

  let typed = 0;
  fields.q.addEventListener("input", () => {
    clearTimeout(typed);
    typed = setTimeout(filter, records.length > 2000 ? 60 : 0);
  });
  for (const field of Object.values(fields)) {
    if (field !== fields.q) field.addEventListener("change", filter);
  }
  const reset = () => {
    tools.reset();
    filter();
    fields.q.focus();
  };
  tools.addEventListener("submit", (event) => event.preventDefault());
  byId("clear").addEventListener("click", (event) => {
    event.preventDefault();
    reset();
  });
  byId("again").addEventListener("click", reset);
  byId("more").addEventListener("click", () => {
    const first = more(PAGE);
    if (first) byId(`case-${first.n}`).querySelector("summary").focus();
  });
  addEventListener("keydown", (event) => {
    const at = document.activeElement;
    const writing = at && /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName);
    if (writing || event.ctrlKey || event.metaKey || event.altKey) return;
    const here = at && at.closest("article.case");
    if (event.key === "/") {
      fields.q.focus();
      fields.q.select();
    } else if (here && (event.key === "j" || event.key === "k")) {
      const all = [...document.querySelectorAll("#linked article, #list article")];
      const next = all[all.indexOf(here) + (event.key === "j" ? 1 : -1)];
      if (next) next.querySelector("summary").focus();
    } else return;
    event.preventDefault();
  });
  setTimeout(read);
})();
