// The rows of a run. Only those in view are in the document: each is as high as every other one.
import type { RunRow } from "@proviso/viewer/runs";
import { useEffect, useRef, useState } from "preact/hooks";
import { count, duration, oneLine } from "./shown.ts";

/** Pixels. */
const height = 30;
/** Rows above and below what is in view. */
const spare = 8;

/** A row with its place in the run. */
export interface Placed {
  readonly place: number;
  readonly row: RunRow;
}

export function Rows(props: {
  readonly rows: readonly Placed[];
  readonly selected: number;
  readonly isFollowing: boolean;
  readonly span: { readonly from: number; readonly until: number };
  readonly onSelect: (place: number) => void;
  readonly onLetGo: () => void;
}) {
  const { rows, selected, isFollowing, span, onSelect, onLetGo } = props;
  const element = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const index = indexOf(rows, selected);
  useEffect(() => {
    const box = element.current;
    if (box === null) return;
    const resized = new ResizeObserver(() => setView({ top: box.scrollTop, height: box.clientHeight }));
    resized.observe(box);
    return () => resized.disconnect();
  }, []);
  useEffect(() => {
    const box = element.current;
    if (box === null || index < 0) return;
    const top = index * height;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + height > box.scrollTop + box.clientHeight) box.scrollTop = top + height - box.clientHeight;
  }, [index]);
  useEffect(() => {
    const box = element.current;
    if (isFollowing && box !== null) box.scrollTop = box.scrollHeight;
  }, [isFollowing, rows.length]);
  const first = Math.max(0, Math.floor(view.top / height) - spare);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / height) + spare);
  const most = Math.ceil(view.height / height) + 2 * spare + 1;
  return (
    <div
      class="rows"
      ref={element}
      role="listbox"
      aria-label="Rows"
      tabIndex={0}
      {...(index >= first && index < last ? { "aria-activedescendant": `row-${selected}` } : {})}
      onScroll={({ currentTarget }) => setView({ top: currentTarget.scrollTop, height: currentTarget.clientHeight })}
      onWheel={({ deltaY }) => deltaY < 0 && onLetGo()}
    >
      <div class="all" style={{ height: `${rows.length * height}px` }}>
        {rows.slice(first, last).map(({ place, row }, n) => (
          <Line
            // Elements are used again: a scroll makes none.
            key={(first + n) % most}
            place={place}
            row={row}
            top={(first + n) * height}
            isSelected={place === selected}
            span={span}
            size={rows.length}
            onSelect={onSelect}
          />
        ))}
      </div>
    </div>
  );
}

const words: Readonly<Record<RunRow["status"], string>> = {
  done: "",
  failed: "failed",
  undone: "undone",
  running: "running",
  "not-run": "not run",
};

function Line(props: {
  readonly place: number;
  readonly row: RunRow;
  readonly top: number;
  readonly isSelected: boolean;
  readonly span: { readonly from: number; readonly until: number };
  readonly size: number;
  readonly onSelect: (place: number) => void;
}) {
  const { place, row, top, isSelected, span, size, onSelect } = props;
  const { kind, status, title, turn, depth, usage, durationMs, startedAt } = row;
  const what = kind === "turn" ? `turn ${turn}` : kind === "unreadable" ? "damaged" : kind;
  const word = kind === "turn" && status === "undone" ? "taken back" : words[status];
  const isCall = kind === "call" || kind === "app" || kind === "feedback";
  const indent = 18 * (depth * 2 + (isCall ? 1 : 0));
  const whole = Math.max(1, span.until - span.from);
  const left = (100 * (startedAt - span.from)) / whole;
  const width = kind === "end" ? 0 : (100 * (durationMs ?? span.until - startedAt)) / whole;
  return (
    <div
      id={`row-${place}`}
      role="option"
      aria-selected={isSelected}
      aria-setsize={size}
      aria-posinset={place + 1}
      class={`row ${kind} ${status}`}
      style={{ top: `${top}px` }}
      onClick={() => onSelect(place)}
    >
      <span class="place">{place + 1}</span>
      <span class="kind">{what}</span>
      <span style={{ paddingLeft: `${indent}px`, display: "flex", minWidth: 0, alignItems: "center" }}>
        <span class="title">{oneLine(title) || "…"}</span>
        {word !== "" && <span class="word">{word}</span>}
      </span>
      <span class="fact">
        {usage === undefined ? duration(durationMs || undefined) : `${count(usage.totalTokens)} tok`}
      </span>
      <span class="track">
        <i class={`${kind} ${status}`} style={{ left: `${left}%`, width: `${Math.min(width, 100 - left)}%` }} />
      </span>
    </div>
  );
}

/** The index of the row at a place; -1: it is not shown. Places rise. */
function indexOf(rows: readonly Placed[], wanted: number): number {
  let [low, high] = [0, rows.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const { place } = rows[middle] as Placed;
    if (place === wanted) return middle;
    if (place < wanted) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}
