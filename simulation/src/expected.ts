// The state that has to be, worked out without the runtime.
// 1. What happened is a list of facts, each with the tool call that it belongs to, if any.
// 2. A call that fails takes its own facts with it, and those of calls inside it; nothing else is ever taken away.
// 3. State, files and vault are what the facts say, in their order. What logs hold, and what was heard, stays.
import type { FrameworkEvent, SessionEvent, ToolInvoked } from "@proviso/core";
import type { Book } from "./checks.ts";
import { keyOf, labelOf, type CallName } from "./names.ts";
import { unrecordable, type noted } from "./slices.ts";

export type Deed =
  | { readonly kind: "entry"; readonly text: string }
  | { readonly kind: "event"; readonly label: string }
  | { readonly kind: "opened"; readonly sections: readonly string[] }
  | { readonly kind: "put"; readonly text: string }
  | { readonly kind: "write"; readonly path: string; readonly content: string }
  | { readonly kind: "remove"; readonly path: string };

interface Fact {
  readonly session: string;
  readonly call: string | undefined;
  readonly deed: Deed;
}

/** What listeners have to hear next: what was dispatched by others, then what the call did. */
interface Due {
  readonly session: string;
  readonly call: string | undefined;
  readonly asides: string[];
  readonly texts: string[];
}

/** What has to be there. */
export interface View {
  of(session: string): ExpectedSession;
  readonly vault: readonly string[];
  readonly files: ReadonlyMap<string, string>;
}
/** What one session has to hold. */
export interface ExpectedSession {
  readonly ledger: readonly string[];
  readonly census: readonly string[];
  readonly opened: readonly string[];
  readonly journal: readonly string[];
  readonly successes: readonly string[];
}

export type Expected = ReturnType<typeof expectedState>;

