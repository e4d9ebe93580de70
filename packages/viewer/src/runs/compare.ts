import type { FrameworkEvent, RunRecord, Usage } from "@proviso/core";
import { canonicalJson, SpentByRun } from "@proviso/core/internal";
import { parseJson } from "@proviso/core/provider";
import { runRows, type RunRow } from "./rows.ts";

/** Two runs, side by side. */
export interface RunComparison {
  /** The first step that differs; undefined: none does. */
  readonly parted:
    | {
        /** The place of the step in `steps`. */
        readonly at: number;
        /** What of it differs. */
        readonly what: "prompt" | "params" | "answer" | "call" | "result" | "end" | "length";
        /**
         * What it is in both, a text or JSON, shortened to some 200 characters around the first difference; empty: there is
         * nothing of the kind. Left out: the steps are of different kinds, or one of the runs has ended.
         */
        readonly differing?: { readonly a: string; readonly b: string } | undefined;
      }
    | undefined;
  /** The steps of both; after the first that differs matched by kind and name as far as they can be. */
  readonly steps: readonly {
    readonly a: RunRow | undefined;
    readonly b: RunRow | undefined;
    readonly same: boolean;
  }[];
  /** What each of them spent. */
  readonly usage: { readonly a: Usage; readonly b: Usage };
}

type What = NonNullable<RunComparison["parted"]>["what"];

/** A row with what has to be equal: each part with the word for what differs. */
interface Step {
  readonly row: RunRow;
  /** What steps are matched by. */
  readonly key: string;
  parts: readonly (readonly [What, string])[];
}

/** Compares two runs step by step. Ids, times, durations and waits make no difference. */
export function compareRuns(a: Iterable<RunRecord>, b: Iterable<RunRecord>): RunComparison {
  const left = stepsOf(a);
  const right = stepsOf(b);
  const steps: { a: RunRow | undefined; b: RunRow | undefined; same: boolean }[] = [];
  const shorter = Math.min(left.steps.length, right.steps.length);
  let parted: RunComparison["parted"];
  for (let at = 0; at < shorter && parted === undefined; at++) {
    const [one, other] = [left.steps[at] as Step, right.steps[at] as Step];
    const found = difference(one, other);
    if (found === undefined) steps.push({ a: one.row, b: other.row, same: true });
    else parted = { at, ...found };
  }
  const longer = Math.max(left.steps.length, right.steps.length);
  if (parted === undefined && longer > shorter) parted = { at: shorter, what: "length" };
  const from = steps.length;
  for (const [one, other] of matched(left.steps.slice(from), right.steps.slice(from))) {
    const same = one !== undefined && other !== undefined && difference(one, other) === undefined;
    steps.push({ a: one?.row, b: other?.row, same });
  }
  return { parted, steps, usage: { a: left.usage, b: right.usage } };
}

function stepsOf(records: Iterable<RunRecord>): { readonly steps: readonly Step[]; readonly usage: Usage } {
  const rows = runRows();
  const steps = new Map<RunRow, Step>();
  const parts = new Map<RunRow, Map<What, string>>();
  const calls = new Map<string, RunRow>();
  /** Where the run was interrupted and went on: that is no step of it. */
  const interruptions = new Set<RunRow>();
  let ended: RunRow | undefined;
  const spent = new SpentByRun();
  for (const record of records) {
    const before = rows.rows.length;
    rows.add(record);
    const added = rows.rows[before];
    if (record.kind === "app" && added !== undefined) parts.set(added, new Map([["result", text(record.event)]]));
    if (record.kind !== "event") continue;
    const { event } = record;
    if (event.type === "run.suspended" || event.type === "prompt.failed") ended = added;
    if (event.type === "run.resumed") for (const row of [ended, added]) if (row !== undefined) interruptions.add(row);
    spent.add(event);
    const row =
      "callId" in event && event.type !== "feedback.given"
        ? callRow(event, added, calls)
        : rowOf(event, added, rows.rows);
    if (row === undefined) continue;
    const own = parts.get(row) ?? new Map<What, string>();
    for (const [what, part] of partsOf(event)) own.set(what, part);
    parts.set(row, own);
  }
  for (const row of rows.rows) {
    if (row.kind === "wait" || (row.kind === "turn" && row.status === "undone") || interruptions.has(row)) continue;
    const name = row.kind === "call" ? row.title.split(" ", 1)[0] : "";
    const own = parts.get(row) ?? new Map<What, string>([[row.kind === "app" ? "result" : "prompt", row.title]]);
    steps.set(row, { row, key: `${row.kind} ${row.depth} ${name}`, parts: [...own] });
  }
  return { steps: [...steps.values()], usage: spent.total() };
}

function callRow(
  event: FrameworkEvent & { readonly callId: string },
  added: RunRow | undefined,
  calls: Map<string, RunRow>,
): RunRow | undefined {
  const key = JSON.stringify([event.evaluationId, event.callId]);
  if (added !== undefined) calls.set(key, added);
  return calls.get(key);
}

/** The row that an event belongs to: a turn's answer belongs to the row of its request. */
function rowOf(event: FrameworkEvent, added: RunRow | undefined, rows: readonly RunRow[]): RunRow | undefined {
  if (event.type !== "provider.responded") return added;
  return rows.findLast(
    ({ kind, evaluationId, status }) => kind === "turn" && evaluationId === event.evaluationId && status === "done",
  );
}

