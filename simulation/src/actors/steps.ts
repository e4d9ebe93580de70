// What handlers and bodies of transactions do, step by step, and what they have to see while they do it.
import { provide, type AppEvent, type Session } from "@proviso/core";
import { createSnapshot, transaction } from "@proviso/runtime";
import type { Sheet } from "./cells.ts";
import { createEvaluation } from "./evaluations.ts";
import type { Operation, Store } from "./record.ts";
import { addSession } from "./sessions.ts";
import {
  cellKeys,
  extraBinding,
  extraKey,
  hasFailed,
  randomGiven,
  tally,
  tallied,
  textsOf,
  type CellKey,
  type Given,
  type Stage,
} from "./stage.ts";

/** One who works: a tool's handler, or the body of a transaction. */
export interface Worker {
  readonly operation: Operation;
  /** The session as the worker uses it, as it is, and as it has to be. */
  readonly view: { get: Session["get"]; dispatch(event: AppEvent): unknown };
  readonly session: Session;
  readonly store: Store;
  /** What it may ask for. */
  readonly keys: readonly CellKey[];
  /** It holds every cell, so that nothing inside it needs more. */
  readonly holdsAll: boolean;
  /** In a body: nothing but the cells of its scope takes part. */
  readonly isInBody: boolean;
  readonly kind: "handler" | "body";
  readonly depth: number;
  readonly signal: AbortSignal | undefined;
  open(key: CellKey): Promise<Sheet>;
  evaluate(evaluation: ReturnType<typeof createEvaluation>, given: Given | undefined): Promise<unknown>;
}

type Step = (stage: Stage, worker: Worker) => Promise<void>;

/** Some steps, one after another. */
export async function work(stage: Stage, worker: Worker): Promise<void> {
  const { random } = stage;
  for (let left = 1 + random.int(4); left > 0; left--) await randomStep(stage, worker)(stage, worker);
}

function randomStep(stage: Stage, { operation, keys, depth, holdsAll, kind }: Worker): Step {
  const { random, orderly } = stage;
  const kinds = random.int(100);
  // Where one of several calls that overlap fails, what evaluations inside the others wrote is undone with it.
  const mayNest = depth < 2 && (!orderly || holdsAll) && operation.overlaps === undefined;
  if (kinds < 12 && mayNest) return nest;
  if (kinds < 18 && kind === "handler" && !operation.readOnly) return selfish;
  if (kinds < 24 && kind === "handler" && !orderly && depth < 2) return evaluateElsewhere;
  if (kinds < 42) return seeSession;
  if (kinds < 58 && !operation.readOnly) return note;
  if (keys.length === 0) return pause;
  return operation.readOnly || random.chance(0.3) ? read : write;
}

async function pause({ random, environment }: Stage): Promise<void> {
  await environment.clock.sleep(random.pick([0, 1, 5, 20, 60]));
}

function assertLive({ signal }: Worker): void {
  signal?.throwIfAborted();
}

/** Nothing changes while it is held, and nothing of it is half-done. */
function look({ book, record }: Stage, { operation }: Worker, { cell }: Sheet): readonly string[] {
  const { items, busy } = cell.look();
  record.sees(operation, cell.store, items);
  book.demand(busy === undefined, `TX-11 ${operation.id} sees that ${busy} is half-done in ${cell.name}`);
  return items;
}

async function read(stage: Stage, worker: Worker): Promise<void> {
  const sheet = await worker.open(stage.random.pick(worker.keys));
  for (let times = 0; times < 2; times++) {
    await pause(stage);
    assertLive(worker);
    if (hasFailed(stage)) return;
    look(stage, worker, sheet);
  }
}

/** Read, half-done, done, with time between; two at once would lose what one of them wrote. */
async function write(stage: Stage, worker: Worker): Promise<void> {
  const { random, book, record } = stage;
  const { operation } = worker;
  const sheet = await worker.open(random.pick(worker.keys));
  const { cell } = sheet;
  const text = `${operation.id}-${random.int(1_000)}`;
  const put = (items: readonly string[], busy: string | undefined): void => {
    // A resource that knows nothing of calls learns from the signal that nobody wants it any more.
    if (!cell.guardable) assertLive(worker);
    sheet.put(items, busy);
    book.demand(!operation.ended, `TX-3 ${operation.id} writes although it is over`);
  };
  await pause(stage);
  assertLive(worker);
  if (hasFailed(stage)) return;
  const items = look(stage, worker, sheet);
  put(items, text);
  await pause(stage);
  put([...items, text], undefined);
  record.did(cell.store, operation, text);
  stage.note(`${text} in ${cell.name}`);
}

async function seeSession(stage: Stage, worker: Worker): Promise<void> {
  await pause(stage);
  assertLive(worker);
  const texts = textsOf(stage, worker.view);
  if (texts !== undefined && !hasFailed(stage)) stage.record.sees(worker.operation, worker.store, texts);
}

async function note(stage: Stage, worker: Worker): Promise<void> {
  const { random, record, book } = stage;
  const { operation, view, store } = worker;
  await pause(stage);
  assertLive(worker);
  const text = `${operation.id}-note${random.int(1_000)}`;
  // Calls that overlap see each other's notes come.
  const n = operation.overlaps === undefined ? view.get(tally).counted : undefined;
  if (random.chance(0.5)) await pause(stage);
  view.dispatch(tallied({ text, ...(n === undefined ? {} : { n }) }));
  book.demand(!operation.ended, `TX-3 ${operation.id} dispatches although it is over`);
  record.did(store, operation, text);
}

