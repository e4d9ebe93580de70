import {
  defineEvent,
  defineSlice,
  provide,
  provideFactory,
  resourceKey,
  type Binding,
  type EvaluateOptions,
  type Resources,
  type Session,
} from "@proviso/core";
import { openResources } from "@proviso/runtime";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { z } from "zod";
import { openBook, type Book } from "../checks.ts";
import { randomFrom, type Random } from "../random.ts";
import { createCell, randomManner, type Cell, type Sheet } from "./cells.ts";
import { createRecord, type Record, type Store } from "./record.ts";

/** `n` is how many entries its writer has seen; undefined: it did not look. */
export const tallied = defineEvent("tallied", z.object({ text: z.string(), n: z.number().optional() }));

/** What no schema lets through: somebody changed the input behind the runtime's back. */
export const forged = 1_000_000;
/** What a model gives for a date. */
export const firstDay = "2026-01-01T00:00:00.000Z";

interface Tally {
  readonly texts: readonly string[];
  readonly counted: number;
  readonly lost: readonly string[];
}
export const tally = defineSlice({
  name: "tally",
  initial: { texts: [], counted: 0, lost: [] } as Tally,
  reducers: ({ on }) =>
    on(tallied, ({ texts, counted, lost }, { text, n }) => ({
      texts: [...texts, text],
      counted: n === undefined ? counted : counted + 1,
      lost: n === undefined || n === counted ? lost : [...lost, text],
    })),
});

export const cellKeys = [0, 1, 2].map((index) => resourceKey<Sheet>(`Cell${index}`));
const aliasKeys = [0, 1, 2].map((index) => resourceKey<Sheet>(`Alias${index}`));
/** Made late, by the binding of an evaluation. */
export const extraKey = resourceKey<Sheet>("Extra");

export type CellKey = (typeof cellKeys)[number];
export type Given = NonNullable<EvaluateOptions["resources"]>;
export type Opened = Resources & AsyncDisposable;

/** What the actors of one run share. */
export interface Stage {
  readonly seed: number;
  readonly random: Random;
  readonly book: Book;
  readonly environment: ReturnType<typeof fakeEnvironment>;
  readonly record: Record;
  readonly faulty: boolean;
  /** Deadlines and aborts end waits. */
  readonly limited: boolean;
  /** Nobody takes a lock late or inside another's code, so that no wait can be endless. */
  readonly orderly: boolean;
  readonly cells: readonly Cell[];
  readonly extras: Cell[];
  readonly sessions: Map<Session, Store>;
  readonly scopes: readonly Opened[];
  /** One more over the cells, which are made in it, slowly, for whoever asks first. */
  readonly late: Opened;
  /** What was begun and is not waited for where it was. */
  readonly background: Promise<unknown>[];
  /** Of calls: the input that was approved, as JSON. */
  readonly approved: Map<string, string>;
  /** Ids of calls that a policy denied: their handlers must not run. */
  readonly denied: Set<string>;
  /** Of calls: the session that the last check was given, which is the handler's, too. */
  readonly checked: Map<string, unknown>;
  /** Called when a snapshot of everything begins to be restored. */
  readonly goingBack: { isTaken: boolean; next: (() => void) | undefined };
  /** What came of evaluations and transactions, to be compared with the faults. */
  readonly ends: { failedTransactions: number; unusable: number };
  note(line: string): void;
}

export async function createStage(seed: number): Promise<Stage> {
  const random = randomFrom(seed ^ 0x5eed);
  const book = openBook();
  const environment = fakeEnvironment(seed, { turns: 1 });
  const { clock } = environment;
  const record = createRecord(book);
  const faulty = random.chance(0.15);
  const goingBack: Stage["goingBack"] = { isTaken: false, next: undefined };
  const goesBack = (): void => goingBack.next?.();
  const parts = { random, clock, book, record, goesBack };
  const broken = faulty ? random.int(cellKeys.length) : -1;
  const cells = cellKeys.map((key, index) => createCell(parts, key.name, randomManner(random, index === broken)));
  const startedAt = clock.now();
  const sessions = new Map<Session, Store>();
  const first = await openResources(cells.map((cell, at) => provide(keyAt(cellKeys, at), cell as Sheet)));
  const handles = await openResources(cellKeys.map((key) => provide(key, first.get(key))));
  const made = await openResources(
    cells.map((cell, at) => provideFactory(keyAt(cellKeys, at), () => cell as Sheet, { eager: true, close() {} })),
  );
  return {
    seed,
    random,
    book,
    environment,
    record,
    faulty,
    limited: random.chance(0.4),
    orderly: random.chance(0.3),
    cells,
    extras: [],
    sessions,
    scopes: [first, handles, made],
    late: await openResources(
      cells.map((cell, at) => {
        const make = async (): Promise<Sheet> => {
          await clock.sleep(random.pick([5, 80, 300]));
          return cell;
        };
        return provideFactory(keyAt(cellKeys, at), make, { close() {} });
      }),
    ),
    background: [],
    approved: new Map(),
    denied: new Set(),
    checked: new Map(),
    goingBack,
    ends: { failedTransactions: 0, unusable: 0 },
    note: (line) => book.note(`${clock.now() - startedAt} ${line}`),
  };
}