export function expectedState(book: Book, filesBefore: Readonly<Record<string, string>>) {
  let facts: Fact[] = [];
  /** What calls have dispatched, not heard yet. */
  let unheard: (readonly [call: string, text: string])[] = [];
  /** The call around an evaluation. */
  const around = new Map<string, string | undefined>();
  const evaluationOf = new Map<string, string>();
  /** By evaluation and call id: ids may come again in a later turn. */
  const latest = new Map<string, string>();
  const over = new Set<string>();
  const left = new Set<string>();
  const open = new Set<string>();
  /** Calls that may overlap with others. */
  const reading = new Set<string>();
  /** Calls whose recording a listener refused, until that is told. */
  const vetoed = new Set<string>();
  const logs = new Map<string, { readonly journal: string[]; readonly successes: string[] }>();
  let due: Due | undefined;
  /** What was opened right before now. */
  let opening: Fact | undefined;
  let hasOpened = false;
  /** What all facts come to; a fact that is added is applied to it, and where one is taken away it is made again. */
  let tables: Tables | undefined;

  const logsOf = (session: string): { readonly journal: string[]; readonly successes: string[] } => {
    const known = logs.get(session) ?? { journal: [], successes: [] };
    logs.set(session, known);
    return known;
  };
  const isWithin = (call: string | undefined, outer: string): boolean => {
    for (let at = call; at !== undefined; at = around.get(evaluationOf.get(at) ?? "")) if (at === outer) return true;
    return false;
  };
  const did = (session: string, call: string | undefined, deed: Deed): Fact => {
    const fact = { session, call, deed };
    facts.push(fact);
    if (tables !== undefined) apply(tables, fact);
    if (deed.kind === "entry") {
      logsOf(session).journal.push(deed.text);
      if (call !== undefined) unheard.push([call, deed.text]);
    }
    return fact;
  };
  const replaceFacts = (by: readonly Fact[]): void => {
    facts = [...by];
    tables = undefined;
  };
  const textsOf = (outer: string): string[] => unheard.flatMap(([call, text]) => (isWithin(call, outer) ? [text] : []));

  const invoked = (session: string, event: ToolInvoked): void => {
    const key = keyOf(event);
    evaluationOf.set(key, event.evaluationId);
    latest.set(`${event.evaluationId} ${event.callId}`, key);
    const outer = around.get(event.evaluationId);
    const { successes } = logsOf(session);
    const again = over.has(key);
    over.add(key);
    if (event.result.success) {
      book.demand(!again, `TX-5 ${key} succeeds although it is over`);
      // What a call opens is the call's; what a handler asked for that failed for it stays open.
      const opened = opening;
      if (opened !== undefined) facts = facts.map((fact) => (fact === opened ? { ...fact, call: key } : fact));
      opening = undefined;
      did(session, key, { kind: "event", label: labelOf(event) });
      successes.push(key);
      const isRefused = event.result.message === unrecordable;
      if (outer === undefined && !isRefused) due = { session, call: key, asides: [], texts: textsOf(key) };
      return;
    }
    if (again) {
      const at = successes.lastIndexOf(key);
      if (at !== -1) successes.splice(at, 1);
      const isLast = at !== -1 && at === successes.length;
      book.demand(vetoed.delete(key) || isLast, `TX-5 ${key} is told twice`);
    }
    opening = undefined;
    replaceFacts(facts.filter((fact) => !isWithin(fact.call, key)));
    unheard = unheard.filter(([call]) => !isWithin(call, key));
    did(session, outer, { kind: "event", label: labelOf(event) });
  };

  const hear = (session: string, event: FrameworkEvent): void => {
    const { evaluationId } = event;
    // A call that is over was told to hold, or to have failed, once its evaluation goes on.
    for (const key of open) if (over.has(key) && evaluationOf.get(key) === evaluationId) open.delete(key);
    if (event.type === "prompt.rendered") {
      const { parent } = event;
      const outer = parent && latest.get(`${parent.evaluationId} ${parent.callId}`);
      around.set(evaluationId, outer);
    }
    const outer = around.get(evaluationId);
    // A rollback may go on behind a call that a limit has ended.
    if (outer !== undefined && event.type !== "transaction.failed") {
      book.demand(!over.has(outer), `TX-8 ${event.type} of ${evaluationId} comes after the call around it is over`);
    }
    if (event.type === "tool.invoked") {
      invoked(session, event);
      return;
    }
    opening = undefined;
    if (event.type === "tool.requested") {
      const key = keyOf(event);
      open.add(key);
      evaluationOf.set(key, evaluationId);
      latest.set(`${evaluationId} ${event.callId}`, key);
      if (["look", "peek", "read_section"].includes(event.name)) reading.add(key);
      did(session, key, { kind: "event", label: labelOf(event) });
      return;
    }
    if (event.type === "sections.opened") {
      hasOpened = true;
      opening = did(session, outer, {
        kind: "opened",
        sections: event.keys.map((path) => `${event.promptName} ${path}`),
      });
    }
    const label = labelOf(event);
    if (label !== "") did(session, outer, { kind: "event", label });
  };

  return {
    did,
    /** A listener heard it; returns nothing, but what is wrong with it is booked. */
    hear(session: string, event: SessionEvent): void {
      if (event.evaluationId === undefined) {
        const text = event.type === "noted" ? (event as ReturnType<typeof noted>).text : event.type;
        const next = due?.session === session ? (due.asides.shift() ?? due.texts.shift()) : undefined;
        book.demand(next === text, `TX-6 listeners hear "${text}" instead of "${next}"`);
        return;
      }
      const told = event as FrameworkEvent;
      if (due?.session === session) {
        book.same([], [...due.asides, ...due.texts], `TX-6 listeners have heard too little before ${told.type}`);
        due = undefined;
      }
      hear(session, told);
    },
    /** An application, or a listener, dispatches by itself: it is heard at once, before what a call has yet to tell. */
    dispatches(session: string, text: string): void {
      if (due?.session !== session) due = { session, call: undefined, asides: [], texts: [] };
      due.asides.push(text);
      did(session, undefined, { kind: "entry", text });
    },
    /** A listener is about to throw at a `tool.invoked`: nothing more is told of its call. */
    vetoes(event: ToolInvoked): void {
      const key = keyOf(event);
      if (due?.call === key) due.texts.length = 0;
      if (event.result.success) vetoed.add(key);
    },
    /** Those of calls that are vetoed are cut from the logs, and others may be recorded before that is told. */
    withoutVetoed: (keys: readonly string[]): readonly string[] =>
      vetoed.size === 0 ? keys : keys.filter((key) => !vetoed.has(key)),
    isOver: (name: CallName): boolean => over.has(keyOf(name)),
    /** Its handler is done: what it began and did not wait for is aborted. */
    leaves: (name: CallName): void => void left.add(keyOf(name)),
    isLeft: (name: CallName): boolean => left.has(keyOf(name)) || over.has(keyOf(name)),
    /** The call in which an evaluation runs is over, or one around that. */
    isOrphaned(evaluationId: string): boolean {
      for (let at = around.get(evaluationId); at !== undefined; at = around.get(evaluationOf.get(at) ?? ""))
        if (over.has(at)) return true;
      return false;
    },
    /** Sections were opened: prompts may have been rendered again. */
    hasOpened: (): boolean => hasOpened,
    /** What has to be; and without one of the calls that are not over, which is being undone just now. */
    now(): View {
      tables ??= tablesOf(facts, filesBefore);
      return viewOf(tables, logsOf);
    },
    /** What the census says of calls that go on: one of several overlapping reads may have failed, and be undone. */
    unsure(): ReadonlySet<string> {
      const going = [...open].filter((key) => reading.has(key) && (vetoed.has(key) || !over.has(key)));
      const inside = facts.filter(
        ({ call, deed }) => deed.kind === "event" && going.some((key) => isWithin(call, key)),
      );
      return new Set(inside.map(({ deed }) => (deed.kind === "event" ? deed.label : "")));
    },
    undoing: (): readonly View[] =>
      [...open].map((call) => {
        const kept = facts.filter((fact) => !isWithin(fact.call, call));
        const logsWithout = (session: string): ReturnType<LogsOf> => {
          const { journal, successes } = logsOf(session);
          return { journal, successes: successes.filter((key) => key !== call) };
        };
        return viewOf(tablesOf(kept, filesBefore), logsWithout);
      }),
    /** For public snapshots: what is now, to be put back. */
    mark: (): readonly unknown[] => [...facts],
    /** The same for what one session's state says. */
    restoreSession(id: string, mark: readonly unknown[]): void {
      const isState = ({ session, deed }: Fact): boolean =>
        session === id && (deed.kind === "entry" || deed.kind === "event" || deed.kind === "opened");
      const kept = facts.filter((fact) => !isState(fact));
      replaceFacts([...(mark as readonly Fact[]).filter(isState), ...kept]);
    },
    /** Whether the mark holds what a call that is not over did, and the session does not hold it any more. */
    bringsBack(id: string, mark: readonly unknown[]): boolean {
      const there = new Set<unknown>(facts);
      return (mark as readonly Fact[]).some((fact) => {
        const { session, call } = fact;
        return session === id && !there.has(fact) && [...open].some((key) => !over.has(key) && isWithin(call, key));
      });
    },
    restore: (mark: readonly unknown[]): void => replaceFacts(mark as readonly Fact[]),
  };
}