/** An evaluation inside, or two at once, that may need more than is held. */
async function nest(stage: Stage, worker: Worker): Promise<void> {
  const { random } = stage;
  const { operation, session, depth, isInBody } = worker;
  const given = isInBody || random.chance(0.5) ? undefined : innerGiven(stage);
  const mayAsk = given !== undefined ? [...cellKeys, extraKey] : worker.kind === "body" ? cellKeys : worker.keys;
  const inner = (): Promise<unknown> => {
    const { readOnly } = operation;
    const keys = mayAsk.length === 0 ? cellKeys : mayAsk;
    const evaluation = createEvaluation(stage, {
      session,
      parent: operation,
      depth: depth + 1,
      readOnly,
      keys,
      isInBody,
      work,
    });
    return worker.evaluate(evaluation, given);
  };
  const all = await Promise.allSettled(random.chance(0.25) ? [inner(), inner()] : [inner()]);
  const failed = all.find((one) => one.status === "rejected");
  if (failed !== undefined && random.chance(0.6)) throw failed.reason;
}

/** Cells that the outer call may not hold, and a resource that ends with the inner evaluation. */
function innerGiven(stage: Stage): Given {
  const given = randomGiven(stage);
  return [...(Array.isArray(given) ? given : [given]), extraBinding(stage, () => workAlone(stage))] as Given;
}

/** A wait for what this very call holds could never end: it is refused, and no time passes. */
async function selfish(stage: Stage, worker: Worker): Promise<void> {
  const { random, environment, book, scopes } = stage;
  const { clock } = environment;
  const { session, operation, keys } = worker;
  assertLive(worker);
  const own = keys.length === 0 ? undefined : (await worker.open(random.pick(keys))).cell;
  assertLive(worker);
  if (hasFailed(stage)) return;
  const scope = { session, resources: scopes[0] as (typeof scopes)[number] };
  const alone = { parent: undefined, depth: 3, readOnly: false, isInBody: false, work };
  // Public ones may wait for others first, where their locks come earlier.
  const ways: readonly { readonly isAtOnce: boolean; begin(): Promise<unknown> }[] = [
    {
      isAtOnce: true,
      begin() {
        const { adapter, prompt } = createEvaluation(stage, { ...alone, session, keys: [] });
        return adapter.evaluate(prompt, { session });
      },
    },
    { isAtOnce: false, begin: () => transaction(scope, async () => {}) },
    { isAtOnce: false, begin: () => createSnapshot(scope) },
    ...(own === undefined || own.name.startsWith("extra")
      ? []
      : [{ isAtOnce: true, begin: () => evaluateOver(stage, own) }]),
    ...(worker.depth > 1 || stage.faulty ? [] : [{ isAtOnce: false, begin: () => evaluateInBody(stage, worker) }]),
  ];
  const before = clock.now();
  const { isAtOnce, begin } = random.pick(ways);
  const code = await begin().then(
    () => "nothing",
    (error: unknown) => (error as { readonly code?: string }).code,
  );
  if (worker.signal?.aborted === true) return;
  book.demand(code === "deadlock", `TX-12 ${operation.id} waits for itself, which ends with ${code}`);
  book.demand(
    !isAtOnce || clock.now() === before,
    `TX-12 ${operation.id} waits for itself for ${clock.now() - before} ms`,
  );
}

/** The body of a transaction evaluates as the call around it, over what the body holds. */
function evaluateInBody(stage: Stage, worker: Worker): Promise<unknown> {
  const { scopes, random } = stage;
  const resources = scopes[0] as (typeof scopes)[number];
  const inner = createEvaluation(stage, {
    session: worker.session,
    parent: worker.operation,
    depth: 3,
    readOnly: false,
    isInBody: false,
    work,
    keys: [random.pick(cellKeys)],
    usesAll: true,
  });
  const scope = { session: addSession(stage), resources, tag: "in a call" };
  return transaction(scope, () => worker.evaluate(inner, resources));
}

/** What the factory of a singleton has begun is part of no call, whoever made it: it waits, and is never refused. */
export async function workAlone(stage: Stage): Promise<void> {
  if (hasFailed(stage)) return;
  await evaluateOver(stage, stage.random.pick(stage.cells)).catch((error: unknown) => {
    const { code, message } = error as { readonly code?: string; readonly message: string };
    stage.book.demand(hasFailed(stage), `RES-10 what a factory has begun ends with ${code}: ${message}`);
  });
}

/** In another session; `always` writes in that cell. */
function evaluateOver(stage: Stage, cell: Sheet["cell"]): Promise<unknown> {
  const session = addSession(stage);
  const [key = extraKey] = cellKeys.filter(({ name }) => name === cell.name);
  const given = {
    session,
    parent: undefined,
    depth: 3,
    readOnly: false,
    isInBody: false,
    work,
    keys: [key],
    usesAll: true,
  };
  const { adapter, prompt } = createEvaluation(stage, given);
  return adapter.evaluate(prompt, { session, resources: [provide(key, cell as Sheet)] });
}

/** No part of this call: it may wait for others, and is refused where they wait for this call. */
async function evaluateElsewhere(stage: Stage, worker: Worker): Promise<void> {
  assertLive(worker);
  const evaluating = evaluateOver(stage, stage.random.pick(stage.cells)).catch((error: unknown) => {
    const { code, message } = error as { readonly code?: string; readonly message: string };
    const isExpected = code === "deadlock" || hasFailed(stage);
    stage.book.demand(isExpected, `ERR-1 an evaluation in another's code ends with ${code}: ${message}`);
    stage.note(`elsewhere: ${code}`);
  });
  stage.background.push(evaluating);
  await evaluating;
}
