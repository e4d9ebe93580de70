// The other views of a run: its prompt by sections, its state, its tokens, its records.
import type { RenderedSection, RunRecord, Usage } from "@proviso/core";
import type { RunRow } from "@proviso/viewer/runs";
import { useState } from "preact/hooks";
import { get, pathTo, type Part } from "./api.ts";
import { Block, Change, useRecords } from "./detail.tsx";
import { Fault, useLoading } from "./parts.tsx";
import { costOf, count, duration, oneLine, pretty, visible } from "./shown.ts";

export function StateAfter(props: { readonly own: Part; readonly row: RunRow; readonly place: number }) {
  const { own, row, place } = props;
  const [states, setStates] = useState<Readonly<Record<string, unknown>> | undefined>(undefined);
  const n = row.until + 1;
  const fault = useLoading(async (signal) => setStates(await get(pathTo(own, "state", { n }), signal)), [own, n]);
  const names = Object.keys(states ?? {});
  return (
    <>
      <h1>State after row {place + 1}</h1>
      <Fault of={fault} />
      {row.kind === "call" && row.callId !== undefined && row.status !== "not-run" && (
        <Change own={own} row={row} callId={row.callId} didRun={true} />
      )}
      {states !== undefined && names.length === 0 && (
        <p class="note">
          No states are known. A journal keeps events; the states are made of them with the slices of the program:
          journalRuns(journal, {"{ slices }"}).
        </p>
      )}
      {names.map((name) => (
        <Block key={name} title={name} value={states?.[name]} />
      ))}
    </>
  );
}

interface Sent {
  readonly text: string;
  readonly sections: readonly RenderedSection[];
}

/** The prompt of the row's evaluation as it was sent last. */
export function Prompts(props: { readonly own: Part; readonly n: number; readonly evaluationId: string }) {
  const { own, n, evaluationId } = props;
  const [records, setRecords] = useState<readonly RunRecord[]>([]);
  const fault = useLoading(async (signal) => setRecords(await get(pathTo(own, "prompt", { n }), signal)), [own, n]);
  const events = records.flatMap((record) =>
    record.kind === "event" && record.event.evaluationId === evaluationId ? [record.event] : [],
  );
  const rendered = events.findLast((event) => event.type === "prompt.rendered");
  const sents = events.flatMap((event): Sent[] => {
    if (event.type === "prompt.rendered") return [event];
    return event.type === "provider.requested" && event.prompt !== undefined ? [event.prompt] : [];
  });
  const sent = sents.at(-1);
  const opened = events.filter((event) => event.type === "sections.opened");
  if (sent === undefined || rendered === undefined) return <Fault of={fault} />;
  const { overrides } = rendered;
  return (
    <>
      <h1>Prompt</h1>
      <p class="note">
        {oneLine(rendered.promptName)}
        {overrides !== undefined && ` · overridden by "${oneLine(overrides.tag)}"`}
        {opened.length > 0 && ` · changed ${opened.length} times`}
      </p>
      <Fault of={fault} />
      {sent.sections.map((section) => (
        <Section key={section.start} section={section} text={sent.text.slice(section.start, section.end)} />
      ))}
      {overrides !== undefined && overrides.stale.length > 0 && (
        <div class="section changed">stale: {oneLine(overrides.stale.join(", "))}</div>
      )}
      {opened.map((event) => (
        <p key={event.seq} class="note">
          {oneLine(`opened ${event.keys.join(", ")}: ${event.reason}`)}
        </p>
      ))}
      <Block title="Params" value={rendered.params} />
      <Block title="Tools" value={rendered.tools.join("\n")} />
    </>
  );
}

function Section({ section, text }: { readonly section: RenderedSection; readonly text: string }) {
  const { path, part, shown, replaced } = section;
  return (
    <div class={replaced === undefined ? "section" : "section changed"}>
      <h2>
        {oneLine(path || part)} · {replaced === undefined ? shown : "overridden"}
      </h2>
      {replaced !== undefined && (
        <pre class="minus">
          <del>− {visible(replaced)}</del>
        </pre>
      )}
      <pre class={replaced === undefined ? "" : "plus"}>
        {replaced !== undefined && "+ "}
        {visible(text)}
      </pre>
    </div>
  );
}

/** Turns that are in the document at once. */
const mostTurns = 2_000;

export function Tokens({ rows }: { readonly rows: readonly RunRow[] }) {
  const turns = rows.filter(({ kind, usage }) => kind === "turn" && usage !== undefined);
  const names = ["turn", "input (cached)", "output (reasoning)", "$", "first text", "took"];
  return (
    <>
      {turns.length > mostTurns && (
        <p class="note">
          The first {count(mostTurns)} of {count(turns.length)} turns are shown.
        </p>
      )}
      <table>
        <thead>
          <tr>
            {names.map((name, place) => (
              <th key={name} scope="col" class={place === 0 ? "" : "number"}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {turns.slice(0, mostTurns).map((row) => (
            <TokenLine key={row.from} row={row} usage={row.usage as Usage} />
          ))}
        </tbody>
      </table>
    </>
  );
}

function TokenLine({ row, usage }: { readonly row: RunRow; readonly usage: Usage }) {
  const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = usage;
  return (
    <tr>
      <td>
        {"› ".repeat(row.depth)}turn {row.turn} <small>{oneLine(row.title)}</small>
      </td>
      <td class="number">
        {count(inputTokens)} ({count(cachedInputTokens)})
      </td>
      <td class="number">
        {count(outputTokens)} ({count(reasoningTokens)})
      </td>
      <td class="number">{costOf(usage)}</td>
      <td class="number">{duration(row.firstTextMs)}</td>
      <td class="number">{duration(row.durationMs)}</td>
    </tr>
  );
}

export function Raw({ own, row }: { readonly own: Part; readonly row: RunRow }) {
  const { records, fault } = useRecords(own, row, true);
  return (
    <>
      <h1>
        Records {row.from} to {row.until}
      </h1>
      <Fault of={fault} />
      {records.map((record) => (
        <pre key={record.n}>{pretty(record)}</pre>
      ))}
    </>
  );
}