type LogsOf = (session: string) => Pick<ExpectedSession, "journal" | "successes">;

type State = Readonly<Record<"ledger" | "census" | "opened", string[]>>;

/** What facts come to, in their order. */
interface Tables {
  readonly states: Map<string, State>;
  readonly vault: string[];
  readonly files: Map<string, string>;
}

function tablesOf(facts: readonly Fact[], filesBefore: Readonly<Record<string, string>>): Tables {
  const tables: Tables = { states: new Map(), vault: [], files: new Map(Object.entries(filesBefore)) };
  for (const fact of facts) apply(tables, fact);
  return tables;
}

function stateIn({ states }: Tables, session: string): State {
  let state = states.get(session);
  if (state === undefined) states.set(session, (state = { ledger: [], census: [], opened: [] }));
  return state;
}

/** A view of the tables as they are at any moment. */
function viewOf(tables: Tables, logsOf: LogsOf): View {
  const { vault, files } = tables;
  return {
    of(session) {
      const { ledger, census, opened } = stateIn(tables, session);
      const { journal, successes } = logsOf(session);
      return {
        ledger,
        census,
        opened: opened.length < 2 ? opened : [...new Set(opened)].toSorted(),
        journal,
        successes,
      };
    },
    vault,
    files,
  };
}

function apply(tables: Tables, { session, deed }: Fact): void {
  const { vault, files } = tables;
  const state = stateIn(tables, session);
  switch (deed.kind) {
    case "entry":
      state.ledger.push(deed.text);
      return;
    case "event":
      state.census.push(deed.label);
      return;
    case "opened":
      state.opened.push(...deed.sections);
      return;
    case "put":
      vault.push(deed.text);
      return;
    case "write":
      files.set(deed.path, deed.content);
      return;
    case "remove":
      for (const path of files.keys()) {
        if (path === deed.path || path.startsWith(`${deed.path}/`)) files.delete(path);
      }
  }
}
