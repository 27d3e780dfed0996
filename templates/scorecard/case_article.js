/* Builds the elements of `case.html.j2` from a record of `case_data.py`, which says what its keys are. */
const articleBuilder = (names) => {
  const nothing = "–";
  const whole = (list) => (typeof list === "string" ? [list, 0, ""] : list);
  const short = (text, longest) => {
    const all = [...text];
    return all.length <= longest ? text : all.slice(0, longest - 1).join("").trimEnd() + "…";
  };
  const seen = (space) => [...space].map((c) => ({ " ": "·", "\t": "⇥", "\n": "⏎\n" })[c] || "⍽").join("");
  const marked = (text, marks, tag) => {
    const found = [];
    let done = 0;
    for (let at = 0; at < marks.length; at += 3) {
      const [start, end, why] = marks.slice(at, at + 3);
      if (done < start) found.push(text.slice(done, start));
      const piece = text.slice(start, end);
      const words = piece.trim() !== "";
      found.push(element(tag, { class: `m${why}${words ? "" : " space"}` }, words ? piece : seen(piece)));
      done = end;
    }
    if (done < text.length) found.push(text.slice(done));
    return found;
  };
  const block = (value, marks = [], tag = "del") => {
    const [text, more, digest] = whole(value);
    const cut = `… ${grouped(more)} more characters; whole text ${digest} in results.jsonl`;
    return [
      element("pre", { tabindex: "0" }, marked(text, marks, tag)),
      more ? element("p", { class: "cut" }, cut) : null,
    ];
  };
  const side = (title, name, text, note, relation, marks, tag) =>
    element("div", { class: `side ${name}` },
      element("h4", {}, title),
      text === undefined ? element("p", { class: "none" }, note) : block(text, marks, tag),
      relation === undefined ? null : element("p", { class: "relation" }, names.relations[relation][1]));
  const reason = (value) => {
    if (!value) return nothing;
    const [text, more, digest] = whole(value);
    const cut = `… ${grouped(more)} more characters; ${digest}`;
    return [
      element("span", { class: "reason" }, text),
      more ? [" ", element("span", { class: "cut" }, cut)] : null,
    ];
  };
  const row = (cell, before) => {
    const [judge, word, value, why] = cell;
    const [said, tone] = names.words[word];
    const old = before && before.c.find((other) => other[0] === judge);
    return element("tr", {},
      element("th", { scope: "row" }, names.judges[judge]),
      element("td", { class: `tone-${tone}` }, element("span", { class: "word" }, `${names.signs[tone]} ${said}`)),
      element("td", { class: "num" }, value || nothing),
      before ? element("td", {}, old ? `${names.words[old[1]][0]} ${old[2] || ""}` : nothing) : null,
      element("td", {}, reason(why)));
  };
  const scores = (cells, caption, before) => {
    const heads = ["Judge", "Result", "Value", ...(before ? ["In the baseline"] : []), "Reason"];
    return element("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: "0" },
      element("table", { class: "scores" },
        element("caption", {}, caption),
        element("thead", {}, element("tr", {}, heads.map((head) =>
          element("th", { scope: "col", class: head === "Value" ? "num" : undefined }, head)))),
        element("tbody", {}, cells.map((cell) => row(cell, before)))));
  };
  const trial = (record, one, first) => {
    const several = record.c[0] > 1;
    const before = first ? record.b : undefined;
    const [expected, ...missing] = one.e || [];
    const [earlier, ...gone] = one.b || [];
    const caption = `Scores of ${short(record.i, 80)}${several ? `, trial ${one.n}` : ""}`;
    return [
      several ? element("h4", { class: "trial" }, `Trial ${one.n}`) : null,
      element("div", { class: "sides" },
        record.e === undefined ? null : side("Expected", "expected", record.e, "", expected, missing, "del"),
        side("Answer", "answer", one.a, one.x, undefined, one.m || [], "ins"),
        before ? side("Answer in the baseline", "before", before.a, before.x, earlier, gone, "del") : null),
      scores(one.c, caption, before),
      one.p ? element("p", { class: "about" }, one.p) : null,
    ];
  };
  const about = (record) => {
    const [path, line] = record.w;
    const tags = record.t ? `, tags ${record.t.map((tag) => names.tags[tag]).join(", ")}` : "";
    const then = record.b && record.b.i;
    return `${names.paths[path]}:${line}, split ${names.splits[record.s]}${tags}` +
      (then ? `, called ${then} in the baseline` : "");
  };
  return (record, open) => {
    const [kind, label, tone] = names.kinds[record.k];
    const [trials, scored, outside, failed, missing, pending] = record.c;
    const attributes = {
      class: `case tone-${tone}`, id: `case-${record.n}`, "data-kind": kind, "data-trials": trials,
      "data-scored": scored, "data-not-applicable": outside, "data-failed": failed, "data-missing": missing,
      "data-pending": pending,
    };
    return element("article", attributes,
      element("details", { open },
        element("summary", {},
          element("h3", {},
            element("span", { class: "word" }, `${names.signs[tone]} ${label}`), " ",
            element("span", { class: "id" }, record.i)),
          " ", element("span", { class: "peek" }, [...whole(record.q)[0]].slice(0, 160).join(""))),
        element("p", { class: "about" }, about(record)),
        (record.a || []).map((line) => element("p", { class: "about" }, line)),
        record.f ? element("ul", { class: "flips" }, record.f.map((flip) => element("li", {}, flip))) : null,
        element("div", { class: "side input" }, element("h4", {}, "Input"), block(record.q)),
        record.o.map((one, place) => trial(record, one, place === 0)),
        record.x ? element("p", { class: "cut" }, `${counted(record.x, "more trial")} in results.jsonl`) : null));
  };
};
