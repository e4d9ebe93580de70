// What is beside the rows: the selected one, whole.
import type { JsonPatch, RunRecord, TouchedResource } from "@proviso/core";
import type { RunRow, StateChange } from "@proviso/viewer/runs";
import { useState } from "preact/hooks";
import { get, pathTo, type Part } from "./api.ts";
import { Fault, TokensOf, useLoading } from "./parts.tsx";
import { duration, oneLine, pretty } from "./shown.ts";

type EventRecord = Extract<RunRecord, { readonly kind: "event" }>;
export type EventOf<Type extends EventRecord["event"]["type"]> = Extract<EventRecord["event"], { readonly type: Type }>;

/** The records of a row. */
export function useRecords(
  own: Part,
  row: RunRow,
  states = false,
): { records: readonly RunRecord[]; fault: string | undefined } {
  const [records, setRecords] = useState<readonly RunRecord[]>([]);
  const { from, until } = row;
  const fault = useLoading(
    async (signal) => {
      // What ends a row may stand far behind what begins it.
      const [begin, end] = await Promise.all([
        get<readonly RunRecord[]>(pathTo(own, "records", { from, until, states }), signal),
        get<readonly RunRecord[]>(pathTo(own, "records", { from: until, until: until + 1, states }), signal),
      ]);
      const known = new Map([...begin, ...end].map((record) => [record.n, record]));
      setRecords([...known.values()]);
    },
    [own, from, until, states],
  );
  return { records, fault };
}

export function Detail({ own, row }: { readonly own: Part; readonly row: RunRow }) {
  const { records, fault } = useRecords(own, row);
  const { kind, status, title, callId, durationMs, usage } = row;
  const events = records.flatMap((record) => (record.kind === "event" ? [record.event] : []));
  const find = <Type extends EventRecord["event"]["type"]>(type: Type) =>
    events.findLast(
      (event): event is EventOf<Type> =>
        event.type === type && (!("callId" in event) || callId === undefined || event.callId === callId),
    );
  const invoked = find("tool.invoked");
  const requested = find("tool.requested");
  const responded = find("provider.responded");
  const name = kind === "call" ? (invoked?.name ?? requested?.name ?? title) : kind;
  const facts = [callId, status === "not-run" ? "not run" : status, duration(durationMs || undefined)];
  return (
    <>
      <h1 class={status === "undone" ? "undone-text" : ""}>{oneLine(name)}</h1>
      <p class="note">
        {facts
          .filter((fact) => fact !== undefined && fact !== "")
          .map((fact) => oneLine(fact ?? ""))
          .join(" · ")}
      </p>
      <Fault of={fault} />
      {usage !== undefined && (
        <p>
          <TokensOf usage={usage} />
        </p>
      )}
      {requested !== undefined && <Block title="Arguments" value={parsed(requested.arguments)} />}
      {requested === undefined && invoked !== undefined && <Block title="Arguments" value={invoked.params} />}
      {invoked !== undefined && <Block title="Result" value={invoked.result.message || shownValue(invoked.result)} />}
      {invoked !== undefined && invoked.result.success && invoked.result.message !== "" && (
        <Block title="Value" value={invoked.result.value} />
      )}
      {kind === "call" && callId !== undefined && invoked !== undefined && (
        <Change own={own} row={row} callId={callId} didRun={invoked.ran} />
      )}
      {responded !== undefined && <Answer of={responded} />}
      <Others events={events} records={records} />
      {kind !== "call" && responded === undefined && events.length === 0 && records.length === 0 && (
        <pre>{oneLine(title)}</pre>
      )}
    </>
  );
}

function Answer({ of }: { readonly of: EventOf<"provider.responded"> }) {
  const { text, reasoning, toolCalls, finishReason, model, sources } = of;
  return (
    <>
      <p class="note">{oneLine(`${model} · ${finishReason}`)}</p>
      {reasoning !== undefined && <Block title="Thoughts" value={reasoning} />}
      {text !== "" && <Block title="Text" value={text} />}
      {toolCalls.map(({ id, name, arguments: given }) => (
        <Block key={id} title={`Calls ${name}`} value={parsed(given)} />
      ))}
      {sources !== undefined && <Block title="Sources" value={sources} />}
    </>
  );
}