/** What of an event has to be equal, in the order in which it is compared. */
function partsOf(event: FrameworkEvent): readonly (readonly [What, string])[] {
  switch (event.type) {
    case "prompt.rendered": {
      const { descriptor, params, text: rendered, tools, promptName } = event;
      const differsBy = text([promptName, descriptor, tools]);
      // The text follows from both, so it differs by itself only through a state or an override.
      return [
        ["prompt", differsBy],
        ["params", text(params)],
        ["answer", rendered],
      ];
    }
    case "provider.requested":
      return [["prompt", text([event.prompt?.text, event.prompt?.tools, event["said"]])]];
    case "provider.responded":
      return [["answer", text([event.text, event.finishReason])]];
    case "tool.requested":
      return [["call", text([event.name, argumentsText(event.arguments)])]];
    case "tool.invoked":
      return [["result", text([event.result, event.ran, event.params])]];
    case "feedback.given":
      return [["prompt", text([event.provider, event.text])]];
    case "sections.opened":
      return [["prompt", text([event.keys, event.closed, event.reason])]];
    case "prompt.executed":
      return [["end", text([event.output, event.text])]];
    case "prompt.failed":
      return [["end", text([event.code, event.message])]];
    case "run.suspended":
      return [["end", text([event.name, event.question])]];
    case "provider.throttled":
    case "provider.tool":
    case "text.delta":
    case "text.reset":
    case "output.delta":
    case "reasoning.delta":
    case "tool.progress":
    case "transaction.failed":
    case "history.compacted":
    case "evaluation.restarted":
    case "run.resumed":
      return [];
    // A later release, or another program, may have written a type that is not known here.
    default:
      return [];
  }
}

function difference(
  a: Step,
  b: Step,
): { readonly what: What; readonly differing?: { readonly a: string; readonly b: string } } | undefined {
  if (a.row.kind !== b.row.kind || a.row.depth !== b.row.depth) {
    if (a.row.kind === "end" || b.row.kind === "end") return { what: "end" };
    return { what: a.row.kind === "call" || b.row.kind === "call" ? "call" : "prompt" };
  }
  const length = Math.max(a.parts.length, b.parts.length);
  for (let at = 0; at < length; at++) {
    const [what, one] = a.parts[at] ?? [];
    const [otherWhat, other] = b.parts[at] ?? [];
    if (what === otherWhat && one === other) continue;
    // The text of a prompt is compared last, for its own name.
    const found = (what ?? otherWhat) as What;
    const isText = a.row.kind === "prompt" && found === "answer";
    // The texts of a prompt say more than its hashes, where they differ too.
    const texts = found === "prompt" ? ([renderedOf(a), renderedOf(b)] as const) : undefined;
    const [left = "", right = ""] = texts === undefined || texts[0] === texts[1] ? [one, other] : texts;
    return { what: isText ? "prompt" : found, differing: aroundDifference(left, right) };
  }
  return undefined;
}

function renderedOf({ row, parts }: Step): string | undefined {
  return row.kind === "prompt" ? parts.find(([what]) => what === "answer")?.[1] : undefined;
}

/** Characters of a text that are shown, and how many of them stand in front of the difference. */
const [mostShown, before] = [200, 60];

/** Both texts, shortened to what is around the first place where they differ. */
function aroundDifference(a: string, b: string): { readonly a: string; readonly b: string } {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  const from = Math.max(a.length, b.length) <= mostShown ? 0 : Math.max(0, at - before);
  const shown = (of: string): string => {
    const part = of.slice(from, from + mostShown).toWellFormed();
    return `${from > 0 ? "…" : ""}${part}${of.length > from + mostShown ? "…" : ""}`;
  };
  return { a: shown(a), b: shown(b) };
}

/** How many pairs are looked at to match what comes after the parting. */
const mostPairs = 4_000_000;

/** Matches steps by kind and name: the longest common list; of very long ones place by place. */
function matched(
  left: readonly Step[],
  right: readonly Step[],
): readonly (readonly [Step | undefined, Step | undefined])[] {
  if (left.length * right.length > mostPairs) {
    return Array.from({ length: Math.max(left.length, right.length) }, (_, at) => [left[at], right[at]] as const);
  }
  const width = right.length + 1;
  const common = new Uint32Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      const next = common[(i + 1) * width + j + 1] as number;
      const skipped = Math.max(common[(i + 1) * width + j] as number, common[i * width + j + 1] as number);
      common[i * width + j] = left[i]?.key === right[j]?.key ? next + 1 : skipped;
    }
  }
  const pairs: (readonly [Step | undefined, Step | undefined])[] = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    const [one, other] = [left[i], right[j]];
    if (one !== undefined && other !== undefined && one.key === other.key) {
      pairs.push([one, other]);
      i++;
      j++;
    } else if (
      other === undefined ||
      (one !== undefined && (common[(i + 1) * width + j] as number) >= (common[i * width + j + 1] as number))
    ) {
      pairs.push([one, undefined]);
      i++;
    } else {
      pairs.push([undefined, other]);
      j++;
    }
  }
  return pairs;
}

function text(value: unknown): string {
  return canonicalJson(value ?? null);
}

/** Arguments that mean the same are the same, whatever the order of their keys. */
function argumentsText(raw: string): string {
  const read = parseJson(raw);
  return read.ok ? text(read.value) : raw;
}