function keyAt(keys: readonly CellKey[], at: number): CellKey {
  return keys[at] as CellKey;
}

/** The cells, bound in any of the ways in which an instance can be bound; `late`: not before somebody asks. */
export function randomGiven(stage: Stage): Given {
  const { random, cells, scopes, environment, orderly } = stage;
  const scope = random.pick(scopes);
  const each = (bind: (key: CellKey, cell: Cell, at: number) => readonly Binding[]): Binding[] =>
    cells.flatMap((cell, at) => bind(keyAt(cellKeys, at), cell, at));
  const ready = (key: CellKey, cell: Cell): readonly Binding[] => [provide(key, cell as Sheet)];
  const slowly = async (cell: Cell): Promise<Sheet> => {
    await environment.clock.sleep(random.int(40));
    return cell;
  };
  const ways: readonly (() => Given)[] = [
    () => each(ready),
    () => scope,
    () => each((key) => [provide(key, scope.get(key))]),
    () => [scope, ...each(ready).slice(0, 1)],
    () => [...each(ready).slice(1), scope],
    () => each((key, cell) => [provideFactory(key, () => cell as Sheet, { eager: true, close() {} })]),
    () =>
      each((key, cell, at) => {
        const alias = keyAt(aliasKeys, at);
        return [
          provide(alias, cell as Sheet),
          provideFactory(key, (from) => from.open(alias), { eager: true, close() {} }),
        ];
      }),
    // From here on they are first used while a call runs.
    () => each((key, cell) => [provideFactory(key, () => cell as Sheet, { close() {} })]),
    () => each((key, cell) => [provideFactory(key, () => slowly(cell), { close() {} })]),
    () => stage.late,
    () => [
      scope,
      ...each((key, cell) => [provideFactory(key, () => cell as Sheet, { scope: "prototype", close() {} })]).slice(1),
    ],
  ];
  return ways[random.int(orderly ? 7 : ways.length)]?.() ?? scope;
}

/** A resource that is made when a call asks for it; its factory may begin work of its own, and its close may hang. */
export function extraBinding(stage: Stage, alone: () => Promise<unknown>): Binding {
  const { random, environment, book, record, extras } = stage;
  const { clock } = environment;
  const scope = random.pick(["singleton", "toolCall", "prototype"] as const);
  const hangs = random.chance(0.15);
  const works = scope === "singleton" && random.chance(0.4);
  const manner = { ...randomManner(random, false), slow: false };
  const make = (): Sheet => {
    const cell = createCell({ random, clock, book, record, goesBack() {} }, `extra${extras.length}`, manner);
    extras.push(cell);
    if (works) stage.background.push(clock.sleep(random.int(60)).then(alone));
    return cell;
  };
  const slowly = async (): Promise<Sheet> => {
    await clock.sleep(random.int(60));
    return make();
  };
  return provideFactory(extraKey, random.chance(0.4) ? slowly : make, {
    scope,
    eager: random.chance(0.2),
    close: ({ cell }) => {
      cell.close();
      // Each its own: one for all would hold whoever waits for it, and with them every run, for as long as the process.
      return hangs ? new Promise<never>(() => {}) : undefined;
    },
  });
}

/** Whether it may be the fault of a resource that somebody cannot go on. */
export function hasFailed({ cells }: Stage): boolean {
  return cells.some((cell) => cell.hasFailed);
}

/** The session's store, unless it cannot be used any more. */
export function textsOf(stage: Stage, session: Pick<Session, "get">): readonly string[] | undefined {
  try {
    const { texts, lost } = session.get(tally);
    stage.book.same(lost, [], "TX-2 updates of the session that were lost");
    return texts;
  } catch (error) {
    const { message } = error as Error;
    const isTold = hasFailed(stage) && message.includes("cannot be used any more");
    // A handler whose call is over learns of it here.
    if ((error as { readonly code?: string }).code === "revoked") throw error;
    stage.book.demand(isTold, `TX-13 a session cannot be read: ${message}`);
    return undefined;
  }
}