/** What other rows are made of. */
function Others({
  events,
  records,
}: {
  readonly events: readonly EventRecord["event"][];
  readonly records: readonly RunRecord[];
}) {
  const failed = events.find((event) => event.type === "prompt.failed");
  const executed = events.find((event) => event.type === "prompt.executed");
  const rendered = events.find((event) => event.type === "prompt.rendered");
  const feedback = events.find((event) => event.type === "feedback.given");
  const throttled = events.find((event) => event.type === "provider.throttled");
  const requested = events.find((event) => event.type === "provider.requested");
  const apps = records.flatMap((record) => (record.kind === "app" ? [record.event] : []));
  const damaged = records.flatMap((record) => (record.kind === "unreadable" ? [record.problem] : []));
  return (
    <>
      {failed !== undefined && <Block title={`Failed: ${failed.code}`} value={failed.message} />}
      {executed !== undefined && <Block title="Output" value={executed.output} />}
      {rendered !== undefined && <Block title="Params" value={rendered.params} />}
      {rendered !== undefined && <Block title="Text" value={rendered.text} />}
      {feedback !== undefined && <Block title={`Feedback of ${feedback.provider}`} value={feedback.text} />}
      {throttled !== undefined && <Block title="Refusal" value={throttled} />}
      {requested?.["said"] !== undefined && <Block title="Added as the user" value={requested["said"].join("\n\n")} />}
      {apps.map((event, place) => (
        <Block key={place} title={`Dispatched ${event.type}`} value={event} />
      ))}
      {damaged.map((problem) => (
        <Block key={problem} title="Damaged" value={problem} />
      ))}
    </>
  );
}

export function Block({ title, value }: { readonly title: string; readonly value: unknown }) {
  return (
    <>
      <h2>{oneLine(title)}</h2>
      <pre>{pretty(value)}</pre>
    </>
  );
}

/** What a call did to the state. */
export function Change(props: {
  readonly own: Part;
  readonly row: RunRow;
  readonly callId: string;
  readonly didRun: boolean;
}) {
  const { own, row, callId, didRun } = props;
  const [change, setChange] = useState<StateChange | null | undefined>(undefined);
  const { until } = row;
  const fault = useLoading(
    // What it changed of resources stands behind its end.
    async (signal) =>
      setChange(await get<StateChange | null>(pathTo(own, "change", { call: callId, until: until + 12 }), signal)),
    [own, callId, until],
  );
  if (!didRun) return null;
  return (
    <>
      <h2>State, before → after</h2>
      <Fault of={fault} />
      {change === null && <p class="note">The states of this run are not known: the reader was given no slices.</p>}
      {change !== null && change !== undefined && (
        <>
          {change.undone && <p>Undone: the state after it is the state before ✓</p>}
          {!change.undone && change.slices.length === 0 && <p class="note">It changed nothing.</p>}
          {change.slices.map(({ name, patch, before }) => (
            <SliceChange key={name} name={name} patch={patch} before={before} isUndone={change.undone} />
          ))}
          {change.touched.length > 0 && <h2>Resources</h2>}
          {change.touched.map((touched) => (
            <Touched key={touched.name} of={touched} isUndone={change.undone} />
          ))}
        </>
      )}
    </>
  );
}

function SliceChange(props: {
  readonly name: string;
  readonly patch: JsonPatch;
  readonly before: unknown;
  readonly isUndone: boolean;
}) {
  const { name, patch, before, isUndone } = props;
  return (
    <>
      <p>
        <b>{oneLine(name)}</b> {isUndone && "tried, undone"}
      </p>
      <ul class="patch">
        {patch.slice(0, 200).map((operation, place) => {
          const old = operation.op === "add" ? undefined : at(before, operation.path);
          return (
            <li key={place} class={operation.op === "remove" ? "minus" : operation.op === "add" ? "plus" : ""}>
              {operation.op === "remove" ? "− " : operation.op === "add" ? "+ " : ""}
              {oneLine(operation.path || "all")} {old !== undefined && <del>{pretty(old)}</del>}{" "}
              {operation.op === "replace" && "→ "}
              {operation.op !== "remove" && <ins>{pretty(operation.value)}</ins>}
            </li>
          );
        })}
      </ul>
      {patch.length > 200 && <p class="note">and {patch.length - 200} more</p>}
    </>
  );
}

function Touched({ of, isUndone }: { readonly of: TouchedResource; readonly isUndone: boolean }) {
  return (
    <p>
      <b>{oneLine(of.name)}</b> {isUndone && "undone"}
      {of.changes?.map(({ path, kind }) => (
        <span key={path}> {oneLine(`${kind} ${path}`)}</span>
      ))}
    </p>
  );
}

function at(value: unknown, path: string): unknown {
  let found = value;
  for (const key of path.split("/").slice(1)) {
    found = (found as Readonly<Record<string, unknown>> | undefined)?.[key.replaceAll("~1", "/").replaceAll("~0", "~")];
  }
  return found;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function shownValue(result: EventOf<"tool.invoked">["result"]): unknown {
  return result.success ? result.value : "";
}
