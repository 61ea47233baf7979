
"use strict";
// Tables are sorted by a click on a head; rows without a number stay last.
const words = new Intl.Collator("en", { numeric: true });
for (const button of document.querySelectorAll("thead button")) {
  button.addEventListener("click", () => {
    const head = button.closest("th");
    const column = head.cellIndex;
    const body = head.closest("table").querySelector("tbody.rows");
    const rows = [...body.rows].map((row) => ({ row, cell: row.cells[column] }));
    const numeric = rows.some(({ cell }) => cell.dataset.key !== undefined);
    const rising = head.ariaSort === "none" ? !numeric : head.ariaSort === "descending";
    const sign = rising ? 1 : -1;
    const compare = (a, b) => {
      if (!numeric) return sign * words.compare(a.cell.textContent, b.cell.textContent);
      const [x, y] = [a.cell.dataset.key, b.cell.dataset.key];
      if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
      return sign * (Number(x) - Number(y));
    };
    body.append(...rows.sort(compare).map(({ row }) => row));
    for (const other of head.parentNode.cells) other.ariaSort = "none";
    head.ariaSort = rising ? "ascending" : "descending";
  });
}

// The value of the mark next to the pointer is shown beside it. Without this script marks have titles.
const tip = document.getElementById("tip");
for (const svg of document.querySelectorAll("figure svg[role=img]")) {
  const marks = [...svg.querySelectorAll("title")].map((title) => {
    const mark = title.parentNode;
    mark.dataset.tip = title.textContent;
    title.remove();
    return mark;
  });
  const show = (event) => {
    let best = 24;
    let nearest = null;
    for (const mark of marks) {
      const box = mark.getBoundingClientRect();
      const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
      const distance = Math.hypot(x - event.clientX, y - event.clientY);
      if (distance < best) [best, nearest] = [distance, { mark, x, y }];
    }
    tip.hidden = nearest === null;
    if (nearest === null) return;
    tip.textContent = nearest.mark.dataset.tip;
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.max(8, Math.min(nearest.x - width / 2, document.documentElement.clientWidth - width - 8));
    tip.style.left = `${left}px`;
    tip.style.top = `${nearest.y > height + 16 ? nearest.y - height - 10 : nearest.y + 12}px`;
  };
  svg.addEventListener("pointermove", show);
  svg.addEventListener("pointerdown", show);
  svg.addEventListener("pointerleave", () => { tip.hidden = true; });
}
addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

// Everything is printed, also what is folded.
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
});
